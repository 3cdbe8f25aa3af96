"""The statuses and marks that do not depend on the evaluator, by stated rules, decided once.

Statuses, the first that applies:

1. ``error``: the model reported an error instead of an answer.
2. ``empty``: without thinking and invisible characters, nothing is left.
3. ``refused``: a provider's filter ended the answer; or a sentence that begins in the answer's first
   200 characters begins by declining (an apology, *I cannot answer*, *as an AI*, and the like, in 30
   languages: the table below), **and** no label is marked as the answer (by a mark of ``marked_label``
   other than *first*): "I cannot be sure, but my answer is: B" is an answer.

An evaluator that reads tokens and not the text is not concerned with 2 (where tokens came) and 3
(but for a provider's filter). All else is the evaluator's: ``ambiguous``, ``no_label``, ``valid``.

Marks, beside any status:

- ``truncated``: the model was cut off at ``max_tokens``. A truncated answer that holds a label is valid.
- ``looping``: the answer, thinking included, ends in at least four copies of the same text, of 1 to
  500 characters each, which are 24 characters or more together; the last may lack two characters,
  for the white space behind it is often cut away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final, NamedTuple

import polars as pl

from quaver.core.annotations import Reading
from quaver.core.records import Response
from quaver.score.parsing.label_forms import Forms, bare
from quaver.score.parsing.label_marks import CHOSEN, marks_of
from quaver.score.parsing.languages import languages, phrases
from quaver.score.parsing.many_answers import ManyAnswers
from quaver.score.parsing.parsed_answer import Answer, Shown

_OPENING = 200
_DECLINES = re.compile(
    r"(?:\A|[.!?:,;。！，]\s?|\n|\bbut\s)[\s\"'*_>-]{0,3}"
    r"(?:(?:unfortunately|however|but|well|hmm|no|and),? )?(?:"
    + "|".join(
        [*languages()["en"]["declines"], *map(re.escape, sorted(phrases("sorry"), key=len, reverse=True))]
    )
    + ")"
)
_IN_SIMPLE_DECLINES: Final = (
    *("sorry", "apolog", "regret", "unable", "declin", "refus", "impossible", "n ai", "a ai", "artificial"),
    *(
        "guage model",
        "responsible",
        "i can",
        "i co",
        "i wo",
        "i wi",
        "i am not",
        "i do",
        "i'm not",
        "rather not",
    ),
    *("not possible", *sorted(filter(str.isascii, phrases("sorry")))),
)
"""Whatever plain ASCII declines has one of these; looking for them is ten times as fast."""

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


class Judged(NamedTuple):
    """Answers before any evaluator has read them.

    Attributes:
        text: The readings for evaluators of text, by place, of those that are settled: not for reading any
            more.
        tokens: The same for evaluators of tokens.
        truncated: The mark of each.
        looping: The mark of each.
    """

    text: Mapping[int, Reading]
    tokens: Mapping[int, Reading]
    truncated: list[bool]
    looping: list[bool]


class Judge(NamedTuple):
    """Decides the statuses and marks that do not depend on the evaluator.

    Attributes:
        forms: How the labels may be written.
    """

    forms: Forms

    def __call__(self, answers: ManyAnswers) -> Judged:
        """Judge some answers by the rules of this module."""
        failed = {
            index: _outcome(answers.shown(index)) for index in answers.ending("error", "content_filter")
        }
        text: dict[int, Reading] = dict(failed)
        tokens: dict[int, Reading] = dict(failed)
        for index in _to_look_at(answers):
            if index in failed:
                continue
            answer = answers[index]
            if not answer.text:
                text[index] = _empty(answer)
                if not answers.shown(index).tokens:
                    tokens[index] = text[index]
            elif _declines(answer.folded) and not _gives_label(answer, self.forms):
                text[index] = _DECLINED
        truncated, looping = ([False] * len(answers) for _ in range(2))
        for index in answers.ending("length"):
            truncated[index] = True
        for index in _to_compare(answers):
            looping[index] = loops(answers.shown(index).text)
        return Judged(text, tokens, truncated, looping)


def _to_look_at(answers: ManyAnswers) -> Iterable[int]:
    """The answers that may be empty, or may decline."""
    if answers.said is None:
        return range(len(answers))
    may = answers.folded.str.slice(0, 2 * _OPENING).str.contains_any([*_IN_SIMPLE_DECLINES])
    places: list[int] = (~answers.simple | may | (answers.texts == "")).arg_true().to_list()
    return places


def _to_compare(answers: ManyAnswers) -> Iterable[int]:
    """The answers that may repeat themselves to their end: their last characters occur before."""
    if answers.said is None:
        return range(len(answers))
    text = pl.lit(answers.texts)
    again = text.str.head(-1).str.contains(text.str.tail(_LOOP_KEY), literal=True)
    places: list[int] = pl.select(again | ~pl.lit(answers.simple)).to_series().arg_true().to_list()
    return places


_DECLINED = Reading(None, "refused", "the answer declines")


def _outcome(response: Response | Shown) -> Reading:
    if response.finish == "error":
        return Reading(None, "error", response.error or "no error message")
    return Reading(None, "refused", response.error or "a provider's filter")


def _empty(answer: Answer) -> Reading:
    if answer.unfinished:
        return Reading(None, "empty", "thinking that never ended")
    return Reading(None, "empty", "thinking only" if answer.thought else "no text")


def _declines(folded: str) -> bool:
    match = _DECLINES.search(folded, 0, 2 * _OPENING)
    return match is not None and match.start() < _OPENING


def _gives_label(answer: Answer, forms: Forms) -> bool:
    return any(mark.strength <= CHOSEN for mark in marks_of(answer, forms))


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
