"""One random number for each item, by which every round of a gold sample is drawn.

Ohlsson (1995), "Coordination of samples using permanent random numbers": an item keeps its number, so that a
larger sample contains the smaller one and an item's probability of being in it is that of the last round
alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def permanent_numbers(seed: int, items: Iterable[str], purpose: str = "draw") -> Floats:
    """A number between 0 and 1 for each item: uniform, independent of the others, the same in every round.

    The first 53 bits of BLAKE2b (8 bytes) of ``seed``, ``purpose`` and the item's id, joined by U+001F, plus
    one half, over 2^53. Anyone can compute it again, in any language.

    Args:
        seed: The sample's seed.
        items: The items' ids.
        purpose: What is drawn; another purpose gives numbers that are independent of these.

    >>> permanent_numbers(7, ["a", "b"]).round(3).tolist()
    [0.582, 0.847]
    """
    start = blake2b(f"{seed}\x1f{purpose}\x1f".encode(), digest_size=8)
    found = []
    for item in items:
        one = start.copy()
        one.update(item.encode("utf-8", "surrogatepass"))
        found.append(int.from_bytes(one.digest(), "big") >> 11)
    return (np.array(found, dtype=np.float64) + 0.5) / 2.0**53
