"""inspect-ai's models, through its model for tests: what is sent, what comes back, what fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.extras import needs

from quaver.errors import ModelError, SpecError
from quaver.models.inspect_models import Inspect
from quaver.testing.requests import TEXTS, ask, one, request

pytestmark = needs("inspect")


def mock(answer: Callable[..., Any], **options: Any) -> Inspect:
    return Inspect(model="mockllm/model", options={"custom_outputs": answer}, **options)


def output(content: Any = "yes", **more: Any) -> Any:
    from inspect_ai.model import ModelOutput, ModelUsage

    made = ModelOutput.from_content("served-1", content, **more)
    made.usage = ModelUsage(
        input_tokens=7, output_tokens=1
    )  # else inspect-ai counts, with a file from the net
    return made


def test_messages_and_decoding_arrive() -> None:
    seen: list[Any] = []

    def answer(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        seen.append(([(message.role, message.text) for message in messages], config))
        return output()

    response = one(
        mock(answer), request(TEXTS[0], system="Be brief.", top_p=0.5, stop=("x",), temperature=0.3)
    )
    (messages, config), *_ = seen
    assert messages == [("system", "Be brief."), ("user", f"{TEXTS[0]}\n\nPositive or negative?")]
    assert (config.temperature, config.top_p, config.max_tokens, config.stop_seqs) == (0.3, 0.5, 2, ["x"])
    assert config.seed is None, "a provider that has no seeds is sent none"
    assert (response.text, response.served_model, response.finish) == ("yes", "served-1", "stop")


def test_tokens_thinking_usage_and_ends_come_back() -> None:
    from inspect_ai.model import ContentReasoning, ContentText, Logprob, Logprobs, ModelUsage, TopLogprob

    def answer(*_: Any) -> Any:
        made = output([ContentReasoning(reasoning="hm"), ContentText(text="yes")], stop_reason="max_tokens")
        made.choices[0].logprobs = Logprobs(
            content=[Logprob(token="yes", logprob=-0.5, top_logprobs=[TopLogprob(token="yes", logprob=-0.5)])]
        )
        made.usage = ModelUsage(
            input_tokens=7, output_tokens=5, reasoning_tokens=3, input_tokens_cache_read=2
        )
        return made

    response = one(mock(answer), request())
    assert (response.text, response.thinking, response.finish) == ("yes", "hm", "length")
    assert response.tokens == (("yes", -0.5, (("yes", -0.5),)),)
    assert (response.prompt_tokens, response.cached_tokens) == (7, 2)
    assert (response.completion_tokens, response.thinking_tokens) == (5, 3)


@pytest.mark.parametrize(
    ("stop_reason", "finish", "error"),
    [("content_filter", "content_filter", "content filter"), ("model_length", "error", "context overflow")],
)
def test_what_is_no_answer_says_so(stop_reason: Any, finish: str, error: str) -> None:
    response = one(mock(lambda *_: output("", stop_reason=stop_reason)), request())
    assert response.finish == finish
    assert error in (response.error or "")


def test_many_calls_are_under_way_at_a_time_and_no_more_than_that() -> None:
    drawn: list[int] = []

    def requests() -> Any:
        for number in range(30):
            drawn.append(number)
            yield request(TEXTS[number % 3])

    model = mock(lambda *_: output(), connections=4)
    answers = model.answer(requests())
    next(answers)
    assert len(drawn) <= 5
    assert len(list(answers)) == 29


def test_a_call_that_fails_is_an_error_response_and_many_end_the_run() -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("no such deployment")

    (failed,), *_ = ask(mock(fail), request())
    assert failed.finish == "error"
    assert "no such deployment" in (failed.error or "")
    with pytest.raises(ModelError, match="20 items"):
        ask(mock(fail), *(_about(item) for item in range(40)))


def _about(item: int) -> Any:
    asked = request()
    return asked._replace(calls=tuple(call._replace(item=item) for call in asked.calls))


def test_what_is_under_way_is_given_up_when_the_requests_end() -> None:
    answers = mock(lambda *_: output()).answer(request() for _ in range(50))
    next(answers)
    started = time.perf_counter()
    answers.close()  # type: ignore[attr-defined]
    assert time.perf_counter() - started < 30


def test_abilities_are_the_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Inspect(model="openai/gpt-5").abilities.logprobs == 20
    assert Inspect(model="anthropic/claude").abilities.logprobs == 0
    assert "top_k" in Inspect(model="google/gemini").abilities.decoding


def test_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="by its provider"):
        Inspect(model="gpt-5")
    with pytest.raises(SpecError, match=r"options: .* key"):
        Inspect(model="openai/gpt-5", options={"api_key": "sk-1"})
    with pytest.raises(ModelError, match="nobody/model"):
        one(Inspect(model="nobody/model"), request())
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="openai/gpt-5"):
        one(Inspect(model="openai/gpt-5"), request())


class Refusal(Exception):
    """What a provider's client raises."""

    status_code = 400


def _of(number: int, text: str) -> Any:
    asked = request(text)
    return asked._replace(calls=tuple(call._replace(item=number) for call in asked.calls))


def test_a_provider_that_refuses_everything_is_left_with_its_own_words() -> None:
    asked: list[int] = []

    def answer(*_: Any) -> Any:
        asked.append(1)
        raise Refusal("temperature is deprecated for this model")

    with pytest.raises(ModelError, match="temperature is deprecated"):
        ask(mock(answer), *(_of(number, text) for number, text in enumerate(TEXTS * 10)))
    assert len(asked) <= 10


def test_one_text_that_a_provider_refuses_costs_itself() -> None:
    def answer(messages: Any, *_: Any) -> Any:
        if TEXTS[0] in messages[-1].text:
            raise Refusal("this text is blocked")
        return output()

    found = ask(mock(answer), *(_of(number, text) for number, text in enumerate(TEXTS)))
    assert [one.error for (one,) in found if one.error] == ["refused by the provider: this text is blocked"]
