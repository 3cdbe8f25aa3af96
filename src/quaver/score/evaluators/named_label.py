"""Evaluators that look for a label's name: as the whole answer, the first, the only or a marked one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Literal

import polars as pl

from quaver.core.number_format import composed
from quaver.core.records import LabelSet, Reading, Variant
from quaver.errors import SpecError
from quaver.score.parsing.evaluator import Answer, Reader, Rule, ambiguous, no_label, valid
from quaver.score.parsing.label_forms import Forms, bare, forms_of
from quaver.score.parsing.label_marks import HOW, continued, named

_NOT_ALONE: Final = no_label("the answer is not a label alone")
_NONE: Final = no_label("no label in the text")
_DENIED: Final = no_label("what the text names, it denies")


def _reading(codes: Sequence[str], otherwise: Reading) -> Reading:
    if len(codes) == 1:
        return valid(codes[0])
    return ambiguous(codes, "share the form") if codes else otherwise


class Exact:
    """The whole answer is one of the variant's answers, or of the labels' names, codes and synonyms.

    White space around it, one pair of quotes (``"``, ``'`` or the backtick), one final full stop and
    case do not count. With anything else, the answer has no label.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return Rule(_exact, (forms_of(labels, variant),))


def _exact(answer: Answer, forms: Forms) -> Reading:
    text = answer.text.removesuffix(".").rstrip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1].strip().removesuffix(".").rstrip()
    return _reading(forms.whole(answer.text) or forms.whole(text), _NOT_ALONE)


class FirstLabel:
    """The first of the variant's answers, or of the labels' names, codes and synonyms, in the answer.

    It is found as a whole word in any case, the longest first, and not after a negation (by the rules
    of ``label_forms``). A form that several labels share is ambiguous. What comes after it does not
    matter.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return Rule(_first, (forms_of(labels, variant),))


def _first(answer: Answer, forms: Forms) -> Reading:
    return _reading(forms.first(answer), _NONE)


class LabelMatch:
    """The one label that the answer names: its answer, name, code or a synonym.

    It is found as a whole word in any case, the longest first, and not after a negation (by the rules
    of ``label_forms``). If the variant asked for an explanation, the text from the word "explanation"
    on is left out. Two labels or more are ambiguous.

    Args:
        several: ``"first"`` takes the first of several labels, for tasks that allow several.
    """

    def __init__(self, *, several: Literal["ambiguous", "first"] = "ambiguous") -> None:
        self._several = several

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return Rule(_only, (forms_of(labels, variant), variant.explains, self._several == "first"))


def _only(answer: Answer, forms: Forms, explains: bool, takes_first: bool) -> Reading:
    if explains:
        answer = answer.before_explanation()
    labels = forms.distinct(answer)
    if len(labels) < 2:
        return valid(*labels) if labels else _NONE
    first = forms.first(answer) if takes_first else ()
    return valid(first[0], f"the first of {len(labels)}") if len(first) == 1 else ambiguous(labels)


class Pattern:
    """The label that a regular expression finds.

    The first or last match of the expression's first group (or of the whole expression, if it has no
    group) must be a form of a label. Quotes, brackets, emphasis and full stops around it do not count.

    Args:
        pattern: The expression, in the syntax of Rust's ``regex``, which takes time linear in the
            answer's length for every expression. It is the syntax of Python's ``re`` without
            look-around and backreferences: ``(?i)`` at the start ignores case, ``(?s)`` lets ``.``
            match line ends, and ``(?m)`` lets ``^`` and ``$`` match at each line.
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

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return Rule(_by_pattern, (forms_of(labels, variant), self._pattern, self._group))


def _by_pattern(answer: Answer, forms: Forms, pattern: str, group: int) -> Reading:
    written = pl.Series([answer.text], dtype=pl.String).str.extract(pattern, group)[0]
    if written is None:
        return no_label("the pattern matches nowhere")
    codes = forms.whole(written.strip()) or forms.whole(bare(written))
    return _reading(codes, no_label("what matches is no label"))


class Constrained(Exact):
    """Reads the follow-up ``constrained``, in which the model could write nothing but a label.

    The model was given its answer so far, followed by a marker, and had to continue with a label. What
    it wrote is read as ``exact`` reads it: all of it must be one of the variant's answers. So every
    answer that is not an error gets a label, even one that declined or said nothing. This shows which
    label the model leans towards, not what it said.
    """

    of: ClassVar[str] = "constrained"


class MarkedLabel:
    r"""The label that the answer marks as its answer, else the only label that it names.

    The marks, the strongest first: *final* (behind "final answer:", in ``\boxed{…}`` or ``[[…]]``);
    *announced* (behind "answer:", "label =", "the answer is" and the like in 30 languages, in a field or
    tag of such a name, beside a ticked box or "yes" where each label has one); *alone* (a line, a bold
    phrase, a field or a tag to itself); *chosen* ("I would say", "classified as", behind an arrow, the only
    label of a sentence that begins with "therefore" and the like); *scored* (each label that is named has a
    probability, these sum to 1, and its is the highest); *first* (the answer begins with it, and punctuation
    or a reason follows). The strongest mark counts: one label that has it is the answer's, several are
    ambiguous; where an answer takes itself back ("wait", "on reflection") and then marks one, that one
    counts. Without a mark, several labels that are named are ambiguous: it is never the first of them.

    Labels are found by the rules of ``label_forms``. A mark does not count if its label is part of a
    list ("positive, negative or neutral") or of a question ("positive?"). These are not mentions of a
    label: a label that is struck out or whose box is not ticked, the number of a step or of a list, a
    digit that counts something ("1 hashtag"), "no" before a noun, and "none of …". If the first line is
    nothing but a label and another text follows ("Text: …"), the answer ends before that text.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return Rule(_marked, (forms_of(labels, variant),))


def _marked(answer: Answer, forms: Forms) -> Reading:
    codes, labels, strength, is_denied = named(continued(answer, forms), forms)
    if len(codes) == 1:
        return valid(*codes)
    if not codes:
        return _DENIED if is_denied else _NONE
    if not labels:
        return ambiguous(codes, "named, none marked")
    how = f"marked: {HOW[strength]}"
    return valid(*labels, how) if len(labels) == 1 else ambiguous(labels, how)
