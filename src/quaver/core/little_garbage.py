"""Python's search for reference cycles, kept away from work that makes many objects and no cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 100_000
"""New objects after which Python looks for reference cycles: more than wait to be written in a run."""


@contextmanager
def little_garbage() -> Iterator[None]:
    """Have Python look for reference cycles seldom.

    Walking what is held again and again would take a third of a fast call's time, and of the time that items
    take to load.
    """
    before = gc.get_threshold()
    if not 0 < before[0] < _OBJECTS:  # switched off, or somebody else has done it
        yield
        return
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
