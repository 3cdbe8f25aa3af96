"""Evaluators that look for where the answer is: its first character, its last line, the words before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, takewhile

from quaver.core.records import LabelSet, Reading, Variant
from quaver.score.parsing.evaluator import Answer, Reader, Rule, ambiguous, no_label, valid
from quaver.score.parsing.label_forms import Forms, codes_of, forms_of, word_pattern
from quaver.score.parsing.parsed_answer import fold

_LEADING = r"[\W_]*"
_ZEROS = re.compile(r"\A\.0+(?!\d)")
_LOOK_BACK, _LOOK_AHEAD = 8, 24
_LIST_NUMBER = r"(?:\d{1,3}[.)]\s[\W_]*)?"


class Choices:
    """The single-character answers that a variant asks for.

    Attributes:
        codes: Label codes by folded choice.
    """

    def __init__(self, forms: Forms) -> None:
        self.codes = {form: codes for form, codes in forms.answers.items() if len(form) == 1}
        digits = [form for form in self.codes if form.isdigit()]
        numbered = "" if digits else _LIST_NUMBER
        self._number = re.compile("|".join(map(word_pattern, digits))) if digits else None
        self._leading = re.compile(_LEADING + numbered)
        signs = [char for form in self.codes for char in sorted({form, form.upper()[:1]})]
        written = re.escape("".join(signs))
        blank = r"[^\w\n]*+(?:_[^\w\n]*+)*+"
        self._lone = re.compile(rf"(?m)^{blank}([{written}]){blank}$") if written else None

    def first_character(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The first character of a text's first line, after list markers and punctuation.

        Returns:
            The character, and the codes of the label that it stands for, if any.
        """
        line = text.lstrip().partition("\n")[0]
        first = line[:1]
        index = 0
        if first.isalnum() or first not in self.codes:  # a sign may be a choice itself
            index = self._leading.match(line).end()  # type: ignore[union-attr]
            first = line[index : index + 1] or first
            if line[index + 1 : index + 2].isalpha() and first.islower():
                return first, ()
        if first.isdigit() and not self._is_number(line, index):
            return first, ()
        return first, self.codes.get(fold(first), ())

    def lone_line(self, text: str) -> tuple[str, ...]:
        """The codes of the last choice that has a line to itself."""
        lines = [
            match[1]
            for match in (self._lone.finditer(text) if self._lone else ())
            if not match[1].isdigit() or self._is_number(text, match.start(1))
        ]
        return self.codes[fold(lines[-1])] if lines else ()

    def _is_number(self, text: str, index: int) -> bool:
        """Whether a digit is a whole number and a choice: not the first digit of 10, 0.5 or 1-5."""
        start = max(0, index - _LOOK_BACK)
        near = text[start : index + 1] + _ZEROS.sub("", text[index + 1 : index + _LOOK_AHEAD])
        return self._number is not None and self._number.match(near, index - start) is not None


@lru_cache(maxsize=256)
def choices_of(forms: Forms) -> Choices:
    """The choices among some forms, cached."""
    return Choices(forms)


class FirstCharacter:
    """The first character of the answer's first line that is not empty, if it is a choice.

    White space, punctuation and a list marker before it are skipped (a number is not a list marker if
    digits are choices). A capital counts even if it begins a word ("Based on" is B). A small letter
    counts only if it does not begin one, and a digit only if it is a number by itself (not the 1 of
    ``10``, ``1.5``, ``1%`` or ``1-5``). If the first character is not a choice, the last line that is
    nothing but a choice counts (punctuation apart). If there is no such line, the answer has no label,
    and the reason is its first character.

    Choices are the variant's answers of one character; if it asks for none, no label is read.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return Rule(_first_character, (choices_of(forms_of(labels, variant)),))


def _first_character(answer: Answer, choices: Choices) -> Reading:
    if not choices.codes:
        return no_label("no answer of this variant is one character")
    character, codes = choices.first_character(answer.text)
    codes = codes or choices.lone_line(answer.text)
    if len(codes) == 1:
        return valid(codes[0])
    return ambiguous(codes, "share the form") if codes else no_label(f'the first character is "{character}"')


_NONE = no_label("no label in the final line")
_MARK = "final"
_REST = re.compile(r"[\s\"'`*_]*[:=]")
_MOST = 1000


class FinalLine:
    """The label after ``FINAL:`` on the last line, or else after the last ``FINAL:`` in the answer.

    Case does not count, nor do quotes, brackets and emphasis around the mark and the label. A mark is
    skipped if no label follows it, or if several do that are joined by "or", "and", "to", a comma or a
    slash. Only the last 1,000 marks count. Without such a mark, the only label that the last line names
    counts; several are ambiguous.

    Args:
        marked: True reads a label only after ``FINAL:``, for studies that count the answers with that
            mark.
    """

    def __init__(self, *, marked: bool = False) -> None:
        self._marked = marked

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return Rule(_final, (forms_of(labels, variant), self._marked))


def _final(answer: Answer, forms: Forms, marked: bool) -> Reading:
    # Going backwards, the last line comes first.
    end = len(answer.folded)
    for _ in range(_MOST):
        end = answer.folded.rfind(_MARK, 0, end)
        if end < 0:
            break
        if end and answer.folded[end - 1].isalnum():  # as in "semifinal"
            continue
        rest = _REST.match(answer.folded, end + len(_MARK))
        codes = forms.given(answer, rest.end()) if rest else ()
        if codes:
            return valid(codes[0]) if len(codes) == 1 else ambiguous(codes, "share the form")
    if marked:
        return _NONE
    begin = answer.text.rfind("\n") + 1
    last = codes_of(forms.mentions(answer, begin))
    if len(last) == 1:
        return valid(*last)
    return ambiguous(last, "in the last line") if last else _NONE


_NOUNS = ("answer", "label", "option", "choice", "classification", "category", "class", "vote", "rating")
_WHAT = f"(?:{'|'.join(_NOUNS)})"
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

_NEEDED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("final",), ("",)),
    (("boxed",), ("",)),
    (("correct", "right", "best", "likely"), _NOUNS),
    (("the ", "my "), tuple(f"{article} {noun}" for article in ("the", "my") for noun in _NOUNS)),
    ((":",), _NOUNS),
    (("i ",), ("choose", "pick", "select", "vote for", "go with", "answer")),
)
"""Of each marker, what an answer that has it contains, one of each: most have none and need no search."""
_COMPILED = [(*needed, re.compile(marker)) for needed, marker in zip(_NEEDED, MARKERS, strict=True)]

_WINDOW = 4000


class AnswerMarkers:
    r"""The label after the words that announce it, else the last choice, else the first character.

    The words are tried in this order. For each, the last place that a label follows counts:

    1. *final:*, *final answer:* or *final answer is* (or *label*, *option*, *choice*,
       *classification*, *category*, *class*, *vote*, *rating*, here and below);
    2. ``\boxed{…}``;
    3. *correct answer is* (or *right*, *best*, *most likely*);
    4. *the answer is*, *my answer is*;
    5. *answer:*;
    6. *I choose* (or *pick*, *select*, *vote for*, *go with*, *answer*).

    Quotes, brackets and emphasis around the label do not count. A place is skipped if several labels
    follow it that are joined by "or", "and", "to", a comma or a slash. Only the last 1,000 places of
    each are tried.

    Otherwise, the last choice that is a word of its own counts: a form of a label by the rules of
    ``label_forms``, with one character if the variant asks for such. If there is none, the rule of
    ``first_character`` applies.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        forms = forms_of(labels, variant)
        choices = choices_of(forms)
        lone = forms_of(labels, variant, longest=1) if choices.codes else forms
        return Rule(_announced, (forms, lone, choices))


def _announced(answer: Answer, forms: Forms, lone: Forms, choices: Choices) -> Reading:
    codes = _marked(answer, forms)
    reason = None
    if not codes:
        codes = lone.last(answer)
        reason = "the last choice, without a marker"
    if not codes:
        return _first_character(answer, choices)
    return valid(codes[0], reason) if len(codes) == 1 else ambiguous(codes, "share the form")


def _marked(answer: Answer, forms: Forms) -> tuple[str, ...]:
    folded = answer.folded
    for needed, also, marker in _COMPILED:
        if not (_holds(folded, needed) and _holds(folded, also)):
            continue
        for index in islice(_places(marker, folded), _MOST):
            codes = forms.given(answer, index)
            if codes:
                return codes
    return ()


def _holds(text: str, some: tuple[str, ...]) -> bool:
    """Whether one of some words stands in a text; a loop is faster here than `any`."""
    for mark in some:  # noqa: SIM110
        if mark in text:
            return True
    return False


def _places(marker: re.Pattern[str], text: str) -> Iterator[int]:
    """Where the marker ends, last place first, searching a growing part of the text from its end."""
    end, window = len(text), _WINDOW
    while end > 0:
        start = max(0, end - window)
        matches = takewhile(lambda match, end=end: match.start() < end, marker.finditer(text, start))  # type: ignore[misc]
        yield from reversed([match.end() for match in matches if _begins_word(text, match.start())])
        end, window = start, window * 4


def _begins_word(text: str, index: int) -> bool:
    return index == 0 or not text[index - 1].isalnum()
