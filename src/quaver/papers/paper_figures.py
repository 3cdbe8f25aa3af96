"""The figures that go with the papers' tables."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quaver.core.annotations import rows_with
from quaver.core.arguments import guarded
from quaver.core.rows import grouped
from quaver.errors import QuaverError, StoreError
from quaver.papers.paper_answers import Answers, each_model
from quaver.papers.published_table import FigureKind
from quaver.papers.reliability_tables import by_evaluator, evaluators, kept_prompts, reliability
from quaver.papers.sensitivity_tables import class_matrix, each_strategy, item_points, pair_values
from quaver.report.charts.forms import columns, forest, grid, plane
from quaver.report.charts.specification import Spec, stacked
from quaver.report.charts.svg import FORMATS, plain_svg, svg_text

PAGE = 960
"""How high a page is, in pixels, where it is 720 wide."""
_HEAD = 70
"""What a figure's title and its margins take, in pixels."""
_AROUND = 90
"""What a panel's name and its axis take above and below it."""
_LEAST = 110
"""Pixels without which a panel shows nothing."""
_PLANE, _VIOLIN, _BAR, _SIDE = 266, 160, 236, 168
"""Pixels that a panel needs, so that there is room for its name."""
_MATRIX = 60
"""Items of a class that a matrix shows."""
_SERIES = {"": "the model's answers", "noisy ": "half of them swapped", "random ": "drawn at random"}

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Panels:
    """A figure before it is cut into pages.

    Attributes:
        form: Draws rows, given ``beside``, ``high``, ``width`` and the look.
        rows: What is drawn, each in its panel.
        room: The pixels that a panel needs.
        high: How high a panel is, in pixels, or each of its rows; a panel is about as high as wide if None.
        look: What else the form is given.
    """

    form: Callable[..., Spec]
    rows: Rows
    room: float
    high: float | None = None
    look: Mapping[str, Any] = field(default_factory=dict)

    def page(self, width: int, columns: int | None, number: int) -> tuple[Spec, int]:
        """The drawing of a page, and how many pages there are.

        Args:
            width: Of the figure, in pixels.
            columns: Panels side by side, no narrower than can be drawn; as many as have room if None.
            number: Of the page, from 1.

        Raises:
            QuaverError: There is no such page.
        """
        panels = grouped(self.rows, itemgetter("panel"))
        room = min(self.room, _LEAST) if columns else self.room
        beside = min(len(panels), columns or len(panels), max(1, int((width - 10) // room)))
        left = PAGE - _HEAD - 24 - 19 * (len(_names(self.rows, "series")) // 3)
        pages: list[list[Mapping[str, Any]]] = []
        on_page, most = 0, 0
        for rows in panels.values():
            page = [*pages[-1], *rows] if pages else rows
            most = max(most, len(_names(rows, "row")))
            alike = len(_names(page, "row")) == most  # they share an axis
            lines = -(-(on_page + 1) // beside)
            if pages and alike and lines * (self._high(most, width / beside) + _AROUND) <= left:
                pages[-1], on_page = page, on_page + 1
            else:
                pages.append(rows)
                on_page, most = 1, len(_names(rows, "row"))
        if number > len(pages):
            expected = f"1 to {len(pages)}"
            raise QuaverError(
                "the figure has no such page", where="page", expected=expected, found=str(number)
            )
        shown = pages[number - 1]
        lines = max(len(_names(rows, "row")) for rows in grouped(shown, itemgetter("panel")).values())
        high = self._high(lines, width / beside)
        return self.form(shown, beside=beside, high=high, width=width, **self.look), len(pages)

    def _high(self, rows: int, wide: float) -> float:
        """How high a panel with so many rows is."""
        return (self.high or min(250.0, 1.05 * (wide - 76))) * (rows if self.form is forest else 1)


def _names(rows: Rows, key: str) -> set[Any]:
    return {row.get(key) for row in rows}


def beside_noise(kind: FigureKind, answers: Answers, table: Rows) -> Panels:
    """S against C of each row, beside those of noisy and of random answers."""
    rows = []
    for panel, row, _, _ in _numbers(kind, table):
        for before, series in _SERIES.items():
            x, y = (_number(row[before + name]) for name in (kind.x, *kind.y))
            if x is not None and y is not None:
                name = "" if before else _text(row, kind.name)
                size = 38 if kind.name else 20
                rows.append({"panel": panel, "series": series, "name": name, "size": size, "x": x, "y": y})
    ends = (0.0, 1.0)
    look: dict[str, Any] = {"x_ends": ends, "y_ends": ends, "order": [*_SERIES.values()]}
    return Panels(plane, rows, _PLANE, look={"across": "sensitivity", "up": "consistency", **look})


def violins(kind: FigureKind, answers: Answers, table: Rows) -> Panels:
    """The sensitivity of items, or the consistency of pairs of items of one class: a violin a strategy."""
    rows: list[Row] = []
    for study, model, level, frame in each_strategy(answers):
        panel = f"{study.name}, {model} · {level}"
        values = pair_values(study, frame)
        if "items" in kind.y[0]:
            values = item_points(study, frame)["sensitivity"].drop_nulls().to_numpy()
        rows += [{"panel": panel, "value": value} for value in values.tolist()]
    return Panels(columns, rows, _VIOLIN, 200, {"smooth": True, "up": kind.y[0]})


def class_sensitivities(kind: FigureKind, answers: Answers, table: Rows) -> Panels:
    """Each class's sensitivity, a colour a strategy."""
    rows = []
    for study, model, level, frame in each_strategy(answers):
        names = {label.code: label.name for label in study.labels.labels}
        for estimate in study.points("sensitivity", frame, by=["gold"], convention="paper"):
            code = estimate.cell.get("gold")
            if code is not None and estimate.value is not None:
                panel = f"{study.name}, {model}"
                rows.append({"panel": panel, "row": names[code], "value": estimate.value, "series": level})
    return _dots(rows, "sensitivity")


def matrices(kind: FigureKind, answers: Answers, table: Rows) -> Panels:
    """The consistency of each pair of items of a class, and below it how its values are distributed."""
    rows = []
    for study, model, level, frame in each_strategy(answers):
        for label in study.labels.labels:
            matrix = class_matrix(study, frame, label.code)
            if matrix is not None:
                items = len(matrix[1])
                some = f", {_MATRIX} of {items} items" if items > _MATRIX else ""
                panel = f"{label.name}{some} · {study.name}, {model}, {level}"
                rows.append({"panel": panel, "matrix": matrix[1]})
    return Panels(_squares_and_counts, rows, _SIDE, 220 + 90)


def _squares_and_counts(rows: Rows, *, beside: int, high: float, width: int) -> Spec:
    """Matrices, and below them the histograms of their values."""
    squares: list[Row] = []
    counts: list[Row] = []
    for row in rows:
        shown = row["matrix"][:_MATRIX, :_MATRIX]
        for (line, column), value in np.ndenumerate(shown):
            squares.append({"panel": row["panel"], "row": line, "column": column, "value": float(value)})
        numbers, starts = np.histogram(row["matrix"], bins=20, range=(0, 1))
        for number, low in zip(numbers / row["matrix"].size, starts.tolist(), strict=False):
            counts.append({"panel": row["panel"], "low": low, "high": low + 0.05, "count": float(number)})
    side = min(150.0, width / beside - 40)
    above = grid(squares, named=False, high=side, beside=beside, width=width)
    wide = round(beside * (side + 54) + 10)  # so that each histogram is below its matrix
    below = columns(counts, across="consistency", up="share of pairs", beside=beside, width=wide)
    return stacked(above, below)


def lines(kind: FigureKind, answers: Answers, table: Rows) -> Panels:
    """Lines over a number, with their bands; panels of scores from the highest average to the lowest."""
    spots = _spots(kind, table)
    look: dict[str, Any] = {"across": kind.x, "up": kind.y[0], "joined": True}
    if "PSS" in kind.y[0]:
        means = {}
        for panel, some in grouped(spots, itemgetter("panel")).items():
            scores = [row["y"] for row in some if row["series"] == spots[0]["series"]]
            means[panel] = np.mean(scores or [-1.0])
        spots.sort(key=lambda row: -means[row["panel"]])
        look["references"] = [(0.8, "dashed: 0.8", None)]
    return Panels(plane, spots, _PLANE, look=look)


def points(kind: FigureKind, answers: Answers, table: Rows) -> Panels:
    """Points with their names; of many that lie on each other, the first's and how many more."""
    rows = []
    for some in grouped(_spots(kind, table), itemgetter("panel", "x", "y")).values():
        shown = ("series", "name") if len(_names(some, "series")) > 1 else ("name",)
        names = [_text(row, shown) for row in some]
        name = "; ".join(names)
        if len(names) > 2 and len(name) > 24:
            name = f"{names[0]} and {len(names) - 1} others"
        rows.append({**some[0], "name": name})
    lone = _names(rows, "x")
    ends = (0.0, 2 * max(lone)) if len(lone) == 1 and max(lone) > 0 else None
    return Panels(plane, rows, _PLANE, look={"across": kind.x, "up": _title(kind), "x_ends": ends})


def bars(kind: FigureKind, answers: Answers, table: Rows) -> Panels:
    """A dot a number, in rows, a panel beside a panel; dashed where chance alone gets there."""
    rows: list[Row] = []
    references: dict[tuple[float, str, str | None], None] = {}
    codes = {answer.name: answer.labels.codes for answer in answers}
    accuracy = any(name.startswith("accuracy") for name in kind.y)
    for panel, row, name, value in _numbers(kind, table):
        series = name.removeprefix("accuracy by ")
        rows.append({"panel": panel, "row": str(row[kind.x]), "value": value, "series": series})
        if accuracy and row.get("data set") in codes:
            guessed = 1 / len(codes[row["data set"]])
            references[guessed, f"dashed: chance, {guessed:.2f}", panel] = None
    return _dots(rows, _title(kind), references=list(references))


def _dots(rows: Rows, axis: str, **look: Any) -> Panels:
    step = max(19.0, 7.0 * len(_names(rows, "series")) + 3)
    return Panels(forest, rows, _BAR, step, {"axis": axis, "domain": (0.0, 1.0), **look})


def heat(kind: FigureKind, answers: Answers, table: Rows) -> Panels:
    """A number a square: darker where it is larger."""
    rows = []
    for panel, row, _, value in _numbers(kind, table):
        where = {"row": _text(row, kind.series), "column": str(row[kind.x])}
        rows.append({"panel": panel, **where, "value": value, "text": f"{value:.2f}"})
    return Panels(grid, rows, 10_000, 27.0 * len(_names(rows, "row")))


def stated_over_token(kind: FigureKind, answers: Answers, table: Rows) -> Panels:
    """Reliability of stated over token confidence: right answers against confidence, a panel a model.

    As in the paper, over the prompts under which enough answers state a confidence, in one of the phrasings.
    """
    rows = []
    for study, model in each_model(answers):
        frames, kept = dict[str, pl.DataFrame](), list[str]()
        for name in evaluators(study, "verbal_confidence"):
            frames[name] = kept_prompts(study, model, name)[1]
            kept.extend(frames[name]["variant"].cast(pl.String).unique())
        for name in evaluators(study, "logprob") if frames else ():
            frames[name] = rows_with(by_evaluator(study, name, model), "variant", kept)
        for name, frame in frames.items():
            for part in reliability(frame):
                interval = {"low": part["right_low"], "high": part["right_high"]}
                where: Row = {"panel": f"{study.name}, {model}", "series": name}
                rows.append({**where, "x": part["confidence"], "y": part["right"], **interval})
    ends = (0.0, 1.0)
    perfect = [(None, "dashed: perfect calibration", None)]
    look: dict[str, Any] = {"x_ends": ends, "y_ends": ends, "percent": "xy", "references": perfect}
    return Panels(plane, rows, _PLANE, look={"across": "confidence", "up": "right answers", **look})


def _title(kind: FigureKind) -> str:
    """What the numbers are."""
    return kind.y[-1].removesuffix(", paper").partition(" by ")[0]


def _spots(kind: FigureKind, table: Rows) -> list[Row]:
    """A point a number, with its interval and its names."""
    spots = []
    for panel, row, column, value in _numbers(kind, table):
        across = _number(row[kind.x])
        if across is None:
            continue
        coloured, named = kind.series, kind.name
        if "*" in named:
            words = [name for name in row if isinstance(row[name], str) and name not in kind.panel]
            coloured, named = words[:-1], words[-1:]
        ends = {end: _number(row.get(f"{kind.ends} {end}")) for end in ("low", "high")}
        where = {"panel": panel, "series": _text(row, coloured) or column, "name": _text(row, named)}
        spots.append({**where, "x": across, "y": value, **ends})
    return spots


def _text(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(str(row[name]) for name in names)


def _numbers(kind: FigureKind, table: Rows) -> Iterator[tuple[str, Mapping[str, Any], str, float]]:
    """Each number that is drawn: its panel, its row, its column and its value."""
    for row in table:
        if any(str(row[name]) not in some for name, some in kind.only.items()):
            continue
        for name in kind.y:
            for column in fnmatch.filter(row, name) if name.endswith("*") else [name]:
                value = _number(row.get(column))
                if value is not None:
                    yield _text(row, kind.panel), row, column, value


def _number(value: Any) -> float | None:
    """A cell's number; none of a cell without one."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


@guarded
def save(chart: Any, path: Path) -> None:
    """Write a chart, or a picture as SVG: SVG, PNG or PDF, by the file's ending."""
    if path.suffix not in FORMATS:
        raise QuaverError(
            "a figure is not written in this format",
            where=str(path),
            expected="a name that ends in .svg, .png or .pdf",
            found=path.suffix or "no ending",
        )
    try:
        picture = chart if isinstance(chart, str) else svg_text(chart)
        path.write_bytes(FORMATS[path.suffix](plain_svg(picture)))
    except OSError as error:
        raise StoreError("the figure cannot be written", where=str(path), found=str(error)) from None
