"""Answers are read together as they are read one at a time, by every evaluator."""

import pytest
from tests.score.outputs import outputs

from quaver.core import registry
from quaver.core.records import Condition, Item
from quaver.score.annotation import Annotator, read, reads_of
from quaver.testing.tasks import TASKS

OPTIONS = {"pattern": {"pattern": r"(?:is|=) ?(\w+)"}}
SHOWN = ("label", "status", "reason", "confidence", "truncated", "looping")


@pytest.mark.parametrize("task", sorted({one.task for one in (*outputs("hostile"), *outputs("real"))}))
def test_all_outputs_of_a_task_are_read_together_as_alone(task):
    found = [one for one in (*outputs("hostile"), *outputs("real")) if one.task == task]
    responses = [one.response for one in found]
    labels, variant = TASKS[task]
    for name in registry.names("evaluators"):
        evaluator = registry.load("evaluators", name)(**OPTIONS.get(name, {}))
        if reads_of(evaluator) == "pair":
            continue
        annotator = Annotator(
            conditions=[Condition("m", variant.id, "d", 2 * len(responses))],
            items=[Item("i", {})],
            variants={variant.id: variant},
            labels=labels,
            evaluators={name: evaluator},
        )
        frame = annotator.frame([(0, 0, at, one, None) for at, one in enumerate(responses * 2)])
        alone = [read(one, evaluator, labels, variant) for one in responses] * 2
        assert frame.select(SHOWN).rows() == [tuple(getattr(one, key) for key in SHOWN) for one in alone]
