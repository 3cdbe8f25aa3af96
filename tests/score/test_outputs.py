import pytest
from tests.score.outputs import OPTIONS, TEXT_EVALUATORS, outputs

from quaver.core import registry
from quaver.score.annotation import read
from quaver.testing.tasks import TASKS

ALL = [*outputs("hostile"), *outputs("real")]


@pytest.mark.parametrize("output", ALL, ids=str)
def test_the_right_reading_for_every_evaluator(output):
    labels, variant = TASKS[output.task]
    read_as, marks = {}, set()
    for name in TEXT_EVALUATORS:
        evaluator = registry.load("evaluators", name)(**OPTIONS.get(name, {}))
        reading = read(output.response, evaluator, labels, variant)
        # Valid without a label: tied scores.
        read_as[name] = reading.label or reading.status
        marks = {mark for mark in ("truncated", "looping") if getattr(reading, mark)}
    assert read_as == output.readings
    assert marks == output.marks


def test_every_evaluator_of_text_has_its_readings_here():
    others = {"logprob", "pattern"}  # the one reads no text, the other has no rule until it is given one
    builtin = {name for name in registry.names("evaluators") if name not in others}
    assert set(TEXT_EVALUATORS) <= builtin
