"""How far down a score labels can be accepted."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.estimation.means import quotient

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_ROUNDING = 1e-9
_HALVINGS = 40
_STEPS = 40
"""Thresholds that are tested, one after the other."""
_PART = 3
"""The first test has about one in so many of the checked labels."""


class Checked(NamedTuple):
    """What is known of each of some sets of labels, an array of as many numbers each.

    Attributes:
        size: How many labels the set has.
        checked: How many of these people checked.
        wrong: How many of those are wrong.
        squared_right: The sum of squared weights of right checked labels; a weight is 1/probability.
        squared_wrong: Of the wrong ones.
        weight_right: The sum of weights of the right ones.
        weight_wrong: Of the wrong ones.
        equal: Whether every label was as likely to be checked.
    """

    size: Ints
    checked: Ints
    wrong: Ints
    squared_right: Floats
    squared_wrong: Floats
    weight_right: Floats
    weight_wrong: Floats
    equal: bool

    def at(self, places: Ints) -> Checked:
        """Some of the sets."""
        own = {name: column[places] for name, column in self._asdict().items() if name != "equal"}
        return self._replace(**own)

    def p(self, error: float) -> Floats:
        """The p value of each set: that more than a share of its labels are wrong."""
        if self.equal:
            return exact_p(self.wrong, self.checked, self.size, error)
        return weighted_p(self, error)

    @property
    def share(self) -> Floats:
        """The estimated share of wrong labels in each set; NaN where none was checked."""
        return quotient(self.weight_wrong, self.weight_right + self.weight_wrong)

    @property
    def effective(self) -> Floats:
        """Kish's effective number of checked labels, which looks at no label."""
        whole = self.weight_right + self.weight_wrong
        return np.nan_to_num(quotient(whole**2, self.squared_right + self.squared_wrong))


def exact_p(wrong: Ints, checked: Ints, size: Ints, error: float) -> Floats:
    """The p value that more than a share of the labels are wrong, where all were as likely to be checked.

    Of ``size`` labels ``checked`` were drawn without replacement, and ``wrong`` of these are wrong: a
    hypergeometric number. The p value is its distribution function at the smallest number of wrong labels
    that would leave more than ``error`` of the *unchecked* labels wrong. People's labels replace the checked
    ones, so a promise that counted them would promise less for the others.

    Returns:
        A p value for each set; 1 where none or all are checked.

    If no label of 59 is wrong, of very many labels, p is 0.95⁵⁹; of 58 it is above 5%:

    >>> many = np.array([10**6, 10**6])
    >>> [round(float(p), 4) for p in exact_p(np.array([0, 0]), np.array([58, 59]), many, 0.05)]
    [0.051, 0.0485]
    """
    left = size - checked
    least = np.minimum(np.floor(error * left + _ROUNDING).astype(np.int64) + 1, left) + wrong
    p = scipy.stats.hypergeom.cdf(wrong, size, least, checked)
    return np.where((checked > 0) & (left > 0), p, 1.0)


def weighted_p(check: Checked, error: float) -> Floats:
    """The p value where labels were checked with unequal probabilities: binomial, at an effective size.

    The share of wrong labels is estimated with weights, and Clopper & Pearson's limit is taken at its
    effective size (Korn & Graubard 1998, Survey Methodology 24, 193-201): the smaller of Kish's and of the
    binomial variance over the linearised one, and never more than the labels that were checked.

    >>> one = np.array([1.0])
    >>> equal = Checked(59 * one, 59 * one, 0 * one, 59 * one, 0 * one, 59 * one, 0 * one, equal=False)
    >>> round(float(weighted_p(equal, 0.05)[0]), 4)
    0.0485
    """
    share, whole = np.nan_to_num(check.share), check.weight_right + check.weight_wrong
    linearised = (1 - share) ** 2 * check.squared_wrong + share**2 * check.squared_right
    size = np.minimum(check.effective, check.checked)
    size = np.fmin(size, quotient(share * (1 - share) * whole**2, linearised))
    p = scipy.special.betainc(np.maximum(size * (1 - share), 1e-12), size * share + 1, 1 - error)
    return np.where(check.checked > 0, p, 1.0)


def upper_bound(check: Checked, risk: float) -> float:
    """The smallest share of wrong labels that can be promised for one set.

    >>> one = np.array([1])
    >>> none = Checked(10**6 * one, 59 * one, 0 * one, 59.0 * one, 0.0 * one, 59.0 * one, 0.0 * one, True)
    >>> round(upper_bound(none, 0.05), 4)
    0.0495
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if check.p(middle)[0] > risk:
            low = middle
        else:
            high = middle
    return high


def fewest_checked(error: float, risk: float, wrong: int = 0) -> int:
    """How many labels of very many must be checked for the promise, if so many of them are wrong.

    >>> fewest_checked(0.05, 0.05), fewest_checked(0.1, 0.05, wrong=1)
    (59, 46)
    """
    low, high = wrong + 1, wrong + 2
    while scipy.stats.binom.cdf(wrong, high, error) > risk:
        low, high = high, 2 * high
    sizes = np.arange(low, high + 1)
    return int(sizes[np.argmax(scipy.stats.binom.cdf(wrong, sizes, error) <= risk)])


class Candidates(NamedTuple):
    """The labels that might be accepted.

    Attributes:
        score: How sure each label is; larger is surer.
        checked: Which of them people checked.
        wrong: Which of the checked ones are wrong.
        probability: How likely each was to be checked.
    """

    score: Floats
    checked: Mask
    wrong: Mask
    probability: Floats

    def some(self, which: Mask) -> Candidates:
        """Some of them."""
        return self._replace(**{name: column[which] for name, column in self._asdict().items()})

    def nested(self, order: Ints, ends: Ints) -> Checked:
        """What is known of nested sets: the labels in an order, each set up to a place in it."""
        checked = self.checked[order]
        wrong = self.wrong[order] & checked
        right = checked & ~wrong
        weight = 1 / np.maximum(self.probability[order], 1e-12)
        equal = not self.score.size or np.ptp(self.probability) <= 1e-9 * self.probability.max()
        return Checked(
            size=ends + 1,
            checked=np.cumsum(checked, dtype=np.int64)[ends],
            wrong=np.cumsum(wrong, dtype=np.int64)[ends],
            squared_right=np.cumsum(right * weight**2)[ends],
            squared_wrong=np.cumsum(wrong * weight**2)[ends],
            weight_right=np.cumsum(right * weight)[ends],
            weight_wrong=np.cumsum(wrong * weight)[ends],
            equal=bool(equal),
        )

    def together(self) -> Checked:
        """What is known of all of them, as one set; there must be one."""
        return self.nested(np.arange(self.score.size), np.array([self.score.size - 1]))


def select(candidates: Candidates, error: float, risk: float) -> Mask:
    """Accept labels from the surest on, as long as each test says that few enough are wrong.

    Labels in the order of their score make nested sets. Their tests (`Checked.p`) are taken from the
    smallest set on, and the last one before the first that fails is accepted: whatever the score, more than
    ``error`` of its unchecked labels are wrong with a probability of at most ``risk`` (fixed-sequence testing
    in Learn then Test: Angelopoulos, Bates, Candès, Jordan & Lei 2025, Annals of Applied Statistics 19). The
    first set is the smallest of those whose test would forgive as many errors as a test of a third of all
    checked labels; it looks at no checked label. Labels of the same score are accepted together.

    Returns:
        Which labels are accepted, checked ones among them.
    """
    accepted = np.zeros(candidates.score.size, bool)
    if not accepted.size:
        return accepted
    order = np.argsort(-candidates.score, kind="stable")
    ordered = candidates.score[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    sets = candidates.nested(order, ends)
    first = _first(sets, error, risk)
    if first is None:
        return accepted
    sizes = np.linspace(sets.size[first], sets.size[-1], _STEPS)
    places = np.unique(np.searchsorted(sets.size, sizes)).clip(max=sets.size.size - 1)
    failed = np.append(sets.at(places).p(error) > risk, True)
    passed = int(np.argmax(failed))
    if passed:
        accepted[order[: ends[places[passed - 1]] + 1]] = True
    return accepted


def out_of_reach(
    candidates: Candidates, error: float, risk: float, labels: int
) -> tuple[int, int, float, float] | None:
    """Why a promise cannot be kept for a quarter of the labels; None where it may be.

    Of every set of the surest labels, from a quarter of them on, surely more than ``error`` are wrong
    (Clopper & Pearson's lower limit). What can be promised instead is what the test of so many checked
    ``labels`` would show in four of five samples, were as many of them wrong as of those that are known.

    Returns:
        How many people checked of the set that is least wrong, how many of those are wrong, what share of the
        set is surely wrong, and the smallest whole percentage that can be promised, as a share.

    >>> one = np.arange(400)
    >>> seen = Candidates(-1.0 * one, one < 200, one % 5 == 0, np.full(400, 0.5))
    >>> out_of_reach(seen, 0.05, 0.05, labels=150)  # doctest: +ELLIPSIS
    (100, 20, 0.136..., 0.3)
    """
    order = np.argsort(-candidates.score, kind="stable")
    ordered = candidates.score[order]
    sets = candidates.nested(order, np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)))
    sets = sets.at(np.flatnonzero((sets.checked > 0) & (sets.size * 4 >= order.size)))
    lower = scipy.stats.beta.ppf(risk, sets.wrong, sets.checked - sets.wrong + 1)
    if not lower.size or not (sets.wrong > 0).all() or lower.min() <= error:
        return None
    best = int(np.argmin(sets.wrong / sets.checked))
    share = sets.wrong[best] / sets.checked[best]
    likely = scipy.stats.binom.ppf(0.8, labels, share)
    promises = np.arange(1, 100) / 100
    shown = scipy.stats.binom.cdf(likely, labels, promises) <= risk
    possible = float(promises[np.argmax(shown)]) if shown.any() else 1.0
    return int(sets.checked[best]), int(sets.wrong[best]), float(lower[best]), possible


def _first(sets: Checked, error: float, risk: float) -> int | None:
    """The first set whose test could pass with some of its checked labels wrong; None if none could."""
    whole = int(sets.effective[-1] / _PART)
    forgiven = int(scipy.stats.binom.ppf(risk, whole, error)) if whole else 0
    if scipy.stats.binom.cdf(forgiven, whole, error) > risk:
        forgiven -= 1
    for wrong in (max(forgiven, 1), 0):
        place = _first_that_forgives(sets, wrong, error, risk)
        if place < sets.size.size:
            return place
    return None


def _first_that_forgives(sets: Checked, wrong: int, error: float, risk: float) -> int:
    """The place of the first set whose test passes with so many wrong labels; that after the last if none."""
    if not sets.equal:
        enough = sets.effective >= fewest_checked(error, risk, wrong)
        return int(np.argmax(np.append(enough, True)))

    def passes(place: int) -> bool:
        """Later sets pass too: they have more checked labels."""
        chosen = sets.at(np.array([place]))._replace(wrong=np.array([wrong]))
        return bool(chosen.checked[0] > wrong and chosen.p(error)[0] <= risk)

    return bisect_left(range(sets.size.size), True, key=passes)
