"""The prompts of an experiment in the order of work: those that share a prefix stand next to each other.

An engine that caches prefixes then reads each of them once. Variants whose prompts begin alike before the
item's text form a block; within a block the items are sorted by their text, and each item's variants by their
prompts. This is nearly the depth-first walk of the tree of all prompts, without sorting them all. Where the
variants of a block show the items in different texts, each text makes a block of its own, unless an item's
texts have more in common than the same text of neighbouring items.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

import numpy as np

from quaver.core.records import Item, Prompt
from quaver.design.calls.experiment import Experiment
from quaver.design.prompts.rendering import PromptWriter

_PROBED = 16
"""Items on either side of the middle that show which order leaves less to read."""

_MOST_PAIRS = 1_000_000
"""Pairs of variants whose prompts' ends are compared before all prompts are."""

_ANY_TEXT = "\x00"
"""Stands for an item's text where any text will do."""

_Block = tuple[list[int], list[int]]
"""Positions of variants, and of the items in the order in which these variants take them."""


@dataclass(frozen=True, slots=True)
class Survey:
    """One pass over all prompts of a design.

    Attributes:
        prompts: Variant × item pairs.
        characters: Characters of all prompts together.
        new_characters: Characters that an engine with a prefix cache reads: each prompt without the beginning
            that it shares with the one before.
        longest: Characters of the longest prompt.
        twins: Hashes (of this process only) of prompts that occur more than once.
        of_variants: Characters of each variant's prompts, in the variants' order.
    """

    prompts: int
    characters: int
    new_characters: int
    longest: int
    twins: frozenset[int]
    of_variants: tuple[int, ...]


class WorkOrder:
    """Every prompt of an experiment, in the order of work."""

    def __init__(self, experiment: Experiment) -> None:
        self._items, self._variants = experiment.items, experiment.variants
        self._writers = [PromptWriter(variant, experiment.labels) for variant in experiment.variants]
        self._sorted: dict[Hashable, list[int]] = {}
        self._repeated: dict[Hashable, list[int]] = {}

    def prompts(self) -> Iterator[tuple[int, int, Prompt]]:
        """Every prompt once: the position of its variant, of its item, and the prompt."""
        for block, items in self._blocks:
            texts_of = {self._writers[index].text_key: self._writers[index] for index in block}
            for position in items:
                item = self._items[position]
                texts = {key: writer.text(item) for key, writer in texts_of.items()}
                for index in block:
                    writer = self._writers[index]
                    yield index, position, writer.write(item, texts[writer.text_key])

    @cached_property
    def twins(self) -> frozenset[int]:
        """Hashes (of this process only) of prompts that occur more than once.

        Where prompts of different variants cannot be alike, only items with the same text are looked at.
        """
        frames = [writer.around for writer in self._writers]
        if None in frames or not _all_apart([frame for frame in frames if frame is not None]):
            return self.survey.twins
        found = set()
        for index, writer in enumerate(self._writers):
            self._by_text(index)
            for position in self._repeated[writer.text_key]:
                found.add(hash(self._written(index, self._items[position])))
        return frozenset(found)

    @cached_property
    def survey(self) -> Survey:
        """What one pass over all prompts shows; it takes eight bytes of memory a prompt."""
        total = len(self._items) * len(self._variants)
        hashes = np.empty(total, dtype=np.int64)
        of_variants = [0] * len(self._variants)
        new = longest = 0
        before = ""
        for number, (variant, _, prompt) in enumerate(self.prompts()):
            text = joined(prompt)
            hashes[number] = hash(text)
            of_variants[variant] += len(text)
            new += len(text) - _shared(before, text)
            longest = max(longest, len(text))
            before = text
        hashes.sort()
        twins = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        return Survey(total, sum(of_variants), new, longest, frozenset(twins.tolist()), tuple(of_variants))

    @cached_property
    def _blocks(self) -> list[_Block]:
        variants = self._variants
        heads = [self._head(index) for index in range(len(variants))]
        starts = [self._written(index, self._items[0]) for index in range(len(variants))]
        order = sorted(range(len(variants)), key=lambda index: (heads[index], starts[index], index))
        blocks: list[_Block] = []
        for _, block in groupby(order, key=lambda index: heads[index]):
            members = list(block)
            together = [(members, self._by_text(members[0]))]
            by_text: dict[Hashable, list[int]] = {}
            for index in members:
                by_text.setdefault(self._writers[index].text_key, []).append(index)
            apart = [(some, self._by_text(some[0])) for some in by_text.values()]
            is_better = len(apart) > 1 and self._cost(apart) < self._cost(together)
            blocks += apart if is_better else together
        return blocks

    def _head(self, index: int) -> str:
        """What a variant's prompts begin with, whatever the item."""
        writer = self._writers[index]
        first, last = (joined(writer.write(self._items[at], _ANY_TEXT)) for at in (0, -1))
        return first[: _shared(first, last)].partition(_ANY_TEXT)[0]

    def _by_text(self, index: int) -> list[int]:
        """The items sorted by their text under a variant; sorted once for all variants that show the same."""
        writer, items = self._writers[index], self._items
        if writer.text_key not in self._sorted:
            texts = [writer.text(item) for item in items]
            order = sorted(range(len(items)), key=lambda position: (texts[position], position))
            self._sorted[writer.text_key] = order
            self._repeated[writer.text_key] = [
                position for position, following in pairwise(order) if texts[position] == texts[following]
            ]
        return self._sorted[writer.text_key]

    def _cost(self, blocks: Sequence[_Block]) -> int:
        """Characters that differ from the prompt before, for some of the items."""
        new = 0
        for members, positions in blocks:
            before = ""
            middle = len(positions) // 2
            for position in positions[max(0, middle - _PROBED) : middle + _PROBED]:
                for index in members:
                    written = self._written(index, self._items[position])
                    new += len(written) - _shared(before, written)
                    before = written
        return new

    def _written(self, index: int, item: Item) -> str:
        writer = self._writers[index]
        return joined(writer.write(item, writer.text(item)))


def joined(prompt: Prompt) -> str:
    """A prompt's messages as one text."""
    return "\x1e".join(content for _, content in prompt.messages)


def _all_apart(frames: Sequence[tuple[str, str]]) -> bool:
    """Whether prompts of different variants are sure to differ, whatever the items' texts are.

    Two prompts can only be alike if one begins as the other does before its text, and ends as the other does
    after it.

    >>> _all_apart([("Is this good? ", ""), ("Is that good? ", "")]), _all_apart([("", "!"), ("Oh, ", "!")])
    (True, False)
    """
    left = _MOST_PAIRS
    open_ones: list[tuple[str, str]] = []  # their beginnings all begin the next one
    for before, after in sorted(frames):
        while open_ones and not before.startswith(open_ones[-1][0]):
            open_ones.pop()
        left -= len(open_ones)
        if left < 0 or any(after.endswith(end) or end.endswith(after) for _, end in open_ones):
            return False
        open_ones.append((before, after))
    return True


def _shared(one: str, other: str) -> int:
    """Length of the common beginning, by bisection: comparing slices is much faster than characters."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
