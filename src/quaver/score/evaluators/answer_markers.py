"""``answer_markers``: the answer behind the words with which models announce it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.evaluators.first_character import read_first_character, read_first_characters
from quaver.score.parsing.choices import Choices, choices_of
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import Forms, forms_of
from quaver.score.parsing.many_answers import holding, in_columns
from quaver.score.parsing.readings import ambiguous, valid

_WHAT = "(?:answer|label|option|choice|classification|category|class|vote|rating)"
_IS = r"(?:\s(?:is|would be|should be|must be|=)\b|[\s\"'`*_]{0,4}[:=])"

MARKERS: tuple[str, ...] = (
    rf"final(?: {_WHAT})?{_IS}",
    r"\\boxed\{(?:\\text\{)?",
    rf"(?:correct|right|best|most likely) {_WHAT}{_IS}",
    rf"(?:the|my) {_WHAT}{_IS}",
    rf"{_WHAT}\s?[\"'`*_]{{0,4}}:",
    r"i (?:would |will |'d )?(?:choose|pick|select|vote for|go with|answer)(?: with)?(?: option)?\b",
)
"""The markers in the order in which they are tried: regular expressions over text in lower case.

Each begins with letters, which makes searching fast; that they begin a word is checked later.
"""

_COMPILED = [re.compile(marker) for marker in MARKERS]
_WORDS = (
    *("final", "boxed", "answer", "label", "option", "choice", "classification", "category", "class", "vote"),
    *("rating", "choose", "pick", "select", "go with"),
)
"""Every marker contains one of these; an answer without any need not be searched."""
_MOST = 1000
_WINDOW = 4000


class AnswerMarkers:
    r"""The label behind the words that announce it, else the last choice, else the first character.

    The words, tried in this order, and of each the last place that a label follows:

    1. *final:*, *final answer:* or *final answer is* (or *label*, *option*, *choice*,
       *classification*, *category*, *class*, *vote*, *rating*, here and below);
    2. ``\boxed{…}``;
    3. *correct answer is* (or *right*, *best*, *most likely*);
    4. *the answer is*, *my answer is*;
    5. *answer:*;
    6. *I choose* (or *pick*, *select*, *vote for*, *go with*, *answer*).

    Quotes, brackets and emphasis around the label do not count. A place that several labels follow,
    joined by "or", "and", "to", a comma or a slash, is passed over; of each the last 1,000 count.

    Else the last choice that stands as a word of its own: a form of a label by the rules of
    ``label_forms``, of one character where the variant asks for such. Else the rule of
    ``first_character``.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        forms = forms_of(labels, variant)
        choices = choices_of(forms)
        lone = forms_of(labels, variant, longest=1) if choices.codes else forms

        return _AnswerMarkersReader(forms, lone, choices)


@dataclass(frozen=True, slots=True)
class _AnswerMarkersReader:
    forms: Forms
    lone: Forms
    choices: Choices

    def __call__(self, answer: Answer) -> Reading:
        codes = _marked(answer, self.forms)
        reason = None
        if not codes:
            codes = self.lone.last(answer)
            reason = "the last choice, without a marker"
        if not codes:
            return read_first_character(answer, self.choices)
        return valid(codes[0], reason) if len(codes) == 1 else ambiguous(codes, "share the form")

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        if not in_columns(answers):
            return [self(answer) for answer in answers]
        found = read_first_characters(answers, self.choices)
        places = holding(answers, [*_WORDS, *self.lone.words], self.lone.letter)
        for at, answer in zip(places, answers.each_in(places), strict=True):
            found[at] = self(answer)
        return found


def _marked(answer: Answer, forms: Forms) -> tuple[str, ...]:
    if not any(word in answer.folded for word in _WORDS):
        return ()
    for marker in _COMPILED:
        for place in islice(_places(marker, answer.folded), _MOST):
            codes = forms.given(answer, place)
            if codes:
                return codes
    return ()


def _places(marker: re.Pattern[str], text: str) -> Iterator[int]:
    """Where the marker ends, last place first, searching a growing part of the text from its end."""
    end, window = len(text), _WINDOW
    while end > 0:
        start = max(0, end - window)
        found = takewhile(lambda one, end=end: one.start() < end, marker.finditer(text, start))  # type: ignore[misc]
        yield from reversed([one.end() for one in found if _begins_word(text, one.start())])
        end, window = start, window * 4


def _begins_word(text: str, at: int) -> bool:
    return at == 0 or not text[at - 1].isalnum()
