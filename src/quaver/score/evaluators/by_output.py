"""``by_output``: labels read by one evaluator, scores by another, as the prompt asked for."""

from __future__ import annotations

from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Reader
from quaver.score.parsing.inner_evaluators import Given, evaluator_within


class ByOutput:
    """Labels by one rule, scores and JSON by others: whichever the variant asked for.

    Where it asked for a label, ``label_match`` reads; where it asked for scores, ``label_scores`` does;
    where for a JSON object with the label, ``json_field`` does. The options name other evaluators, or the
    same ones with options: ``label: {use: label_match, several: first}``.

    Args:
        label: The evaluator of answers that are a label.
        score: The evaluator of answers that are a score for each label, or for one.
        json_object: The evaluator of answers that are a JSON object.
    """

    def __init__(
        self,
        *,
        label: Given = "label_match",
        score: Given = "label_scores",
        json_object: Given = "json_field",
    ) -> None:
        self._by_output = {
            "label": evaluator_within(label, "label"),
            "score": evaluator_within(score, "score"),
            "json": evaluator_within(json_object, "json_object"),
        }

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        output = "json" if variant.label_field else variant.output
        return self._by_output[output].reader(labels, variant)
