"""One figure of the report: a chart, its words, and the estimates behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quaver.core.presentation import Section
from quaver.core.records import Estimate
from quaver.report.charts.theme import finished
from quaver.report.estimate_index import Results, varying
from quaver.report.measure_words import ALL
from quaver.report.page_numbers import percent_measure, printed
from quaver.report.table_rows import Table

BARS = "Lines are 95% intervals."
MOST_SERIES = 7
"""As many as there are colours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What the function of a chart yields (`quaver.report.charts.chart`).

    Only ``draw`` and ``estimates`` are required. What you leave out comes from the chart's declaration.

    Attributes:
        draw: Makes the picture, an Altair chart, given its ``width`` in pixels.
        estimates: The data behind it.
        subtitle: What the marks mean.
        title: What it shows.
        name: The name of its files, without an ending.
        section: The part of the report that it belongs to.
        measure: The measure that it shows.
        alternative: What it shows in words, for readers who cannot see it; the lowest and the highest value
            by default.
        table: The numbers behind it, where these are in the estimates' details.
        closer: Whether it is folded in, for a closer look.
        covers: The measures whose plain charts it replaces.
    """

    draw: Callable[..., Any]
    estimates: Sequence[Estimate]
    subtitle: str = ""
    title: str = ""
    name: str = ""
    section: Section | None = None
    measure: str | None = None
    alternative: str = ""
    table: Table | None = None
    closer: bool = False
    covers: tuple[str, ...] | None = None

    def chart(self, width: int, *, titled: bool = False) -> Any:
        """The picture in the report's type and colours.

        Args:
            width: In pixels.
            titled: Whether it has its title and subtitle, which the page shows beside it.
        """
        title, subtitle = (self.title, self.subtitle) if titled else ("", "")
        return finished(self.draw(width=width), width=width, title=title, subtitle=subtitle)


def spoken(estimates: Sequence[Estimate], results: Results) -> str:
    """The lowest and highest value in words."""
    known = sorted((one for one in estimates if one.value is not None), key=lambda one: one.value or 0.0)
    if not known:
        return "No estimate has a value."
    percent = percent_measure(known[0].measure)
    columns = varying(known)

    def said(one: Estimate) -> str:
        cell = (one.cell.get(column, ALL.get(column, "all")) for column in columns)
        names = [results.variant_name(v) if c == "variant" else v for c, v in zip(columns, cell, strict=True)]
        return printed(one.value or 0.0, percent) + (f" ({', '.join(names)})" if names else "")

    if len(known) == 1:
        return f"The value is {said(known[0])}."
    return f"{len(known)} values, from {said(known[0])} to {said(known[-1])}. The table has them all."


def intervals_hold_for(estimates: Sequence[Estimate]) -> str:
    """What the intervals of a figure hold for, as a sentence with a space before it.

    Nothing where no prompts were counted, or where each interval is of one prompt that the chart names.

    >>> intervals_hold_for([Estimate("accuracy", 0.8, 0.7, 0.9, details={"prompts": 5})])
    ' Intervals hold for these 5 prompts.'
    """
    scopes = {one.scope for one in estimates if one.low is not None} - {"", "for this prompt"}
    if not scopes:
        return ""
    return (
        f" Intervals hold {scopes.pop()}."
        if len(scopes) == 1
        else " The table says which prompts each interval holds for."
    )


def names(one: Estimate, columns: Sequence[str], results: Results, without: str | None = None) -> list[str]:
    """What an estimate's cell holds in some columns, as printed; columns that it lacks are left out."""
    found = []
    for column in columns:
        value = one.cell.get(column, ALL.get(column))
        if value is None:
            continue
        if column == "variant":
            value = results.variant_name(value, without)
        elif column in ("label", "class"):
            value = results.label_name(value)
        found.append(value)
    return found


def cell_name(one: Estimate, columns: Sequence[str], results: Results, default: str = "all answers") -> str:
    """The same as one name."""
    return " · ".join(names(one, columns, results)) or default


def capital(text: str) -> str:
    """The text with a capital letter."""
    return text[:1].upper() + text[1:]


def largest(estimates: Sequence[Estimate], most: int) -> list[Estimate]:
    """All estimates in their order; of too many, only the largest, the largest first."""
    if len(estimates) <= most:
        return list(estimates)
    return sorted(estimates, key=lambda one: -(one.value or 0.0))[:most]


def cut(shown: int, total: int, noun: str, which: str = "first") -> str:
    """What a chart leaves out, as a sentence with a space before it; nothing where it draws all.

    >>> cut(40, 65, "cells", "largest"), cut(3, 3, "cells")
    (' The largest 40 of 65 cells are drawn.', '')
    """
    return f" The {which} {shown} of {total} {noun} are drawn." if shown < total else ""
