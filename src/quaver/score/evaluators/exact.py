"""``exact``: the whole answer is a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import Forms, forms_of
from quaver.score.parsing.many_answers import holding, read_at
from quaver.score.parsing.readings import ambiguous, no_label, valid

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

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        return read_at(answers, holding(answers, self.forms.words, self.forms.letter), self, _NONE)


def _bare(text: str) -> str:
    text = text.removesuffix(".").rstrip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1].strip().removesuffix(".").rstrip()
    return text
