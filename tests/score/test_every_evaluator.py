"""What annotation keeps for every evaluator: failed answers, equal answers, and time."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaver.core.calls import Response
from quaver.core.records import Condition, Item
from quaver.score import annotation
from quaver.testing.recipes import plugins
from quaver.testing.tasks import CASES, TASKS
from quaver.testing.test_evaluators import RESPONSES, made, read

PIECE, COPIES, GENEROUS, TRIES = 10_000, 16, 6, 5
pytestmark = pytest.mark.parametrize("name", plugins("evaluators"))


@settings(max_examples=10, deadline=None)
@given(some=st.lists(RESPONSES, max_size=8), repeats=st.integers(1, 3), size=st.integers(5, 30))
def test_answers_that_show_the_same_are_read_alike(name, some, repeats, size):
    # Each comes again with other thinking, other counts and another time, among the others and apart.
    labels, variant = TASKS["names"]
    of = [
        response._replace(latency=index, prompt_tokens=index) for index in range(repeats) for response in some
    ]
    pair = getattr(made(name), "reads", "text") == "pair"
    rows = [
        (0, 0, index, Response("0.8") if pair else response, response if pair else None)
        for index, response in enumerate(of)
    ]
    reader = annotation.Annotator(
        conditions=[Condition("m", variant.id, "d", 1)],
        items=[Item("i", {})],
        variants={variant.id: variant},
        labels=labels,
        evaluators={name: made(name)},
    )
    chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
    frames = [reader.frame(chunk) for chunk in chunks]
    found = [row for frame in frames for row in frame.select("label", "status", "reason").rows()]
    evaluator = made(name)
    alone = [read(response, evaluator, labels, variant) for response in of]
    assert found == [(reading.label, reading.status, reading.reason) for reading in alone]


def test_failed_answers_are_no_concern_of_its(name):
    labels, variant = TASKS["names"]
    assert read(Response("Dole", "error", "down"), made(name), labels, variant).status == "error"
    assert read(Response("Dole", "content_filter"), made(name), labels, variant).status == "refused"
    assert read(Response(" "), made(name), labels, variant).status == "empty"


def test_one_long_answer_costs_what_its_pieces_cost(name):
    # Linear work costs once as much, quadratic work sixteen times as much: six times is far from both.
    # It is the processor's time, and one good try of five is enough.
    labels, variant = TASKS["choice"]
    evaluator = made(name)
    for unit in CASES["megabytes"]:
        text = "x" + unit * (PIECE // len(unit)) + "x"
        for _ in range(TRIES):
            together = seconds([Response(text * COPIES)], evaluator, labels, variant)
            apart = seconds([Response(text)] * COPIES, evaluator, labels, variant)
            if together < GENEROUS * max(apart, 0.001):
                break
        else:
            pytest.fail(f"{unit!r}: {together:.3f} s together, {apart:.3f} s in pieces")


def seconds(responses, evaluator, labels, variant):
    start = time.process_time()
    for response in responses:
        read(response, evaluator, labels, variant)
    return time.process_time() - start
