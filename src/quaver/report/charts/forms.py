"""The forms that charts have: rows of plain dictionaries become a Vega-Lite specification.

Facets, legends, axes and scales are Vega-Lite's own. A row may have the keys ``panel``, ``series`` and
``about`` (what the page says of its mark) in every form, and those that the form's function names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from quaver.core.records import Estimate
from quaver.report.charts.specification import (
    BREAK,
    Drawing,
    Ends,
    Names,
    Row,
    Rows,
    Spec,
    fitted,
    text_width,
)
from quaver.report.estimate_index import Results
from quaver.report.page_words import sentence

Reference = tuple[float | None, str, str | None]
"""A dashed line: its value (the diagonal where it has none), its words, and its panel, None for all."""


def mark(estimate: Estimate, results: Results, **where: Any) -> Row:
    """An estimate as a row: its value, interval and words, and where it stands."""
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {**ends, "about": sentence(estimate, results), **where}


def _domain(values: Iterable[float | None], wanted: Ends | None, pad: float) -> list[float]:
    ends = [value for value in (*values, *(wanted or ())) if value is not None]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    if wanted and (low, high) == tuple(wanted):
        return [low, high]
    return [low - pad * (high - low), high + pad * (high - low)]


def _numbers(rows: Sequence[Row], *keys: str) -> list[float]:
    return [row[key] for row in rows for key in keys if row.get(key) is not None]


def _referred(drawn: Drawing, references: Sequence[Reference], key: str) -> tuple[list[Row], dict[str, str]]:
    """A row for each dashed line in each panel, and the note under each panel's name."""
    lines: list[Row] = []
    under: dict[str, list[str]] = {}
    for panel in drawn.values("panel"):
        under[panel] = []
        for value, words, where in references:
            if where in (None, panel):
                under[panel].append(words)
                lines.append({"panel": panel, key: value})
    kept = [line for line in lines if line[key] is not None]
    return kept, {panel: ", ".join(filter(None, words)) for panel, words in under.items()}


def forest(
    rows: Rows,
    axis: str,
    *,
    percent: bool = False,
    domain: Ends | None = None,
    references: Sequence[Reference] = (),
    order: Sequence[str] = (),
    names: Names | None = None,
    beside: int | None = None,
    high: float | None = None,
    width: int = 720,
) -> Spec:
    """Values with their intervals in rows, panels side by side.

    Args:
        rows: With ``value``, ``low``, ``high``, ``row`` and ``group``.
        axis: What the axis shows.
        percent: Whether values are shares.
        domain: Ends of the axis, widened where a mark lies outside.
        references: Lines to compare with.
        order: The panels from left to right; by default as they come.
        names: Printed names of panels, where these are not the names.
        beside: How many panels stand side by side; as many as fit if None.
        high: How high a panel is, in pixels; by default as its rows need.
        width: In pixels.
    """
    names = names or {}
    drawn = Drawing(rows, width)
    lined, under = _referred(drawn, references, "reference")
    if everywhere := [words for _, words, panel in references if panel is None and words]:
        under, axis = {}, f"{axis}; {', '.join(everywhere)}"
    lines, left = drawn.lines("row", 0.38 * width)
    drawn.add(lined)
    ends = _domain(_numbers(drawn.rows, "value", "low", "high", "reference"), domain, 0.03)
    panels = len(drawn.values("panel"))
    fit = max(1, min(panels, beside or int((width - left - 16) // 80)))
    each = (width - left - 16) / fit - 14
    headings = drawn.panels(order, names, under, each if fit > 1 else width - left)
    roomy = 19.0 if len(lines) <= 30 else 15.0
    title = fitted(axis, width - left)
    return drawn.spec(
        "forest",
        headings,
        fit=fit,
        spacing=14,
        each=each,
        height=high or len(lines) * max(roomy, 7.0 * len(drawn.series) + 3),
        lines=lines,
        room=each + (width - left - each if panels == 1 else 8),
        domain=ends,
        across=None if panels > 1 else title,
        below=title if panels > 1 else None,
        format="%" if percent else None,
        ticks=_shares(each) if percent and tuple(ends) == (0.0, 1.0) else None,
        count=3 if each < 180 else 5,
    )


def _shares(wide: float) -> list[float]:
    """Where an axis of shares so wide has ticks."""
    steps = 1 if wide < 90 else 2 if wide < 200 else 4
    return [at / steps for at in range(steps + 1)]


def plane(
    rows: Rows,
    across: str,
    up: str,
    *,
    joined: bool = False,
    x_ends: Ends | None = None,
    y_ends: Ends | None = None,
    percent: str = "",
    references: Sequence[Reference] = (),
    order: Sequence[str] = (),
    beside: int | None = None,
    high: float = 250,
    width: int = 720,
) -> Spec:
    """Values over values: points with their intervals, or lines with bands, in panels.

    Args:
        rows: With ``x``, ``y``, ``low``, ``high``, ``size``, and a ``name`` that stands beside the point.
        across: What the horizontal axis shows.
        up: What the vertical one shows.
        joined: Whether a series is a line.
        x_ends: Ends of the horizontal axis, widened where a point lies outside.
        y_ends: Of the vertical one.
        percent: Which axes show shares: any of ``"xy"``.
        references: Lines to compare with: at a height, or the diagonal.
        order: The series in the order of the legend.
        beside: How many panels stand side by side; as many as fit if None.
        high: How high a panel is, in pixels.
        width: In pixels.
    """
    drawn = Drawing(rows, width, order)
    levels, under = _referred(drawn, references, "level")
    for row in drawn.rows:
        row.setdefault("size", 38)
    numbers = _numbers(drawn.rows, "y")
    x_domain = _domain(_numbers(drawn.rows, "x"), x_ends, 0.04)
    heights = [*numbers, *_numbers(drawn.rows, "low", "high"), *_numbers(levels, "level")]
    y_domain = _domain(heights, y_ends, 0.04)
    panels = drawn.values("panel")
    fit = min(len(panels), beside or max(1, int((width - 10) // 266)))
    each = (width - 10) / fit - 66
    _named(drawn.rows, x_domain, y_domain, (each, high))
    if any(value is None for value, _, _ in references):
        corner = (max(x_domain[0], y_domain[0]), min(x_domain[1], y_domain[1]))
        levels += [{"panel": panel, "diagonal": end} for panel in panels for end in corner]
    several = len(drawn.series) > 1
    drawn.add(levels)
    return drawn.spec(
        "plane",
        drawn.panels((), {}, under, each),
        fit=fit,
        spacing=20,
        each=each,
        height=high,
        room=each + 12,
        x_domain=x_domain,
        y_domain=y_domain,
        across=fitted(across, each),
        up=fitted(up, high),
        x_format="%" if "x" in percent else None,
        y_format="%" if "y" in percent else None,
        x_count=_ticks(_numbers(drawn.rows, "x"), x_domain, 4 if each < 260 else 6),
        y_count=_ticks(numbers, y_domain, 5),
        joined=joined,
        apart=not joined,
        edged=joined and several,
        faint=0.07 if several else 0.16,
        named=any(drawn.values("name")),
    )


def _ticks(numbers: Sequence[float], domain: Sequence[float], most: int) -> int:
    """How many ticks an axis is to have: so few that each is whole where all its numbers are."""
    whole = domain[1] > 1.5 and all(float(number).is_integer() for number in numbers)
    return max(1, min(most, int(domain[1] - domain[0]))) if whole else most


def _named(rows: Sequence[Row], x: Sequence[float], y: Sequence[float], size: Ends) -> None:
    """Give names places where they lie on no other name of their panel; a line leads to one further off."""
    wide, high = size[0] / (x[1] - x[0]), size[1] / (y[1] - y[0])
    taken: list[tuple[str, float, float, float]] = []
    for row in sorted((row for row in rows if row.get("name")), key=lambda row: -row["y"]):
        row["name"] = fitted(row["name"], 0.45 * size[0])
        at, long = (row["x"] - x[0]) * wide, text_width(row["name"]) + 12
        row["turned"] = at > size[0] / 2
        start, usual = at - long * row["turned"], (row["y"] - y[0]) * high + 8
        across = [
            other
            for panel, first, last, other in taken
            if panel == row["panel"] and start < last and first < start + long
        ]
        for step in sorted(range(-12, 13), key=lambda step: (abs(step), step)):
            place = usual + 14 * step
            if 7 <= place <= size[1] - 7 and all(abs(place - other) >= 14 for other in across):
                break
        else:
            place = usual
        taken.append((row["panel"], start, start + long, place))
        row |= {"place": y[0] + place / high, "aside": abs(place - usual + 8) > 14}


def grid(
    rows: Rows, *, named: bool = True, beside: int = 1, high: float | None = None, width: int = 720
) -> Spec:
    """Numbers from 0 to 1 by row and column: the larger, the more colour.

    Args:
        rows: With ``row``, ``column``, ``value`` and ``text``.
        named: Whether rows and columns have their names beside them; panels then stand below each other.
        beside: How many panels of nameless rows stand side by side.
        high: How high a panel is, in pixels; by default as its rows need.
        width: In pixels.
    """
    drawn = Drawing(rows, width)
    lines, left = drawn.lines("row", 0.46 * width)
    columns = list(dict.fromkeys(map(str, drawn.values("column"))))
    longest = max(map(text_width, map(str, drawn.values("text")))) + 26
    each = min(max(92.0, longest) * len(columns), width - left - 16)
    each = each if named else high or 140.0
    keys = {
        name: f"{at}{BREAK}{drawn.short(name, each / len(columns) - 6)}" for at, name in enumerate(columns)
    }
    for row in drawn.rows:
        row["column"] = keys[str(row["column"])]
        row["shade"] = round(0.05 + 0.87 * min(1.0, max(0.0, row["value"])), 2)
    panels = len(drawn.values("panel"))
    result = drawn.spec(
        "grid",
        drawn.panels((), {}, {}, width - left if named else each),
        fit=1 if named else beside,
        spacing=18,
        each=each,
        height=high or 27 * len(lines),
        lines=lines,
        columns=list(keys.values()),
        room=width - left if named else each + 8,
        rim=1 if named else 0,
        labelled=named,
        written=named and len(drawn.rows) <= 400,
        resolve=None if panels < 2 else {"scale": {"x": "independent", "y": "independent"}},
    )
    if not named or panels > 1:
        encoding = result["spec"]["encoding"]
        for channel in ("x", "y"):  # each panel has lines and columns of its own
            del encoding[channel]["scale"]
            encoding[channel] |= {"sort": None, **({} if named else {"axis": None})}
    return result


def columns(
    rows: Rows,
    *,
    across: str | None = None,
    up: str | None = None,
    beside: int | None = None,
    high: float = 90,
    smooth: bool = False,
    width: int = 720,
) -> Spec:
    """Histograms, a panel beside a panel.

    Args:
        rows: With ``low``, ``high`` and ``count``; of smooth ones with a ``value``.
        across: What the horizontal axis shows.
        up: What the vertical one shows; each panel has its own numbers where it shows nothing.
        beside: How many panels stand side by side; as many as fit if None.
        high: How high a panel is, in pixels.
        smooth: Whether they are violins: densities that stand upright.
        width: In pixels.
    """
    drawn = Drawing(rows, width)
    panels = len(drawn.values("panel"))
    fit = beside or max(1, min(panels, (width - 10) // 160))
    each = min(320, (width - 10) / fit - 54)
    own = None if up else {"scale": {"y": "independent"}}
    room = {"fit": fit, "spacing": 14, "each": each, "height": high, "room": each + 30, "resolve": own}
    form = "violins" if smooth else "columns"
    return drawn.spec(form, drawn.panels((), {}, {}, each), across=across, up=up, **room)
