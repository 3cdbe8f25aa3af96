"""A model over HTTP: what is sent, what comes back, what is tried first, and what a user is told."""

import json
import logging

import pytest
from tests.local_engines import NAME, base_url
from tests.models.faulty_server import answer_to
from tests.models.provider_rig import TEXTS, study
from tests.models.serving import serving

from quaver.core.calls import Message, Prompt, Response
from quaver.core.model import Needs
from quaver.errors import MissingKey, ModelError, RateLimited, SpecError, Unavailable
from quaver.models.openai_compatible import OpenAICompatible
from quaver.models.served.dialects import CHAT_API
from quaver.models.served.presets import PRESETS
from quaver.models.served.server_faults import Address, Passing, read_failure
from quaver.models.served.server_reply import read_reply
from quaver.testing.requests import ask, one, request


def model(url, **options):
    return OpenAICompatible(**{"model": "m", "base_url": url, "timeout": 5, **options})


def body(preset, asked, **more):
    return CHAT_API.body(PRESETS[preset], "m", asked, **more)


def replied(**message):
    finish = message.pop("finish", "stop")
    usage = message.pop("usage", None)
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return json.dumps(
        {"model": "m-1", "system_fingerprint": "fp", "choices": [choice], "usage": usage}
    ).encode()


def read(content, **more):
    response, _ = read_reply(content, **{"logprobs": 0, **more})
    return response


# ---------------------------------------------------------------------------- what is sent

CHOOSING = request(choices=("a b", 'say "no"'), constraint="labels")


@pytest.mark.parametrize(
    ("preset", "sent"),
    [
        ("vllm", {"structured_outputs": {"choice": ["a b", 'say "no"']}}),
        ("llamacpp_server", {"grammar": 'root ::= "a b" | "say \\U00000022no\\U00000022"'}),
        ("sglang", {"regex": '(a\\ b|say\\ "no")'}),
    ],
)
def test_a_choice_is_sent_as_the_server_wants_it(preset, sent):
    assert sent.items() <= body(preset, CHOOSING).items()


def test_elsewhere_a_choice_is_a_schema_with_room_around_the_label():
    sent = body("openai", CHOOSING)
    schema = sent["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["label"]["enum"] == ["a b", 'say "no"']
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert sent["max_completion_tokens"] == CHOOSING.decoding.max_tokens + 16


def test_every_setting_goes_to_a_server_of_ones_own_and_only_what_moved_to_a_service():
    plain, moved = request(), request(top_p=0.5, stop=("x",))
    assert body("vllm", plain).items() >= {"top_p": 1.0, "top_k": 0, "min_p": 0.0}.items()
    assert body("vllm", plain)["repetition_penalty"] == 1.0
    assert body("sglang", plain)["top_k"] == -1
    assert set(body("openai", plain)) == {"model", "messages", "temperature", "max_completion_tokens"}
    assert body("openai", moved).items() >= {"top_p": 0.5, "stop": ("x",)}.items()


def test_every_repeat_has_a_seed_of_its_own_where_seeds_are_taken():
    drawn = request(repeats=(2, 3), seed=40, temperature=1.0)
    assert [body("vllm", drawn.part(drawn.calls[first:]))["seed"] for first in (0, 1)] == [42, 43]
    assert body("mistral", drawn)["random_seed"] == 42
    assert "seed" not in body("deepseek", drawn)
    assert "seed" not in body("vllm", request(seed=40)), "nothing is drawn"


def test_a_null_in_the_study_leaves_a_field_out():
    with serving() as (url, server):
        one(model(url, body={"temperature": None, "reasoning_effort": "low"}), request())
    assert "temperature" not in server.bodies[-1]
    assert server.bodies[-1]["reasoning_effort"] == "low"


def test_a_plain_prompt_and_a_schema():
    text = Prompt((Message("plain", "Once upon"),), "", "")
    sent = body("vllm", request(logprobs=3)._replace(prompt=text))
    assert (sent["prompt"], sent["logprobs"]) == ("Once upon", 3)
    assert "messages" not in sent
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    sent = body("ollama", request()._replace(schema=json.dumps(schema)))
    assert sent["response_format"]["json_schema"]["schema"] == schema


def test_a_begun_message_is_flagged_where_the_server_wants_that():
    asked = request()
    begun = asked.prompt._replace(messages=(*asked.prompt.messages, Message("assistant", "It is ")))
    assert body("vllm", asked._replace(prompt=begun))["continue_final_message"] is True
    assert "continue_final_message" not in body("vllm", asked)
    assert read(replied(content="It is so"), begun="It is ").text == "so"


# ---------------------------------------------------------------------------- what comes back


@pytest.mark.parametrize(
    "message",
    [
        {"content": "yes", "reasoning_content": "hm"},
        {"content": "yes", "reasoning": "hm"},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "yes"},
            ]
        },
    ],
)
def test_thinking_is_kept_apart_with_its_tokens(message):
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 7,
        "completion_tokens_details": {"reasoning_tokens": 5},
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    response = read(replied(usage=usage, **message))
    assert (response.text, response.thinking) == ("yes", "hm")
    assert (response.completion_tokens, response.thinking_tokens, response.cached_tokens) == (7, 5, 4)
    assert (response.served_model, response.fingerprint) == ("m-1", "fp")


def test_a_label_is_taken_out_of_its_object_and_what_came_is_kept():
    whole = '{"label": "a b"}'
    tokens = ['{"', "label", '": "', "a", " b", '"}']
    content = [{"token": text, "logprob": -0.1, "top_logprobs": []} for text in tokens]
    reply = json.loads(replied(content=whole))
    reply["choices"][0]["logprobs"] = {"content": content}
    response = read(json.dumps(reply).encode(), logprobs=1, wrapped=("a b", "c"))
    assert response.text == "a b"
    assert [token.text for token in response.tokens] == ["a", " b"]
    assert response.raw["content"] == whole
    cut = read(replied(content='{"label": "a', finish="length"), wrapped=("a b", "c"))
    assert (cut.text, cut.finish) == ('{"label": "a', "length")
    assert read(replied(content='{"label": "z"}'), wrapped=("a b",)).text == '{"label": "z"}'


def test_log_probabilities_in_lists_beside_each_other():
    logprobs = {
        "tokens": ["x"],
        "token_logprobs": [-1.0],
        "top_logprobs": [{"y": -2.0, "x": -1.0, "z": -3.0}],
    }
    reply = {"choices": [{"text": "x", "index": 0, "finish_reason": "stop", "logprobs": logprobs}]}
    (token,) = read(json.dumps(reply).encode(), logprobs=2).tokens
    assert token.top == (("x", -1.0), ("y", -2.0))


@pytest.mark.parametrize(
    "content", [b"", b" ", b"<html>", b"[]", b"{}", b'{"choices": [{}]}', b'{"error": {"message": "x"}}']
)
def test_a_reply_that_is_none_is_a_passing_fault(content):
    with pytest.raises(Passing):
        read(content)


# ---------------------------------------------------------------------------- what a failure means


def failure(status, error, **headers):
    address = Address("http://x/v1", "m", "X_KEY", has_key=True)
    return read_failure(status, headers, json.dumps({"error": error}).encode(), address)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (408, {}, Passing),
        (409, {}, Passing),
        (429, {"message": "slow"}, Passing),
        (500, {}, Passing),
        (529, {}, Passing),
        (400, {"message": "top_logprobs: 50 is too large"}, ModelError),
        (401, {"message": "sk-secret is wrong"}, ModelError),
        (403, {}, ModelError),
        (404, {"message": "no model"}, ModelError),
        (402, {}, RateLimited),
        (429, {"code": "insufficient_quota"}, RateLimited),
        (400, {"code": "context_length_exceeded", "message": "m"}, Response),
        (400, {"message": "This model's maximum context length is 8 tokens."}, Response),
        (400, {"code": "content_filter", "message": "m"}, Response),
    ],
)
def test_failures_are_told_apart(status, error, kind):
    assert isinstance(failure(status, error), kind)


def test_a_call_whose_tries_are_spent_is_an_error_response():
    with serving(always=(500, {"error": {"message": "broken"}})) as (url, server):
        response = one(model(url, retries=2), request())
        assert server.seen == 3
    assert response.finish == "error"
    assert response.error == "HTTP 500: broken (3 tries)"


# ---------------------------------------------------------------------------- bad input


def test_a_missing_key_names_its_variable(monkeypatch):
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    with pytest.raises(MissingKey, match="MISTRAL_API_KEY"):
        one(OpenAICompatible(model="m", preset="mistral"), request())


def test_a_web_page_is_told_from_a_server_at_once():
    with serving(page="<!doctype html><p>Log in</p>") as (url, server):
        with pytest.raises(Unavailable, match="a web page") as caught:
            model(url).probe(Needs())
        assert server.seen == 0
    assert "base_url" in str(caught.value)


def test_where_a_server_sends_to_is_told_without_what_may_be_secret():
    told = str(failure(307, {}, location="https://gate.example.org/v1/chat/completions?token=secret"))
    assert "https://gate.example.org/v1" in told
    assert "secret" not in told


def test_a_misspelt_key_of_what_a_server_supports_suggests_the_nearest(tmp_path):
    with pytest.raises(SpecError, match="'choice'") as caught:
        study(tmp_path, {"base_url": "http://x/v1", "supports": {"choise": "none"}}, {}).plan()
    assert "models[0].supports.choise" in str(caught.value)


def test_no_address_and_no_preset():
    with pytest.raises(SpecError) as caught:
        OpenAICompatible(model="m")
    assert caught.value.where == "base_url"
    with pytest.raises(SpecError, match="AZURE_OPENAI_ENDPOINT"):
        OpenAICompatible(model="m", preset="azure")


def test_identity_is_of_what_is_served_not_of_where():
    here = OpenAICompatible(model="m", preset="vllm")
    assert (
        OpenAICompatible(model="m", preset="vllm", base_url="http://node7:9/v1").identity() == here.identity()
    )
    others = [{"version": "2"}, {"body": {"x": 1}}]
    for other in others:
        assert OpenAICompatible(model="m", preset="vllm", **other).identity() != here.identity()


def test_the_key_appears_nowhere(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", "very-secret")
    caplog.set_level(logging.DEBUG)
    with serving(key="very-secret") as (url, server):
        served = model(url, key="MY_KEY")
        asked = study(tmp_path, {"base_url": url, "key": "MY_KEY"}, {})
        asked.run()
        assert server.headers[-1]["Authorization"] == "Bearer very-secret"
        monkeypatch.setenv("MY_KEY", "very-secret-but-wrong")
        with pytest.raises(ModelError) as caught:
            served.probe(Needs())
    told = [str(caught.value), repr(served), str(served.provenance()), served.identity(), caplog.text]
    told += [path.read_bytes().decode("latin-1") for path in asked.folder.rglob("*") if path.is_file()]
    assert not [text for text in told if "very-secret" in text]


# ---------------------------------------------------------------------------- trying first


def test_a_constraint_that_is_ignored_is_an_error(tmp_path):
    with serving() as (url, server):
        model = {"base_url": url, "supports": {"choice": "structured_outputs"}}
        asked = study(tmp_path, model, {"constraint": "labels"})
        with pytest.raises(ModelError, match="honour choice"):
            asked.run()
        assert server.seen == 1, "nothing was asked of it but the trial"


def test_only_what_the_study_asks_for_is_tried(tmp_path):
    with serving() as (url, server):
        study(tmp_path, {"base_url": url}, {}).run()
        assert server.seen == TEXTS


@pytest.mark.long
def test_what_the_study_asks_for_is_tried():
    served = OpenAICompatible(model=NAME, preset="llamacpp_server", base_url=base_url())
    served.probe(Needs(logprobs=20, constraint=True, schema=True, seed=True))
    found = served.provenance()
    assert found["honoured"] == dict.fromkeys(["choice", "schema", "logprobs", "seed"], True)
    assert found["server"]


@pytest.mark.parametrize(
    ("decoding", "problem"),
    [({"logprobs": 5}, "5 log-probabilities"), ({"temperature": 1, "seed": 3}, "same seed")],
)
def test_more_than_the_server_gives_is_refused_at_plan_time(decoding, problem, tmp_path):
    with pytest.raises(SpecError, match=problem):
        study(tmp_path, {"base_url": "http://localhost:1/v1"}, decoding).plan()


def test_repeats_are_requests_of_their_own():
    drawn = request(repeats=(0, 1, 2), temperature=1.0, seed=5)
    with serving() as (url, server):
        (apart,) = ask(model(url, supports={"seed": True}), drawn)
        assert server.seen == 3
    prompt = drawn.prompt.messages[0].content
    assert [one.text for one in apart] == [answer_to(prompt, seed) for seed in (5, 6, 7)]


# ------------------------------------------------------------------------- its address


@pytest.mark.parametrize(
    ("preset", "variable", "value", "url"),
    [
        ("openai", "OPENAI_BASE_URL", "http://127.0.0.1:8123/v1/", "http://127.0.0.1:8123/v1"),
        ("anthropic", "ANTHROPIC_BASE_URL", "http://127.0.0.1:8123", "http://127.0.0.1:8123/v1"),
        ("ollama", "OLLAMA_HOST", "models.example", "http://models.example:11434/v1"),
        ("ollama", "OLLAMA_HOST", "0.0.0.0:9000", "http://127.0.0.1:9000/v1"),
        ("ollama", "OLLAMA_HOST", "https://models.example", "https://models.example:443/v1"),
        ("azure", "AZURE_OPENAI_ENDPOINT", "https://x.example", "https://x.example/openai/v1"),
    ],
)
def test_the_address_that_other_tools_keep_in_the_environment_counts(
    preset, variable, value, url, monkeypatch
):
    monkeypatch.setenv(variable, value)
    assert OpenAICompatible(model="m", preset=preset).provenance()["base_url"] == url
    own = OpenAICompatible(model="m", preset=preset, base_url="http://127.0.0.1:1/v1")
    assert own.provenance()["base_url"] == "http://127.0.0.1:1/v1", "what the study file says comes first"


@pytest.mark.parametrize("value", ["ftp://x", "http://user:word@x/v1", "http://x/v1?key=1", "no address"])
def test_an_address_of_the_environment_that_is_none_names_the_variable(value, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", value)
    with pytest.raises(SpecError) as error:
        OpenAICompatible(model="m", preset="openai")
    assert "OPENAI_BASE_URL" in str(error.value.where)


def test_a_server_of_this_machine_takes_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8123/v1")
    OpenAICompatible(model="m", preset="openai").check_key()
    monkeypatch.delenv("OPENAI_BASE_URL")
    with pytest.raises(MissingKey):
        OpenAICompatible(model="m", preset="openai").check_key()
