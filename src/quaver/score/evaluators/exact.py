"""``exact``: the whole answer is a label."""

from __future__ import annotations

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.readings import ambiguous, no_label, valid


class Exact:
    """The whole answer is one of the variant's answers, or of the labels' names, codes and synonyms.

    Around it, white space, quotes (``"``, ``'`` and the backtick, one of each side) and one final
    stop do not count, nor does case. Anything else makes it no label.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        forms = forms_of(labels, variant)

        def read(answer: Answer) -> Reading:
            codes = forms.whole(answer.text) or forms.whole(_bare(answer.text))
            if len(codes) == 1:
                return valid(codes[0])
            return (
                ambiguous(codes, "share the form") if codes else no_label("the answer is not a label alone")
            )

        return read


def _bare(text: str) -> str:
    text = text.removesuffix(".").rstrip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1].strip().removesuffix(".").rstrip()
    return text
