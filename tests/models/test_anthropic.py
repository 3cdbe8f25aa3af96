"""Claude by Anthropic's own API: what is sent, what comes back, and what failures mean."""

import json
from unittest.mock import patch

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from pydantic import TypeAdapter
from tests.batches.anthropic_provider import message

from quaver.core.calls import Call, Message, Prompt, Request
from quaver.core.records import Decoding
from quaver.errors import MissingKey, ModelError, RateLimited, SpecError
from quaver.models.anthropic import VERSION, Anthropic
from quaver.models.served.http_pool import HttpPool, HttpReply

KEY = "sk-ant-api03-aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"


def request(choices=(), **decoding):
    said = (Message("system", "You label texts."), Message("user", "Is it good?"))
    asked = Decoding("d", **decoding)
    return Request("m", Prompt(said, "", ""), asked, choices, 1, (Call(b"k" * 16, 0, 0, 0),))


def _reply(status, document, **headers):
    return HttpReply(status, headers, json.dumps(document).encode())


@pytest.fixture
def reply():
    return [lambda body: _reply(200, message("yes"))]


@pytest.fixture(autouse=True)
def wire(reply, monkeypatch):
    """What was sent; the first of ``reply`` answers it."""
    sent = []

    async def handle(pool, url, headers, body):
        assert url == "https://api.anthropic.com/v1/messages"
        assert headers["x-api-key"] == KEY
        assert headers["anthropic-version"] == VERSION
        assert "Authorization" not in headers
        sent.append(json.loads(body))
        return reply[0](sent[-1])

    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with patch.object(HttpPool, "post", handle):
        yield sent


def answered(model, asked):
    ((_, (response,)),) = model.answer([asked])
    return response


def test_a_message_is_asked_and_read(wire):
    found = answered(Anthropic(model="claude-x"), request(max_tokens=5))
    assert (found.text, found.finish, found.prompt_tokens, found.completion_tokens) == ("yes", "stop", 20, 1)
    assert found.served_model == "claude-test-1"
    assert wire[0]["system"] == [{"type": "text", "text": "You label texts."}]
    assert wire[0]["messages"] == [{"role": "user", "content": "Is it good?"}]
    assert (wire[0]["max_tokens"], wire[0]["temperature"]) == (5, 0.0)


@pytest.mark.parametrize("options", [{}, {"cache": True, "thinking": 2048}, {"thinking": "adaptive"}])
@pytest.mark.parametrize("choices", [(), ("yes", "no")])
def test_bodies_are_what_the_sdk_may_send(options, choices, wire):
    answered(Anthropic(model="c", **options), request(choices, temperature=0.7, top_p=0.9, stop=("\n",)))
    body = wire[0]
    sent = TypeAdapter(MessageCreateParamsNonStreaming).validate_python(body)
    assert body.keys() - sent.keys() <= {"temperature", "top_p"}  # only older models take these two
    assert list(sent["messages"]) == body["messages"]  # an iterable is checked as it is read


def test_thinking_comes_on_top_of_the_answer_and_takes_no_temperature(wire):
    found = answered(Anthropic(model="c", thinking=2048), request(max_tokens=8, temperature=1.0))
    (body,) = wire
    knobs = json.loads(str(found.instrument))["instrument"]
    assert knobs["temperature"] == [1.0, None, "dropped"]
    assert body["max_tokens"] == 2056
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert "temperature" not in body


def test_the_cache_marks_system_message_and_prompt(wire):
    answered(Anthropic(model="c", cache=True), request())
    (body,) = wire
    assert body["system"][0]["cache_control"] == body["cache_control"] == {"type": "ephemeral"}


def test_thinking_and_cached_tokens_are_read(reply):
    usage = {
        "input_tokens": 5,
        "output_tokens": 70,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 60},
    }
    blocks = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "no"}]
    reply[0] = lambda body: _reply(200, message("") | {"content": blocks, "usage": usage})
    found = answered(Anthropic(model="c"), request(max_tokens=80))
    assert (found.text, found.thinking) == ("no", "Hm.")
    assert (found.prompt_tokens, found.cached_tokens) == (125, 100)
    assert (found.completion_tokens, found.thinking_tokens) == (70, 60)


def test_a_label_is_taken_out_of_its_object(reply):
    reply[0] = lambda body: _reply(200, message('{"label": "no"}'))
    assert answered(Anthropic(model="c"), request(("yes", "no"))).text == "no"


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_tokens", "length"), ("refusal", "content_filter"), ("stop_sequence", "stop")]
)
def test_ends(reason, finish, reply):
    reply[0] = lambda body: _reply(200, message("x") | {"stop_reason": reason})
    assert answered(Anthropic(model="c"), request()).finish == finish


def _error(status, kind, said):
    document = {"type": "error", "error": {"type": kind, "message": said}}
    return lambda body: _reply(status, document)


@pytest.mark.parametrize(
    ("status", "kind", "said", "error"),
    [
        (401, "authentication_error", "invalid x-api-key", ModelError),
        (404, "not_found_error", "model: c", ModelError),
        (400, "invalid_request_error", "Your credit balance is too low to access it", RateLimited),
        (402, "billing_error", "billing", RateLimited),
    ],
)
def test_what_ends_the_work(reply, status, kind, said, error):
    reply[0] = _error(status, kind, said)
    with pytest.raises(error):
        answered(Anthropic(model="c"), request())


def test_an_overloaded_server_is_asked_again(reply, wire):
    def overloaded(body):
        return HttpReply(529, {"retry-after": "0"}, b"{}")

    good = reply[0]
    reply[0] = lambda body: good(body) if len(wire) > 1 else overloaded(body)
    assert answered(Anthropic(model="c"), request()).text == "yes"
    assert len(wire) == 2


def test_a_missing_key_is_named(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(MissingKey, match="missing"):
        Anthropic(model="c").check_key()


def test_the_cache_changes_no_identity_and_thinking_does():
    assert Anthropic(model="c").identity() == Anthropic(model="c", cache=True).identity()
    assert Anthropic(model="c").identity() != Anthropic(model="c", thinking=2048).identity()


def test_a_key_in_the_body_is_refused():
    with pytest.raises(SpecError):
        Anthropic(model="c", body={"api_key": KEY})
