"""The statuses and marks that do not depend on the evaluator, by stated rules, decided once.

Statuses, the first that applies:

1. ``error``: the model reported an error instead of an answer.
2. ``empty``: without thinking and invisible characters, nothing is left.
3. ``refused``: a provider's filter ended the answer; or a sentence that begins in the answer's first
   200 characters begins by declining (an apology, *I cannot answer*, *as an AI*, and the like, in
   English, German, French, Spanish, Chinese; the list is `DECLINES`), **and** no label is given in
   the asked form. A label is given in the asked form where one of its forms stands alone on a line,
   or behind a word such as *answer* or *label* with ``:``, ``=`` or *is*: "I cannot be sure, but my
   answer is: B" is an answer.

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
from quaver.score.parsing.many_answers import ManyAnswers
from quaver.score.parsing.parsed_answer import Answer, Shown

DECLINES: Final[tuple[str, ...]] = (
    r"(?:i'm|i am|we're|we are|im)?\s?(?:very |so |really )?sorry"
    r"(?:[,.!;:-]|\s(?:but|i|we|for|about|that)\b|\s*\Z)",
    r"(?:my |i )?apologi[sz]e|my apologies|i regret",
    r"i (?:cannot|can't|can not|could not|couldn't|won't|will not|am unable to|am not able to|do not|don't)"
    r" (?:in good conscience |really |be able to |possibly )?(?:help|assist|answer|provide|determine|comply"
    r"|fulfil|engage|discuss|label|classify|judge|vote|choose|tell|participate|make|give|predict|express"
    r"|offer|generate|create|complete|continue|respond|decide|rate|pick|select|identify|infer|speculate"
    r"|take|access|support)",
    r"(?:i'm|i am) (?:unable|not able|not comfortable|not allowed|not permitted|not going to)",
    r"(?:i'm|i am) (?:only |just )?an (?:ai|artificial)",
    r"i (?:must|have to|need to|would|respectfully)?\s?(?:respectfully )?(?:decline|refuse)\b",
    r"i(?:'d| would) rather not"
    r"(?: (?:say|answer|guess|comment|choose|decide|speculate|give|judge)\b|[.,!]|\Z)",
    r"i (?:do not|don't) feel comfortable",
    r"i (?:do not|don't) have (?:personal |political |any |an? )*(?:opinion|belief|view|preference)",
    r"as an? (?:ai|artificial intelligence|large language model|language model|responsible)",
    r"(?:it is|it's) (?:not possible|impossible) (?:for me )?to (?:say|tell|determine|answer|decide|know)",
    r"(?:es tut mir leid|tut mir leid|ich kann (?:das|diese|nicht|ihnen|dir)|als (?:ki|sprachmodell))\b",
    r"(?:désolé|je suis désolé|je ne peux pas|je ne suis pas en mesure|en tant qu)",
    r"(?:lo siento|no puedo|como (?:modelo|ia|inteligencia))\b",
    r"(?:抱歉|对不起|對不起|我无法|我無法|我不能|作为一个|作為一個)",
)
"""How a sentence begins that declines to answer: regular expressions over the text in lower case."""

_IN_DECLINES: Final = (
    *("sorry", "apolog", "regret", "unable", "declin", "refus", "impossible", "n ai", "a ai", "artificial"),
    *("guage model", "responsible", "leid", "ich kann", "als ki", "sprachmodell", "désolé", "ne peux"),
    *("ne suis", "en tant", "siento", "puedo", "como ", "i can", "i co", "i wo", "i wi", "i am not"),
    *("i do", "i'm not", "rather not", "not possible", "抱歉", "对不起", "對不起", "我无法"),
    *("我無法", "我不能", "作为一个", "作為一個"),
)
"""Whatever declines has one of these; looking for them is ten times as fast."""
_IN_SIMPLE_DECLINES: Final = [one for one in _IN_DECLINES if one.isascii()]
_OPENING = 200
_DECLINES = re.compile(
    r"(?:\A|[.!?:,;。！，]\s|\n|\bbut\s)[\s\"'*_>-]{0,3}"
    r"(?:(?:unfortunately|however|but|well|hmm|no|and),? )?(?:" + "|".join(DECLINES) + ")"
)
_MARKER = re.compile(
    r"\b(?:answer|label|choice|vote|category|class|classification|rating|option|response)\b"
    r"(?:\s(?:would be|is|be))?\s?[:=]?\s?"
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
    may = answers.folded.str.slice(0, 2 * _OPENING).str.contains_any(_IN_SIMPLE_DECLINES)
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
    if any(forms.whole(bare(line)) for line in answer.text.splitlines()):
        return True
    return any(forms.given(answer, marker.end()) for marker in _MARKER.finditer(answer.folded))


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
