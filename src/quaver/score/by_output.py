"""``by_output``: labels read by one evaluator, scores by another, as the prompt asked for."""

from __future__ import annotations

from quaver import registry
from quaver.errors import SpecError
from quaver.records import LabelSet, Variant
from quaver.score import Evaluator, Reader

__all__ = ["ByOutput"]


class ByOutput:
    """Labels by one rule, scores and JSON by others: whichever the variant asked for.

    Where it asked for a label, ``label_match`` reads; where it asked for a score for each label,
    ``label_scores`` does; where for a JSON object with the label, ``json_field`` does. The options name
    other evaluators, which read with their defaults.

    Args:
        label: The evaluator of answers that are a label.
        score: The evaluator of answers that are a score for each label.
        json_object: The evaluator of answers that are a JSON object.
    """

    def __init__(
        self, *, label: str = "label_match", score: str = "label_scores", json_object: str = "json_field"
    ) -> None:
        asked = {"label": label, "score": score, "json": json_object}
        self._by_output = {output: _made(output, name) for output, name in asked.items()}

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        output = "json" if variant.label_field else variant.output
        return self._by_output[output].reader(labels, variant)


def _made(output: str, name: str) -> Evaluator:
    where = f"by_output: {output}"
    plugin = registry.load("evaluators", name, where=where)
    if getattr(plugin, "reads", "text") != "text":
        raise SpecError(
            f"the evaluator {name!r} reads tokens, not the answer's text",
            where=where,
            found=name,
            fix="list it among the study's evaluators, beside this one",
        )
    try:
        evaluator: Evaluator = plugin()
    except TypeError:
        raise SpecError(
            f"the evaluator {name!r} needs options",
            where=where,
            expected="an evaluator that has a default for each of its options",
            found=name,
        ) from None
    return evaluator
