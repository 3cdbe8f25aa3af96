"""Warnings in a few plain words, to stand beside a number; the notes have them in full."""

from __future__ import annotations

import re
from typing import Final

_PHRASES: Final = (
    ("units differ", "few items differ"),
    ("hardly show how prompts differ", "few prompts"),
    ("makes a difference", "no difference seen"),
    ("interval is a rough one", "a rough interval"),
    ("may cover less often", "interval may be narrow"),
    ("bootstrap does not vary", "resamples all alike"),
    ("rarest label", "a rare label"),
    ("one prompt says nothing", "one prompt only"),
    ("without one of its", "too few prompts"),
    ("there is no gap", "gap sometimes zero"),
    ("jackknifed", "grows with repeats"),
    ("unequal numbers", "unequal repeats"),
    ("answers differently", "parsers disagree"),
    ("no more than noise", "within noise"),
    ("is undefined in", "undefined in part"),
    ("negative components", "negative counts as 0"),
    ("not finite", "no finite interval"),
    ("may not be like the others", "few stated confidence"),
    ("changed one way by chance", "few items changed"),
    ("other items count", "unequal items"),
    ("gives no draws", "no interval"),
)
"""A part of a warning, and its plain phrase; the first that fits counts."""

_OTHER = "see the note"

_DIGITS = re.compile(r"\d[\d.,e]*")


def phrase(warning: str) -> str:
    """A warning in a few words.

    >>> phrase("only 2 of 24 units differ: the interval is a rough one")
    'few items differ'
    """
    return next((said for part, said in _PHRASES if part in warning), _OTHER)


def kind(warning: str) -> str:
    """A warning without its numbers: warnings that differ only in these are of one kind."""
    return _DIGITS.sub("#", warning)
