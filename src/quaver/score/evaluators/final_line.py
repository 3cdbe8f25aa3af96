"""``final_line``: ``FINAL: <answer>``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import Forms, forms_of
from quaver.score.parsing.many_answers import read_where
from quaver.score.parsing.readings import ambiguous, no_label, valid

_NONE = no_label("no FINAL: with a label")
_MARK = "final"
_REST = re.compile(r"[\s\"'`*_]*[:=]")
_MOST = 1000


class FinalLine:
    """The label behind ``FINAL:``, on the last line or else at the last place where there is one.

    Case does not count, nor do quotes, brackets and emphasis around mark and label. A mark
    that no label follows, or several joined by "or", "and", "to", a comma or a slash, is passed
    over; of more than 1,000 marks the last 1,000 count. Anything else is no label.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return _FinalLineReader(forms_of(labels, variant))


@dataclass(frozen=True, slots=True)
class _FinalLineReader:
    forms: Forms

    def __call__(self, answer: Answer) -> Reading:
        # Going backwards, the last line comes first.
        end = len(answer.folded)
        for _ in range(_MOST):
            end = answer.folded.rfind(_MARK, 0, end)
            if end < 0:
                break
            if end and answer.folded[end - 1].isalnum():  # as in "semifinal"
                continue
            rest = _REST.match(answer.folded, end + len(_MARK))
            codes = self.forms.given(answer, rest.end()) if rest else ()
            if codes:
                return valid(codes[0]) if len(codes) == 1 else ambiguous(codes, "share the form")
        return _NONE

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        return read_where(answers, [_MARK], self, _NONE)
