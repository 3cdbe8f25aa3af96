"""Estimates as tables on the terminal: one a measure, with a column for whatever differs in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group

from quaver.cli.screen import table
from quaver.records import Estimate

__all__ = ["estimates_tables", "numbers", "short"]


def estimates_tables(estimates: Sequence[Estimate]) -> Iterator[Group]:
    """One table for each measure and set of columns; what all its rows share stands in its title."""

    def kind(estimate: Estimate) -> tuple[str, tuple[str, ...]]:
        return estimate.measure, tuple(estimate.cell)

    for (measure, columns), group in groupby(estimates, key=kind):
        rows = list(group)
        shared = {c: rows[0].cell[c] for c in columns if len({row.cell[c] for row in rows}) == 1}
        differing = [column for column in columns if column not in shared]
        title = ", ".join([measure, *(f"{column} {short(value)}" for column, value in shared.items())])
        cells = [
            (*(short(row.cell[column]) for column in differing), *numbers(row), row.n, row.unit)
            for row in rows
        ]
        yield table((*differing, "value", f"{rows[0].confidence:.0%} interval", "n", "unit"), cells, title)


def short(value: str) -> str:
    """A variant by its levels alone: ``text=full,format=digits`` is ``full · digits``."""
    parts = re.findall(r"(?:^|,)[^=,]+=([^,]*)", value)
    return " · ".join(parts) if parts else value


def numbers(estimate: Estimate) -> tuple[str, str]:
    """Value and interval, or why there is none."""
    if estimate.value is None:
        return "undefined", estimate.reason or ""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}", ""
    return f"{estimate.value:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}"
