"""Answers are read together as they are read one at a time, by every evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.score.outputs import Output, outputs

from quaver.core import registry
from quaver.core.annotations import AnswerRows, Reading
from quaver.core.records import Response, Token
from quaver.score.annotation import read
from quaver.score.distinct_readings import DistinctReadings, Named, reads_of
from quaver.score.parsing.evaluator import Evaluator
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.statuses import Judge
from quaver.testing.tasks import TASKS

OPTIONS: dict[str, dict[str, Any]] = {"pattern": {"pattern": r"(?:is|=) ?(\w+)"}}
NAMES = registry.names("evaluators")
HOSTILE = (
    *(
        "not ",
        "never",
        "no longer",
        "n't",
        "; ",
        ". ",
        ", ",
        "\n",
        "\r\n",
        " or ",
        ": ",
        "**",
        '"',
        "'",
        "(",
        ")",
    ),
    *("FINAL:", "final answer is ", "Answer: ", "The label is", "\\boxed{", "I choose ", "explanation"),
    *('{"label": "', '"}', "{", "}", "0.7", "0.3", ".5", "1", "2", "10", "1-5", "4/5", "100%", "= "),
    *("I'm sorry", "I cannot answer", "as an AI", "<think>", "</think>", "[think]", "<|im_end|>", "◁think▷"),
    *(
        "\x00",
        "\x07",
        "\x1c",
        "\x7f",
        "\x85",
        "\u200b",
        "\xad",
        "\ufeff",
        "\ud800",
        "\udfff",
        "“",
        "’",
        "\xa0",
    ),
    *(
        "é",
        "e\u0301",
        "ß",
        "İ",
        "ς",
        "Σ",
        "Ａ",
        "①",
        "不是",
        "正面",
        "😀",
        "x" * 3000,
        "so " * 12,
        "economy than",
    ),
)


def evaluators() -> dict[str, Evaluator]:
    return {name: registry.load("evaluators", name)(**OPTIONS.get(name, {})) for name in NAMES}


def read_together(responses: list[Response], evaluator: Evaluator, task: str) -> list[Reading]:
    labels, variant = TASKS[task]
    named = Named("", reads_of(evaluator), [evaluator.reader(labels, variant)])
    several = DistinctReadings([named], [Judge(forms_of(labels, variant))])
    rows = AnswerRows.of([(0, 0, at, one, None) for at, one in enumerate(responses)])
    again = AnswerRows.of([(0, 0, at, one, None) for at, one in enumerate(responses[::-1])])
    found = [_readings(several.of(np.zeros(len(responses), np.intp), some)) for some in (rows, again)]
    assert repr(found[0]) == repr(found[1][::-1])
    return found[0]


def _readings(found: Any) -> list[Any]:
    return [
        (found.readings[0][code], found.truncated[code], found.looping[code]) for code in found.codes.tolist()
    ]


def read_alone(responses: list[Response], evaluator: Evaluator, task: str) -> list[Any]:
    alone = [read(one, evaluator, *TASKS[task]) for one in responses]
    return [(one, one.truncated, one.looping) for one in alone]


def known(readings: list[Any]) -> list[Any]:
    """What a reading says; the marks stand beside it."""
    return [
        (one.label, one.status, one.reason, one.probabilities, one.confidence, *marks)
        for one, *marks in readings
    ]


@pytest.mark.parametrize("task", sorted({one.task for one in (*outputs("hostile"), *outputs("real"))}))
def test_all_outputs_of_a_task_are_read_together_as_alone(task: str) -> None:
    found: list[Output] = [one for one in (*outputs("hostile"), *outputs("real")) if one.task == task]
    responses = [one.response for one in found] * (1 + 20 // len(found))
    for name, evaluator in evaluators().items():
        if reads_of(evaluator) == "pair":
            continue
        assert known(read_together(responses, evaluator, task)) == known(
            read_alone(responses, evaluator, task)
        ), name


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, list[Response]]:
    """A task, and answers full of what its evaluators look for and of what is in their way."""
    task = draw(st.sampled_from(sorted(TASKS)))
    labels, variant = TASKS[task]
    forms = [text for one in labels.labels for text in (one.code, one.name, *one.synonyms)]
    forms += variant.answers.values()
    forms += [one.upper() for one in forms] + [one.lower() for one in forms]
    piece = st.sampled_from(forms) | st.sampled_from(HOSTILE) | st.text(max_size=8)
    text = st.lists(piece, max_size=8).map(" ".join) | st.lists(piece, max_size=4).map("".join)
    finish = st.sampled_from(["stop"] * 6 + ["length", "error", "content_filter"])
    thinking = st.none() | st.just("Hm.")
    token = st.sampled_from(forms).map(lambda form: (Token(form, -0.1, ((form, -0.1),)),))
    values = st.tuples(text, finish, thinking, st.just(()) | token)
    response = values.map(lambda one: Response(one[0], one[1], None, one[2], one[3]))
    return task, draw(st.lists(response, min_size=draw(st.sampled_from([1, 20, 24])), max_size=45))


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(answers(), st.sampled_from(NAMES))
def test_answers_are_read_together_as_alone(case: tuple[str, list[Response]], name: str) -> None:
    task, responses = case
    evaluator = evaluators()[name]
    assert known(read_together(responses, evaluator, task)) == known(read_alone(responses, evaluator, task))
