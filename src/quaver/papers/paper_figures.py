"""The figures that go with the papers' tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

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
from quaver.report.charts.forms import Reference, columns, forest, grid, plane
from quaver.report.charts.specification import stacked
from quaver.report.charts.svg import svg_text

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
Row = dict[str, Any]

_HEAD = 70
"""What a figure's title and its margins take, in pixels."""
_SERIES = {"": "the model's answers", "noisy ": "half of them swapped", "random ": "drawn at random"}
_PLANE, _VIOLIN, _BAR, _SIDE = 266, 160, 240, 168
"""Pixels that a panel needs, so that there is room for its name."""
_AROUND = 90
"""What a panel's name and its axis take above and below it."""
_MATRIX = 60
"""Items of a class that a matrix shows."""


def _paged(
    rows: Sequence[Row], form: Callable[..., Any], wide: float, tall: float | None = None, **look: Any
) -> Drawing:
    """What draws the pages of a form's panels, each so wide and high."""

    def draw(sheet: Sheet) -> Any:
        panels = list(dict.fromkeys(row["panel"] for row in rows))
        beside = sheet.columns or max(1, min(len(panels), int((sheet.width - 10) // wide)))
        own = {**look, "beside": beside}
        if tall is None:
            own["high"] = min(250.0, 1.05 * (sheet.width / beside - 76))
        series = {row.get("series", "") for row in rows}
        kept, _ = sheet.shown(
            panels, sheet.width / beside, (tall or own["high"]) + _AROUND, 24 + 19 * (len(series) // 3)
        )
        some = [row for row in rows if row["panel"] in kept]
        return form(some, **own, width=sheet.width)

    return draw


def _plane(rows: Sequence[Row], across: str, up: str, **look: Any) -> Drawing:
    return _paged(rows, plane, _PLANE, across=across, up=up, **look)


def beside_noise(kind: FigureKind, table: PublishedTable) -> Any:
    """S against C of each row, beside those of noisy and of random answers."""
    rows = []
    for panel, row, _, _ in _numbers(kind, table):
        for before, series in _SERIES.items():
            x, y = (_number(row[before + name]) for name in (kind.x, *kind.y))
            if x is not None and y is not None:
                name = "" if before else ", ".join(str(row[one]) for one in kind.name)
                where = {"panel": panel, "series": series, "name": name, "size": 38 if kind.name else 20}
                rows.append({"x": x, "y": y, **where})
    rows = rows or _nothing(f"figure {kind.number}", "no row has both S and C")
    ends = (0.0, 1.0)
    return _plane(rows, "sensitivity", "consistency", x_ends=ends, y_ends=ends, order=[*_SERIES.values()])


def sensitivities(answers: Answers) -> Any:
    """The items' sensitivity, a violin a strategy, and below it each class's, a colour a strategy."""
    rows = []
    for one, model, level, frame in each_strategy(answers):
        names = {label.code: label.name for label in one.labels.labels}
        for code, (s, _) in class_points(one, frame)["own"].items():
            if s is not None:
                rows.append(
                    {"panel": f"{one.name}, {model}", "row": names[code], "value": s, "series": level}
                )
    parts = (_violins(answers, "sensitivity of items"), _dots(rows, "sensitivity"))

    def draw(sheet: Sheet) -> Any:
        """Pages of violins for the strategies, then those of the classes."""
        counts = [probe.pages for part in parts if part(probe := Sheet(sheet.width, sheet.columns))]
        sheet.check(sum(counts))
        second = sheet.page > counts[0]
        return parts[second](replace(sheet, page=sheet.page - second * counts[0]))

    return draw


def consistencies(answers: Answers) -> Any:
    """The consistency of pairs of items of one class, a violin a strategy."""
    return _violins(answers, "consistency of pairs")


def _violins(answers: Answers, what: str) -> Drawing:
    values = [
        {"panel": f"{one.name}, {model} · {level}", "value": float(value)}
        for one, model, level, frame in each_strategy(answers)
        for value in violin_values(one, frame)[what]
    ]
    values = values or _nothing(what, "a prompt in several phrasings is needed")
    return _paged(values, columns, _VIOLIN, 200, smooth=True, high=200, up=what)


def matrices(answers: Answers) -> Any:
    """The consistency of each pair of items of a class, and below it how its values are distributed."""
    places = [
        (f"{one.name}, {model}, {level}", label, one, frame)
        for one, model, level, frame in each_strategy(answers)
        for label in one.labels.labels
    ]

    def draw(sheet: Sheet) -> Any:
        made: dict[str, tuple[str, str, Any]] = {}
        for at, (described, label, one, frame) in enumerate(places):
            if not sheet.classes or {label.code, label.name} & {*sheet.classes}:
                matrix = class_matrix(one, frame, label.code)
                made |= {str(at): (label.name, described, matrix[1])} if matrix is not None else {}
        kept, fit = sheet.shown(list(made), _SIDE, 220 + 90 + _AROUND)
        squares: list[Row] = []
        counts: list[Row] = []
        for panel in kept or _nothing("figure 4", "no class has several items"):
            matrix = made[panel][2]
            for index, line in enumerate(matrix[:_MATRIX, :_MATRIX]):
                squares += [
                    {"row": index, "column": to, "value": float(c), "panel": panel}
                    for to, c in enumerate(line)
                ]
            shares, starts = np.histogram(matrix, bins=20, range=(0, 1))
            counts += [
                {"panel": panel, "low": float(low), "high": float(low) + 0.05, "count": n / matrix.size}
                for n, low in zip(shares, starts, strict=False)
            ]
        side = min(150.0, sheet.width / fit - 40)
        names = {panel: made[panel][0] for panel in kept}
        under = {panel: made[panel][1] for panel in kept}
        look = {"names": names, "under": under}
        above = grid(squares, named=False, side=side, width=int(fit * (side + 30)), **look)
        below = columns(
            counts, across="consistency", up="share of pairs", beside=fit, width=sheet.width, names=names
        )
        return stacked(above, below)

    return draw


def lines(kind: FigureKind, table: PublishedTable) -> Any:
    """Lines over a number, with their bands; the panels with the highest mean first."""
    rows = _spots(kind, table)
    panels: dict[str, list[float]] = {}
    for row in rows:
        panels.setdefault(row["panel"], []).append(row["y"])
    rows.sort(key=lambda row: -float(np.mean(panels[row["panel"]])))
    references = [Reference(0.8, "dashed: 0.8")] if "PSS" in kind.y[0] else []
    return _plane(rows, kind.x, kind.y[0], joined=True, references=references)


def points(kind: FigureKind, table: PublishedTable) -> Any:
    """Points with their names; of more than two that lie on each other, the first's and how many more."""
    there: dict[tuple[str, float, float], list[Row]] = {}
    for row in _spots(kind, table):
        there.setdefault((row["panel"], row["x"], row["y"]), []).append(row)
    rows = []
    for some in there.values():
        several = len({row["series"] for row in some}) > 1
        names = [f"{row['series']}, {row['name']}" if several else row["name"] for row in some]
        name = "; ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} others"
        rows.append({**some[0], "name": name})
    lone = {row["x"] for row in rows}
    ends = (0.0, 2 * max(lone)) if len(lone) == 1 and max(lone) > 0 else None
    return _plane(rows, kind.x, _title(kind), x_ends=ends)


def bars(kind: FigureKind, table: PublishedTable, answers: Answers) -> Any:
    """A dot a number, in rows, a panel beside a panel; dashed where chance alone gets there."""
    rows = [
        {"panel": panel, "row": str(row[kind.x]), "value": value, "series": name.removeprefix("accuracy by ")}
        for panel, row, name, value in _numbers(kind, table)
    ]
    chance = {one.name: 1 / len(one.labels.codes) for one in answers}
    of = {panel: chance.get(str(row.get("data set"))) for panel, row, _, _ in _numbers(kind, table)}
    accuracy = any(name.startswith("accuracy") for name in kind.y)
    references = [
        Reference(value, f"dashed: chance, {value:.2f}", panel)
        for panel, value in of.items()
        if value and accuracy
    ]
    return _dots(rows, _title(kind), references)


def _dots(rows: Sequence[Row], up: str, references: Sequence[Reference] = ()) -> Drawing:
    step = max(19.0, 7.0 * len({row["series"] for row in rows}) + 3)
    tallest = step * len({row["row"] for row in rows})
    return _paged(rows, forest, _BAR, tallest, axis=up, domain=(0.0, 1.0), references=references, step=step)


def heat(kind: FigureKind, table: PublishedTable) -> Any:
    """A number a square: darker where it is larger."""
    rows = [
        {
            "row": ", ".join(str(row[name]) for name in kind.series),
            "column": str(row[kind.x]),
            "value": value,
            "text": f"{value:.2f}",
            "panel": panel,
        }
        for panel, row, _, value in _numbers(kind, table)
    ]
    tallest = len({row["row"] for row in rows})

    def draw(sheet: Sheet) -> Any:
        kept, _ = sheet.shown(
            list(dict.fromkeys(str(row["panel"]) for row in rows)), sheet.width, 27 * tallest + _AROUND
        )
        return grid([row for row in rows if row["panel"] in kept], width=sheet.width)

    return draw


def _title(kind: FigureKind) -> str:
    """What the numbers are."""
    return kind.y[-1].removesuffix(", paper").partition(" by ")[0]


def _spots(kind: FigureKind, table: PublishedTable) -> list[Row]:
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
        where = {"panel": panel, "series": series, "name": name}
        spots.append({"x": across, "y": value, "low": low, "high": high, **where})
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
    rows = spots or _nothing("stated and token confidence", "no answer states a confidence")
    references = [Reference(None, "dashed: as sure as right")]
    look: dict[str, Any] = {
        "x_ends": (0.0, 1.0),
        "y_ends": (0.0, 1.0),
        "percent": "xy",
        "references": references,
    }
    return _plane(rows, "confidence", "right answers", **look)


def _reliable(one: Any, frame: Any, panel: str, series: str) -> list[Row]:
    where = {"panel": panel, "series": series}
    return [
        {"x": at["confidence"], "y": at["right"], "low": at["right_low"], "high": at["right_high"], **where}
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
