"""Estimates as tables on the terminal, with a column for whatever differs among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group

from quaver.cli.console import table
from quaver.core.number_format import decimals, p_heading, rounded, short_name, span

if TYPE_CHECKING:
    from quaver.core.records import Estimate


_SAID_BY_UNIT = "estimand"
"""A column of cells that tables leave out: the unit says in words which prompts an interval holds for."""


def estimates_tables(estimates: Sequence[Estimate], *, together: bool = False) -> Iterator[Group]:
    """Tables of estimates; the title holds what all rows of a table share."""

    def kind(estimate: Estimate) -> tuple[str, ...]:
        return (*([] if together else [estimate.measure]), *estimate.cell)

    for _, group in groupby(estimates, key=kind):
        rows = list(group)
        cells_of = [{c: short_name(v) for c, v in row.cell.items() if c != _SAID_BY_UNIT} for row in rows]
        labels = [{"measure": row.measure, **cell} for row, cell in zip(rows, cells_of, strict=True)]
        shared = {c: v for c, v in labels[0].items() if all(row[c] == v for row in labels)}
        differing = [column for column in labels[0] if column not in shared]
        title = ", ".join(v if c == "measure" else f"{c} {v}" for c, v in shared.items())
        tested = [row for row in rows if "p_holm" in row.details]
        judged = ["verdict"] if any("verdict" in row.details for row in rows) else []
        cells = [
            (
                *(about[column] for column in differing),
                *numbers(row),
                *(_p_value(row) for _ in tested[:1]),
                row.n,
                row.resampled,
                *(_verdict(row) for _ in judged),
            )
            for about, row in zip(labels, rows, strict=True)
        ]
        tests = [p_heading(tested)] if tested else []
        headings = (
            *differing,
            "value",
            f"{rows[0].confidence_level:.0%} interval",
            *tests,
            "n",
            "unit",
            *judged,
        )
        yield table(headings, cells, title)


def _p_value(estimate: Estimate) -> str:
    """Its p value, adjusted for all tests of its family."""
    return rounded(estimate.details["p_holm"]) if "p_holm" in estimate.details else ""


def _verdict(estimate: Estimate) -> str:
    """The verdict on an estimate that has a threshold."""
    limit, verdict = (str(estimate.details.get(name, "")) for name in ("limit", "verdict"))
    return f"{verdict} ({limit})" if limit else verdict


def numbers(estimate: Estimate) -> tuple[str, str]:
    """Value and interval, or why it is undefined."""
    if estimate.value is None:
        return "undefined", estimate.reason or ""
    return decimals(estimate.value), span(estimate.low, estimate.high, decimals)
