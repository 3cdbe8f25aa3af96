"""Many estimates in a few rows: one for each measure, with the range of its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from quaver.core.number_format import count, decimals
from quaver.core.records import Estimate

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
    apart = [name for name in _APART if len({one.cell.get(name) for one in estimates} - {None}) > 1]
    groups: dict[tuple[str, ...], list[Estimate]] = {}
    for one in estimates:
        groups.setdefault((one.measure, *(one.cell.get(name, "") for name in apart)), []).append(one)
    heads = ("measure", *apart, "estimates", "lowest", "median", "highest", "undefined")
    return heads, [(*key, *_row(group)) for key, group in groups.items()]


def _row(estimates: Sequence[Estimate]) -> tuple[str | int, ...]:
    values = [one.value for one in estimates if one.value is not None]
    shown = [decimals(of(values)) for of in (min, median, max)] if values else ["", "", ""]
    return (len(values), *shown, len(estimates) - len(values))


def undefined_because(estimates: Sequence[Estimate]) -> str:
    """How many estimates are undefined, and why; empty where none is.

    >>> undefined_because([Estimate("f1", None, reason="no gold labels")])
    '1 estimate is undefined: no gold labels'
    """
    reasons = Counter(one.reason or "no reason is given" for one in estimates if one.value is None)
    total = reasons.total()
    if not total:
        return ""
    named = reasons.most_common(_REASONS)
    left = total - sum(number for _, number in named)
    parts = [f"{reason} ({number:,})" if len(reasons) > 1 else reason for reason, number in named]
    parts += [f"other reasons ({left:,})"] if left else []
    return f"{count(total, 'estimate')} {'is' if total == 1 else 'are'} undefined: {', '.join(parts)}"
