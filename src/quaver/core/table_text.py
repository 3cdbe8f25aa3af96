"""The text of a table's cell, and the form in which two texts are compared."""

from __future__ import annotations

import unicodedata
from typing import Any

from quaver.errors import ItemError


def text_of(value: Any, where: str = "") -> str:
    """A cell's text without white space around it; empty for an empty cell. A list of one is that one.

    Args:
        value: A text from CSV; any value from JSON Lines and Parquet.
        where: The file, the row and the column, for the error.

    Raises:
        ItemError: The cell holds several values, or bytes that are not UTF-8.

    >>> text_of(" a "), text_of(None), text_of(float("nan")), text_of(1.0), text_of(["B"])
    ('a', '', '', '1.0', 'B')
    """
    if isinstance(value, str):
        found = value.strip()
        # JSON can hold half of a surrogate pair, which no file can: its escape replaces it.
        return found if found.isascii() else found.encode("utf-8", "backslashreplace").decode()
    if value is None or value != value:  # numeric columns have NaN for an empty cell
        return ""
    if isinstance(value, bytes):
        try:
            return value.decode().strip()
        except UnicodeDecodeError:
            raise _several(where, "bytes that are not UTF-8") from None
    if isinstance(value, list | tuple) and len(value) == 1:
        return text_of(value[0], where)
    if isinstance(value, list | tuple | dict | set):
        raise _several(where, f"a {type(value).__name__}: {str(value)[:80]}")
    return str(value).strip()


def _several(where: str, found: str) -> ItemError:
    return ItemError(
        "this cell does not contain a single text or number",
        where=where or None,
        expected="a text, a number or nothing",
        found=found,
        fix="name another column, or put one value in each cell",
    )


def composed(text: str) -> str:
    """The form in which texts are compared: a letter and its accents as one character (NFC).

    An é may be one character or an e followed by an accent, and looks the same. Compare this form, and keep
    what the user wrote.

    >>> composed("e\u0301") == composed("\u00e9"), composed("e\u0301") == "e\u0301"
    (True, False)
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)
