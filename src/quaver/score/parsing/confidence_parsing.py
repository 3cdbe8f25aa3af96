"""A model's stated confidence: one number, strictly parsed."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from quaver.core.records import Response
from quaver.score.parsing.label_forms import bare
from quaver.score.parsing.parsed_answer import Answer

# It begins with a digit or a point, by which the engine finds it fast; what stands before is looked at
# behind it.
_NUMBER = re.compile(
    r"(?P<number>[\d.](?<![\w.,].)(?:(?<=\d)\d*+(?:\.\d++)?|(?<=\.)\d++))"
    r"(?:(?P<percent>\s?%|\s?per\s?cent\b)|(?P<hundred>\s?/\s?100\b|\s(?:out\s)?of\s(?:a\s)?100\b)|(?!\w))"
    r"(?![.,]\d)"
)
_SIGN = re.compile(r"(?<![\w.,])[+−-]\Z")
_RANGE_BEFORE = re.compile(r"\d\s?%?\s?(?:-|–|−|\bto\b|\band\b|\bor\b)\s?\Z")
_RANGE_AFTER = re.compile(r"\s?(?:-|–|−|\bto\b)\s?\.?\d")
_OTHER_TOTAL = re.compile(r"\s?(?:/|out\sof\b)\s?\d")
_LOOK_BACK = 10
_MOST = 1000


class VerbalConfidence(NamedTuple):
    """A model's stated confidence.

    Attributes:
        value: From 0 to 1; None if the answer does not parse.
        reason: Why it does not.
    """

    value: float | None
    reason: str | None = None


def verbal_confidence(said: Response | Answer) -> VerbalConfidence:
    """Read the confidence that an answer states.

    The well-formed values, in the order in which a number is tried: a percentage (``85%``,
    ``85 percent``, ``85 per cent``), a decimal with a point (``0.85``, ``.85``), so many out of 100
    (``85 out of 100``, ``85 of 100``, ``85/100``). A ``0`` or ``1`` that is the whole answer is a
    decimal. Other whole numbers, signed ones, those with commas and those out of another total
    (``8.5/10``) are not well-formed, nor is anything outside 0 to 1. The answer parses where it
    holds exactly one distinct well-formed value: ``0.85 (85%)`` does, two values or a range
    (``80-90%``) do not. Thinking is not read. The first 1,000 numbers count.

    >>> verbal_confidence(Response("I am 85% sure, that is 0.85."))
    VerbalConfidence(value=0.85, reason=None)
    >>> verbal_confidence(Response("80 to 90%"))
    VerbalConfidence(value=None, reason='a range')
    """
    answer = said if isinstance(said, Answer) else Answer(said)
    if answer.response.finish in ("error", "content_filter"):
        return VerbalConfidence(None, "no answer")
    text = answer.folded
    if not text:
        return VerbalConfidence(None, "no text")
    if bare(text) in ("0", "1") and text.strip("-−+") == text:
        return VerbalConfidence(float(bare(text)))
    values: set[float] = set()
    outside = False
    for match in islice(_NUMBER.finditer(text), _MOST):
        value, start = _value(match), match.start()
        if (
            value is None
            or _SIGN.search(text, max(0, start - 1), start)
            or _OTHER_TOTAL.match(text, match.end())
        ):
            continue
        before = text[max(0, start - _LOOK_BACK) : start]
        if _RANGE_BEFORE.search(before) or _RANGE_AFTER.match(text, match.end()):
            return VerbalConfidence(None, "a range")
        if value <= 1:
            values.add(value)
        else:
            outside = True
    if len(values) == 1:
        return VerbalConfidence(values.pop())
    if values:
        return VerbalConfidence(None, "several values")
    return VerbalConfidence(None, "a value outside 0 to 1" if outside else "no well-formed value")


def _value(match: re.Match[str]) -> float | None:
    number = match["number"][:100]
    if match["percent"] or match["hundred"]:
        return round(float(number) / 100, 12)
    return float(number) if "." in number else None
