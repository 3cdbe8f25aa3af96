"""Estimates as a table on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from quaver.cli.screen import table
from quaver.records import Estimate

__all__ = ["estimates_table"]


def estimates_table(estimates: Sequence[Estimate], title: str | None = None) -> Table:
    """One row an estimate: measure, cell, value with its interval, n, or why there is none."""
    rows = [
        (
            estimate.measure,
            ", ".join(f"{column} {level}" for column, level in estimate.cell.items()),
            *_numbers(estimate),
            f"{estimate.n} {estimate.unit}s" if estimate.n != 1 else f"1 {estimate.unit}",
        )
        for estimate in estimates
    ]
    return table(("measure", "of", "value", "interval", "from"), rows, title)


def _numbers(estimate: Estimate) -> tuple[str, str]:
    if estimate.value is None:
        return "undefined", estimate.reason or ""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}", ""
    return f"{estimate.value:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}"
