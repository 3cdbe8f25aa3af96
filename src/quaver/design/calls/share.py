"""A share of a study: the part of its calls that one shard asks.

Calls are dealt by item, so that prompts about one text, their repeats and their follow-ups stay together; a
design with few items is dealt by item × prompt. The order is drawn by a hash, the same on every machine, and
shares differ in size by one item (or one prompt) at most.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from quaver.core.seeds import derive
from quaver.design.calls.experiment import Experiment
from quaver.errors import SpecError

_ITEMS_A_SHARE = 4
"""Items that a share must have at least to be dealt by item."""


@dataclass(frozen=True, slots=True, order=True)
class Share:
    """One of several equal parts of a study.

    Attributes:
        of: How many there are.
        number: Which one this is, from 1.

    >>> Share.read("3/8")
    Share(of=8, number=3)
    >>> str(Share(8, 3)), Share(8, 3).folder
    ('3/8', '3-of-8')
    """

    of: int
    number: int

    @classmethod
    def read(cls, text: str) -> Share:
        """The share that ``3/8`` names.

        Raises:
            SpecError: It names none.
        """
        found = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text)
        number, of = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= of:
            raise SpecError(
                "this names no shard",
                where="shard",
                expected="its number, from 1, and how many there are, such as 3/8",
                found=text,
                fix="number the shards from 1 to how many there are: 1/8 to 8/8",
            )
        return cls(of, number)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{self.number}-of-{self.of}"

    def amount(self, whole: int) -> int:
        """Its part of a whole number; the parts of all shares add up to it.

        >>> [Share(3, number).amount(10) for number in (1, 2, 3)]
        [3, 3, 4]
        """
        return whole * self.number // self.of - whole * (self.number - 1) // self.of


class Dealt:
    """The calls of one share.

    Args:
        share: The share.
        experiment: The whole design.
        seed: The study's.
    """

    def __init__(self, share: Share, experiment: Experiment, seed: int) -> None:
        self._experiment = experiment
        items, variants = len(experiment.items), len(experiment.variants)
        self._width = 1 if items >= _ITEMS_A_SHARE * share.of else variants
        drawn = derive(seed, "shards")
        self._mine = _dealt(share, [f"{drawn} {item.id}" for item in experiment.items], self._width)
        self._places = {variant.id: at for at, variant in enumerate(experiment.variants)}

    def has(self, variant: int, item: int) -> bool:
        """Whether the share has the calls of a prompt, by the positions of variant and item."""
        return bool(self._mine[item * self._width + variant % self._width])

    def calls_of(self, condition: int) -> int:
        """How many of its calls a condition has."""
        one = self._experiment.conditions[condition]
        place = self._places[one.variant] % self._width
        return sum(self._mine[place :: self._width]) * one.repeats

    @property
    def calls(self) -> int:
        """How many calls it has."""
        return sum(self.calls_of(at) for at in range(len(self._experiment.conditions)))


def _dealt(share: Share, items: Sequence[str], width: int) -> bytearray:
    """For each unit, whether the share has it: each item, or each item × variant."""
    names = ((item if width == 1 else f"{item} {at}").encode() for item in items for at in range(width))
    digests = [blake2b(name, digest_size=8).digest() for name in names]
    mine = bytearray(len(digests))
    for rank, unit in enumerate(sorted(range(len(digests)), key=lambda unit: (digests[unit], unit))):
        mine[unit] = rank % share.of == share.number - 1
    return mine
