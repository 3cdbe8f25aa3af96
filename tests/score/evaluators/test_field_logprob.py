"""The probability of a field's value, from the tokens that spell it."""

import math
from dataclasses import replace

import pytest

from quaver.core.calls import Response, Token
from quaver.core.records import Label, LabelSet
from quaver.score.annotation import read
from quaver.score.evaluators.json_field import FieldLogProb
from quaver.testing.tasks import task

LABELS, VARIANT = task(
    {"pos": "positive", "neg": "negative"}, Label("pos", "positive"), Label("neg", "negative")
)


def reading(*tokens, text=None, field="tone", labels=LABELS):
    spelled = tuple(Token(one, math.log(p), ()) for one, p in tokens)
    response = Response("".join(one for one, _ in tokens) if text is None else text, tokens=spelled)
    return read(response, FieldLogProb(field=field), labels, VARIANT)


def test_the_tokens_of_the_value_count_and_no_others():
    got = reading(('{"', 0.5), ("tone", 0.5), ('": "', 0.9), ("posi", 0.8), ("tive", 0.5), ('"}', 0.1))
    assert (got.label, got.status, got.confidence) == ("pos", "valid", pytest.approx(0.4))


def test_the_field_is_told_from_others_and_from_words_in_texts():
    got = reading(
        ('{"why": "not \\"tone\\": \\"negative\\"", ', 0.1), ('"other": "negative", ', 0.1),
        ('"Tone": "', 0.1), ("positive", 0.7), ('"}', 0.1),
    )  # fmt: skip
    assert (got.label, got.confidence) == ("pos", pytest.approx(0.7))


def test_of_the_same_label_twice_the_last_counts():
    got = reading(('{"tone": "', 1), ("positive", 0.2), ('"}\n{"tone": "', 1), ("positive", 0.9), ('"}', 1))
    assert (got.label, got.confidence) == ("pos", pytest.approx(0.9))


def test_thinking_is_passed_over_by_the_label():
    got = reading(
        ("<think>", 1),
        ('{"tone": "negative"}', 0.3),
        ("</think>", 1),
        ('{"tone": "', 1),
        ("positive", 0.6),
        ('"}', 1),
    )
    assert (got.label, got.confidence) == ("pos", pytest.approx(0.6))


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [("{tone: positive}", 0.5)],
        [('{"tone": "negative"}', 0.5)],
    ],
    ids=["no tokens", "no sound JSON", "tokens of something else"],
)
def test_without_such_tokens_there_is_a_label_and_no_confidence(tokens):
    got = reading(*tokens, text="{tone: positive}")
    assert (got.label, got.confidence) == ("pos", None)


def test_no_label_has_no_confidence():
    got = reading(('{"tone": "', 1), ("mixed", 0.9), ('"}', 1))
    assert (got.label, got.status, got.confidence) == (None, "no_label", None)


def test_the_digits_of_a_number():
    numbers, variant = LabelSet((), "ratio", are_numbers=True), replace(VARIANT, output="number")
    tokens = [Token(one, math.log(p), ()) for one, p in [('{"n": ', 0.3), ("1", 0.5), ("2", 0.5), ("}", 0.9)]]
    got = read(Response('{"n": 12}', tokens=tuple(tokens)), FieldLogProb(field="n"), numbers, variant)
    assert (got.label, got.confidence) == ("12", pytest.approx(0.25))


def test_the_brackets_and_labels_of_a_set():
    sets, variant = replace(LABELS, level="jaccard"), replace(VARIANT, output="labels")
    spelled = [('{"n": ', 0.3), ('["', 0.5), ("positive", 0.5), ('"]', 0.8), ("}", 0.9)]
    tokens = tuple(Token(one, math.log(p), ()) for one, p in spelled)
    response = Response("".join(one for one, _ in spelled), tokens=tokens)
    got = read(response, FieldLogProb(field="n"), sets, variant)
    assert (got.label, got.confidence) == ("pos", pytest.approx(0.2))
