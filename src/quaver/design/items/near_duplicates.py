"""Texts that are the same but for capitals, punctuation and white space: copies, a question asked again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from quaver.core.records import Item

_NOT_A_WORD = re.compile(r"[\W_]+")

NEAR_DUPLICATES = "near_duplicates"
"""The name of these groups, where a study takes them for its own."""


def with_near_duplicates(items: Sequence[Item], texts: Sequence[str]) -> list[Item]:
    """The items, each in the group of those whose texts are the same as its own."""
    groups = enumerate(near_duplicates(texts))
    names = [f"text {group}" if group >= 0 else f"item {index}" for index, group in groups]
    return [
        replace(item, groups={**item.groups, NEAR_DUPLICATES: name})
        for item, name in zip(items, names, strict=True)
    ]


def near_duplicates(texts: Sequence[str]) -> list[int]:
    """The groups of texts that are the same but for capitals, punctuation and white space.

    Returns:
        Each text's group, from 0 in the order of their first texts; -1 for a text that is like no other.

    >>> near_duplicates(["The vote is on Monday.", "Taxes fall.", "the vote is on Monday"])
    [0, -1, 0]
    """
    words = [_NOT_A_WORD.sub(" ", text.casefold()).strip() for text in texts]
    numbers: dict[str, int] = {}
    sizes = Counter(words)
    return [numbers.setdefault(text, len(numbers)) if sizes[text] > 1 else -1 for text in words]
