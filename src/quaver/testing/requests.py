"""Requests that the tests of models share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from quaver.core.calls import Call, Message, Prompt, Request, Response
from quaver.core.model import Model
from quaver.core.records import Decoding

TEXTS = ("I love this place.", "The worst phone ever.", "The council votes next Tuesday.")
QUESTION = "Positive or negative?"


def request(
    text: str = TEXTS[0],
    *,
    repeats: Sequence[int] = (0,),
    system: str = "",
    choices: tuple[str, ...] = (),
    seed: int = 0,
    question: str = QUESTION,
    **decoding: Any,
) -> Request:
    """One request; the first call's seed is ``seed`` and the number of its first repeat."""
    user = Message("user", f"{text}\n\n{question}")
    messages = (Message("system", system), user) if system else (user,)
    calls = tuple(Call(bytes([repeat]) * 16, 0, 0, repeat) for repeat in repeats)
    prompt = Prompt(messages, text, question)
    return Request(
        "m", prompt, Decoding("d", **{"max_tokens": 2, **decoding}), choices, seed + repeats[0], calls
    )


def ask(model: Model, *requests: Request) -> list[list[Response]]:
    """Each request's responses, in the order of the requests."""
    answers = {id(asked): responses for asked, responses in model.answer(iter(requests))}
    return [answers[id(asked)] for asked in requests]


def one(model: Model, asked: Request) -> Response:
    """The response of a request with one call."""
    ((response,),) = ask(model, asked)
    return response


def bits(responses: Iterable[Response]) -> list[tuple[Any, ...]]:
    """The parts of an answer that must be the same to the last bit."""
    return [(response.text, response.tokens) for response in responses]
