"""A figure: a chart, its words, and the estimates behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results, varying
from quaver.report.measure_words import ALL
from quaver.report.page_numbers import percent_measure, printed
from quaver.report.table_rows import Table

__all__ = ["BARS", "MOST_SERIES", "Figure", "cell_name", "names", "spoken"]

BARS = "Lines are 95% intervals."
MOST_SERIES = 7
"""As many as there are colours."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        name: Its file's name, without an ending.
        measure: The measure that it shows; this one's plain chart is not drawn beside it.
        section: Where in the report it stands.
        title: What it shows.
        subtitle: What the marks mean.
        draw: Makes the chart, given ``width``, ``title`` and ``subtitle``.
        estimates: The data behind it.
        alternative: What it shows, for those who do not see it.
        also: Other measures whose plain charts it stands for.
        table: The data behind it, where these are in the estimates' details.
        closer: Whether it is for a closer look: it stands folded in.
    """

    name: str
    measure: str
    section: str
    title: str
    subtitle: str
    draw: Callable[..., Any]
    estimates: Sequence[Estimate]
    alternative: str
    also: tuple[str, ...] = ()
    table: Table | None = None
    closer: bool = False


def spoken(estimates: Sequence[Estimate], results: Results) -> str:
    """The lowest and highest value in words."""
    known = sorted((one for one in estimates if one.value is not None), key=lambda one: one.value or 0.0)
    percent = percent_measure(known[0].measure)
    columns = varying(known)

    def told(one: Estimate) -> str:
        cell = (one.cell.get(column, ALL.get(column, "all")) for column in columns)
        names = [results.variant_name(v) if c == "variant" else v for c, v in zip(columns, cell, strict=True)]
        return printed(one.value or 0.0, percent) + (f" ({', '.join(names)})" if names else "")

    if len(known) == 1:
        return f"The value is {told(known[0])}."
    return f"{len(known)} values, from {told(known[0])} to {told(known[-1])}. The table has them all."


def names(one: Estimate, columns: Sequence[str], results: Results) -> list[str]:
    """What an estimate's cell holds in some columns, as it is printed; nothing for those that it lacks.

    Args:
        one: The estimate.
        columns: The columns.
        results: The study.
    """
    found = []
    for column in columns:
        value = one.cell.get(column, ALL.get(column))
        if value is None:
            continue
        if column == "variant":
            value = results.variant_name(value)
        elif column in ("label", "class"):
            value = results.label_name(value)
        found.append(value)
    return found


def cell_name(one: Estimate, columns: Sequence[str], results: Results, default: str = "all answers") -> str:
    """The same as one name."""
    return " · ".join(names(one, columns, results)) or default
