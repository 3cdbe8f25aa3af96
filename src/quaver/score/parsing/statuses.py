"""The statuses and marks that do not depend on the evaluator, by stated rules, decided once.

The status is the first of these that applies:

1. ``error``: the model reported an error instead of an answer.
2. ``empty``: nothing is left after thinking and invisible characters are removed.
3. ``refused``: a provider's filter ended the answer; or a sentence that starts within the answer's
   first 200 characters begins by declining (an apology, *I cannot answer*, *as an AI* and similar
   phrases in 30 languages: see the table below), **and** no label is marked as the answer (by a mark of
   ``marked_label`` other than *first*): "I cannot be sure, but my answer is: B" is an answer.

For an evaluator that reads tokens instead of the text, 2 does not apply if there are tokens, and 3
applies only to a provider's filter. The evaluator decides between the remaining statuses:
``ambiguous``, ``no_label`` and ``valid``.

An answer of any status may have these marks:

- ``truncated``: the model was cut off at ``max_tokens``. A truncated answer with a label is valid.
- ``looping``: the answer, thinking included, ends in at least four copies of the same text, of 1 to
  500 characters each and at least 24 characters together; the last copy may lack two characters,
  because the white space after it is often cut away.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from quaver.core.calls import Response
from quaver.core.records import Reading
from quaver.score.parsing.label_forms import Forms, bare
from quaver.score.parsing.label_marks import FIRST, marks_of
from quaver.score.parsing.languages import languages, phrases
from quaver.score.parsing.parsed_answer import Answer

_OPENING = 200
_DECLINES = re.compile(
    r"(?:\A|[.!?:,;。！，]\s?|\n|\bbut\s)[\s\"'*_>-]{0,3}"
    r"(?:(?:unfortunately|however|but|well|hmm|no|and),? )?(?:"
    + "|".join(
        [*languages()["en"]["declines"], *map(re.escape, sorted(phrases("sorry"), key=len, reverse=True))]
    )
    + ")"
)
_LOOP_WINDOW, _LOOP_KEY, _LOOP_LEAST, _LOOP_COPIES, _LOOP_UNIT, _LOOP_LACKING = 2000, 6, 24, 4, 500, 2


def loops(text: str) -> bool:
    """Whether a text repeats itself to its end.

    >>> loops("It is good. " + "Very good. " * 4), loops("very very good")
    (True, False)
    """
    if len(text) < _LOOP_LEAST:
        return False
    tail = text[-_LOOP_WINDOW:].rstrip()
    size = len(tail)
    if size < _LOOP_LEAST:
        return False
    # A loop's last characters have occurred one period before: only those distances are tried.
    key = tail[-_LOOP_KEY:]
    index = tail.rfind(key, 0, size - 1)
    while index >= 0:
        period = size - _LOOP_KEY - index
        span = max(_LOOP_LEAST, _LOOP_COPIES * period - _LOOP_LACKING)
        if period > _LOOP_UNIT or span > size:
            return False
        if tail[size - span + period :] == tail[size - span : size - period]:
            return True
        index = tail.rfind(key, 0, index + _LOOP_KEY - 1)
    return False


def settled(answer: Answer, forms: Forms, *, of_tokens: bool = False) -> Reading | None:
    """The reading of an answer that no evaluator has to read, by the rules of this module.

    Args:
        answer: The answer.
        forms: How the labels may be written.
        of_tokens: Whether evaluators read the tokens and not the text.
    """
    response = answer.response
    if response.finish == "error":
        return Reading(None, "error", response.error or "no error message")
    if response.finish == "content_filter":
        return Reading(None, "refused", response.error or "a provider's filter")
    if not answer.text and not (of_tokens and response.tokens):
        if answer.unfinished:
            return Reading(None, "empty", "thinking that never ended")
        return Reading(None, "empty", "thinking only" if answer.thought else "no text")
    if not of_tokens and _declines(answer.folded) and not _gives_label(answer, forms):
        return _DECLINED
    return None


def read_alone(response: Response, reader: Callable[[Answer], Reading], forms: Forms) -> Reading:
    """One response as a reader of text reads it, with its marks."""
    answer = Answer(response)
    reading = settled(answer, forms) or reader(answer)
    return replace(reading, truncated=response.finish == "length", looping=loops(response.text))


_DECLINED = Reading(None, "refused", "the answer declines")


def _declines(folded: str) -> bool:
    match = _DECLINES.search(folded, 0, 2 * _OPENING)
    return match is not None and match.start() < _OPENING


def _gives_label(answer: Answer, forms: Forms) -> bool:
    return any(strength < FIRST for strength, _ in marks_of(answer, forms))


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


def verbal_confidence(said: Response | Answer) -> tuple[float | None, str | None]:
    """Read the confidence that an answer states, from 0 to 1; or None, and why there is none.

    The well-formed values, in the order in which a number is tried: a percentage (``85%``,
    ``85 percent``, ``85 per cent``), a decimal with a point (``0.85``, ``.85``), a number out of 100
    (``85 out of 100``, ``85 of 100``, ``85/100``). A ``0`` or ``1`` that is the whole answer is a
    decimal. Other whole numbers, signed ones, those with commas and those out of another total
    (``8.5/10``) are not well-formed, nor is anything outside 0 to 1. The answer parses if it
    contains exactly one distinct well-formed value: ``0.85 (85%)`` does, two values or a range
    (``80-90%``) do not. Thinking is not read. The first 1,000 numbers count.

    >>> verbal_confidence(Response("I am 85% sure, that is 0.85."))
    (0.85, None)
    >>> verbal_confidence(Response("80 to 90%"))
    (None, 'a range')
    """
    answer = said if isinstance(said, Answer) else Answer(said)
    if answer.response.finish in ("error", "content_filter"):
        return None, "no answer"
    text = answer.folded
    if not text:
        return None, "no text"
    if bare(text) in ("0", "1") and text.strip("-−+") == text:
        return float(bare(text)), None
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
            return None, "a range"
        if value <= 1:
            values.add(value)
        else:
            outside = True
    if len(values) == 1:
        return values.pop(), None
    if values:
        return None, "several values"
    return None, "a value outside 0 to 1" if outside else "no well-formed value"


def _value(match: re.Match[str]) -> float | None:
    number = match["number"][:100]
    if match["percent"] or match["hundred"]:
        return round(float(number) / 100, 12)
    return float(number) if "." in number else None
