"""Estimates as data: a row each, with typed columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import polars as pl

from quaver.core.number_format import count, decimals
from quaver.core.records import Estimate


def estimates_frame(estimates: Sequence[Estimate], *, whole: bool = False) -> pl.DataFrame:
    """The estimates as data, a row each, with a column for each column of their cells.

    Args:
        estimates: Any; a column of a cell that has the name of another is called ``cell.…``.
        whole: Whether ``excluded`` and ``details`` are among the columns, as JSON.
    """
    columns = sorted({column for estimate in estimates for column in estimate.cell})
    own: dict[str, Any] = {
        "measure": pl.String,
        **dict.fromkeys(("value", "low", "high", "confidence_level"), pl.Float64),
        "n": pl.Int64,
        **dict.fromkeys(("unit", "estimand", "reason", "warnings", "method", "reference"), pl.String),
    }
    if whole:
        own |= dict.fromkeys(("excluded", "details"), pl.String)
    names = {column: f"cell.{column}" if column in own else column for column in columns}
    rows = [
        {
            **{names[column]: estimate.cell.get(column) for column in columns},
            **{name: _written(getattr(estimate, name)) for name in own},
        }
        for estimate in estimates
    ]
    schema = {"measure": own.pop("measure"), **dict.fromkeys(names.values(), pl.String), **own}
    return pl.DataFrame(rows, schema=schema)


def _written(value: Any) -> Any:
    """A field of an estimate as a cell holds it."""
    if isinstance(value, tuple):
        return "; ".join(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False, default=str) if value else None
    return value


_APART = ("model", "evaluator")
"""Columns whose levels are summarised separately, where there are several."""

_REASONS = 3
"""Reasons that are named, the most frequent first."""


def summarized(estimates: Sequence[Estimate]) -> tuple[tuple[str, ...], list[tuple[str | int, ...]]]:
    """The heads and rows of a summary.

    Returns:
        Heads, and for each measure (and each model and evaluator, where there are several) a row: how many
        estimates are defined, the lowest, the median and the highest, and how many are undefined.

    >>> found = [Estimate("accuracy", 0.5), Estimate("accuracy", 0.7), Estimate("accuracy", None)]
    >>> summarized(found)[1]
    [('accuracy', 2, '0.500', '0.600', '0.700', 1)]
    """
    apart = [name for name in _APART if len({estimate.cell.get(name) for estimate in estimates} - {None}) > 1]
    groups: dict[tuple[str, ...], list[Estimate]] = {}
    for estimate in estimates:
        groups.setdefault((estimate.measure, *(estimate.cell.get(name, "") for name in apart)), []).append(
            estimate
        )
    heads = ("measure", *apart, "estimates", "lowest", "median", "highest", "undefined")
    return heads, [(*key, *_row(group)) for key, group in groups.items()]


def _row(estimates: Sequence[Estimate]) -> tuple[str | int, ...]:
    values = [estimate.value for estimate in estimates if estimate.value is not None]
    shown = [decimals(of(values)) for of in (min, median, max)] if values else ["", "", ""]
    return (len(values), *shown, len(estimates) - len(values))


def undefined_because(estimates: Sequence[Estimate]) -> str:
    """How many estimates are undefined, and why; empty where none is.

    >>> undefined_because([Estimate("f1", None, reason="no gold labels")])
    '1 estimate is undefined: no gold labels'
    """
    reasons = Counter(
        estimate.reason or "no reason is given" for estimate in estimates if estimate.value is None
    )
    total = reasons.total()
    if not total:
        return ""
    named = reasons.most_common(_REASONS)
    left = total - sum(number for _, number in named)
    parts = [f"{reason} ({number:,})" if len(reasons) > 1 else reason for reason, number in named]
    parts += [f"other reasons ({left:,})"] if left else []
    return f"{count(total, 'estimate')} {'is' if total == 1 else 'are'} undefined: {', '.join(parts)}"


@dataclass(frozen=True, slots=True)
class Deviations:
    """The answers that deviate from their item's modal label, most deviations first.

    Attributes:
        answers: The answers counted: ``model``, ``decoding``, ``variant``, ``item``, ``gold``, ``label``
            (``no label`` where there is none), ``len``, ``mode`` (the item's modal label in this model and
            decoding) and ``other`` (how many of ``len`` deviate from it).
        items: A row an item: ``item``, ``gold``, ``mode`` (of all its answers), ``answers``, ``deviating``
            (how many deviate), ``share``, ``unlabelled``.
        variants: A row a variant: ``variant``, ``answers``, ``deviating``, ``share``.
        group: The column that groups the items; None: nothing does.
        groups: The group of each item that has one.
    """

    answers: pl.DataFrame
    items: pl.DataFrame
    variants: pl.DataFrame
    group: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many answers deviate."""
        return int(self.items["deviating"].sum()) if self.items.height else 0
