"""What every registered model keeps to."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from quaver.core.calls import Message, Request, Response
from quaver.core.model import Model
from quaver.testing.recipes import Options, Recipe, built, plugins, recipe_of
from quaver.testing.requests import TEXTS, ask, one, request


def recipe(name: str) -> Recipe:
    return recipe_of("models", name)


def model_of(name: str, options: Options) -> Model:
    made: Model = built("models", name, options, checked=False)
    return made


@pytest.fixture(scope="module", params=plugins("models"))
def name(request: pytest.FixtureRequest) -> str:
    result: str = request.param
    return result


@pytest.fixture(scope="module")
def model(name: str) -> Iterator[Model]:
    made = model_of(name, recipe(name).options)
    made.prepare(3)
    yield made
    made.close()


def test_requests_of_several_calls_get_a_response_for_each(model: Model) -> None:
    requests = [request(TEXTS[0], repeats=(0, 1, 2)), request(TEXTS[1]), request(TEXTS[2], repeats=(4, 5))]
    answers = list(model.answer(iter(requests)))
    assert {id(request) for request, _ in answers} == {id(request) for request in requests}
    for one_asked, responses in answers:
        assert len(responses) == len(one_asked.calls)
        assert all(isinstance(response, Response) for response in responses)


def test_more_calls_than_were_announced_are_answered(model: Model) -> None:
    (responses,) = ask(model, request(repeats=range(7)))
    assert len(responses) == 7


def test_a_response_says_how_it_ended_and_how_long_it_took(model: Model) -> None:
    response = one(model, request())
    assert response.finish in ("stop", "length")
    assert response.error is None
    assert response.text
    assert response.latency is not None
    assert response.latency >= 0


def test_requests_are_drawn_as_they_are_worked_on(model: Model) -> None:
    drawn: list[int] = []

    def requests() -> Iterator[Request]:
        for number in range(100):
            drawn.append(number)
            yield request(TEXTS[number % 3])

    answers = model.answer(requests())
    for _ in range(3):
        next(answers)
    assert len(drawn) <= 3 + 16
    answers.close()  # type: ignore[attr-defined]


def test_no_request_is_no_answer(model: Model) -> None:
    assert list(model.answer(iter([]))) == []


def test_a_closed_model_can_be_used_again(model: Model) -> None:
    before = one(model, request())
    model.close()
    model.close()
    assert one(model, request()).text == before.text


def test_a_greedy_answer_repeats_itself(model: Model) -> None:
    first, second = ask(model, request(TEXTS[1]), request(TEXTS[1]))
    assert first[0].text == second[0].text
    assert one(model, request(TEXTS[1])).text == first[0].text


def test_identity_is_the_same_for_the_same(name: str, model: Model) -> None:
    assert model_of(name, recipe(name).options).identity() == model.identity() == model.identity()


def test_identity_differs_where_answers_may_differ(name: str, model: Model) -> None:
    other = recipe(name).other
    if other is None:
        pytest.skip("its recipe names no options under which it answers differently")
    assert model_of(name, other).identity() != model.identity()


def test_provenance_can_be_written_down(model: Model) -> None:
    provenance = model.provenance()
    assert provenance["engine"]
    assert json.loads(json.dumps(dict(provenance)))
    assert model.provenance() == provenance


def test_tokens_are_counted_for_every_prompt_or_for_none(model: Model) -> None:
    short, long = (Message("user", "Hello."),), (Message("user", "Hello. " * 20),)
    counts = model.count_tokens([short, long, short])
    if counts is not None:
        assert len(counts) == 3
        assert counts[0] == counts[2] < counts[1]
        assert model.count_tokens([]) == []


def test_counted_tokens_are_those_that_are_read(model: Model) -> None:
    asked = request(TEXTS[2], system="You are a careful reader.")
    counts = model.count_tokens([asked.prompt.messages])
    if counts is not None:
        assert one(model, asked).prompt_tokens == counts[0]


def test_a_prompt_that_is_too_long_is_an_error_response(name: str, model: Model) -> None:
    text = recipe(name).too_long
    if not text:
        assert one(model, request("word " * 100_000)).finish != "error"
        return
    before, failed, after = ask(model, request(), request(text, repeats=(0, 1)), request())
    assert [response.finish for response in failed] == ["error", "error"]
    for response in failed:
        assert response.text == ""
        assert response.error is not None
        assert "context" in response.error
    assert before[0].text == after[0].text


def test_a_system_message_is_read_where_the_model_says_so(model: Model) -> None:
    response = one(model, request(system="You are a pirate. Answer everything with Arr."))
    assert response.finish != "error"


def test_log_probabilities_are_given_where_the_model_says_so(model: Model) -> None:
    wanted = min(5, model.abilities.logprobs)
    response = one(model, request(logprobs=wanted, max_tokens=3))
    if not wanted:
        assert response.tokens == ()
        return
    assert response.tokens
    for token in response.tokens:
        assert len(token.top) == wanted
        assert token.logprob <= 0
        assert [lp for _, lp in token.top] == sorted((lp for _, lp in token.top), reverse=True)


def test_nothing_but_a_choice_is_answered_where_the_model_can_be_held_to_one(model: Model) -> None:
    if model.abilities.constraint:
        for choices in (("0", "1"), ("apple pie", "banana split"), ('say "no"', "back\\slash\n", "é")):
            text = one(model, request(choices=choices, constraint="labels", max_tokens=16)).text
            assert text in choices


def test_a_message_that_was_begun_is_gone_on_with_where_the_model_says_so(model: Model) -> None:
    if model.abilities.continues:
        asked = request(choices=("positive", "negative"), constraint="labels", max_tokens=16)
        begun = Message("assistant", "Let me think. Final answer: ")
        prompt = asked.prompt._replace(messages=(*asked.prompt.messages, begun))
        response = one(model, asked._replace(prompt=prompt))
        assert response.text in ("positive", "negative"), "what was begun is not given back"


def test_a_seed_draws_the_same_where_the_model_says_so(model: Model) -> None:
    if model.abilities.seed:
        drawn = request(repeats=range(3), temperature=1.5, max_tokens=4, seed=5)
        (first,), (second,) = ask(model, drawn), ask(model, drawn)
        assert [response.text for response in first] == [response.text for response in second]
        assert len({response.text for response in first}) > 1


def test_no_text_is_too_odd(model: Model) -> None:
    odd = [request(text) for text in ("\x00", "a\ud800b", "🙂é", "<|im_end|>", "{{ text }}")]
    for responses in ask(model, *odd):
        assert responses[0].finish in ("stop", "length")
