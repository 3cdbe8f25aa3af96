"""The prompts of an experiment in the order of work: those that share a prefix stand next to each other.

An engine that caches prefixes then reads each of them once. Variants whose prompts begin alike before the
item's text, and show the same text, form a block; within a block the items are sorted by their text, and each
item's variants by their prompts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from quaver.core.records import Prompt
from quaver.design.calls.experiment import Experiment
from quaver.design.prompts.rendering import PromptWriter

_ANY_TEXT = "\x00"
"""Stands for an item's text where any text will do."""


@dataclass(frozen=True, slots=True)
class Survey:
    """One pass over all prompts of a design.

    Attributes:
        prompts: Variant × item pairs.
        characters: Characters of all prompts together.
        new_characters: Characters that an engine with a prefix cache reads: each prompt without the beginning
            that it shares with the one before.
        twins: Hashes (of this process only) of prompts that occur more than once.
        of_variants: Characters of each variant's prompts, in the variants' order.
    """

    prompts: int
    characters: int
    new_characters: int
    twins: frozenset[int]
    of_variants: tuple[int, ...]


class WorkOrder:
    """Every prompt of an experiment, in the order of work."""

    def __init__(self, experiment: Experiment) -> None:
        self._items = experiment.items
        self._writers = [PromptWriter(variant, experiment.labels) for variant in experiment.variants]

    def prompts(self) -> Iterator[tuple[int, int, Prompt]]:
        """Every prompt once: the position of its variant, of its item, and the prompt."""
        sorted_items: dict[Hashable, list[tuple[str, int]]] = {}
        for (_, key), block in groupby(self._variants, key=lambda variant: variant[:2]):
            writers = [(index, self._writers[index]) for *_, index in block]
            if key not in sorted_items:
                write = writers[0][1].text
                sorted_items[key] = sorted((write(item), place) for place, item in enumerate(self._items))
            for text, place in sorted_items[key]:
                for index, writer in writers:
                    yield index, place, writer.write(self._items[place], text)

    @cached_property
    def _variants(self) -> list[tuple[str, int, str, int]]:
        """Each variant's head, the number of its text, its first prompt and its position; sorted."""
        numbers: dict[Hashable, int] = {}
        rows = []
        for index, writer in enumerate(self._writers):
            number = numbers.setdefault(writer.text_key, len(numbers))
            first, last = (joined(writer.write(self._items[at], _ANY_TEXT)) for at in (0, -1))
            head = first[: _shared(first, last)].partition(_ANY_TEXT)[0]
            item = self._items[0]
            rows.append((head, number, joined(writer.write(item, writer.text(item))), index))
        return sorted(rows)

    @cached_property
    def survey(self) -> Survey:
        """What one pass over all prompts shows; it takes eight bytes of memory a prompt."""
        total = len(self._items) * len(self._writers)
        hashes = np.empty(total, dtype=np.int64)
        of_variants = [0] * len(self._writers)
        new, before = 0, ""
        for number, (variant, _, prompt) in enumerate(self.prompts()):
            text = joined(prompt)
            hashes[number] = hash(text)
            of_variants[variant] += len(text)
            new += len(text) - _shared(before, text)
            before = text
        hashes.sort()
        twins = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        return Survey(total, sum(of_variants), new, frozenset(twins.tolist()), tuple(of_variants))


def joined(prompt: Prompt) -> str:
    """A prompt's messages as one text."""
    return "\x1e".join(content for _, content in prompt.messages)


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
