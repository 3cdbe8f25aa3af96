"""Providers that nobody documents: runs end in answers, or with the provider's own sentence and a fix."""

import gzip
import json
from email.utils import formatdate
from time import time

import pytest
from tests.models.provider_rig import TEXTS, chat, error, rigged, study
from tests.models.test_provider_rig import reported

from quaver.errors import ModelError

SENTENCE = "The blue engine is on strike until noon."


def never(status, message=SENTENCE, **headers):
    """One that refuses everything."""
    return lambda body, path, n: (*error(status, message), headers)


def unless(lacks, status, document):
    """One that answers what lacks a field."""
    return lambda body, path, n: chat(body) if lacks not in body else (status, document)


def now_and_then(reply):
    """One whose every third reply is another."""
    return lambda body, path, n: chat(body) if n % 3 else reply(body)


def packed(body, path, n):
    return 200, gzip.compress(json.dumps(chat(body)[1]).encode()), {"content-encoding": "gzip"}


def marked(body, path, n):
    return 200, json.dumps(chat(body)[1]).encode("utf-8-sig")


def in_parts(body, path, n):
    status, reply = chat(body)
    message = reply["choices"][0]["message"]
    message["content"] = [{"type": "text", "text": message["content"]}]
    return status, reply


def capped(body, path, n):
    """It caps in silence, and says so in its counts alone."""
    status, reply = chat(body, finish="length")
    reply["usage"] = {"prompt_tokens": 20, "completion_tokens": 64}
    return status, reply


def unsystematic(body, path, n):
    roles = [one["role"] for one in body["messages"]]
    return (
        error(400, "Developer instruction is not enabled for models/m") if "system" in roles else chat(body)
    )


def limited(body, path, n):
    """Its pause is a date."""
    if n % 5:
        return chat(body)
    return (*error(429, "Slow down."), {"retry-after": formatdate(time() + 1, usegmt=True)})


FASTAPI = {"detail": [{"loc": ["body", "temperature"], "msg": "extra fields not permitted"}]}
INSTEAD = "Unrecognized argument: max_tokens. Please use max_output_tokens instead."


def nested(field, **more):
    """An error of pydantic's in an object of the provider's."""
    error = {"loc": ["body", field], "msg": "Extra inputs are not permitted", **more}
    return {"object": "error", "message": {"detail": [error]}, "type": "invalid_request_error"}


def effortless(body, path, n):
    words = "'reasoning_effort' does not support 'low' with this model. Supported values are: 'medium'."
    return chat(body) if "reasoning_effort" not in body else error(400, words, None, "reasoning_effort")


def small(body, path, n):
    """Its context has no room for the longest answer."""
    words = (
        "'max_tokens' is too large: 256. This model's maximum context length is 240 tokens and your request"
    )
    return (
        chat(body) if body["max_tokens"] <= 200 else error(400, f"{words} has 40 input tokens (256 > 200).")
    )


def channelled(body, path, n):
    status, reply = chat(body)
    message = reply["choices"][0]["message"]
    message["content"] = f"<|channel|>analysis<|message|>neg? pos?<|end|>{_FINAL}{message['content']}"
    return status, reply


def fails_inside(body, path, n):
    """A router whose host failed while it wrote."""
    failed = {"index": 0, "error": {"code": 502, "message": SENTENCE}, "finish_reason": "error"}
    return chat(body) if n % 4 else (200, {"choices": [failed | {"message": {"content": ""}}]})


def uncounted(body, path, n):
    status, reply = chat(body)
    return status, reply | {"usage": {"prompt_tokens": "20"} if n % 2 else None, "model": None}


_FINAL = "<|start|>assistant<|channel|>final<|message|>"
_KEY = "Malformed input request: #: extraneous key [temperature] is not permitted"
_ROLE = {"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "System role not supported"}]}

ANSWERED = {
    "a level of effort": effortless,
    "a nested detail": unless("temperature", 422, nested("temperature")),
    "a detail in a text": unless(
        "temperature", 422, {"message": json.dumps(nested("temperature")["message"])}
    ),
    "an extraneous key": unless("temperature", 400, {"message": _KEY}),
    "no role of a system": lambda body, path, n: (
        (422, _ROLE) if body["messages"][0]["role"] == "system" else chat(body)
    ),
    "a small context": small,
    "channels": channelled,
    "a choice that failed": fails_inside,
    "loading": lambda body, path, n: error(503, "Loading model") if n <= 2 else chat(body),
    "a gateway's time": now_and_then(lambda body: (524, b"<html>A timeout occurred</html>")),
    "throttled": now_and_then(lambda body: (429, {"__type": "ThrottlingException", "message": "Too many."})),
    "no counts": uncounted,
    "extra inputs": unless("temperature", 400, error(400, "Extra inputs are not permitted: temperature")[1]),
    "a list of details": unless("temperature", 422, FASTAPI),
    "a bare sentence": unless("temperature", 400, {"error": "temperature is fixed for this model"}),
    "a sentence in a list": unless("temperature", 400, [error(400, "Temperature can not be set.")[1]]),
    "another name": unless("max_tokens", 400, error(400, INSTEAD)[1]),
    "a cap in words": lambda body, path, n: (
        error(400, "max_tokens must be less than or equal to 64") if body["max_tokens"] > 64 else chat(body)
    ),
    "a silent cap": capped,
    "no developer": unsystematic,
    "null choices": now_and_then(lambda body: (200, {"choices": None})),
    "garbage behind": now_and_then(lambda body: (200, json.dumps(chat(body)[1]).encode() + b"\n:keep")),
    "an error inside": now_and_then(lambda body: (200, error(200, SENTENCE)[1])),
    "a page": now_and_then(lambda body: (502, b"<html>Bad gateway</html>")),
    "a conflict": now_and_then(lambda body: error(409, "Try again.")),
    "a date to wait for": limited,
    "gzip": packed,
    "a byte order mark": marked,
    "parts": in_parts,
}

ENDED = {
    "asleep": (lambda body, path, n: (200, {"object": "error", "message": SENTENCE}), SENTENCE),
    "a reply of Gemini's": (
        lambda body, path, n: (200, {"choices": [], "promptFeedback": {"blockReason": "PROHIBITED"}}),
        "PROHIBITED",
    ),
    "a stream": (lambda body, path, n: (200, b"data: {}\n\ndata: [DONE]\n"), "stream of events"),
    "another country": (never(400, "User location is not supported."), "User location"),
    "a model to pull": (never(404, 'model "m" not found, try pulling it first'), "try pulling it first"),
    "streaming alone": (
        never(400, "This model only supports streaming: set stream=true."),
        "only supports streaming",
    ),
    "too large": (never(413), SENTENCE),
    "verification": (never(403, "Verify your organisation to use it."), "Verify your organisation"),
    "no credit": (never(402), SENTENCE),
    "no model": (never(404), SENTENCE),
    "no key": (never(401), "key"),
    "not made": (never(501), SENTENCE),
    "only errors": (never(500), SENTENCE),
    "only errors inside": (lambda body, path, n: (200, error(200, SENTENCE)[1]), SENTENCE),
    "only garbage": (lambda body, path, n: (200, b"{} " + SENTENCE.encode()), "not JSON"),
    "a day's limit": (never(429, SENTENCE, **{"retry-after": "30240"}), SENTENCE),
    "another origin": (never(307, location="http://127.0.0.2:9/v1/chat/completions"), "127.0.0.2"),
}


def asked(folder, provider):
    given = {"base_url": provider.url, "key": "ODD_API_KEY", "retries": 2, "patience": 2, "effort": "low"}
    return study(folder, given, {"temperature": 0, "max_tokens": 256})


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ODD_API_KEY", "sk-odd-0123456789abcdef")


@pytest.mark.parametrize("kind", ANSWERED)
def test_a_run_ends_in_answers(kind, tmp_path):
    with rigged(ANSWERED[kind]) as provider:
        found = asked(tmp_path, provider)
        outcome = found.run()
    assert (outcome.ended, outcome.done, outcome.errors) == ("finished", TEXTS, 0)
    assert {*found.annotations()["label"]} == {"pos", "neg"}
    last = provider.sent[-1][2]
    for place, words in reported(found).items():
        assert ("default temperature" in words) is ("temperature" not in last), place


@pytest.mark.parametrize("kind", ENDED)
def test_a_run_ends_with_the_providers_sentence_and_what_to_do(kind, tmp_path):
    answer, words = ENDED[kind]
    with rigged(answer) as provider:
        with pytest.raises(ModelError) as caught:
            asked(tmp_path, provider).run()
        assert len({str(body) for _, _, body in provider.sent}) <= 10, "calls, each of which may be retried"
    assert words in f"{caught.value.problem} {caught.value.found}"
    assert caught.value.fix
    assert "sk-odd" not in str(caught.value)
