"""Names of a cell's levels: in full as in the frame, and short as in tables."""

from __future__ import annotations

import re
from collections.abc import Mapping

ARROW = " → "
"""Between the names of the two sides of a comparison."""


def short_name(value: str) -> str:
    """A variant by its levels alone, on either side of an arrow.

    >>> short_name("text=full,format=digits"), short_name("paraphrase=plain → paraphrase=curt")
    ('full · digits', 'plain → curt')
    """
    return ARROW.join(_short(side) for side in value.split(ARROW))


def _short(value: str) -> str:
    parts = re.findall(r"(?:^|,)[^=,]+=([^,]*)", value)
    return " · ".join(parts) if parts else value


def is_level(cell: Mapping[str, str], column: str, level: str) -> bool:
    """Whether a cell has a level, however the level is written.

    It may be written in full, short, as one side of an arrow, or as one of the variant's factors. A factor's
    level is also found in the variant, where the cell has no column of that factor.

    >>> cell = {"variant": "text=full,format=digits", "model": "old → new"}
    >>> is_level(cell, "variant", "full · digits"), is_level(cell, "format", "digits")
    (True, True)
    >>> is_level(cell, "model", "new"), is_level(cell, "format", "full")
    (True, False)
    """
    if column in cell:
        value = cell[column]
        sides = [value, *value.split(ARROW)]
        return level in (
            *sides,
            *map(short_name, sides),
            *(part for side in sides for part in side.split(",")),
        )
    sides = cell.get("variant", "").split(ARROW)
    return any(f"{column}={level}" in side.split(",") for side in sides)
