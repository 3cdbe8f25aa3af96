"""What a cell's levels are called: in full as the frame has them, and short as tables show them."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["ARROW", "is_level", "short"]

ARROW = " → "
"""Between what one side of a comparison is called and what the other is."""


def short(value: str) -> str:
    """A variant by its levels alone, on either side of an arrow.

    >>> short("text=full,format=digits"), short("paraphrase=plain → paraphrase=curt"), short("gpt-4o")
    ('full · digits', 'plain → curt', 'gpt-4o')
    """
    return ARROW.join(_short(side) for side in value.split(ARROW))


def _short(value: str) -> str:
    parts = re.findall(r"(?:^|,)[^=,]+=([^,]*)", value)
    return " · ".join(parts) if parts else value


def is_level(cell: Mapping[str, str], column: str, level: str) -> bool:
    """Whether a cell is of a level, however it is written.

    In full, short, as one side of an arrow, or as one of the factors that a variant is made of; and a
    factor's own level, where the cell has no column of the factor but a variant.

    >>> cell = {"variant": "text=full,format=digits", "model": "old → new"}
    >>> is_level(cell, "variant", "full · digits"), is_level(cell, "format", "digits")
    (True, True)
    >>> is_level(cell, "model", "new"), is_level(cell, "format", "full")
    (True, False)
    """
    if column in cell:
        value = cell[column]
        sides = [value, *value.split(ARROW)]
        return level in (*sides, *map(short, sides), *(part for side in sides for part in side.split(",")))
    sides = cell.get("variant", "").split(ARROW)
    return any(f"{column}={level}" in side.split(",") for side in sides)
