"""How far down a score labels can be accepted, and whether every group is treated alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.estimation.intervals import holm
from quaver.estimation.means import quotient

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDING = 1e-9
_HALVINGS = 40


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
        own = {name: value[places] for name, value in self._asdict().items() if name != "equal"}
        return self._replace(**own)

    def p(self, error: float) -> Floats:
        """The p value of each set: that more than a share of its labels are wrong."""
        if self.equal:
            return exact_p(self.wrong, self.checked, self.size, error)
        return weighted_p(self, error)

    @property
    def share(self) -> Floats:
        """The estimated share of wrong labels in each set; NaN where none was checked."""
        whole = self.weight_right + self.weight_wrong
        return quotient(self.weight_wrong, whole)

    @property
    def effective(self) -> Floats:
        """Kish's effective number of checked labels, which looks at no label."""
        whole = self.weight_right + self.weight_wrong
        squares = self.squared_right + self.squared_wrong
        return np.asarray(np.where(squares > 0, whole**2 / np.where(squares > 0, squares, 1.0), 0.0))


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
    found = scipy.stats.hypergeom.cdf(wrong, size, least, checked)
    return np.asarray(np.where((checked > 0) & (left > 0), found, 1.0))


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
    whole = check.weight_right + check.weight_wrong
    share = np.nan_to_num(check.share)
    spread = (1 - share) ** 2 * check.squared_wrong + share**2 * check.squared_right
    linear = np.where(spread > 0, share * (1 - share) * whole**2 / np.where(spread > 0, spread, 1.0), np.inf)
    size = np.minimum(np.minimum(check.effective, linear), check.checked)
    p = scipy.special.betainc(np.maximum(size * (1 - share), 1e-12), size * share + 1, 1 - error)
    return np.asarray(np.where(check.checked > 0, p, 1.0))


def upper_bound(check: Checked, risk: float) -> Floats:
    """The smallest share of wrong labels that can be promised for each set by itself.

    >>> one = np.array([1])
    >>> none = Checked(10**6 * one, 59 * one, 0 * one, 59.0 * one, 0.0 * one, 59.0 * one, 0.0 * one, True)
    >>> round(float(upper_bound(none, 0.05)[0]), 4)
    0.0495
    """
    low, high = np.zeros(check.size.size), np.ones(check.size.size)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        p = np.array([float(check.at(np.array([i])).p(float(m))[0]) for i, m in enumerate(middle)])
        low, high = np.where(p > risk, middle, low), np.where(p > risk, high, middle)
    return high


def fewest_checked(error: float, risk: float, wrong: int = 0) -> int:
    """How many labels of very many must be checked for the promise, if so many of them are wrong.

    >>> fewest_checked(0.05, 0.05), fewest_checked(0.1, 0.05, wrong=1)
    (59, 46)
    """
    low, high = wrong + 1, wrong + 2
    while scipy.stats.binom.cdf(wrong, high, error) > risk:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if scipy.stats.binom.cdf(wrong, middle, error) <= risk else (middle + 1, high)
        )
    return low


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
    result = np.zeros(enough.size, bool)
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
    result[low:] = True
    return result


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
    check: Checked | None = candidates.some(taken).together() if taken.any() else None
    checked = int(check.checked[0]) if check else 0
    share = float(check.share[0]) if check and checked else None
    at_most = float(upper_bound(check, risk)[0]) if check and checked else None
    verdict = "as promised"
    if p is not None and p < _CLEAR:
        verdict = "more wrong"
    elif taken.any() and (at_most is None or at_most > error):
        verdict = "not shown"
    items = int(open_items.sum())
    part = float((open_items & accepted).sum() / items) if items else None
    return Treated(
        column, name, items, part, checked, int(check.wrong[0]) if check else 0, share, at_most, p, verdict
    )


def _p(own: NDArray[np.bool_], others: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> float | None:
    """Fisher's exact p, one-sided: as many wrong ones here, had they been dealt at random."""
    here, there = int(own.sum()), int(others.sum())
    if not here or not there:
        return None
    bad = int((wrong & (own | others)).sum())
    return float(scipy.stats.hypergeom.sf(int((wrong & own).sum()) - 1, here + there, bad, here))
