"""Which coder labels which items, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from quaver.gold.permanent_numbers import permanent_numbers


def assigned(items: Sequence[str], coders: Sequence[str], overlap: float, seed: int) -> dict[str, list[str]]:
    """Deal items to coders; a random part of them goes to every coder.

    Args:
        items: The ids of the items of a round.
        coders: The coders' names, at least one.
        overlap: The share of items that every coder labels, from 0 to 1.
        seed: The sample's seed. An item's place in the deal depends on its id, not on its place in ``items``.

    Returns:
        Each coder's items, in an order of their own that says nothing about strata or doubt.

    >>> found = assigned(list("abcdef"), ["ada", "ben"], 0.5, 1)
    >>> sorted(map(len, found.values())), len(set(found["ada"]) & set(found["ben"]))
    ([4, 5], 3)
    """
    dealt = _shuffled(items, seed, "deal")
    shared = ceil(overlap * len(items) - 1e-9) if len(coders) > 1 else 0
    found: dict[str, list[str]] = dict.fromkeys(coders, dealt[:shared])
    for at, coder in enumerate(coders):
        found[coder] = _shuffled([*found[coder], *dealt[shared:][at :: len(coders)]], seed, f"order {coder}")
    return found


def labels_per_item(coders: int, overlap: float) -> float:
    """How many labels an item takes on average.

    >>> labels_per_item(2, 0.2)
    1.2
    """
    return 1 + overlap * (max(coders, 1) - 1)


def _shuffled(items: Sequence[str], seed: int, purpose: str) -> list[str]:
    numbers = permanent_numbers(seed, items, purpose).tolist()
    return [item for _, item in sorted(zip(numbers, items, strict=True))]
