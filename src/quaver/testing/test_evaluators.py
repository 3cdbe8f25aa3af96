"""What every registered evaluator must keep, whoever wrote it."""

from __future__ import annotations

import inspect
import math
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaver.core import registry
from quaver.core.calls import Response, Token
from quaver.core.records import Label, LabelSet, Reading, Status, Variant
from quaver.score import annotation
from quaver.score.parsing.evaluator import Evaluator
from quaver.testing.recipes import built, plugins, recipe_of
from quaver.testing.tasks import CASES, TASKS


def made(name: str) -> Evaluator:
    options = recipe_of("evaluators", name).options
    evaluator: Evaluator = built("evaluators", name, options, checked=False)
    return evaluator


def read(response: Response, evaluator: Evaluator, labels: LabelSet, variant: Variant) -> Reading:
    """The reading of an answer; for an evaluator that reads a follow-up too, beside a plain one."""
    if getattr(evaluator, "reads", "text") == "pair":
        return annotation.read(Response("0.8"), evaluator, labels, variant, about=response)
    return annotation.read(response, evaluator, labels, variant)


def check(reading: Reading, labels: LabelSet) -> None:
    assert reading.status in get_args(Status)
    assert reading.label is None or reading.status == "valid"
    # Valid without a label is an answer that prefers none: its probabilities are tied.
    if reading.status == "valid" and reading.label is None:
        first, second = sorted((reading.probabilities or {}).values())[-2:]
        assert first == second
    assert reading.label is None or reading.label in labels.codes
    assert reading.reason or reading.label is not None
    if reading.probabilities is not None:
        assert set(reading.probabilities) <= set(labels.codes)
        assert all(0 <= p <= 1 for p in reading.probabilities.values())
        assert math.isclose(sum(reading.probabilities.values()), 1)
    for number in (reading.confidence, reading.label_coverage, reading.mass_coverage):
        assert number is None or 0 <= number <= 1 + 1e-9


PIECES = [*CASES["pieces"], "9" * 400, "\ud800"]
HOSTILE = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join),
    st.lists(st.sampled_from(PIECES) | st.characters(), max_size=30).map("".join),
)
TOKENS = st.lists(
    st.builds(
        Token,
        st.text("AB 01\n<think>pos", max_size=4),
        st.floats(-30, 0),
        st.lists(st.tuples(st.text("AB 01pn", max_size=3), st.floats(-800, 0)), max_size=5).map(tuple),
    ),
    max_size=4,
).map(tuple)
FINISHES = st.sampled_from(["stop", "length", "content_filter", "error"])
RESPONSES = st.builds(  # not of the class, all of whose fields would be drawn
    lambda text, finish, tokens: Response(text, finish, tokens=tokens), HOSTILE, FINISHES, TOKENS
)
NAMES = st.sampled_from(CASES["names"]) | st.text(min_size=1, max_size=8)
LABELS = st.builds(Label, NAMES, NAMES, synonyms=st.lists(NAMES, max_size=1).map(tuple))
LABEL_SETS = st.builds(
    LabelSet, st.lists(LABELS, min_size=2, max_size=4, unique_by=lambda label: label.code).map(tuple)
)


@pytest.mark.parametrize("name", plugins("evaluators"))
class TestEveryEvaluator:
    def test_it_states_its_rule(self, name: str) -> None:
        assert len(inspect.getdoc(registry.load("evaluators", name)) or "") > 100

    def test_it_says_what_it_reads(self, name: str) -> None:
        assert getattr(made(name), "reads", "text") in ("text", "tokens", "pair", "response")

    @pytest.mark.parametrize("task", TASKS)
    @settings(max_examples=25, deadline=None)
    @given(response=RESPONSES)
    def test_any_answer_is_read_and_read_alike_twice(self, name: str, task: str, response: Response) -> None:
        labels, variant = TASKS[task]
        reading = read(response, made(name), labels, variant)
        check(reading, labels)
        assert reading == read(response, made(name), labels, variant)

    @settings(max_examples=25, deadline=None)
    @given(response=RESPONSES)
    def test_any_follow_up_is_read(self, name: str, response: Response) -> None:
        labels, variant = TASKS["names"]
        check(annotation.read(response, made(name), labels, variant, about=Response("Dole")), labels)

    @settings(max_examples=50)
    @given(labels=LABEL_SETS, answers=st.lists(NAMES, min_size=4, max_size=4), text=HOSTILE, data=st.data())
    def test_under_any_label_set(
        self, name: str, labels: LabelSet, answers: list[str], text: str, data: st.DataObject
    ) -> None:
        variant = Variant("v", {}, "", "", "", "", "", dict(zip(labels.codes, answers, strict=False)))
        text = data.draw(st.sampled_from([text, *labels.codes, *answers, f"{text} {answers[0]}."]))
        check(read(Response(text), made(name), labels, variant), labels)

    def test_thinking_is_never_read(self, name: str) -> None:
        labels, variant = TASKS["names"]
        response = Response('<think>Final answer: Clinton. FINAL: Clinton\n{"label": "Clinton"} 1.0</think>')
        assert read(response, made(name), labels, variant).status == "empty"

    def test_a_megabyte_made_to_hurt_is_read(self, name: str) -> None:
        # Quadratic work on a megabyte takes hours: that this ends at all is the assertion.
        labels, variant = TASKS["tone"]
        evaluator = made(name)
        for unit in CASES["megabytes"]:
            text = unit * (1_000_000 // len(unit))
            check(read(Response(text + "x"), evaluator, labels, variant), labels)
