"""How far down a score labels can be accepted: fixed-sequence tests from the surest labels on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.acceptance.error_test import Checked, Floats, Ints, fewest_checked

_STEPS = 40
"""Thresholds that are tested, one after the other."""
_PART = 3
"""The first test has about one in so many of the checked labels."""


class Candidates(NamedTuple):
    """The labels that might be accepted.

    Attributes:
        score: How sure each label is; larger is surer.
        checked: Which of them people checked.
        wrong: Which of the checked ones are wrong.
        probability: How likely each was to be checked.
    """

    score: Floats
    checked: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    probability: Floats

    def some(self, which: NDArray[np.bool_]) -> Candidates:
        """Some of them."""
        return self._replace(**{name: value[which] for name, value in self._asdict().items()})

    @property
    def equal(self) -> bool:
        """Whether each was as likely to be checked."""
        return bool(np.ptp(self.probability) <= 1e-9 * self.probability.max()) if self.score.size else True

    def together(self) -> Checked:
        """What is known of all of them, as one set; there must be one."""
        return _sets(self, np.arange(self.score.size), np.array([self.score.size - 1]))


class Selection(NamedTuple):
    """Labels that can be accepted.

    Attributes:
        accepted: Which candidates are, checked ones among them.
        threshold: The smallest score of these; None where none can be.
        found: What is known of them, as one set; None where none can be.
        needed: How many labels must be checked before any promise can be made.
    """

    accepted: NDArray[np.bool_]
    threshold: float | None
    found: Checked | None
    needed: int


def select(candidates: Candidates, error: float, risk: float) -> Selection:
    """Accept labels from the surest on, as long as each test says that few enough are wrong.

    Labels in the order of their score make nested sets. Their tests (`error_test`) are taken from the
    smallest set on, and the last one before the first that fails is accepted: whatever the score, more than
    ``error`` of its unchecked labels are wrong with a probability of at most ``risk`` (fixed-sequence testing
    in Learn then Test: Angelopoulos, Bates, Candès, Jordan & Lei 2025, Annals of Applied Statistics 19). The
    first set is the smallest of those whose test would forgive as many errors as a test of a third of all
    checked labels; it looks at no checked label. Labels of the same score are accepted together.

    Args:
        candidates: The labels.
        error: The share of wrong labels that is promised.
        risk: How often the promise may be broken.
    """
    nothing = np.zeros(candidates.score.size, bool)
    order = np.argsort(-candidates.score, kind="stable")
    ordered = candidates.score[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if order.size else order
    sets = _sets(candidates, order, ends)
    needed = fewest_checked(error, risk)
    last = _last_passed(sets, error, risk)
    if last is None:
        return Selection(nothing, None, None, needed)
    accepted = nothing.copy()
    accepted[order[: ends[last] + 1]] = True
    return Selection(accepted, float(ordered[ends[last]]), sets.at(np.array([last])), needed)


def _last_passed(sets: Checked, error: float, risk: float) -> int | None:
    first = _first(sets, error, risk)
    if first is None:
        return None
    last = sets.size.size - 1
    places = np.unique(np.searchsorted(sets.size, np.linspace(sets.size[first], sets.size[last], _STEPS)))
    places = np.minimum(places, last)
    failed = np.append(sets.at(places).p(error) > risk, True)
    passed = int(np.argmax(failed))
    return int(places[passed - 1]) if passed else None


def _first(sets: Checked, error: float, risk: float) -> int | None:
    """The first set whose test could pass with some of its checked labels wrong; None if none could."""
    if not sets.size.size:
        return None
    whole = float(sets.effective[-1]) if not sets.equal else float(sets.checked[-1])
    forgiven = _forgiven(whole / _PART, error, risk)
    for wrong in dict.fromkeys((max(forgiven, 1), 0)):
        enough = np.flatnonzero(_could_pass(sets, wrong, error, risk))
        if enough.size:
            return int(enough[0])
    return None


def _forgiven(checked: float, error: float, risk: float) -> int:
    """How many errors a test of so many checked labels forgives; -1 where it forgives not even none."""
    wrong = int(scipy.stats.binom.ppf(risk, int(checked), error)) if checked >= 1 else 0
    while wrong >= 0 and scipy.stats.binom.cdf(wrong, int(checked), error) > risk:
        wrong -= 1
    return wrong


def _could_pass(sets: Checked, wrong: int, error: float, risk: float) -> NDArray[np.bool_]:
    if not sets.equal:
        return np.asarray(sets.effective >= fewest_checked(error, risk, wrong))
    enough = sets.checked > wrong
    least = sets._replace(wrong=np.where(enough, wrong, 0))
    found = np.zeros(enough.size, bool)
    low, high = (
        int(np.argmax(enough)),
        enough.size,
    )  # more checked labels of a larger set: later sets pass too
    while low < high:
        middle = (low + high) // 2
        if enough[middle] and least.at(np.array([middle])).p(error)[0] <= risk:
            high = middle
        else:
            low = middle + 1
    found[low:] = True
    return found


def _sets(candidates: Candidates, order: Ints, ends: Ints) -> Checked:
    """The nested sets of the labels in an order, each up to a place in it."""
    checked = candidates.checked[order]
    weight = np.where(checked, 1 / np.maximum(candidates.probability[order], 1e-12), 0.0)
    wrong = candidates.wrong[order] & checked

    def summed(values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.cumsum(values)[ends] if order.size else np.zeros(0))

    return Checked(
        size=np.asarray(ends + 1 if order.size else np.zeros(0, np.int64), np.int64),
        checked=summed(checked).astype(np.int64),
        wrong=summed(wrong).astype(np.int64),
        squared_right=summed(np.where(wrong, 0.0, weight**2)),
        squared_wrong=summed(np.where(wrong, weight**2, 0.0)),
        weight_right=summed(np.where(wrong, 0.0, weight)),
        weight_wrong=summed(np.where(wrong, weight, 0.0)),
        equal=candidates.equal,
    )
