"""Splits a text into sentences that join again without losing a character."""

from __future__ import annotations

import re

_SHORT = r"(?<!\be\.g)(?<!\bi\.e)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)(?<!\betc)(?<!\b[A-Z])"
_END = re.compile(rf"(?:(?:{_SHORT}\.|[!?…])[\"'”’)\]]*(?=\s|\Z)|\n)\s*")
_CLAUSE = re.compile(r"[,;:]\s+|\s+[-–—]\s+|\s+(?=(?:and|or|but|which|where|if)\s)")


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with the white space after it.

    >>> sentences("Is it good, e.g. kind? Answer.  Now.")
    ['Is it good, e.g. kind? ', 'Answer.  ', 'Now.']
    """
    return _cut(text, _END)


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence between its commas, dashes and conjunctions, each with what follows it."""
    return _cut(sentence, _CLAUSE)


def _cut(text: str, pattern: re.Pattern[str]) -> list[str]:
    pieces, at = [], 0
    for found in pattern.finditer(text):
        pieces.append(text[at : found.end()])
        at = found.end()
    return [piece for piece in [*pieces, text[at:]] if piece]
