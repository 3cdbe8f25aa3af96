"""Lists on the command line: ``a,b,c``, written as a line of CSV."""

from __future__ import annotations

import csv

from quaver.errors import QuaverError


def parts(text: str | None, option: str) -> tuple[str, ...]:
    """The parts of an option's value; one that holds a comma stands in double quotes.

    Args:
        text: The value; None where the option was not given.
        option: Its name, for the error.

    Raises:
        QuaverError: A quotation mark is not closed, or a part is empty.

    >>> parts('left, "right, far"', "--labels")
    ('left', 'right, far')
    """
    if text is None:
        return ()
    try:
        found = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        found = [""]
    found = [part.strip() for part in found]
    if not found or not all(found):
        raise QuaverError(
            "this is no list",
            where=option,
            expected='names with commas between them; one that holds a comma in double quotes: a,"b, c"',
            found=text,
        )
    return tuple(found)
