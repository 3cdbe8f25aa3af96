"""Texts of items, models and studies as they may be shown anywhere: no control characters, no keys."""

from __future__ import annotations

from quaver._secrets import Keys


def visible(text: str) -> str:
    r"""The text without keys, and with unprintable characters but line ends written as Python writes them.

    >>> visible("red\x1b[31m \u202eevil\nnext")
    'red\\x1b[31m \\u202eevil\nnext'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in Keys().out_of(text))


def visible_line(text: str, most: int = 200) -> str:
    r"""The same on one line, cut off after so many characters.

    >>> visible_line("one\ntwo"), visible_line("abcdef", 4)
    ('one\\ntwo', 'abc…')
    """
    line = visible(text).replace("\n", "\\n")
    return line if len(line) <= most else line[: most - 1] + "…"
