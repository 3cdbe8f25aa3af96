"""Evaluators that look for a label's name: as the whole answer, the first or only one, by a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import polars as pl

from quaver.core.annotations import Reading
from quaver.core.number_format import composed
from quaver.core.records import LabelSet, Variant
from quaver.errors import SpecError
from quaver.score.parsing.evaluator import Answer, Held, Reader, ambiguous, no_label, valid
from quaver.score.parsing.label_forms import Forms, bare, forms_of
from quaver.score.parsing.many_answers import in_columns

_NONE = no_label("the answer is not a label alone")


class Exact:
    """The whole answer is one of the variant's answers, or of the labels' names, codes and synonyms.

    Around it, white space, quotes (``"``, ``'`` and the backtick, one of each side) and one final
    stop do not count, nor does case. Anything else makes it no label.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return _ExactReader(forms_of(labels, variant))


@dataclass(frozen=True, slots=True)
class _ExactReader:
    forms: Forms

    def __call__(self, answer: Answer) -> Reading:
        codes = self.forms.whole(answer.text) or self.forms.whole(_bare(answer.text))
        if len(codes) == 1:
            return valid(codes[0])
        return ambiguous(codes, "share the form") if codes else _NONE

    @property
    def held(self) -> Held:
        return Held(self.forms.words, self.forms.letter, _NONE)


def _bare(text: str) -> str:
    text = text.removesuffix(".").rstrip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1].strip().removesuffix(".").rstrip()
    return text


_LABEL_NONE = no_label("no label in the text")


class FirstLabel:
    """The first of the variant's answers, or of the labels' names, codes and synonyms, in the answer.

    Found as a whole word whatever its case, the longest first, not behind a negation (all rules of
    ``label_forms``). A form that several labels share is ambiguous. What comes after it does
    not matter.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return _FirstLabelReader(forms_of(labels, variant))


@dataclass(frozen=True, slots=True)
class _FirstLabelReader:
    forms: Forms

    def __call__(self, answer: Answer) -> Reading:
        return _reading(self.forms.first(answer))

    @property
    def held(self) -> Held:
        return Held(self.forms.words, self.forms.letter, _LABEL_NONE)


def _reading(codes: Sequence[str]) -> Reading:
    if len(codes) == 1:
        return valid(codes[0])
    return ambiguous(codes, "share the form") if codes else _LABEL_NONE


class LabelMatch:
    """The one label that the answer names: its answer, name, code or a synonym.

    Found as a whole word whatever its case, the longest first, not behind a negation (all rules of
    ``label_forms``). Where the variant asked for an explanation, the text from the word
    "explanation" on is left out. Two labels or more are ambiguous.

    Args:
        several: ``"first"`` takes the first of several labels, for tasks that allow several.
    """

    def __init__(self, *, several: Literal["ambiguous", "first"] = "ambiguous") -> None:
        self._several = several

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return _LabelMatchReader(forms_of(labels, variant), variant.explains, self._several == "first")


@dataclass(frozen=True, slots=True)
class _LabelMatchReader:
    forms: Forms
    explains: bool
    takes_first: bool

    def __call__(self, answer: Answer) -> Reading:
        if self.explains:
            answer = answer.before_explanation()
        found = self.forms.distinct(answer)
        if len(found) < 2:
            return valid(*found) if found else _LABEL_NONE
        first = self.forms.first(answer) if self.takes_first else ()
        return valid(first[0], f"the first of {len(found)}") if len(first) == 1 else ambiguous(found)

    @property
    def held(self) -> Held:
        return Held(self.forms.words, self.forms.letter, _LABEL_NONE)


class Pattern:
    """The label that a regular expression finds.

    What the expression's first group matches (all of it where it has no group), at the first place
    or at the last, must be a form of a label; quotes, brackets, emphasis and stops around it do
    not count.

    Args:
        pattern: In the syntax of Rust's ``regex``, which takes time linear in the answer's length
            whatever the expression. It is that of Python's ``re`` without look-around and
            references back: ``(?i)`` in front disregards case, ``(?s)`` lets ``.`` match line
            ends, ``(?m)`` makes ``^`` and ``$`` match at lines.
        place: ``"first"`` or ``"last"``.
    """

    def __init__(self, *, pattern: str, place: Literal["first", "last"] = "first") -> None:
        pattern = composed(pattern)  # as answers are, before they are read
        before = r"\A(?s:.*)" if place == "last" else ""
        self._pattern = f"{before}({pattern})"
        try:
            groups = pl.Series([""]).str.extract_groups(self._pattern).struct.fields
        except (pl.exceptions.PolarsError, UnicodeError) as error:
            raise SpecError(
                "the pattern is not a regular expression",
                where="evaluators: pattern: pattern",
                expected="the syntax of Rust's regex, without look-around and references back",
                found=str(error).partition("\n\nThis error")[0],
            ) from error
        self._group = min(2, len(groups))

    def reader(self, labels: LabelSet, variant: Variant) -> PatternReader:
        """Make the reader for one variant's answers."""
        return PatternReader(self._pattern, self._group, forms_of(labels, variant))


class PatternReader:
    """Reads answers with an expression, many at once, which is ten times as fast as one by one."""

    def __init__(self, pattern: str, group: int, forms: Forms) -> None:
        self._pattern = pattern
        self._group = group
        self._forms = forms

    def __call__(self, answer: Answer) -> Reading:
        """Read one answer."""
        return self.many([answer])[0]

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        """Read some answers."""
        if in_columns(answers):
            texts = answers.texts
        else:
            texts = pl.Series([answer.text for answer in answers], dtype=pl.String)
        known: dict[str | None, Reading] = {}
        found = texts.str.extract(self._pattern, self._group).to_list()
        for one in dict.fromkeys(found):
            known[one] = self._reading(one)
        return [*map(known.__getitem__, found)]

    def _reading(self, found: str | None) -> Reading:
        if found is None:
            return no_label("the pattern matches nowhere")
        codes = self._forms.whole(found.strip()) or self._forms.whole(bare(found))
        if len(codes) == 1:
            return valid(codes[0])
        return ambiguous(codes, "share the form") if codes else no_label("what matches is no label")


class Constrained(Exact):
    """The follow-up ``constrained`` is read, in which the model could write nothing but a label.

    The answer so far was given back to the model with a marker behind it, and a label had to follow.
    What followed is read as ``exact`` reads it: the whole of it is one of the variant's answers.
    Every answer that is not an error gets a label so, also one that declined or said nothing: this
    shows what the model leans to, not what it said.
    """

    of: ClassVar[str] = "constrained"
