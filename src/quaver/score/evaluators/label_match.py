"""``label_match``: exactly one label is named in the answer."""

from __future__ import annotations

from typing import Literal

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.readings import ambiguous, no_label, valid


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
        forms = forms_of(labels, variant)

        def read(answer: Answer) -> Reading:
            if variant.explains:
                answer = answer.before_explanation()
            found = forms.distinct(answer)
            if len(found) == 1:
                return valid(found.pop())
            if not found:
                return no_label("no label in the text")
            first = forms.first(answer) if self._several == "first" else ()
            return valid(first[0], f"the first of {len(found)}") if len(first) == 1 else ambiguous(found)

        return read
