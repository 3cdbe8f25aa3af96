"""Whether groups are treated alike: how many of each group's labels are accepted, and how many are wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.acceptance.selection import Candidates, Checked, upper_bound
from quaver.estimation.multiple_testing import holm

_CLEAR = 0.05


class Treated(NamedTuple):
    """How the labels of one group were treated.

    Attributes:
        column: What groups them.
        level: The group.
        items: Its unchecked items.
        accepted: The share of these whose label is accepted; None of a group without any.
        checked: Accepted labels that people checked.
        wrong: How many of these are wrong.
        error: The estimated share of wrong labels among the accepted; None where none was checked.
        at_most: Its upper bound, for this group by itself.
        p: Of having as few wrong labels as the others, Holm-adjusted over the groups of the column; None
            where it cannot be tested.
        verdict: ``more wrong`` where p is below 5%, ``not shown`` where the bound is above the promise,
            else ``as promised``.
    """

    column: str
    level: str
    items: int
    accepted: float | None
    checked: int
    wrong: int
    error: float | None
    at_most: float | None
    p: float | None
    verdict: str


def treated(
    column: str,
    levels: NDArray[np.str_],
    candidates: Candidates,
    accepted: NDArray[np.bool_],
    *,
    error: float,
    risk: float,
) -> list[Treated]:
    """How each group of a column was treated.

    A promise about all accepted labels is kept on average: a group may have more wrong ones than another.
    For each group the estimated share and its upper bound are given, and Fisher's exact test, one-sided,
    that it has no more wrong ones among its checked accepted labels than the other groups together.

    Args:
        column: What groups the items.
        levels: Each candidate's group.
        candidates: The labels.
        accepted: Which of them are accepted.
        error: The share of wrong labels that was promised.
        risk: How often the promise may be broken.
    """
    names = sorted(set(levels[levels != ""].tolist()))
    known = candidates.checked & accepted
    raw = [_p(known & (levels == name), known & (levels != name), candidates.wrong) for name in names]
    tested = iter(holm([p for p in raw if p is not None]))
    adjusted = [None if p is None else next(tested) for p in raw]
    return [
        _one(column, name, levels == name, candidates, accepted, p, error, risk)
        for name, p in zip(names, adjusted, strict=True)
    ]


def _one(
    column: str,
    name: str,
    own: NDArray[np.bool_],
    candidates: Candidates,
    accepted: NDArray[np.bool_],
    p: float | None,
    error: float,
    risk: float,
) -> Treated:
    open_items = own & ~candidates.checked
    taken = own & accepted
    found: Checked | None = candidates.some(taken).together() if taken.any() else None
    checked = int(found.checked[0]) if found else 0
    share = float(found.share[0]) if found and checked else None
    at_most = float(upper_bound(found, risk)[0]) if found and checked else None
    verdict = "as promised"
    if p is not None and p < _CLEAR:
        verdict = "more wrong"
    elif taken.any() and (at_most is None or at_most > error):
        verdict = "not shown"
    items = int(open_items.sum())
    part = float((open_items & accepted).sum() / items) if items else None
    return Treated(
        column, name, items, part, checked, int(found.wrong[0]) if found else 0, share, at_most, p, verdict
    )


def _p(own: NDArray[np.bool_], others: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> float | None:
    """Fisher's exact p, one-sided: as many wrong ones here, had they been dealt at random."""
    here, there = int(own.sum()), int(others.sum())
    if not here or not there:
        return None
    bad = int((wrong & (own | others)).sum())
    return float(scipy.stats.hypergeom.sf(int((wrong & own).sum()) - 1, here + there, bad, here))
