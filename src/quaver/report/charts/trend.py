"""Any measure over a column of numbers: stability by the temperature of the paraphrases, say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.figure import MOST_SERIES, Figure, capital, cell_name, cut
from quaver.report.charts.mark_words import about
from quaver.report.charts.plane import Guide, Plane, Spot, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.measure_words import ALL, in_words, presentation_of, section_of
from quaver.report.plain_text import slug

_COLUMNS = {"share": "share of the items"}
"""Columns whose names say too little."""
_NEVER = frozenset({"variant", "item", "repeat", "repeats", "label", "class", "level", "model", "evaluator"})
_LEAST = 3


def numeric_column(
    estimates: Sequence[Estimate], results: Results
) -> tuple[str, dict[frozenset[tuple[str, str]], float]]:
    """The column of numbers that estimates run over, and each cell's number; an empty name where none is.

    A decoding counts by its temperature, where no two of the decodings share one.
    """
    for column in varying(estimates):
        if column in _NEVER:
            continue
        levels = {one.cell[column] for one in estimates if column in one.cell}
        values = {level: _number(level) for level in levels}
        if column == "decoding":
            column, values = "temperature", {level: _temperature(level, results) for level in levels}
            if any("temperature" in one.cell for one in estimates):
                continue
        known = [value for value in values.values() if value is not None]
        if len(known) < len(levels) or len(set(known)) < max(_LEAST, len(levels)):
            continue
        of = "decoding" if column not in estimates[0].cell and column == "temperature" else column
        found = {
            frozenset(one.cell.items()): values[one.cell[of]] or 0.0 for one in estimates if of in one.cell
        }
        return column, found
    return "", {}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _temperature(decoding: str, results: Results) -> float | None:
    value = results.lock.get("decodings", {}).get(decoding, {}).get("temperature")
    return float(value) if isinstance(value, (int, float)) else None


def trend_figure(measure: str, results: Results) -> Figure | None:
    """A measure over the numbers of a column, should it have been taken at several."""
    some = results.known(measure)
    column, at = numeric_column(some, results)
    if not column:
        return None
    some = [one for one in some if frozenset(one.cell.items()) in at]
    over = [
        name for name in varying(some) if name not in (column, "decoding" if column == "temperature" else "")
    ]
    panel = "model" if "model" in over and len(over) > 1 else None
    rest = [name for name in over if name != panel]
    default = next((ALL[name] for name in rest if name in ALL), "all answers") if rest else ""
    series = list(dict.fromkeys(cell_name(one, rest, results, default) for one in some))
    drawn = set(series[:MOST_SERIES])
    spots = [
        Spot(
            at[frozenset(one.cell.items())],
            one.value or 0.0,
            one.low,
            one.high,
            panel=one.cell.get("model", "") if panel else "",
            series=cell_name(one, rest, results, default),
            about=about(one, results),
        )
        for one in sorted(some, key=lambda one: at[frozenset(one.cell.items())])
        if cell_name(one, rest, results, default) in drawn
    ]
    if len({spot.x for spot in spots}) < _LEAST:
        return None
    shown = presentation_of(measure)
    plane = Plane(
        spots,
        _COLUMNS.get(column, in_words(column)),
        shown.axis,
        joined=True,
        y_ends=(0.0, 1.0) if shown.bar is not None or shown.in_percent else None,
        percent="y" if shown.in_percent else "",
        guides=[] if shown.bar is None else [Guide(f"dashed: {shown.bar:g}", shown.bar)],
        order=[name for name in series if name in drawn],
    )
    # A chart of subsamples says so itself.
    title = shown.title if column == "share" else f"{shown.short} by {in_words(column)}"
    return Figure(
        draw=partial(draw, plane),
        estimates=some,
        name=slug(f"{measure}-by-{column}"),
        measure=measure,
        section=section_of(measure),
        title=title,
        subtitle=f"{capital(shown.axis)}. Bands are 95% intervals." + cut(len(drawn), len(series), "lines"),
    )
