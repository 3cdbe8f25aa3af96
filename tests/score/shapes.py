"""The shapes of answers in shapes.yaml, each with the task that it answers and its right reading."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML

from quaver.core.calls import Response
from quaver.core.records import Label, LabelSet, Variant
from quaver.testing.tasks import variant


class Shape(NamedTuple):
    name: str
    labels: LabelSet
    variant: Variant
    response: Response
    right: str

    def outcome(self, reading):
        """Wrong is a label that the answer does not give, lost one that it gives and that was not read."""
        if reading.label is not None:
            return "right" if reading.label == self.right else "wrong"
        return "lost" if self.right in self.labels.codes else "right"

    def __str__(self):
        return f"{self.name}: {self.response.text[:40]!r}"


@cache
def shapes(name="shapes.yaml"):
    data = YAML(typ="safe", pure=True).load(Path(__file__).with_name(name))
    return [
        Shape(shape, *_task(data["sets"][labels]), Response(text), str(right))
        for shape, by_labels in data["shapes"].items()
        for labels, answers in by_labels.items()
        for text, right in answers
    ]


def _task(given):
    """A label set; where it gives letters with names, the letters are the answers that were asked for."""
    pairs = [(str(code), str(name)) for code, name in given.items()] if isinstance(given, dict) else []
    labels = LabelSet(tuple(Label(*pair) for pair in pairs or [(str(one), str(one)) for one in given]))
    answers = {one.code: one.code if len(one.code) == 1 else one.name for one in labels.labels}
    return labels, variant(answers)
