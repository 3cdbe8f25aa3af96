"""The scores of annotations and their chart: promptstability's from resampled rows, Quaver's beside them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quaver.agreement.disagreement import scale
from quaver.agreement.stratified_alpha import alphas_of_rows
from quaver.core.records import Estimate, Level
from quaver.errors import MeasureError, StoreError, UnknownName
from quaver.estimation.coded_columns import encode
from quaver.estimation.intervals import percentile
from quaver.estimation.jackknife import Resampling
from quaver.measures.stability.prompt_stability import inter_pss
from quaver.measures.stability.stability_curves import intra_pss_adjacent, intra_pss_cumulative

Metric = Level | Callable[[Any, Any], float]

COLUMNS: Mapping[str, str] = {
    "ka_mean": "Average Alpha",
    "ka_lower": "CI Lower",
    "ka_upper": "CI Upper",
    "alpha": "Alpha",
    "alpha_lower": "Alpha Lower",
    "alpha_upper": "Alpha Upper",
}
"""Column of the frame -> key of a score. The first three are promptstability's, the others Quaver's."""

Score = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]


def level_of(metric: Any) -> Level:
    """The level of measurement of a metric: its name, or a function of two labels.

    Raises:
        MeasureError: It is a function that differs from all of them.

    >>> level_of(lambda one, other: (one - other) ** 2), level_of("nominal")
    ('interval', 'nominal')
    """
    levels: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")
    for level in levels:
        if metric == level:
            return level
    pairs = ((1, 1), (1, 2), (1, 3), (2, 5))
    shapes: Mapping[Level, Callable[[int, int], float]] = {
        "nominal": lambda one, other: float(one != other),
        "interval": lambda one, other: (one - other) ** 2,
        "ratio": lambda one, other: ((one - other) / (one + other)) ** 2,
    }
    try:
        found = [float(metric(*pair)) for pair in pairs]
    except (TypeError, ValueError, ArithmeticError):
        found = []
    for level, distance in shapes.items():
        if found and all(math.isclose(a, distance(*pair)) for a, pair in zip(found, pairs, strict=True)):
            return level
    raise MeasureError(
        "unknown metric",
        where="metric_fn",
        expected="nominal, ordinal, interval or ratio, or a function with one of these distances",
        found=repr(metric)[:120],
    )


def plain(annotation: Any) -> str | None:
    """An annotation as a label; None where it is missing (``None``, NaN)."""
    if annotation is None or (isinstance(annotation, float) and math.isnan(annotation)):
        return None
    if isinstance(annotation, float) and annotation.is_integer():
        return str(int(annotation))
    return str(annotation)


def row_interval(
    items: Sequence[Any],
    raters: Sequence[Any],
    annotations: Sequence[Any],
    level: Level,
    samples: int,
    confidence_level: float,
    seed: int,
) -> tuple[float, tuple[float, float]]:
    """Promptstability's score: the mean and the percentile interval of alpha over resampled rows.

    Args:
        items: The item of each row.
        raters: Its rater: a repeat, a prompt.
        annotations: Its annotation.
        level: Level of measurement.
        samples: How many resamples.
        confidence_level: From 0 to 1.
        seed: Where the draws start.

    Returns:
        The mean, and the two ends; NaN where alpha is undefined in all resamples.
    """
    labels = encode(pl.Series([plain(one) for one in annotations], dtype=pl.String), "annotation")
    item = encode(pl.Series([str(one) for one in items]), "id")
    rater = encode(pl.Series([str(one) for one in raters]), "rater")
    resampling = Resampling(confidence_level, samples, seed)
    drawn = alphas_of_rows(
        np.asarray(item.codes, np.int64) * len(rater.values) + rater.codes,
        np.asarray(labels.codes, np.int64),
        (len(item.values), len(rater.values)),
        labels=max(1, len(labels.values)),
        level=level,
        values=scale(tuple(labels.values), level),
        resampling=resampling,
    )
    ends = percentile(drawn, resampling.tail)
    if ends is None:
        return math.nan, (math.nan, math.nan)
    return float(np.nanmean(drawn)), (ends.low, ends.high)


MODES = ("cumulative_alpha", "adjacent_alpha")
"""What repeats are scored together: the first k, or each with the one before."""


def intra_scores(
    rows: Sequence[Mapping[str, Any]], level: Level, samples: int, seed: int, mode: str = MODES[0]
) -> dict[int, Score]:
    """The scores of repeats, by the last of them.

    Args:
        rows: Annotations with ``id``, ``annotation`` and ``iteration``.
        level: Level of measurement.
        samples: Resamples of rows.
        seed: Root seed.
        mode: One of `MODES`.
    """
    adjacent = mode == "adjacent_alpha"
    places = sorted({int(row["iteration"]) for row in rows})
    measure = intra_pss_adjacent if adjacent else intra_pss_cumulative
    estimates = measure(_labels(rows), level=level, seed=seed) if len(places) > 1 else ()
    curve = {estimate.cell["repeats"]: estimate for estimate in estimates}
    scores = {}
    for k, (before, place) in enumerate(itertools.pairwise(places), 2):
        some = [
            row
            for row in rows
            if row["iteration"] in (before, place) or (row["iteration"] < place and not adjacent)
        ]
        estimate = curve.get(f"{before} and {place}" if adjacent else str(k))
        scores[place] = _score(some, [row["iteration"] for row in some], estimate, level, samples, seed)
    return scores


def inter_scores(
    rows: Sequence[Mapping[str, Any]], level: Level, samples: int, seed: int
) -> dict[Any, Score]:
    """The scores of prompts, by temperature.

    Args:
        rows: Annotations with ``id``, ``annotation``, ``prompt_id``, ``temperature`` and ``iteration``.
        level: Level of measurement.
        samples: Resamples of rows.
        seed: Root seed.
    """
    scores = {}
    for temperature in dict.fromkeys(row["temperature"] for row in rows):
        some = [row for row in rows if row["temperature"] == temperature]
        prompts = pl.Series("variant", [str(row["prompt_id"]) for row in some])
        (estimate,) = inter_pss(_labels(some).with_columns(prompts), level=level, seed=seed)
        scores[temperature] = _score(some, [row["prompt_id"] for row in some], estimate, level, samples, seed)
    return scores


def _labels(rows: Rows) -> pl.DataFrame:
    """Annotations as measures take them."""
    return pl.DataFrame(
        {
            "item": [str(row["id"]) for row in rows],
            "repeat": [row["iteration"] for row in rows],
            "label": pl.Series([plain(row["annotation"]) for row in rows], dtype=pl.String),
        }
    )


def _score(
    rows: Rows,
    raters: Sequence[Any],
    estimate: Estimate | None,
    level: Level,
    samples: int,
    seed: int,
) -> Score:
    """Promptstability's score, and Quaver's estimate beside it."""
    items, annotations = [row["id"] for row in rows], [row["annotation"] for row in rows]
    mean, (low, high) = row_interval(items, raters, annotations, level, samples, 0.95, seed)
    score: Score = {"Average Alpha": mean, "CI Lower": low, "CI Upper": high}
    ends = (estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)
    keys = ("Alpha", "Alpha Lower", "Alpha Upper")
    score |= {key: math.nan if end is None else end for key, end in zip(keys, ends, strict=True)}
    notes = [estimate.reason or "", *estimate.warnings] if estimate else []
    return score | {"Note": "; ".join(filter(None, notes))}


def check_columns(frame: Any, wanted: Sequence[str], where: str) -> None:
    """Check that a frame has some columns.

    Raises:
        UnknownName: One is missing.
    """
    known = [str(name) for name in frame.columns]
    for name in wanted:
        if name not in known:
            raise UnknownName("column", name, known, where=where)


_KINDS = {
    "resampling items (Quaver)": ("Alpha", "Alpha Lower", "Alpha Upper"),
    "resampling rows (promptstability)": ("Average Alpha", "CI Lower", "CI Upper"),
}
_ENDINGS = (".png", ".svg", ".pdf", ".html", ".json")


def stability_chart(scores: Mapping[Any, Mapping[str, Any]], axis: str, path: str | Path | None) -> Any:
    """Draw scores over iterations or temperatures, and write or show them.

    Args:
        scores: By iteration or temperature.
        axis: The title of that axis.
        path: Where the chart is written; if left out, a notebook shows it.

    Returns:
        The chart, an Altair object.

    Raises:
        StoreError: The file's ending is unknown, or it cannot be written.
    """
    import altair as alt  # slow to load

    rows = [
        {axis: place, "alpha": score[value], "low": score[low], "high": score[high], "interval": kind}
        for place, score in scores.items()
        for kind, (value, low, high) in _KINDS.items()
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(f"{axis}:O", axis=alt.Axis(labelAngle=0), scale=alt.Scale(padding=0.8)),
        xOffset=alt.XOffset("interval:N"),
        color=alt.Color("interval:N", title=None, legend=alt.Legend(orient="top", labelLimit=400)),
    )
    y = alt.Y("alpha:Q", title="Krippendorff's alpha", scale=alt.Scale(zero=False))
    bars = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title="Krippendorff's alpha"), y2="high:Q")
    points = base.mark_point(filled=True, size=50).encode(y=y)
    bar = alt.Chart(alt.InlineData(values=[{"y": 0.8}])).mark_rule(strokeDash=[4, 4]).encode(y="y:Q")
    result = alt.layer(bar, bars, points).properties(
        width=640, height=320, title=f"Stability by {axis.lower()}, with 95% intervals"
    )
    if path is None:
        _show(result)
    elif Path(path).suffix.lower() not in _ENDINGS:
        raise StoreError("this kind of file cannot be written", where=str(path), expected=", ".join(_ENDINGS))
    else:
        result.save(str(path))
    return result


def _show(made: Any) -> None:
    """Show a chart where a notebook runs."""
    try:
        from IPython import get_ipython  # type: ignore[import-not-found,unused-ignore]
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    if get_ipython() is not None:
        display(made)
