"""The figures that go with the papers' tables, as Altair charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from quaver.core.arguments import guarded
from quaver.errors import QuaverError, StoreError
from quaver.papers.confidence_tables import by_evaluator, each_stated, evaluators
from quaver.papers.published_table import Answers, PublishedTable, each_model
from quaver.papers.reliability_tables import named_points, reliability
from quaver.papers.sensitivity_tables import (
    KINDS,
    beside_baselines,
    class_points,
    each_strategy,
    item_points,
    violin_values,
)
from quaver.report.charts.plane import Guide, Plane, Spot, draw_plane, svg_text
from quaver.report.charts.theme import finished, inline

_WIDTH = 720
_SERIES = {"own": "the model's answers", "noisy": "half of them swapped", "random": "drawn at random"}
_BESIDE = 4
"""Violins side by side; the others go below them, so that there is room for their names."""
_S, _C = "sensitivity", "consistency"


def plane_by_class(answers: Answers) -> Any:
    """S against C, a point a class with its name, beside noisy and random answers; a panel a strategy."""
    spots = []
    for one, model, level, own in each_strategy(answers):
        names = {label.code: label.name for label in one.labels.labels}
        panel = f"{one.name}, {model}, {level}"
        for kind, points in class_points(one, own).items():
            for code, (s, c) in points.items():
                if s is not None and c is not None:
                    name = names[code] if kind == "own" else ""
                    spots.append(Spot(s, c, panel=panel, series=_SERIES[kind], name=name))
    return _plane(spots)


def plane_by_item(answers: Answers) -> Any:
    """S against mean C, a point an item, with noisy and random answers; a panel a strategy."""
    spots = [
        Spot(s, c, panel=f"{one.name}, {model}, {level}", series=_SERIES[kind], size=20)
        for one, model, level, own in each_strategy(answers)
        for kind, given in beside_baselines(one, own).items()
        for _, _, s, c in item_points(one, given).values()
        if s is not None and c is not None
    ]
    return _plane(spots)


def _plane(spots: list[Spot]) -> Any:
    order = [_SERIES[kind] for kind in KINDS]
    return partial(draw_plane, Plane(spots, _S, _C, x_ends=(0.0, 1.0), y_ends=(0.0, 1.0), order=order))


def violins(answers: Answers) -> Any:
    """How item sensitivities and pair consistencies are distributed, a violin a strategy."""
    rows = [
        {"panel": what, "strategy": f"{one.name}, {model}, {level}", "value": float(value)}
        for one, model, level, own in each_strategy(answers)
        for what, values in violin_values(one, own).items()
        for value in values
    ]
    return partial(_violins, rows)


def _violins(rows: list[dict[str, Any]], *, width: int) -> Any:
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    levels = list(dict.fromkeys(row["strategy"] for row in rows))
    beside = min(len(levels), _BESIDE)
    each = int(width / max(1, beside)) - 40
    header = alt.Header(labelExpr="split(datum.label, ', ')", labelLimit=each + 30)
    drawn = []
    for panel in panels:
        own = [row for row in rows if row["panel"] == panel]
        shape = (
            alt.Chart(inline(own))
            .transform_density("value", as_=["value", "density"], extent=[0, 1], groupby=["strategy"])
            .mark_area(orient="horizontal")
            .encode(
                x=alt.X("density:Q", stack="center", axis=None),
                y=alt.Y("value:Q", title=panel),
                facet=alt.Facet("strategy:N", title=None, sort=levels, columns=beside, header=header),
            )
            .properties(width=each, height=200)
        )
        drawn.append(shape)
    return alt.vconcat(*drawn)


def curves(made: PublishedTable) -> Any:
    """The mean score of subsamples against their share of the items, a line a column of the table."""
    names = [name for name in made.columns[1:] if not name.endswith("middle 95%")]
    spots = [
        Spot(float(share), value, low, high, series=name)
        for name in names
        for share, value, low, high in _points(made, name)
    ]
    plane = Plane(
        spots, "share of items", "Krippendorff's α", joined=True, percent="x", guides=[Guide("0.8", 0.8)]
    )
    return partial(draw_plane, plane)


def _points(made: PublishedTable, name: str) -> Iterator[tuple[str, float, float | None, float | None]]:
    for row in made.rows():
        value = row[name]
        if isinstance(value, float):
            ends = (row.get(f"{name} middle 95% {end}") for end in ("low", "high"))
            low, high = (one if isinstance(one, float) else None for one in ends)
            yield str(row["share of items"]), value, low, high


def size_and_spread(answers: Answers) -> Any:
    """Spread against size, a named point a model; a colour a data set."""
    points = named_points(answers)
    rows = [{"data set": a, "model": b, "size": c, "spread": d} for a, b, c, d in points]
    return partial(_named, rows)


def _named(rows: list[dict[str, Any]], *, width: int) -> Any:
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("size:Q", title="size (billions of parameters)", scale=alt.Scale(type="log", padding=30)),
        y=alt.Y("spread:Q", title="spread of accuracy over prompts", scale=alt.Scale(zero=True)),
        color=alt.Color("data set:N"),
    )
    names = base.mark_text(align="left", dx=7).encode(text="model:N")
    return (base.mark_point(filled=True, size=60) + names).properties(width=width - 180, height=300)


def stated_over_token(answers: Answers) -> Any:
    """Reliability of stated over token confidence: right answers against confidence, a panel a model."""
    spots = []
    for one, model in each_model(answers):
        panel = f"{one.name}, {model}"
        for name in dict.fromkeys(cell[0] for cell in each_stated(one, model)):
            spots += _reliable(one, by_evaluator(one, name, model), panel, name)
        for name in evaluators(one, "logprob", normalised=True):
            spots += _reliable(one, by_evaluator(one, name, model), panel, name)
    plane = Plane(
        spots,
        "confidence",
        "right answers",
        x_ends=(0.0, 1.0),
        y_ends=(0.0, 1.0),
        percent="xy",
        guides=[Guide("as sure as right")],
    )
    return partial(draw_plane, plane)


def _reliable(one: Any, frame: Any, panel: str, series: str) -> list[Spot]:
    return [
        Spot(at["confidence"], at["right"], at["right_low"], at["right_high"], panel=panel, series=series)
        for at in reliability(one, frame)
    ]


@guarded
def save(chart: Any, path: Path) -> None:
    """Write a chart: SVG, PNG or PDF, by the file's ending.

    Raises:
        QuaverError: Another ending.
        StoreError: It cannot be written.
    """
    svg = svg_text(chart)
    written: dict[str, Callable[[], bytes]] = {
        ".svg": svg.encode,
        ".png": partial(vl_convert.svg_to_png, svg, scale=2),
        ".pdf": partial(vl_convert.svg_to_pdf, svg),
    }
    if path.suffix not in written:
        raise QuaverError(
            "a figure is not written in this format",
            where=str(path),
            expected="a name that ends in .svg, .png or .pdf",
            found=path.suffix or "no ending",
        )
    try:
        path.write_bytes(written[path.suffix]())
    except OSError as error:
        raise StoreError("the figure cannot be written", where=str(path), found=str(error)) from None


def shown(drawn: Any, caption: str, *, width: int = _WIDTH) -> Any:
    """A figure with its title."""
    return finished(drawn(width=width), width=width, title=caption)
