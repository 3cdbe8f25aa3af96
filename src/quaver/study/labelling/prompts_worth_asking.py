"""How many prompts are worth asking about each text: forecast from a check's answers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

SIZES: Final = (1, 3, 5, 10)
"""Numbers of prompts whose votes are compared."""

_DRAWS: Final = 100
"""Sets of as many prompts that are drawn."""

_GOLD: Final = 30
"""Texts with gold labels; fewer say less than how far the votes of all prompts are reached."""

_WORTH: Final = 0.01
"""More prompts are asked where they make this share of the labels right, or more."""

_NEAR: Final = 0.05
"""Without gold labels, more are asked until this share of the labels differs from the vote of all."""


@dataclass(frozen=True, slots=True)
class Votes:
    """What the most frequent label of so many prompts would be worth.

    Attributes:
        prompts: How many prompts are asked about each text.
        wrong: The share of its labels that differ from the gold labels; where hardly any text has one, from
            the most frequent label of all prompts.
        texts: The texts that show it.
        by_gold: Whether these have gold labels.
    """

    prompts: int
    wrong: float
    texts: int
    by_gold: bool


class PromptVotes:
    """The labels that a check's prompts gave, and what their votes are worth.

    Args:
        annotations: One evaluator's and one model's; the first repeat counts.
        variants: The prompts' ids, in the design's order.
        labels: The labels' codes.
        seed: Of the sets of prompts that are drawn.
    """

    def __init__(
        self, annotations: pl.DataFrame, variants: Sequence[str], labels: Sequence[str], seed: int
    ) -> None:
        text = [pl.col(name).cast(pl.String) for name in ("item", "variant", "label", "gold")]
        frame = annotations.filter(pl.col("repeat") == annotations["repeat"].min()).select(*text)
        items = frame.select("item", "gold").unique("item", maintain_order=True)
        row = {item: index for index, item in enumerate(items["item"])}
        column = {variant: index for index, variant in enumerate(variants)}
        place = {label: index for index, label in enumerate(labels)}
        self._given = np.zeros((len(row), len(variants), len(labels)), bool)
        for item, variant, label in frame.select("item", "variant", "label").iter_rows():
            if label in place and variant in column:
                self._given[row[item], column[variant], place[label]] = True
        self._variants, self._seed = tuple(variants), seed
        gold = np.array([place.get(label, -1) for label in items["gold"]], int)
        self._all = self._vote(range(len(variants)))
        self.by_gold = bool((gold >= 0).sum() >= _GOLD)
        self._truth = gold if self.by_gold else self._all

    def forecast(self) -> list[Votes]:
        """What one prompt and the votes of several would be worth, for each size that can be had."""
        sizes = [size for size in SIZES if size <= len(self._variants)]
        known = self._truth >= 0
        draw = random.Random(self._seed)
        votes = []
        for size in sizes:
            whole = size == len(self._variants)
            sets = [draw.sample(range(len(self._variants)), size) for _ in range(1 if whole else _DRAWS)]
            wrong = [float((self._vote(own)[known] != self._truth[known]).mean()) for own in sets]
            votes.append(Votes(size, float(np.mean(wrong)), int(known.sum()), self.by_gold))
        return votes

    def worth_asking(self) -> int:
        """The smallest number of prompts whose votes are wrong at most a point more often than others'.

        Without gold labels, the smallest whose votes come near those of all prompts.
        """
        votes = self.forecast()
        most = min(one.wrong for one in votes) + _WORTH if self.by_gold else _NEAR
        return next(one.prompts for one in votes if one.wrong <= most or one is votes[-1])

    def most_typical(self, size: int, before: Sequence[str] = ()) -> list[str]:
        """The first prompt, and those that agree most often with the vote of all, in the design's order.

        Prompts that were asked before come first: their answers are paid for.
        """
        rows = np.flatnonzero(self._all >= 0)
        alike = self._given[rows, :, self._all[rows]].mean(axis=0) if rows.size else self._given.mean((0, 2))
        first = [self._variants.index(one) for one in before] or [0]
        others = sorted(range(len(self._variants)), key=lambda index: (-alike[index], index))
        chosen = list(dict.fromkeys([*first, *others]))[:size]
        return [variant for index, variant in enumerate(self._variants) if index in chosen]

    def _vote(self, own: Sequence[int]) -> NDArray[np.int_]:
        """Each text's most frequent label of these prompts, of equals the first; -1 where there is none."""
        times = self._given[:, list(own)].sum(axis=1)
        return np.where(times.any(axis=1), times.argmax(axis=1), -1)
