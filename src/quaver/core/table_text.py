"""What stands in a cell of somebody's table, as one text; and when two texts are the same one."""

from __future__ import annotations

import unicodedata
from typing import Any

from quaver.errors import ItemError

__all__ = ["composed", "text_of"]


def text_of(value: Any, where: str = "") -> str:
    """A cell as a text without white space around it; empty where nothing stands in it.

    Args:
        value: Of a CSV file a text; of JSON Lines and Parquet whatever they hold.
        where: The file, the place and the column, for the error.

    Raises:
        ItemError: The cell holds several values, or bytes that are no text.

    >>> text_of(" a "), text_of(None), text_of(float("nan")), text_of(1.0)
    ('a', '', '', '1.0')
    """
    if isinstance(value, str):
        found = value.strip()
        # JSON can name half a character, which no file can hold: its escape stands for it.
        return found if found.isascii() else found.encode("utf-8", "backslashreplace").decode()
    if value is None or value != value:  # a table of numbers has NaN where others have nothing
        return ""
    if isinstance(value, bytes):
        try:
            return value.decode().strip()
        except UnicodeDecodeError:
            raise _several(where, "bytes that are no text in UTF-8") from None
    if isinstance(value, list | tuple | dict | set):
        raise _several(where, f"a {type(value).__name__}: {str(value)[:80]}")
    return str(value).strip()


def _several(where: str, found: str) -> ItemError:
    return ItemError(
        "this cell does not hold one text or number",
        where=where or None,
        expected="a text, a number or nothing",
        found=found,
        fix="name another column, or write the file with one value a cell",
    )


def composed(text: str) -> str:
    """A text in the form in which texts are compared: letters with their accents in one character (NFC).

    An é is written as one character or as an e with an accent behind it, and looks the same. Compare by this
    form, and keep what the user wrote.

    >>> composed("e\u0301") == composed("\u00e9"), composed("e\u0301") == "e\u0301"
    (True, False)
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)
