"""The scores of annotations, their summaries and their chart: promptstability's and Quaver's beside them."""

from __future__ import annotations

import csv
import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.agreement.disagreement import scale
from quaver.agreement.stratified_alpha import alphas_of_rows
from quaver.core.records import Estimate, Level
from quaver.core.spreadsheet import safe_cell
from quaver.errors import MeasureError, StoreError, Unavailable, UnknownName
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


_DISTANCES: Mapping[Level, tuple[float, ...]] = {
    "nominal": (0, 1, 1, 1),
    "interval": (0, 1, 4, 9),
    "ratio": (0, 1 / 9, 1 / 4, 9 / 49),
}
"""The distances of 1 and 1, 1 and 2, 1 and 3, 2 and 5, by which a function is recognised."""


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
    try:
        distances_given = [float(metric(*pair)) for pair in ((1, 1), (1, 2), (1, 3), (2, 5))]
    except (TypeError, ValueError, ArithmeticError):
        distances_given = []
    for level, distances in _DISTANCES.items():
        if distances_given and np.allclose(distances_given, distances):
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
    rows: Rows, raters: str, level: Level, samples: int, seed: int
) -> tuple[float, tuple[float, float]]:
    """Promptstability's score: the mean and the 95% percentile interval of alpha over resampled rows.

    Args:
        rows: Annotations with ``id`` and ``annotation``.
        raters: The column that tells raters apart: repeats, prompts.
        level: Level of measurement.
        samples: How many resamples.
        seed: Where the draws start.

    Returns:
        The mean, and the two ends; NaN where alpha is undefined in all resamples.
    """
    labels = encode(pl.Series([plain(row["annotation"]) for row in rows], dtype=pl.String), "annotation")
    item = encode(pl.Series([str(row["id"]) for row in rows]), "id")
    rater = encode(pl.Series([str(row[raters]) for row in rows]), "rater")
    resampling = Resampling(0.95, samples, seed)
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
    is_adjacent = mode == "adjacent_alpha"
    places = sorted({int(row["iteration"]) for row in rows})
    measure = intra_pss_adjacent if is_adjacent else intra_pss_cumulative
    estimates = measure(_labels(rows), level=level, seed=seed) if len(places) > 1 else ()
    curve = {estimate.cell["repeats"]: estimate for estimate in estimates}
    scores = {}
    for k, (before, place) in enumerate(itertools.pairwise(places), 2):
        first = before if is_adjacent else places[0]
        some = [row for row in rows if first <= row["iteration"] <= place]
        estimate = curve.get(f"{before} and {place}" if is_adjacent else str(k))
        scores[place] = _score(some, "iteration", estimate, level, samples, seed)
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
        scores[temperature] = _score(some, "prompt_id", estimate, level, samples, seed)
    return scores


def _labels(rows: Rows) -> pl.DataFrame:
    """The rows as the annotation frame of the measures."""
    return pl.DataFrame(
        {
            "item": [str(row["id"]) for row in rows],
            "repeat": [row["iteration"] for row in rows],
            "label": pl.Series([plain(row["annotation"]) for row in rows], dtype=pl.String),
        }
    )


def _score(
    rows: Rows, raters: str, estimate: Estimate | None, level: Level, samples: int, seed: int
) -> Score:
    """Promptstability's score, and Quaver's estimate beside it."""
    mean, (low, high) = row_interval(rows, raters, level, samples, seed)
    score: Score = {"Average Alpha": mean, "CI Lower": low, "CI Upper": high}
    score |= {"Alpha": math.nan, "Alpha Lower": math.nan, "Alpha Upper": math.nan, "Note": ""}
    if estimate is not None:
        own = {"Alpha": estimate.value, "Alpha Lower": estimate.low, "Alpha Upper": estimate.high}
        score |= {key: value for key, value in own.items() if value is not None}
        score["Note"] = "; ".join(filter(None, [estimate.reason, *estimate.warnings]))
    return score


def pandas() -> Any:
    """The module pandas.

    Raises:
        Unavailable: It is not installed.
    """
    try:
        import pandas as found
    except ImportError as error:
        raise Unavailable(
            "promptstability's results are pandas frames, and pandas is not installed",
            where="quaver.promptstability",
            found=str(error),
            fix='pip install "quaver[pandas]"',
        ) from None
    return found


def pandas_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas frame of rows."""
    return pandas().DataFrame(list(rows))


def check_path(path: str | Path | None) -> None:
    """Check, before anything is spent, that a file can be written there.

    Raises:
        StoreError: Its folder does not exist.
    """
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise StoreError(
            "there is no such folder", where=str(path), expected="a folder that exists", fix="create it first"
        )


def write_rows(frame: Any, path: str | Path) -> None:
    """Write a pandas frame as CSV in which a spreadsheet finds no formula.

    Raises:
        StoreError: The file cannot be written.
    """
    missing = frame.isna().to_numpy()
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(frame.columns)
            for cells, blank in zip(frame.itertuples(index=False), missing, strict=True):
                writer.writerow(["" if b else safe_cell(c) for c, b in zip(cells, blank, strict=True)])
    except OSError as error:
        raise StoreError("the file cannot be written", where=str(path), found=str(error)) from None


def check_columns(frame: Any, wanted: Sequence[str], where: str) -> None:
    """Check that a frame has some columns.

    Raises:
        UnknownName: One is missing.
    """
    names = list(map(str, frame.columns))
    for name in wanted:
        if name not in names:
            raise UnknownName("column", name, names, where=where)


def summaries_of_repeats(
    scores: Mapping[str, Mapping[int, Score]], threshold: float, near: float, narrow: float
) -> dict[str, dict[str, float]]:
    """The summary of each mode: of the first k repeats, and of each with the one before."""
    summaries: dict[str, dict[str, float]] = {}
    if "cumulative_alpha" in scores:
        _, alphas, lows, highs = _columns(scores["cumulative_alpha"])
        widths, away = highs - lows, np.abs(alphas - alphas[-1])
        summaries["cumulative_alpha"] = {
            "final_alpha": float(alphas[-1]),
            "final_ci_lower": float(lows[-1]),
            "final_ci_upper": float(highs[-1]),
            "final_ci_width": float(widths[-1]),
            "run_count_to_estimate_stability": _runs_until(away <= near),
            "run_count_to_precision_stability": _runs_until(widths <= narrow),
            "max_abs_deviation_from_final": float(away.max()),
        }
    if "adjacent_alpha" in scores:
        _, alphas, lows, highs = _columns(scores["adjacent_alpha"])
        low, high = np.percentile(alphas, [25, 75])
        summaries["adjacent_alpha"] = {
            "mean_alpha": float(alphas.mean()),
            "sd_alpha": _deviation(alphas),
            "iqr_alpha": float(high - low),
            "min_alpha": float(alphas.min()),
            "max_alpha": float(alphas.max()),
            "share_below_threshold": _share_below(alphas, threshold),
            "mean_ci_width": float((highs - lows).mean()),
        }
    return summaries


def summary_of_temperatures(scores: Mapping[float, Score], threshold: float) -> dict[str, float]:
    """The summary of scores over temperatures."""
    places, alphas, _, _ = _columns(scores)
    return {
        "mean_alpha": float(alphas.mean()),
        "sd_alpha_across_temperatures": _deviation(alphas),
        "min_alpha": float(alphas.min()),
        "temperature_at_min_alpha": float(places[alphas.argmin()]),
        "max_alpha": float(alphas.max()),
        "temperature_range_alpha": float(np.ptp(alphas)),
        "share_temperatures_below_threshold": _share_below(alphas, threshold),
    }


def _columns(scores: Mapping[Any, Score]) -> NDArray[np.float64]:
    """Places, scores, and the ends of their intervals, in order; NaN alone where there are no scores."""
    rows = []
    for place, score in scores.items():
        rows.append((float(place), score["Average Alpha"], score["CI Lower"], score["CI Upper"]))
    return np.array(sorted(rows) or [(math.nan,) * 4]).T


def _deviation(alphas: NDArray[np.float64]) -> float:
    if np.isnan(alphas).all():
        return math.nan
    return float(alphas.std(ddof=1)) if alphas.size > 1 else 0.0


def _share_below(alphas: NDArray[np.float64], threshold: float) -> float:
    return math.nan if np.isnan(alphas).all() else float((alphas < threshold).mean())


def _runs_until(holds: NDArray[np.bool_]) -> float:
    """The number of runs from which a condition holds to the end; NaN where it does not at the end."""
    fails = np.flatnonzero(~holds)
    first = int(fails[-1]) + 1 if fails.size else 0
    return first + 2 if first < holds.size else math.nan


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

    if path is not None and Path(path).suffix.lower() not in _ENDINGS:
        raise StoreError("this kind of file cannot be written", where=str(path), expected=", ".join(_ENDINGS))
    rows = []
    for place, score in scores.items():
        for kind, (value, low, high) in _KINDS.items():
            numbers = {"alpha": score[value], "low": score[low], "high": score[high]}
            rows.append({axis: place, "interval": kind, **numbers})
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(f"{axis}:O", axis=alt.Axis(labelAngle=0)),
        xOffset="interval:N",
        color=alt.Color("interval:N", legend=alt.Legend(title=None, orient="top", labelLimit=400)),
    )
    y = alt.Y("low:Q", title="Krippendorff's alpha", scale=alt.Scale(zero=False))
    chart = alt.layer(base.mark_rule().encode(y=y, y2="high:Q"), base.mark_point().encode(y="alpha:Q"))
    chart = chart.properties(width=640, title=f"Stability by {axis.lower()}, with 95% intervals")
    if path is not None:
        chart.save(str(path))
    elif "IPython" in sys.modules:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        display(chart)
    return chart
