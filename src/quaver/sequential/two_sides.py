"""Evidence that two models answer differently, from a few answers of each to the same prompt.

If both are the same model, the answers to a prompt are exchangeable: which of them are whose is as good as a
draw. `TwoSides` bets, prompt by prompt, that the answers of one side are apart from those of the other, and
wins the inverse of the probability that a random division of the same answers has. The product over prompts
is an e-process (Ramdas, Grünwald, Vovk & Shafer 2023, Statistical Science 38, 576-601): it ever reaches 1/α
with a probability of at most α.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

FIRST, SECOND = 5, 3
"""How often each side is asked about a prompt to which their first answers differ; of the divisions of eight
answers, the one that wins most where labels alone are known."""

_BETS, _SHARES = np.array([0.95, 0.6]), np.array([0.8, 0.2])


class Given(NamedTuple):
    """What is known of an answer.

    Attributes:
        label: Its label.
        likely: How likely the side's model was to give the token that most of the answers begin with, as a
            logarithm; None where log-probabilities are not known.
    """

    label: str
    likely: float | None = None


def apart(first: Sequence[Given], second: Sequence[Given]) -> bool:
    """Whether the sides have no label in common, or one's probabilities lie below all of the other's."""
    if not {one.label for one in first} & {one.label for one in second}:
        return True
    here = [one.likely for one in first if one.likely is not None]
    there = [one.likely for one in second if one.likely is not None]
    if len(here) < len(first) or len(there) < len(second):
        return False
    return max(here) < min(there) or max(there) < min(here)


def chance_of_apart(answers: Sequence[Given], size: int) -> float:
    """How likely it is that a random division is apart, given that the sides' first answers differ.

    Args:
        answers: All answers of both sides.
        size: How many of them one side has.

    Five answers of a label and three of another: one of the 56 divisions is apart, and 30 of the 56 pairs of
    first answers differ.

    >>> answers = [Given("a")] * 5 + [Given("b")] * 3
    >>> round(1 / chance_of_apart(answers, 5), 6)
    30.0
    """
    everything = range(len(answers))
    divisions = list(combinations(everything, size))
    alone = sum(
        apart([answers[at] for at in side], [answers[at] for at in everything if at not in side])
        for side in map(set, divisions)
    )
    differ = sum(answers[a] != answers[b] for a in everything for b in everything if a != b)
    pairs = len(answers) * (len(answers) - 1)
    return min(1.0, alone / len(divisions) / (differ / pairs)) if differ else 0.0


class TwoSides:
    """Evidence that two sides are not the same model.

    One prompt, at which every answer of a side has another label than every answer of the other:

    >>> sides = TwoSides()
    >>> round(sides.take_in([Given("a")] * FIRST, [Given("b")] * SECOND), 1)
    26.5
    """

    def __init__(self) -> None:
        self._stakes = np.ones(len(_BETS))

    @property
    def evidence(self) -> float:
        """The e-process now."""
        return float(self._stakes @ _SHARES)

    def take_in(self, first: Sequence[Given], second: Sequence[Given]) -> float:
        """Bet on the answers to a prompt whose first answers differ, and return the evidence."""
        chance = chance_of_apart([*first, *second], len(first))
        if 0 < chance < 1:
            self._stakes = self._stakes * (1 - _BETS + _BETS * apart(first, second) / chance)
        return self.evidence
