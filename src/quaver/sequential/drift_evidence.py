"""Evidence that something repeated over time has changed: e-processes against the null that it never does.

An e-process is evidence that starts at 1 and, while nothing changes, ever reaches 1/α with a probability of
at most α, however long it is watched and whenever one stops (Ville 1939; Ramdas, Grünwald, Vovk & Shafer
2023, Statistical Science 38, 576-601). The null is that the values of each prompt are exchangeable: the
first occasion's, and those of every later look. Each prompt may be as noisy as it likes; its first occasion
shows how noisy.

Both processes bet on conformal p values: among the first n values of a prompt, the rank of the last one is
uniform and independent of all earlier ranks (Rényi 1962; Vovk, Gammerman & Shafer 2022, Algorithmic Learning
in a Random World, ch. 8); ties make small ranks rarer. The alternative is a change at some look; looks at
which it may have happened share the stake, the earlier ones getting more of it.

`Records` looks for many prompts that move a little, `LastingChange` for one prompt that has another answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_BETS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
"""Shares of the stake that are bet on a record: few prompts move, or nearly all."""

_HELD, _EARLIER = np.array([1.0, 0.8]), np.array([0, 1, 3])
"""What is bet on a lasting change: all or most of the stake; other answers before it."""

_WEIGHTS = np.outer([0.5, 0.5], [0.7, 0.2, 0.1]).ravel()

_WHOLE = 2.109742801236892
"""The sum of 1/(n·ln²n) over n from 2."""

_MOST = 1e100


def stake_of_start(look: int) -> float:
    """The share of the stake on a change at a look: 1/((s + 1)·ln²(s + 1)), over the sum of all.

    It falls nearly as slowly as it can, so that a change after years still gets a fair share.

    >>> [round(stake_of_start(look), 6) for look in (1, 10, 365)]
    [0.493276, 0.007494, 3.7e-05]
    """
    return 1 / (_WHOLE * (look + 1) * log(look + 1) ** 2)


class Records:
    """Evidence from records: a value beyond all earlier values of its prompt.

    Of n + 1 exchangeable values the last is the largest with a probability of 1/(n + 1), whatever their
    distribution and independently of whether earlier ones were records. A bet of the share w on it multiplies
    the stake by 1 − w + w·(n + 1) at a record and by 1 − w elsewhere. Prompts move independently of each
    other under the null. A change that moves many of them sets many records.

    Args:
        prompts: How many prompts there are.
        two_sided: Whether the smallest value is a record too.
        histories: The shape of the histories that are watched side by side; one, if left out.

    Twenty prompts, four equal values each at first, and then each moves at the third look:

    >>> records, all_of_them = Records(20), range(20)
    >>> for _ in range(4):
    ...     records.learn(all_of_them, np.full(20, 0.5))
    >>> [f"{float(records.look(all_of_them, np.full(20, value))):.3g}" for value in (0.5, 0.5, 0.4)]
    ['0.542', '0.398', '4.72e+08']
    """

    def __init__(self, prompts: int, *, two_sided: bool = True, histories: tuple[int, ...] = ()) -> None:
        self._sides = 2 if two_sided else 1
        self._count = np.zeros((*histories, prompts), int)
        self._low = np.full((*histories, prompts), np.inf)
        self._high = -self._low
        self._looks, self._waiting = 0, 1.0
        self._stakes = np.zeros((*histories, len(_BETS)))

    @property
    def evidence(self) -> Floats:
        """The e-process now, one number for each history."""
        return np.asarray(np.minimum(_MOST, self._stakes.mean(-1) + self._waiting))

    def learn(self, prompts: Sequence[int], values: ArrayLike) -> None:
        """Take in values of the first occasion, on which nothing is bet."""
        at, new = list(prompts), np.asarray(values, float)
        self._count[..., at] += ~np.isnan(new)
        self._low[..., at] = np.fmin(self._low[..., at], new)
        self._high[..., at] = np.fmax(self._high[..., at], new)

    def look(self, prompts: Sequence[int], values: ArrayLike) -> Floats:
        """Bet on the values of a look and return the evidence; arguments as in `learn`.

        Nothing is bet on a prompt without earlier values, or without a value now.
        """
        self._looks += 1
        starting = stake_of_start(self._looks)
        self._waiting -= starting
        at, new = list(prompts), np.asarray(values, float)
        earlier = self._count[..., at]
        record = new > self._high[..., at]
        if self._sides == 2:
            record |= new < self._low[..., at]
        chance = np.minimum(1.0, self._sides / (earlier + 1))
        known = ((earlier > 0) & ~np.isnan(new))[..., None]
        won = np.where(known, 1 - _BETS + _BETS * (record / chance)[..., None], 1.0)
        with np.errstate(over="ignore"):
            self._stakes = np.minimum((self._stakes + starting) * won.prod(-2), _MOST)
        self.learn(at, new)
        return self.evidence


class LastingChange:
    """Evidence that a single prompt's answer has changed for good, however often it wavers by itself.

    A prompt's first answer is the reference; each later one is the same or another. Where d of its n answers
    differ, the last of them among these, its rank is d/n. A change before answer s means that nearly all
    answers since then differ: the bet on it is that the rank of answer n is at most (e + n − s + 1)/n, where
    at most e answers differed before. After k answers that all differ, it has won (n choose k) times its
    stake, n being all the prompt's answers, which is the most that exchangeability allows. The evidence is
    that of the prompt with the most, divided by the number of prompts. How often a prompt is asked may depend
    on its answers.

    Args:
        prompts: How many prompts there are.

    Five answers at first, none of them another, and then ten others:

    >>> change = LastingChange(1)
    >>> change.learn([0], [0], [5])
    >>> [f"{change.answer([0], [True]):.3g}" for _ in range(10)][::3]
    ['2.75', '36.8', '204', '721']
    """

    def __init__(self, prompts: int) -> None:
        self._answers = np.zeros(prompts, int)
        self._differing = np.zeros(prompts, int)
        self._bet = np.zeros(prompts, int)
        self._waiting, self._own = np.ones(prompts), np.ones(prompts)
        self._begun = np.zeros((prompts, 4), int)
        self._stakes = np.zeros((prompts, 4, len(_WEIGHTS)))

    @property
    def evidence(self) -> float:
        """The e-process now."""
        return float(min(_MOST, self._own.max() / len(self._own)))

    @property
    def wavered(self) -> NDArray[np.int_]:
        """How many answers of each prompt were not the reference."""
        return self._differing.copy()

    def of(self, prompts: Sequence[int]) -> Floats:
        """The evidence of single prompts alone, each a process of its own."""
        return self._own[list(prompts)]

    def learn(self, prompts: Sequence[int], differing: ArrayLike, answers: ArrayLike) -> None:
        """Take in the first occasion, on which nothing is bet."""
        self._answers[list(prompts)] += np.asarray(answers, int)
        self._differing[list(prompts)] += np.asarray(differing, int)

    def answer(self, prompts: Sequence[int], differ: ArrayLike) -> float:
        """Bet on an answer to each of some prompts, and return the evidence."""
        at, other = list(prompts), np.asarray(differ, bool)
        self._answers[at] += 1
        self._differing[at] += other
        self._bet[at] += 1
        bet, count = self._bet[at], self._answers[at]
        starting = _stakes_of_starts(bet)
        self._waiting[at] -= starting
        self._begin(at, np.where(other, bet, 0), starting)
        begun, stakes = self._begun[at], self._stakes[at]
        rank = np.where(other, self._differing[at] / count, 1.0)
        won = _won(bet[:, None] - begun + 1, count, rank)
        stakes = np.minimum(stakes * np.where((begun > 0)[..., None], won, 1.0), _MOST)
        self._stakes[at] = stakes
        self._own[at] = np.minimum(_MOST, stakes.sum((1, 2)) + self._waiting[at])
        return self.evidence

    def _begin(self, at: list[int], begun: NDArray[np.int_], starting: Floats) -> None:
        """Place the stake on a change before this answer, where it is another one; else the stake is lost."""
        used = (self._begun[at] > 0).sum(1)
        if used.size and used.max() == self._begun.shape[1]:
            self._begun = np.concatenate([self._begun, np.zeros_like(self._begun)], 1)
            self._stakes = np.concatenate([self._stakes, np.zeros_like(self._stakes)], 1)
        here = (np.arange(self._begun.shape[1]) == used[:, None]) & (begun > 0)[:, None]
        self._begun[at] += np.where(here, begun[:, None], 0)
        self._stakes[at] += np.where(here, starting[:, None], 0.0)[..., None] * _WEIGHTS


def _stakes_of_starts(numbers: NDArray[np.int_]) -> Floats:
    """`stake_of_start`, of many."""
    n = np.maximum(numbers, 1) + 1
    return np.asarray(1 / (_WHOLE * n * np.log(n) ** 2))


def _won(since: NDArray[np.int_], count: NDArray[np.int_], rank: Floats) -> Floats:
    """What stakes on changes that many answers ago are multiplied by; the last axis: the bets."""
    allowed = np.clip((_EARLIER + since[..., None]) / count[..., None, None], 1e-12, 1.0)
    right = rank[..., None, None] <= allowed + 1e-12
    won = 1 - _HELD[:, None] + _HELD[:, None] * (right / allowed)[..., None, :]
    won = np.where((allowed < 1.0)[..., None, :], won, 1.0)
    return np.asarray(won.reshape(*won.shape[:-2], len(_WEIGHTS)))
