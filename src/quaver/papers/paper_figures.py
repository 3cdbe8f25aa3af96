"""The figures that go with the papers' tables, as Altair charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

import altair as alt
import numpy as np
import polars as pl
import vl_convert

from quaver.core.arguments import guarded
from quaver.errors import QuaverError, StoreError
from quaver.papers.confidence_tables import by_evaluator, evaluators, kept_prompts
from quaver.papers.paper_layout import FigureKind, columns_like
from quaver.papers.published_table import Answers, PublishedTable, each_model
from quaver.papers.reliability_tables import reliability
from quaver.papers.sensitivity_tables import (
    class_matrix,
    class_points,
    each_strategy,
    violin_values,
)
from quaver.report.charts.grid import Grid, Square, draw_grid
from quaver.report.charts.plane import Guide, Plane, Spot, draw_plane, svg_text
from quaver.report.charts.theme import DATA, SOFT, TEXT, inline, legend, options, panel_heading

PAGE = 960
"""How high a page is, in pixels, where it is 720 wide."""


@dataclass
class Sheet:
    """One page of a figure: how wide it is, how many panels stand side by side, and which page it is.

    Attributes:
        width: In pixels.
        columns: Panels side by side; as many as fit if None.
        page: Its number, from 1.
        classes: The classes that are drawn; all if there are none.
        pages: How many there are, once it is drawn.
    """

    width: int
    columns: int | None = None
    page: int = 1
    classes: Sequence[str] = ()
    pages: int = 1

    def shown(
        self, panels: Sequence[str], wide: float, high: float, above: float = 0.0
    ) -> tuple[list[str], int]:
        """This page's panels, each so wide and high, below a head; and how many stand side by side."""
        beside = self.columns or max(1, int(self.width // wide))
        beside = max(1, min(beside, len(panels)))
        each = beside * max(1, int((PAGE - _HEAD - above) // high))
        self.check(max(1, -(-len(panels) // each)))
        return list(panels)[each * (self.page - 1) : each * self.page], beside

    def check(self, pages: int) -> None:
        """Note how many pages there are.

        Raises:
            QuaverError: This is none of them.
        """
        self.pages = pages
        if self.page > pages:
            raise QuaverError(
                "the figure has no such page", where="page", expected=f"1 to {pages}", found=str(self.page)
            )


Drawing = Callable[[Sheet], Any]

_HEAD = 70
"""What a figure's title and its margins take, in pixels."""
_SERIES = {"": "the model's answers", "noisy ": "half of them swapped", "random ": "drawn at random"}
_PLANE, _VIOLIN, _BAR = 266, 150, 330
"""Pixels that a panel needs, so that there is room for its name."""
_AROUND = 90
"""What a panel's name and its axis take above and below it."""
_MATRIX = 60
"""Items of a class that a matrix shows."""


def beside_noise(kind: FigureKind, table: PublishedTable) -> Any:
    """S against C of each row, beside those of noisy and of random answers."""
    spots = []
    for panel, row, _, _ in _numbers(kind, table):
        for before, series in _SERIES.items():
            x, y = (_number(row[before + name]) for name in (kind.x, *kind.y))
            if x is not None and y is not None:
                name = "" if before else ", ".join(str(row[one]) for one in kind.name)
                spots.append(Spot(x, y, panel=panel, series=series, name=name, size=38 if kind.name else 20))
    order = [*_SERIES.values()]
    spots = spots or _nothing(f"figure {kind.number}", "no row has both S and C")
    return _plane(
        Plane(spots, "sensitivity", "consistency", x_ends=(0.0, 1.0), y_ends=(0.0, 1.0), order=order)
    )


def _plane(plane: Plane) -> Drawing:
    """What draws the panels of a page."""

    def draw(sheet: Sheet) -> Any:
        panels = list(dict.fromkeys(spot.panel for spot in plane.spots))
        beside = sheet.columns or max(1, min(len(panels), int((sheet.width - 10) // _PLANE)))
        high = min(250.0, 1.05 * (sheet.width / beside - 76))
        series = list(dict.fromkeys([*plane.order, *(spot.series for spot in plane.spots)]))
        kept, _ = sheet.shown(panels, _PLANE, high + _AROUND, 24 + 19 * (len(series) // 3))
        spots = [spot for spot in plane.spots if spot.panel in kept]
        own = replace(plane, spots=spots, order=series, beside=sheet.columns, high=high)
        return draw_plane(own, width=sheet.width)

    return draw


def sensitivities(answers: Answers) -> Any:
    """The items' sensitivity, a violin a strategy, and below it each class's, a colour a strategy."""
    rows = []
    for one, model, level, frame in each_strategy(answers):
        names = {label.code: label.name for label in one.labels.labels}
        for code, (s, _) in class_points(one, frame)["own"].items():
            if s is not None:
                rows.append({"panel": f"{one.name}, {model}", "x": names[code], "y": s, "series": level})
    values = _values(answers, "sensitivity of items")

    parts = (partial(_violins, values), partial(_bars, rows, "sensitivity"))

    def draw(sheet: Sheet) -> Any:
        """Pages of violins for the strategies, then those of the classes."""
        counts = [probe.pages for part in parts if part(probe := Sheet(sheet.width, sheet.columns))]
        sheet.check(sum(counts))
        second = sheet.page > counts[0]
        return parts[second](replace(sheet, page=sheet.page - second * counts[0]))

    return draw


def consistencies(answers: Answers) -> Any:
    """The consistency of pairs of items of one class, a violin a strategy."""
    return partial(_violins, _values(answers, "consistency of pairs"))


def _values(answers: Answers, what: str) -> list[dict[str, Any]]:
    values = [
        {"panel": what, "strategy": f"{one.name}, {model}, {level}", "value": float(value)}
        for one, model, level, frame in each_strategy(answers)
        for value in violin_values(one, frame)[what]
    ]
    return values or _nothing(what, "a prompt in several phrasings is needed")


def _violins(rows: list[dict[str, Any]], sheet: Sheet) -> Any:
    levels, beside = sheet.shown(list(dict.fromkeys(row["strategy"] for row in rows)), _VIOLIN, 200 + _AROUND)
    rows = [row for row in rows if row["strategy"] in levels]
    each = int(sheet.width / beside) - 40
    header = alt.Header(labelExpr="split(datum.label, ', ')", labelLimit=each + 30, labelFontSize=TEXT)
    return (
        alt.Chart(inline(rows))
        .transform_density("value", as_=["value", "density"], extent=[0, 1], groupby=["strategy"])
        .mark_area(orient="horizontal", color=DATA[0])
        .encode(
            x=alt.X("density:Q", stack="center", axis=None),
            y=alt.Y("value:Q", title=rows[0]["panel"]),
            facet=alt.Facet("strategy:N", title=None, sort=levels, columns=beside, header=header),
        )
        .properties(width=each, height=200)
    )


def matrices(answers: Answers) -> Any:
    """The consistency of each pair of items of a class, and below it how its values are distributed."""
    places = [
        (f"{label.name}: {one.name}, {model}, {level}", label, one, frame)
        for one, model, level, frame in each_strategy(answers)
        for label in one.labels.labels
    ]

    def draw(sheet: Sheet) -> Any:
        chosen = [
            place
            for place in places
            if not sheet.classes or {place[1].code, place[1].name} & {*sheet.classes}
        ]
        made = {panel: class_matrix(one, frame, label.code) for panel, label, one, frame in chosen}
        names = {panel: label.name for panel, label, *_ in chosen}
        kept, beside = sheet.shown(
            [panel for panel in made if made[panel] is not None], 168, 220 + 90 + _AROUND
        )
        squares, rows, headings = [], [], {}
        for panel in kept or _nothing("figure 4", "no class has several items"):
            headings[panel] = panel.removeprefix(f"{names[panel]}: ")
            matrix = made[panel].matrix
            for index, line in enumerate(matrix[:_MATRIX, :_MATRIX]):
                squares += [Square(str(index), str(to), float(c), panel=panel) for to, c in enumerate(line)]
            shares, starts = np.histogram(matrix, bins=20, range=(0, 1))
            for n, start in zip(shares, starts, strict=False):
                row = {"x": float(start), "end": float(start) + 0.05, "y": n / matrix.size}
                rows.append({"panel": panel, "class": names[panel], "under": headings[panel], **row})
        side = min(150.0, sheet.width / beside - 40)
        grid = Grid(squares, named=False, names=names, headings=headings, side=side)
        return alt.vconcat(
            draw_grid(grid, width=int(beside * (side + 30))), _histograms(rows, beside, sheet.width)
        )

    return draw


def lines(kind: FigureKind, table: PublishedTable) -> Any:
    """Lines over a number, with their bands; the panels with the highest mean first."""
    spots = _spots(kind, table)
    panels: dict[str, list[float]] = {}
    for spot in spots:
        panels.setdefault(spot.panel, []).append(spot.y)
    spots.sort(key=lambda one: -float(np.mean(panels[one.panel])))
    guides = [Guide("dashed: 0.8", 0.8)] if "PSS" in kind.y[0] else []
    return _plane(Plane(spots, kind.x, kind.y[0], joined=True, guides=guides))


def points(kind: FigureKind, table: PublishedTable) -> Any:
    """Points with their names; of more than two that lie on each other, the first's and how many more."""
    there: dict[tuple[str, float, float], list[Spot]] = {}
    for spot in _spots(kind, table):
        there.setdefault((spot.panel, spot.x, spot.y), []).append(spot)
    spots = []
    for some in there.values():
        several = len({spot.series for spot in some}) > 1
        names = [f"{spot.series}, {spot.name}" if several else spot.name for spot in some]
        name = "; ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} others"
        spots.append(replace(some[0], name=name))
    lone = {spot.x for spot in spots}
    ends = (0.0, 2 * max(lone)) if len(lone) == 1 and max(lone) > 0 else None
    return _plane(Plane(spots, kind.x, _title(kind), x_ends=ends))


def bars(kind: FigureKind, table: PublishedTable, answers: Answers) -> Any:
    """A bar a number, in groups, a panel beside a panel; dashed where chance alone gets there."""
    chance = (
        {one.name: 1 / len(one.labels.codes) for one in answers}
        if any(name.startswith("accuracy") for name in kind.y)
        else {}
    )
    rows = [
        {
            "panel": panel,
            "x": str(row[kind.x]),
            "y": value,
            "series": name.removeprefix("accuracy by "),
            "chance": chance.get(str(row.get("data set"))),
        }
        for panel, row, name, value in _numbers(kind, table)
    ]
    return partial(_bars, rows, _title(kind))


def _bars(rows: list[dict[str, Any]], up: str, sheet: Sheet) -> Any:
    series = list(dict.fromkeys(row["series"] for row in rows))
    own = _by_panel(rows)
    tallest = max((14 * len(some) for some in own.values()), default=0)
    kept, beside = sheet.shown(list(own), _BAR, max(40, tallest) + _AROUND, 19 * (1 + len(series) // 3))
    each = int(sheet.width / beside) - 110
    colours = alt.Scale(domain=series, range=DATA[: len(series)])
    panels = []
    for panel in kept:
        across = options(domain=[0, 1])
        shape = (
            alt.Chart(inline(own[panel]))
            .mark_bar()
            .encode(
                x=alt.X("y:Q", scale=across, axis=options(title=up, tickCount=4)),
                y=alt.Y("x:N", sort=None, title=None, axis=options(labelLimit=90)),
                yOffset=alt.YOffset("series:N", sort=series),
                color=alt.Color("series:N", legend=None, scale=colours),
            )
        )
        chance = own[panel][0].get("chance")
        if chance is not None:
            rule = alt.Chart(inline([{"y": chance}])).mark_rule(strokeDash=[4, 3], color=SOFT)
            shape = shape + rule.encode(x=alt.X("y:Q", scale=across))
        heading = panel_heading(panel, "" if chance is None else f"dashed: chance, {chance:.2f}", each + 60)
        panels.append(shape.properties(width=each, height=max(40, 14 * len(own[panel])), title=heading))
    head = [legend(series, sheet.width, solid=True)] if len(series) > 1 else []
    return alt.vconcat(*head, *_in_lines(panels, beside))


def _in_lines(panels: Sequence[Any], beside: int) -> list[Any]:
    return [alt.hconcat(*panels[index : index + beside]) for index in range(0, len(panels), beside)]


def _histograms(rows: list[dict[str, Any]], beside: int, width: int) -> Any:
    each = min(150, int(width / beside) - 60)
    panels = []
    for own in _by_panel(rows).values():
        shape = (
            alt.Chart(inline(own))
            .mark_bar(color=DATA[0])
            .encode(
                x=alt.X("x:Q", bin="binned", axis=options(title="consistency", tickCount=3)),
                x2="end:Q",
                y=alt.Y(
                    "y:Q", scale=options(domain=[0, 1]), axis=options(title="share of pairs", tickCount=3)
                ),
            )
        )
        heading = panel_heading(own[0]["class"], own[0]["under"], each + 40)
        panels.append(shape.properties(width=each, height=90, title=heading))
    return alt.vconcat(*_in_lines(panels, beside))


def heat(kind: FigureKind, table: PublishedTable) -> Any:
    """A number a square: darker where it is larger."""
    panels: dict[str, list[Square]] = {}
    for panel, row, _, value in _numbers(kind, table):
        names = ", ".join(str(row[name]) for name in kind.series)
        square = Square(names, str(row[kind.x]), value, f"{value:.2f}", panel)
        panels.setdefault(panel, []).append(square)
    return partial(_heat, panels)


def _heat(panels: dict[str, list[Square]], sheet: Sheet) -> Any:
    tallest = max(len({square.row for square in squares}) for squares in panels.values())
    kept, _ = sheet.shown(list(panels), sheet.width, 27 * (tallest + 1) + 60)
    drawn = [
        draw_grid(Grid(panels[panel]), width=sheet.width).properties(
            title=panel_heading(panel, "", sheet.width)
        )
        for panel in kept
    ]
    return alt.vconcat(*drawn)


def _title(kind: FigureKind) -> str:
    """What the numbers are."""
    return kind.y[-1].removesuffix(", paper").partition(" by ")[0]


def _by_panel(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    result: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        result.setdefault(row["panel"], []).append(row)
    return result


def _spots(kind: FigureKind, table: PublishedTable) -> list[Spot]:
    """A point a number, with its interval and its names."""
    spots = []
    for panel, row, column, value in _numbers(kind, table):
        low, high = (_number(row.get(f"{kind.ends} {end}")) for end in ("low", "high"))
        across = _number(row[kind.x])
        if across is None:
            continue
        coloured, named = kind.series, kind.name
        if "*" in named:
            words = [name for name in row if isinstance(row[name], str) and name not in kind.panel]
            coloured, named = words[:-1], words[-1:]
        series = ", ".join(str(row[one]) for one in coloured) or column
        name = ", ".join(str(row[one]) for one in named)
        spots.append(Spot(across, value, low, high, panel=panel, series=series, name=name))
    return spots or _nothing(f"figure {kind.number}", f"no {kind.x}")


def _numbers(kind: FigureKind, table: PublishedTable) -> Iterator[tuple[str, dict[str, Any], str, float]]:
    """Each number that is drawn: its panel, its row, its column and its value."""
    columns = [full for name in kind.y for full in columns_like(table, name)]
    for row in table.rows():
        if all(str(row[name]) in some for name, some in kind.only.items()):
            for column in columns:
                value = _number(row.get(column))
                if value is not None:
                    yield ", ".join(str(row[name]) for name in kind.panel), row, column, value


def _number(value: Any) -> float | None:
    """A cell's number; none of a cell without one."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def stated_over_token(answers: Answers) -> Any:
    """Reliability of stated over token confidence: right answers against confidence, a panel a model.

    As in the paper, over the prompts under which enough answers state a confidence, in one of the phrasings.
    """
    spots = []
    for one, model in each_model(answers):
        stated = {name: kept_prompts(one, model, name)[1] for name in evaluators(one, "verbal_confidence")}
        kept = [frame.select("variant") for frame in stated.values()]
        token = {
            name: by_evaluator(one, name, model).join(pl.concat(kept), on="variant", how="semi")
            for name in (evaluators(one, "logprob", normalised=True) if kept else ())
        }
        for name, frame in (stated | token).items():
            spots += _reliable(one, frame, f"{one.name}, {model}", name)
    plane = Plane(
        spots or _nothing("stated and token confidence", "no answer states a confidence"),
        "confidence",
        "right answers",
        x_ends=(0.0, 1.0),
        y_ends=(0.0, 1.0),
        percent="xy",
        guides=[Guide("as sure as right")],
    )
    return _plane(plane)


def _reliable(one: Any, frame: Any, panel: str, series: str) -> list[Spot]:
    return [
        Spot(at["confidence"], at["right"], at["right_low"], at["right_high"], panel=panel, series=series)
        for at in reliability(one, frame)
    ]


@guarded
def save(chart: Any, path: Path) -> None:
    """Write a chart: SVG, PNG or PDF, by the file's ending."""
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


def _nothing(where: str, notes: str) -> NoReturn:
    raise QuaverError("there is nothing to draw", where=where, found=notes or "no rows")


def drawing(kind: FigureKind, answers: Answers, table: PublishedTable | None) -> Drawing:
    """What draws the pages of a figure."""
    there = any(True for _ in _numbers(kind, table)) if table is not None else bool(answers)
    if not there:
        _nothing(f"figure {kind.number}", " ".join(table.notes) if table is not None else "")
    draw = globals()[kind.draw]
    if table is None:
        return cast("Drawing", draw(answers))
    return cast("Drawing", draw(kind, table, answers) if draw is bars else draw(kind, table))
