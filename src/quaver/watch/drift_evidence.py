"""Evidence that looks have changed for good: e-processes whose unit is the look.

An e-process is evidence that starts at 1 and, while nothing changes, ever reaches 1/α with a probability of
at most α, however long it is watched and whenever one stops (Ville 1939; Ramdas, Grünwald, Vovk & Shafer
2023, Statistical Science 38, 576-601). The null is that looks are exchangeable. What a look does to all of
its answers at once (the replica that serves it, its load, its batch) may tie them together as tightly as it
likes, so each look gives one value and takes one bet.

The bet is on a conformal p value: among the first n values, the rank of the last one is uniform and
independent of all earlier ranks (Rényi 1962; Vovk, Gammerman & Shafer 2022, Algorithmic Learning in a Random
World, ch. 8); ties make small ranks rarer. Two-sample tests of whole distributions of answers, such as Model
Equality Testing (Gao, Liang & Guestrin 2025), take calls to be independent, which those of a look are not.

`LastingChange` bets, `Moved` makes of the answers of a look one value that no shift common to them moves, and
`lasting_difference` weighs a prompt's answers that are yes or no.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from functools import cache
from math import comb, isnan, log, nan
from warnings import catch_warnings, simplefilter

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]

_HELD = np.array([1.0, 0.8, 0.5])
"""What is bet on a lasting change: all, most or half of the stake, for changes that not every look shows."""

_EARLIER = np.array([0, 1, 3, 0, 0, 1])
_EARLIER_SHARE = np.array([0, 0, 0, 0.1, 0.25, 0.1])
_SINCE_SHARE = np.array([1, 1, 1, 1, 1, 0.6])
"""Values that may be as large: so many of those before the change and such a share of them, and such a share
of those since; the shares are for changes that are small beside how looks vary."""

_WEIGHTS = np.outer([0.45, 0.35, 0.2], [0.5, 0.1, 0.08, 0.12, 0.1, 0.1])

_SWIFT = 0.7
_SUFFICE = ((0, 7), (9, 5), (16, 3))
"""The share of the stake on changes that every look shows. It is placed so that after so many values before
a change, from 0, 9 and 16 on, 7, 5 and 3 values that are all larger win as much."""

_WHOLE = 2.109742801236892
"""The sum of 1/(n·ln²n) over n from 2."""

_LEAST, _MOST = 1e-12, 1e100
"""A stake below the least is given up; it could only have added to the evidence."""


def stake_of_start(look: int) -> float:
    """The share of the stake on a change at a look: 1/((s + 1)·ln²(s + 1)), over the sum of all.

    It falls nearly as slowly as it can, so that a change after years still gets a fair share.

    >>> [round(stake_of_start(look), 6) for look in (1, 10, 365)]
    [0.493276, 0.007494, 3.7e-05]
    """
    return 1 / (_WHOLE * (look + 1) * log(look + 1) ** 2)


@cache
def _stakes_of_starts(looks: int) -> Floats:
    return np.array(list(map(stake_of_start, range(1, looks + 1))))


def stake_of_swift(known: int, first: int) -> float:
    """The share of the stake on a change after so many values, all of which the looks since surpass.

    By then k such looks will have won (n + k choose k) times their stake; so each stake is in proportion to
    one over that, for the k that is to suffice (`_SUFFICE`). Summed over all n from N on, that is
    k / (k − 1) / (N + k − 1 choose k − 1): the stakes fall fast enough that none has to be small.

    Args:
        known: Values before the change.
        first: Values before the first look.

    >>> [round(stake_of_swift(known, 5), 4) for known in (5, 9, 16, 100)]
    [0.0929, 0.0368, 0.076, 0.0004]
    """
    return _won(known) / _won_in_all(first)


def _won(known: int) -> float:
    """One over what the looks that are to suffice win after so many values."""
    larger = next(some for start, some in reversed(_SUFFICE) if known >= start)
    return 1 / comb(known + larger, larger)


@cache
def _won_in_all(first: int) -> float:
    start, larger = _SUFFICE[-1]
    rest = comb(max(start, first) + larger - 1, larger - 1)
    return sum(map(_won, range(first, start))) + larger / (larger - 1) / rest


class LastingChange:
    """Evidence that the values of a sequence have become larger for good.

    A change before value s means that most values since then are larger than those before: the bet on it is
    that at most e + n − s + 1 of the first n values are as large as the n-th, where at most e of those before
    the change were. After k values that all are larger, it has won (n choose k) times its stake, n being the
    number of values, which is the most that exchangeability allows. How many may be as large is fixed before
    the first value; several numbers are bet on, for large changes and small ones, most on those that every
    look shows (`stake_of_swift`).

    Attributes:
        evidence: The e-process now.

    Five equal values at first, and then ten larger ones:

    >>> change = LastingChange()
    >>> for _ in range(5):
    ...     change.learn(0.0)
    >>> [f"{change.look(1.0):.3g}" for _ in range(10)][::3]
    ['1.78', '17.9', '99.4', '362']
    """

    def __init__(self) -> None:
        self._earlier: list[float] = []
        self.evidence = 1.0
        self._bets, self._first, self._waiting = 0, 0, 1.0
        self._begun = np.zeros((0, 2), int)
        self._stakes = np.zeros((0, *_WEIGHTS.shape))

    def learn(self, value: float) -> None:
        """Take in a value of the first occasion, on which nothing is bet."""
        if not isnan(value):
            insort(self._earlier, value)

    def look(self, value: float) -> float:
        """Bet on the value of a look, and return the evidence; nothing is bet where it is not a number."""
        if isnan(value):
            return self.evidence
        before = len(self._earlier)
        self._first = self._first if self._bets else before
        self.learn(value)
        self._bets += 1
        known = before + 1
        as_large = known - bisect_left(self._earlier, value)
        starting = (1 - _SWIFT) * stake_of_start(self._bets) * _WEIGHTS
        starting[0, 0] += _SWIFT * stake_of_swift(before, self._first)
        self._waiting -= float(starting.sum())
        if as_large < known:  # else the stake on a change before this value is lost
            self._begun = np.concatenate([self._begun, [[self._bets, before]]])
            self._stakes = np.concatenate([self._stakes, starting[None]])
        if self._begun.size:
            begun, earlier = self._begun.T[:, :, None]
            allowed = _EARLIER + np.floor(_EARLIER_SHARE * earlier)
            allowed = allowed + np.ceil(_SINCE_SHARE * (self._bets - begun + 1))
            won = np.where(as_large <= allowed, known / allowed, 0.0)
            won = np.where(allowed < known, won, 1.0)
            self._stakes = np.minimum(self._stakes * (1 + _HELD[:, None] * (won - 1)[:, None, :]), _MOST)
            kept = self._stakes.sum((1, 2)) > _LEAST
            self._begun, self._stakes = self._begun[kept], self._stakes[kept]
        staked = float(self._stakes.sum()) if self._begun.size else 0.0
        self.evidence = min(_MOST, staked + self._waiting)
        return self.evidence


def lasting_difference(differs: Sequence[bool], first: int) -> float:
    """Evidence that what a look may find or not is found more often for good.

    The likelihood of the answers if a share of them differs that is another one from some look on, over what
    it is if a single share always holds and fits them best (universal inference: Wasserman, Ramdas &
    Balakrishnan 2020, PNAS 117, 16880-16890; for exchangeable answers: Ramdas et al. 2022, International
    Journal of Approximate Reasoning 141, 83-109). Starts have the stakes of `stake_of_start`; before the
    change the share is 0 or a Jeffreys share, after it 1 or a uniform one. It is below a martingale in all
    that is known, so that a mean over prompts is evidence, too, however a look ties them together, and
    whichever prompts are asked again.

    Args:
        differs: Whether each answer differed.
        first: How many of them are of the first occasion.

    An answer that never differed, then always:

    >>> [f"{lasting_difference([False] * 5 + [True] * looks, 5):.3g}" for looks in (0, 5, 10, 15)]
    ['0.623', '185', '2.36e+03', '1.26e+04']
    """
    ones = np.concatenate([[0], np.cumsum(differs)])
    zeros = np.arange(len(ones)) - ones
    stakes = _stakes_of_starts(len(differs) - first)
    before = _likelihood(ones, zeros, 0.5)
    after = _likelihood(zeros[-1] - zeros, ones[-1] - ones, 1.0)
    counts = np.array([ones[-1], zeros[-1]])
    best = scipy.special.xlogy(counts, counts / max(1, len(differs))).sum()
    changed = stakes @ np.exp(before + after - best)[first:-1]
    return min(_MOST, float(changed + (1 - stakes.sum()) * np.exp(before[-1] - best)))


def _likelihood(never: Ints, always: Ints, prior: float) -> Floats:
    """The log likelihood of a sequence in which one kind of answer has a share of 0 or from a beta."""
    spread = scipy.special.betaln(never + prior, always + prior) - scipy.special.betaln(prior, prior)
    likelihood: Floats = np.logaddexp(np.where(never == 0, 0.0, -np.inf), spread) - log(2)
    return likelihood


class Moved:
    """Evidence that a look's prompts have moved beyond everything that they were on the first occasion.

    Each look gives one value: the share of its prompts beyond all their values on the first occasion. The
    k-th row of the first occasion counts as a look at the k-th part, beside the other rows. Centred, a look's
    values are taken less the median of how far its prompts have moved, so that what it adds to all of them
    alike puts none beyond.

    Args:
        first: The first occasion's values, one row for each time that the prompts were asked; NaN: no value.
        parts: The prompts of each part.
        centred: Whether what is common to a look is left out, and the smallest value lies beyond too.
        reference: Whether the first row is what the others are compared with, and not a look.

    Four prompts; at every look all of them move by one, and from the fourth on, half move apart:

    >>> first = np.array([[0.1, 0.5, 0.9, 0.7]] * 6)
    >>> moved, apart = Moved(first, [[0, 1, 2, 3]]), np.array([0, 0, 2, -2])
    >>> [f"{moved.look([0, 1, 2, 3], first[0] + 1 + apart * (at > 2)):.3g}" for at in range(9)][2::2]
    ['0.736', '2.57', '24.6', '164']
    """

    def __init__(
        self,
        first: Floats,
        parts: Sequence[Sequence[int]],
        *,
        centred: bool = True,
        reference: bool = False,
    ) -> None:
        self._centred, self._sides = centred, (1, -1) if centred else (1,)
        self._middle = _medians(first, 0)
        known = first - np.nan_to_num(_medians(first - self._middle, 1))[:, None] * centred
        self._ends = self._ends_of(known)
        self._beyond = LastingChange()
        for row in range(reference, len(first)):
            prompts = list(parts[row % len(parts)])
            beside = self._ends_of(np.delete(known, row, 0))
            self._beyond.learn(self._share_beyond(beside, prompts, first[row, prompts]))

    @property
    def evidence(self) -> float:
        """The e-process now."""
        return self._beyond.evidence

    def look(self, prompts: Sequence[int], values: Floats) -> float:
        """Bet on the values of a look, and return the evidence; a prompt without a value is left out."""
        return self._beyond.look(self._share_beyond(self._ends, list(prompts), values))

    def _ends_of(self, known: Floats) -> Floats:
        """Of each prompt the largest value, and of two sides the largest with the other sign; NaN: none."""
        absent = np.isnan(known)
        ends = [np.where(absent, -np.inf, side * known).max(0) for side in self._sides]
        slack = 1e-9 * np.abs(np.where(absent, 0.0, known)).max(0)
        return np.where(absent.all(0), np.nan, np.stack(ends) + slack)

    def _share_beyond(self, ends: Floats, prompts: list[int], values: Floats) -> float:
        """The share of prompts beyond their ends."""
        moved = values - self._middle[prompts]
        able = ~np.isnan(moved) & ~np.isnan(ends[0, prompts])
        if not able.any():
            return nan
        now = (values - float(np.median(moved[able])) * self._centred)[able]
        beyond = [side * now > end[prompts][able] for side, end in zip(self._sides, ends, strict=True)]
        return float(np.any(beyond, 0).mean())


def _medians(values: Floats, axis: int) -> Floats:
    """The medians of the known values; NaN where there are none."""
    with catch_warnings():
        simplefilter("ignore", RuntimeWarning)  # where nothing is known
        return np.asarray(np.nanmedian(values, axis), float)
