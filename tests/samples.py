"""What the suite takes of a sweep: a share, another each day; QUAVER_CONFORMANCE=all takes the whole."""

import os
from datetime import UTC, datetime

__all__ = ["SEED", "drawn"]

SEED = int(os.environ.setdefault("QUAVER_SEED", str(datetime.now(UTC).toordinal())))
"""Draws the shares; pytest prints it, and processes that it starts have the same."""


def drawn(things, parts, number=0):
    """One of so many parts of a sequence; as many numbers, or days, in a row take every part once."""
    if os.environ.get("QUAVER_CONFORMANCE") == "all":
        return [*things]
    return [*things][(SEED + number) % parts :: parts]
