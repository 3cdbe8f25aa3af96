"""What goes between the driver and its workers arrives as it was sent."""

from __future__ import annotations

import random
from typing import Any

import pytest

from quaver.core.records import Call, Decoding, Message, Prompt, Request, Response, Token
from quaver.models.remote.remote_worker import (
    PlacedAnswer,
    packed_answers,
    packed_requests,
    unpacked_answers,
    unpacked_requests,
)


def _request(draw: random.Random) -> Request:
    messages = tuple(Message("user", draw.choice(("?", "??"))) for _ in range(draw.randint(1, 3)))
    parent = draw.choice((None, b"p" * 16))
    first, calls = draw.randint(0, 5), draw.randint(1, 3)
    return Request(
        draw.choice("mn"),
        Prompt(messages, draw.choice(("", "a text")), "?"),
        Decoding("a", temperature=draw.choice((0.0, 1.0))),
        draw.choice(((), ("yes", "no"))),
        draw.randint(0, 3),
        tuple(Call(draw.randbytes(16), 1, 2, first + at, parent) for at in range(calls)),
        draw.choice(("", "{}")),
    )


def _response(draw: random.Random) -> Response:
    tokens = (Token("yes", -0.5, (("yes", -0.5), ("no", -1.0))),)
    return Response(
        draw.choice(("yes", "no")),
        tokens=draw.choice(((), tokens)),
        prompt_tokens=draw.choice((None, 1)),
        latency=draw.choice((None, 1.0)),
        raw=draw.choice((None, {"a": 1}, {"a": 1.0}, {"a": True})),
        error=draw.choice((None, "why")),
    )


def _shown(records: Any) -> str:
    return repr(records)  # tells 1 from 1.0 and True, and a named tuple from a plain one


@pytest.mark.parametrize("seed", range(30))
def test_requests_arrive_as_they_were_sent(seed: int) -> None:
    draw = random.Random(seed)
    requests = [_request(draw) for _ in range(draw.randint(1, 6))]
    assert _shown(unpacked_requests(packed_requests(requests))) == _shown(requests)


@pytest.mark.parametrize("seed", range(30))
def test_answers_arrive_as_they_were_given(seed: int) -> None:
    draw = random.Random(seed)
    answers: list[PlacedAnswer] = []
    for at in range(draw.randint(1, 6)):
        place = draw.choice((at, (at, 1, 2)))
        answers.append((place, [_response(draw) for _ in range(draw.randint(1, 3))]))
    assert _shown(unpacked_answers(packed_answers(answers))) == _shown(answers)


def test_equal_answers_stay_as_many_as_they_were() -> None:
    answers = [(at, [Response("")]) for at in range(3)]
    assert unpacked_answers(packed_answers(answers)) == answers
    assert unpacked_requests(packed_requests([])) == []
