"""``marked_label``: the label that the answer marks as such, else the only one that it names."""

from __future__ import annotations

from dataclasses import dataclass

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Answer, Held, Reader, ambiguous, no_label, valid
from quaver.score.parsing.label_forms import Forms, forms_of
from quaver.score.parsing.label_marks import HOW, continued, named

_NONE = no_label("no label in the text")
_DENIED = no_label("what the text names, it denies")


class MarkedLabel:
    r"""The label that the answer marks as its answer, else the only label that it names.

    The marks, the strongest first: *final* (behind "final answer:", in ``\boxed{…}`` or ``[[…]]``);
    *announced* (behind "answer:", "label =", "the answer is" and the like in 30 languages, in a field or
    tag of such a name, in a box that is ticked); *alone* (a line, a bold phrase, a field or a tag to
    itself); *chosen* ("I would say", "classified as", behind an arrow, the only label of a sentence that
    begins with "therefore" and the like); *first* (the answer begins with it, and punctuation or a reason
    follows). The strongest mark counts: one label that has it is the answer's, several are ambiguous.
    Without a mark, several labels that are named are ambiguous: it is never the first of them.

    Labels are found by the rules of ``label_forms``. No mark counts on a label that is one of a list
    ("positive, negative or neutral"), or that is asked about ("positive?"). No mention of a label is one
    that is struck out or has an unticked box, the number of a step or of a list, a digit that counts ("1
    hashtag"), "no" before a noun, and "none of …". Where the first line is a label alone and a next text
    follows ("Text: …"), the answer ends before it.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return _MarkedLabelReader(forms_of(labels, variant))


@dataclass(frozen=True, slots=True)
class _MarkedLabelReader:
    forms: Forms

    @property
    def held(self) -> Held:
        return Held(self.forms.words, self.forms.letter, _NONE)

    def __call__(self, answer: Answer) -> Reading:
        answer = continued(answer, self.forms)
        found = named(answer, self.forms)
        codes = found.codes
        if len(codes) == 1:
            return valid(*codes)
        if not codes:
            return _DENIED if found.denied else _NONE
        strength, marked = found.marked
        if len(marked) == 1:
            return valid(*marked, f"marked: {HOW[strength]}")
        return (
            ambiguous(marked, f"marked: {HOW[strength]}")
            if marked
            else ambiguous(codes, "named, none marked")
        )
