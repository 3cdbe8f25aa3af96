"""Grids of decodings: parameters with several values, expanded under stable names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

GRID_SETTINGS = ("temperature", "top_p", "top_k", "min_p", "repeat_penalty", "max_tokens")
"""The parameters of a decoding that may have several values, in the order of their names."""


def written_out(name: str, given: Mapping[str, Any], grid: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The decodings of one entry: one for each combination of its parameters' values.

    Returns:
        Parameters by name, the last one changing fastest. A name depends only on the combination: adding a
        value to a grid renames no decoding. An entry without lists stays one decoding, under its own name.

    >>> list(written_out("hot", {"temperature": [0.5, 1], "top_p": [0.9]}, ["temperature", "top_p"]))
    ['hot,temperature=0.5,top_p=0.9', 'hot,temperature=1,top_p=0.9']
    >>> list(written_out("greedy", {"temperature": 0}, []))
    ['greedy']
    """
    found = {}
    for values in product(*(given[parameter] for parameter in grid)):
        chosen = dict(zip(grid, values, strict=True))
        levels = [f"{parameter}={_number(value)}" for parameter, value in chosen.items()]
        found[",".join([name, *levels])] = {**given, **chosen}
    return found


def _number(value: Any) -> str:
    """A parameter's value, the same for 1 and 1.0."""
    return f"{float(value):.12g}"
