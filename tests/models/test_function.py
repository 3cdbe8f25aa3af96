"""A Python function as a model: what counts as the same function, and what its failures become."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.models.requests import ask, one, request

from quaver.errors import ModelError
from quaver.models.function import Function


def echo(text: str, prompt: str) -> str:
    return f"{text}|{prompt}"


def model(annotate: Callable[[str, str], Any], **options: Any) -> Function:
    return Function(annotate=annotate, **options)


def test_it_gets_the_text_and_the_question() -> None:
    response = one(model(echo), request("a text", question="Which?", system="unseen"))
    assert response.text == "a text|Which?"


@pytest.mark.parametrize(("given", "text"), [(None, ""), (1, "1"), (True, "True"), ("", ""), ("x\n", "x\n")])
def test_what_it_returns_becomes_text(given: object, text: str) -> None:
    response = one(model(lambda text, prompt: given), request())
    assert (response.text, response.finish) == (text, "stop")


@pytest.mark.parametrize(
    "annotate", [lambda text: "a", lambda text, messages: "a", lambda text, prompt, more: "a", lambda: "a"]
)
def test_one_that_cannot_take_what_it_is_given_is_refused_before_it_is_asked(annotate: Any) -> None:
    with pytest.raises(ModelError, match="does not take what it is given") as caught:
        model(annotate)
    assert caught.value.expected == "annotate(text, prompt), or annotate(text, prompt, messages)"
    model(lambda *all_of_it: "a")
    model(lambda text, prompt, more="": "a")


def test_what_it_raises_becomes_an_error_response() -> None:
    def fails(text: str, prompt: str) -> str:
        raise ValueError("not " + "very " * 500 + "good")

    response = one(model(fails), request())
    assert response.finish == "error"
    assert response.error is not None
    assert response.error.startswith("ValueError: not very")
    assert len(response.error) == 500


def test_twenty_failures_in_a_row_end_it_and_fewer_do_not() -> None:
    calls: list[int] = []

    def fails(text: str, prompt: str) -> str:
        calls.append(1)
        if len(calls) % 20:
            raise ValueError("no")
        return "yes"

    responses = [response for (response,) in ask(model(fails), *(request() for _ in range(40)))]
    assert sum(response.finish == "error" for response in responses) == 38

    def always(text: str, prompt: str) -> str:
        raise ValueError("never")

    answers = model(always).answer(request() for _ in range(100))
    for _ in range(20):
        next(answers)
    with pytest.raises(ModelError, match="failed 20 times in a row") as caught:
        next(answers)
    assert caught.value.found == "ValueError: never"


def test_identity_follows_the_source_and_the_version() -> None:
    def made(mark: str) -> Callable[[str, str], str]:
        source = f"def annotate(text, prompt):\n    return {mark!r}\n"
        names: dict[str, Any] = {}
        exec(source, names)
        function: Callable[[str, str], str] = names["annotate"]
        return function

    assert model(echo).identity() == model(echo).identity()
    assert model(echo).identity() != model(echo, version="2").identity()
    assert model(echo).identity() != model(lambda text, prompt: "x").identity()
    assert model(made("a")).identity() == model(made("a")).identity() != model(made("b")).identity()
    assert model(str.__add__).identity()
    assert model(partial(made("a"))).identity() != model(partial(made("b"))).identity()


def test_a_callable_object_is_known_by_its_class() -> None:
    class Annotator:
        def __call__(self, text: str, prompt: str) -> str:
            return text

    assert "Annotator" in model(Annotator()).identity()
    assert model(Annotator()).identity() == model(Annotator()).identity()
