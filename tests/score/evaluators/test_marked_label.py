"""Shapes of answers are read as they are meant; of several labels none is read silently."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest
from tests.score.shapes import shapes

from quaver.core import registry
from quaver.core.calls import Response
from quaver.core.records import Label
from quaver.score.annotation import read
from quaver.score.evaluators.named_label import MarkedLabel
from quaver.testing.tasks import task

LOST = (
    "Premise says a man plays guitar. Hypothesis says someone mak",
    "No se trata de un texto a favor, sino en contra.",
    "この文章は否定的です。肯定的な表現は見られません。",
    "There are 3 mentions of unions and 1 of wages: Labor",
    "It's right that taxes are discussed; the outlet is left.",
    "Among joy, anger, sadness, fear, surprise, and other, the st",
    "Among other things, the speaker mentions jobs: economy",
    "Die Stimmung ist insgesamt negativ, auch wenn der Anfang pos",
    "This is not a text in favor of the ban. On the contrary, the",
    "The stance of the text toward legalizing abortion is *in favo",
    "この文章は、原発の再稼働に「反対」ではなく「賛成」の立場です。",
    "텍스트의 감정은 '긍정'입니다. 😊",
    "This text leans slightly positive, I would say, though it is",
)
"""How the answers begin whose label is still lost."""


@pytest.mark.parametrize("shape", shapes(), ids=str)
def test_an_answer_is_read_as_it_is_meant(shape):
    reading = read(shape.response, MarkedLabel(), shape.labels, shape.variant)
    if shape.response.text.startswith(LOST):
        assert (reading.label, reading.status in ("ambiguous", "no_label")) == (None, True)
    else:
        assert (reading.label or reading.status) == shape.right


def test_there_are_enough_of_them_and_most_trouble_other_evaluators():
    assert len(shapes()) >= 200
    wrong = Counter(
        name
        for shape in shapes()
        for name in ("first_label", "answer_markers")
        if shape.outcome(
            read(shape.response, registry.load("evaluators", name)(), shape.labels, shape.variant)
        )
        == "wrong"
    )
    assert wrong["first_label"] > wrong["answer_markers"] > 20


def test_a_label_is_marked_however_it_is_written():
    labels, asked = task(
        {"501": "501: Environment", "502": "502: Culture"},
        Label("501", "501: Environment"),
        Label("502", "502: Culture"),
    )
    plain = "501", "environment", "501 - Environment", "501) Environment"
    for text in (*plain, "Label: Environment (501)", "Not culture (502) but 501"):
        assert read(Response(text), MarkedLabel(), labels, asked).label == "501", text


def test_the_tables_in_the_docs_are_those_of_the_code():
    path = Path(__file__).parents[3] / "docs" / "evaluator_shapes.py"
    spec = importlib.util.spec_from_file_location("evaluator_shapes", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    page = made.PAGE.read_text(encoding="utf-8")
    assert made.written(page) == page
