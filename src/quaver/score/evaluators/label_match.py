"""``label_match``: exactly one label is named in the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import Forms, forms_of
from quaver.score.parsing.many_answers import holding, in_columns
from quaver.score.parsing.readings import ambiguous, no_label, valid

_NONE = no_label("no label in the text")


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
        return _reading(found) or self._one_of(found, answer)

    def _one_of(self, found: set[str], answer: Answer) -> Reading:
        first = self.forms.first(answer) if self.takes_first else ()
        return valid(first[0], f"the first of {len(found)}") if len(first) == 1 else ambiguous(found)

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        found = [_NONE] * len(answers)
        places = holding(answers, self.forms.words, self.forms.letter)
        known: Sequence[set[str] | None] = [None] * len(places)
        if in_columns(answers) and not self.explains:
            known = self.forms.distincts(answers, places)
        for at, codes in zip(places, known, strict=True):
            found[at] = (_reading(codes) if codes else None) or self(answers[at])
        return found


def _reading(found: set[str]) -> Reading | None:
    """The reading of the labels that were found; None for several."""
    if len(found) > 1:
        return None
    return valid(*found) if found else _NONE
