"""The one table of a study: each measure with its value and interval, or its range over prompts."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from markupsafe import Markup

from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results, varying
from quaver.report.measure_words import ALL, in_words, presentation_of
from quaver.report.page_numbers import interval, number, percent_measure
from quaver.report.table_rows import Table

_MOST_GROUPS = 6
"""A measure of more parts (labels, classes, models) is summed up in one row."""
_MOST_ROWS = 40

_PROMPTS = ("variant", "item")
"""Columns over whose levels a table gives the range."""


def paper_table(results: Results) -> Table:
    """The study's measures, from the labels of its first evaluator.

    A measure with one estimate has its interval. One that was taken of each prompt has the median and the
    range over prompts; ``n`` is then that of each.
    """
    rows: list[tuple[str | Markup, ...]] = []
    for measure in results.measures:
        known = results.known(measure)
        rows += _rows(results, measure, known) if known else []
    kept = rows[:_MOST_ROWS]
    of = any(row[1] for row in kept)
    heads = ("measure", *(["of"] if of else []), "estimate", _level(results), "n")
    left = len(rows) - len(kept)
    return Table(
        heads,
        tuple((row[0], *([row[1]] if of else []), *row[2:]) for row in kept),
        frozenset({len(heads) - 3, len(heads) - 1}),
        f"{left:,} more rows are in estimates.csv." if left > 0 else "",
        name="paper",
    )


def _rows(results: Results, measure: str, known: Sequence[Estimate]) -> list[tuple[str | Markup, ...]]:
    """A measure's rows: one for each part that is about something of its own, such as a model or a label."""
    over = {*_PROMPTS, *results.factors, "evaluator"}
    columns = [column for column in varying(known) if column not in over]
    groups: dict[tuple[str, ...], list[Estimate]] = {}
    for one in known:
        groups.setdefault(tuple(_part(column, one.cell.get(column)) for column in columns), []).append(one)
    if len(groups) > _MOST_GROUPS and "model" in columns:
        groups = {}
        for one in known:
            groups.setdefault((one.cell.get("model", "all"),), []).append(one)
    if len(groups) > _MOST_GROUPS:
        groups = {(): list(known)}
    name = _named(measure)
    return [(name, " · ".join(part), *_numbers(measure, some)) for part, some in groups.items()]


def _part(column: str, value: str | None) -> str:
    """What a row is about, by the value of a column; a number brings the column's name."""
    if value is None:
        return ALL.get(column, "all")
    return f"{in_words(column)} {value}" if value.replace(".", "", 1).isdigit() else value


def _numbers(measure: str, some: Sequence[Estimate]) -> tuple[str | Markup, ...]:
    percent = percent_measure(measure)
    values = [one.value for one in some if one.value is not None]
    sizes = sorted({one.n for one in some})
    n = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    if len(some) == 1:
        return number(values[0], percent), interval(some[0]), n
    what = "prompts" if set(varying(some)) <= {*_PROMPTS} else "estimates"
    spread = Markup("{} to {} over {}").format(
        number(min(values), percent), number(max(values), percent), count(len(values), what[:-1])
    )
    return Markup("median {}").format(number(median(values), percent)), spread, n


def _named(measure: str) -> str:
    """A measure as a table calls it: its name in words, and what its number is."""
    shown = presentation_of(measure)
    words = measure.replace("_", " ")
    return shown.axis if shown.axis.startswith(words) else f"{words} ({shown.axis})"


def _level(results: Results) -> str:
    levels = {one.confidence_level for one in results.estimates if one.low is not None}
    return f"{100 * levels.pop():g}% interval, or range" if len(levels) == 1 else "interval, or range"
