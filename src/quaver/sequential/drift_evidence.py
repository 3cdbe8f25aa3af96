"""Evidence that something repeated over time has changed: e-processes against the null that it never does.

An e-process is evidence that starts at 1 and, while nothing changes, ever exceeds 1/α with a probability of
at most α, however long it is watched and whenever one stops (Ville 1939; Ramdas, Grünwald, Vovk & Shafer
2023, Statistical Science 38, 576-601). The null is that the values of each prompt are exchangeable: the
first occasion's, and those of every later look. The alternative is a change at some look; looks at which it
may have happened share the stake, the earlier ones getting more of it.

`Records` looks for many prompts that move a little, `SteadyAnswers` for one prompt that has another answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlogy

Floats = NDArray[np.float64]

_BETS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
"""Shares of the stake that are bet on a record: few prompts move, or nearly all."""

_SHAPES = ((0.5, 0.5), (0.1, 1.0), (1.0, 0.1))
"""Beta distributions of how often an answer differs: any (Krichevsky & Trofimov 1981), seldom, mostly."""

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
    distribution and independently of whether earlier ones were records (Rényi 1962); ties make it rarer. A
    bet of the share w on it multiplies the stake by 1 − w + w·(n + 1) at a record and by 1 − w elsewhere.
    Prompts move independently of each other under the null. A change that moves many of them sets many
    records.

    Args:
        two_sided: Whether the smallest value is a record too.

    Twenty prompts, four equal values each at first, and then each moves at the third look:

    >>> records = Records()
    >>> for prompt in range(20):
    ...     records.learn(str(prompt), [0.5, 0.5, 0.5, 0.5])
    >>> same, moved = ({str(prompt): value for prompt in range(20)} for value in (0.5, 0.4))
    >>> [f"{records.look(values):.3g}" for values in (same, same, moved)]
    ['0.542', '0.398', '4.72e+08']
    """

    def __init__(self, *, two_sided: bool = True) -> None:
        self._sides = 2 if two_sided else 1
        self._count: dict[str, int] = {}
        self._ends: dict[str, tuple[float, float]] = {}
        self._looks, self._waiting, self._stakes = 0, 1.0, np.zeros(len(_BETS))

    @property
    def evidence(self) -> float:
        """The e-process now."""
        return float(min(_MOST, self._stakes.mean() + self._waiting))

    def learn(self, prompt: str, values: Iterable[float]) -> None:
        """Take in values of the first occasion, on which nothing is bet."""
        for value in values:
            self._take_in(prompt, value)

    def look(self, values: Mapping[str, float]) -> float:
        """Bet on the values of a look, one of each prompt, and return the evidence.

        A prompt without earlier values has no record.
        """
        self._looks += 1
        starting = stake_of_start(self._looks)
        self._waiting -= starting
        self._stakes += starting
        for prompt, value in values.items():
            n = self._count.get(prompt, 0)
            record = n > 0 and self._is_record(prompt, value)
            chance = min(1.0, self._sides / (n + 1))
            if n:
                self._stakes = np.minimum(self._stakes * (1 - _BETS + _BETS * record / chance), _MOST)
            self._take_in(prompt, value)
        return self.evidence

    def _is_record(self, prompt: str, value: float) -> bool:
        low, high = self._ends[prompt]
        return value > high or (self._sides == 2 and value < low)

    def _take_in(self, prompt: str, value: float) -> None:
        low, high = self._ends.get(prompt, (value, value))
        self._ends[prompt] = min(low, value), max(high, value)
        self._count[prompt] = self._count.get(prompt, 0) + 1


class SteadyAnswers:
    """Evidence that a single prompt's answer has changed for good, however often it wavers by itself.

    A prompt's first answer is the reference; each later one is the same or another, independently, with a
    probability that is the prompt's own. The evidence is the probability of its answers under a change
    between two of its visits, each part with a probability drawn from a mixture of beta distributions, over
    the largest that any single probability gives them: universal inference (Wasserman, Ramdas &
    Balakrishnan 2020, PNAS 117, 16880-16890). The whole is the mean over prompts. How often one is asked
    may depend on its answers.

    Args:
        prompts: How many prompts may be asked.
    """

    def __init__(self, prompts: int) -> None:
        self._prompts = prompts
        self._visits: dict[str, list[tuple[int, int]]] = {}
        self._own: dict[str, float] = {}

    @property
    def evidence(self) -> float:
        """The e-process now."""
        unseen = self._prompts - len(self._own)
        return float(min(_MOST, (sum(self._own.values()) + unseen) / max(1, self._prompts)))

    def of(self, prompt: str) -> float:
        """The evidence of one prompt alone."""
        return self._own.get(prompt, 1.0)

    def visit(self, prompt: str, differing: int, answers: int, *, same: bool = False) -> float:
        """Take in the answers of a visit, and return the evidence.

        Args:
            prompt: The prompt; its first visit is the first occasion, without the reference itself.
            differing: How many of the answers are not the reference.
            answers: How many there are.
            same: Whether they belong to the visit before.
        """
        visits = self._visits.setdefault(prompt, [])
        if same and visits:
            differing, answers = differing + visits[-1][0], answers + visits[-1][1]
            visits.pop()
        visits.append((differing, answers))
        self._own[prompt] = _changed(np.array(visits, float))
        return self.evidence


def _changed(visits: Floats) -> float:
    """The evidence for a change before one of the visits but the first; rows: differing answers, answers."""
    ones, count = visits.cumsum(0).T
    whole = np.array([_mixed(ones[-1:], count[-1:])[0]])
    stakes = np.array([stake_of_start(visit) for visit in range(1, len(visits))])
    parts = _mixed(ones[:-1], count[:-1]) + _mixed(ones[-1] - ones[:-1], count[-1] - count[:-1])
    likely = xlogy(ones[-1], ones[-1] / count[-1]) + xlogy(count[-1] - ones[-1], 1 - ones[-1] / count[-1])
    weighted = np.concatenate([np.log(stakes) + parts, np.log1p(-stakes.sum()) + whole])
    return float(np.exp(np.minimum(np.logaddexp.reduce(weighted) - likely, np.log(_MOST))))


def _mixed(ones: Floats, count: Floats) -> Floats:
    """The logarithm of the probability of sequences under the mixture."""
    each = [betaln(a + ones, b + count - ones) - betaln(a, b) for a, b in _SHAPES]
    return np.asarray(np.logaddexp.reduce(each) - log(len(_SHAPES)))
