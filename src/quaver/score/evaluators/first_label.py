"""``first_label``: the first label that the answer mentions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import Forms, forms_of
from quaver.score.parsing.many_answers import holding, in_columns
from quaver.score.parsing.readings import ambiguous, no_label, valid

_NONE = no_label("no label in the text")


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

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        found = [_NONE] * len(answers)
        places = holding(answers, self.forms.words, self.forms.letter)
        firsts = self.forms.firsts(answers, places) if in_columns(answers) else [None] * len(places)
        for at, codes in zip(places, firsts, strict=True):
            found[at] = self(answers[at]) if codes is None else _reading(codes)
        return found


def _reading(codes: Sequence[str]) -> Reading:
    if len(codes) == 1:
        return valid(codes[0])
    return ambiguous(codes, "share the form") if codes else _NONE
