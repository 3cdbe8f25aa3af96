"""Tests that more labels of a set are wrong than promised, from those of them that people checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

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
        return np.asarray(np.where(whole > 0, self.weight_wrong / np.where(whole > 0, whole, 1.0), np.nan))

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

    Args:
        wrong: Checked labels that are wrong, for each set of labels.
        checked: Checked labels.
        size: All labels of the set.
        error: The promised share.

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


def weighted_p(found: Checked, error: float) -> Floats:
    """The p value where labels were checked with unequal probabilities: binomial, at an effective size.

    The share of wrong labels is estimated with weights, and Clopper & Pearson's limit is taken at its
    effective size (Korn & Graubard 1998, Survey Methodology 24, 193-201): the smaller of Kish's and of the
    binomial variance over the linearised one, and never more than the labels that were checked.

    >>> one = np.array([1.0])
    >>> equal = Checked(59 * one, 59 * one, 0 * one, 59 * one, 0 * one, 59 * one, 0 * one, equal=False)
    >>> round(float(weighted_p(equal, 0.05)[0]), 4)
    0.0485
    """
    whole = found.weight_right + found.weight_wrong
    share = np.nan_to_num(found.share)
    spread = (1 - share) ** 2 * found.squared_wrong + share**2 * found.squared_right
    linear = np.where(spread > 0, share * (1 - share) * whole**2 / np.where(spread > 0, spread, 1.0), np.inf)
    size = np.minimum(np.minimum(found.effective, linear), found.checked)
    p = scipy.special.betainc(np.maximum(size * (1 - share), 1e-12), size * share + 1, 1 - error)
    return np.asarray(np.where(found.checked > 0, p, 1.0))


def upper_bound(found: Checked, risk: float) -> Floats:
    """The smallest share of wrong labels that can be promised for each set by itself.

    >>> one = np.array([1])
    >>> none = Checked(10**6 * one, 59 * one, 0 * one, 59.0 * one, 0.0 * one, 59.0 * one, 0.0 * one, True)
    >>> round(float(upper_bound(none, 0.05)[0]), 4)
    0.0495
    """
    low, high = np.zeros(found.size.size), np.ones(found.size.size)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        p = np.array([float(found.at(np.array([i])).p(float(m))[0]) for i, m in enumerate(middle)])
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
