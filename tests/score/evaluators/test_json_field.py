"""Sets and numbers in JSON: damage is repaired, and of values that contradict each other none is taken."""

from dataclasses import replace

import pytest

from quaver.core.calls import Response
from quaver.core.label_values import occurring_numbers
from quaver.core.records import Label
from quaver.score.annotation import read
from quaver.score.evaluators.json_field import JsonField
from quaver.testing.tasks import task

LABELS, ASKED = task({"tax": "tax", "war": "war"}, Label("tax", "tax"), Label("war", "war"), level="jaccard")
TOPICS = replace(ASKED, output="labels", label_field="topics")
AMOUNT = replace(ASKED, output="number", label_field="amount", answers={})


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"topics": ["tax", "war"]}', "tax;war"),
        ('{"topics": ["tax","war",],}', "tax;war"),
        ("{'topics': ['tax'], // one\n}", "tax"),
        ("{topics: [tax, war]}", "tax;war"),
        ('{"topics": ["tax"]', "tax"),
        ('{"topics": ["tax"', None),
        ('{"answer": {"topics": "tax; war"}}', "tax;war"),
        ('{"topics": {"tax": true, "war": False}}', "tax"),
        ('{"topics": ["tax"]} {"topics": ["war"]}', "ambiguous"),
        ('{"topics": ["tax"], "topics": ["war"]}', "ambiguous"),
        ('{"topics": ["tax"]} or {"topics": ["tax"]}', "tax"),
        ('Format: {"topics": ["…"]}\nAnswer: {"topics": ["war"]}', "war"),
        ('{"topics": ["tax", "peace"]}', None),
    ],
)
def test_a_set(text, label):
    reading = read(Response(text), JsonField(), LABELS, TOPICS)
    assert (reading.label or ("ambiguous" if reading.status == "ambiguous" else None)) == label


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('{"amount": 12.50}', "12.5"),
        ('{"amount": 12,}', "12"),
        ("{'amount': '3'}", "3"),
        ('{"amount": 5} {"amount": 5.0}', "5"),
        ('Format: {"amount": 0}. Answer: {"amount": 1250}', "ambiguous"),
        ('{"amount": 0, "amount": 5}', "ambiguous"),
        ('{"amount": "1,250"}', None),
        ('{"amount": null}', None),
    ],
)
def test_a_number(text, number):
    reading = read(Response(text), JsonField(), occurring_numbers((), "ratio"), AMOUNT)
    assert (reading.label or ("ambiguous" if reading.status == "ambiguous" else None)) == number


def test_a_number_that_was_cut_off_is_none():
    for finish, number in (("stop", "12"), ("length", None)):
        reading = read(Response('{"amount": 12', finish), JsonField(), occurring_numbers((), "ratio"), AMOUNT)
        assert reading.label == number


def test_a_label_that_is_a_number_may_have_decimals():
    labels, asked = task({"4": "4", "1": "1"}, Label("4", "4"), Label("1", "1"))
    assert read(Response('{"label": 4.0}'), JsonField(), labels, asked).label == "4"
    assert read(Response('{"label": 4.5}'), JsonField(), labels, asked).label is None
