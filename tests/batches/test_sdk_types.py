"""The local providers say what the providers' own SDKs read, and requests are what these SDKs send."""

import json

from anthropic.types import Message as ClaudeMessage
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from openai.types import Batch, FileObject
from openai.types.chat import ChatCompletion
from pydantic import TypeAdapter
from tests.batches.cases import World, world
from tests.batches.farm import DAY

DECODING = {"warm": {"temperature": 1, "top_p": 0.9, "stop": ["\n"]}, "held": {"constraint": "labels"}}


OLDER = {"temperature", "top_p", "top_k"}
"""What the API's version 2023-06-01 takes and the SDK's own version has no more."""


class Heard(World):
    """A world that keeps what was said."""

    said: list[tuple[str, str, bytes, bytes]]

    def __call__(self, request):
        reply = super().__call__(request)
        self.said.append((request.method, request.url, request.content, reply.content))
        return reply


def heard(name, folder):
    """All that passed between Quaver and a provider, with refusals, faults and an end by cancelling."""
    with world(name, folder, refused=0.2, faults=0.2) as one:
        one.__class__ = Heard
        one.said = []
        study = lambda **more: World.study(one, decoding=DECODING, **more)  # noqa: E731
        one.study = study
        one.run()
        one.clock.now += 1800
        one.run(cancel_batches=True)
        one.clock.now += 60
        one.run()
        one.clock.now += DAY / 2
        one.run()
        return one.said


def lines(content):
    return [json.loads(line) for line in content.splitlines() if line.strip()]


def test_openai(tmp_path):
    batches = files = answers = 0
    for method, url, _, content in heard("openai", tmp_path / "s"):
        if url.endswith("/content"):
            for line in lines(content):
                reply = line["response"]
                if reply and reply["status_code"] == 200:
                    ChatCompletion.model_validate(reply["body"], strict=True)
                    answers += 1
        elif "/batches" in url and method in ("POST", "GET") and '"batch"' in content.decode()[:200]:
            Batch.model_validate_json(content, strict=True)
            batches += 1
        elif "/files" in url:
            FileObject.model_validate_json(content, strict=True)
            files += 1
    assert min(batches, files, answers) > 1


def test_anthropic(tmp_path):
    allowed = TypeAdapter(MessageCreateParamsNonStreaming)
    batches = results = requests = 0
    for method, url, sent, content in heard("anthropic", tmp_path / "s"):
        if url.endswith("/results"):
            for line in lines(content):
                found = MessageBatchIndividualResponse.model_validate(line)
                if line["result"]["type"] == "succeeded":
                    ClaudeMessage.model_validate(line["result"]["message"])
                assert found.result.type == line["result"]["type"]
                results += 1
        elif method == "POST" and url.endswith("/batches"):
            for one in json.loads(sent)["requests"]:
                assert len(one["custom_id"]) <= 64
                allowed.validate_python(one["params"])
                known = _all(MessageCreateParamsNonStreaming) | OLDER
                assert one["params"].keys() <= known
                requests += 1
        if b'"message_batch"' in content:
            MessageBatch.model_validate_json(content)
            batches += 1
    assert min(batches, results, requests) > 1


def _inherited(kind):
    return {name for base in getattr(kind, "__orig_bases__", ()) for name in _all(base)}


def _all(kind):
    return set(getattr(kind, "__annotations__", {})) | _inherited(kind)
