"""What a model hands over, whatever it is, becomes a response that can be stored, read and counted."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.collect.store.response_tables import response_of, row_of
from quaver.core.calls import Response, Token
from quaver.core.response_validation import (
    error_line,
    failed_response,
    is_interrupt,
    printable,
    valid_response,
)

GOOD = Response(
    "yes",
    thinking="hm",
    tokens=(Token("yes", -0.5, (("yes", -0.5), ("no", -math.inf))),),
    prompt_tokens=20,
    cached_tokens=8,
    completion_tokens=1,
    latency=0.25,
    raw={"completion_tokens_of_request": 3, "answers_of_request": 3},
    thinking_tokens=0,
    served_model="m-1",
    fingerprint="fp",
)


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __repr__


def deep(levels):
    found = 1
    for _ in range(levels):
        found = {"a": [found]}
    return found


ODD = (
    None, True, -1, 1.5, 10**30, 10**5_000, 1e308, math.nan, math.inf, -math.inf,
    "", "odd", "odd " * 200, "\ud83d", "\x1b[31m",
    b"odd", [], [None], {}, {"a": 1}, {1: {2}}, object(), Unprintable(), deep(5_000), float,
)  # fmt: skip


def test_what_was_raised_is_reported_even_where_it_cannot_describe_itself():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert error_line(ValueError("odd\x1b")) == "ValueError: odd\\x1b"
    assert error_line(Mute()) == error_line(Mute("x")) == "Mute"
    assert failed_response(KeyError("x")).error == "KeyError: 'x'"
    assert 490 < len(error_line(ValueError("x" * 10**6))) <= 500
    stops = [is_interrupt(one) for one in (KeyboardInterrupt(), SystemExit(), MemoryError())]
    assert stops == [True, False, False], "Ctrl-C alone stops"


@pytest.mark.parametrize("name", Response._fields)
@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_whatever_a_field_holds_it_can_be_stored_and_read_again(name, value):
    found = valid_response(GOOD._replace(**{name: value}))
    assert name != "instrument" or found.instrument is None
    again = response_of(row_of(found))
    assert again == found == valid_response(again)
    json.dumps(found.raw, allow_nan=False)
    if name not in ("text", "finish"):
        assert (found.text, found.finish) == ("yes", "stop"), "what goes with an answer does not spoil it"


@pytest.mark.parametrize("value", [None, b"yes", 1, ["yes"], object()])
def test_an_answer_that_is_no_text_is_an_error(value):
    assert valid_response(GOOD) == GOOD
    found = valid_response(GOOD._replace(text=value))
    assert (found.finish, found.text) == ("error", "")
    assert found.error.startswith("the model gave ")


def test_counts_that_cannot_be_are_none():
    found = valid_response(
        GOOD._replace(prompt_tokens=5, cached_tokens=6, completion_tokens=2.0, thinking_tokens=True)
    )
    assert (found.prompt_tokens, found.cached_tokens) == (5, None)
    assert (found.completion_tokens, found.thinking_tokens) == (2, None)
    beyond = valid_response(GOOD._replace(prompt_tokens=-3, cached_tokens=-1, completion_tokens=10**30))
    assert (beyond.prompt_tokens, beyond.cached_tokens, beyond.completion_tokens) == (None, None, None)
    odd = {"completion_tokens_of_request": [1], "answers_of_request": 0, "else": "x"}
    assert valid_response(GOOD._replace(raw=odd)).raw == {"else": "x"}


def test_tokens_are_whole_or_none_and_an_odd_alternative_is_left_out():
    good = ("yes", -0.5, (("yes", -0.5),))
    for place in (None, "yes", (None, -0.5, ()), ("yes", None, ()), ("yes", math.nan, ()), ("yes", -0.5)):
        assert valid_response(GOOD._replace(tokens=(good, place))).tokens == ()
    odd = ("yes", -0.5, (("yes", -0.5), (None, -1.0), ("no", "x"), ("no",), None))
    assert valid_response(GOOD._replace(tokens=(odd,))).tokens == (Token(*good),)


@given(st.text(st.characters(codec=None), max_size=20))
def test_an_error_does_nothing_to_a_terminal(text):
    assert printable(text).replace("\n", "").isprintable()
    found = valid_response(GOOD._replace(finish="error", error=text))
    assert found.error.replace("\n", "").isprintable()
