"""What is tried on a server: models that think first, and those that only seem to do what is asked."""

import json
from contextlib import asynccontextmanager

import pytest

from quaver.core.calls import Response
from quaver.core.model import Needs
from quaver.errors import MissingKey, ModelError, RateLimited, Unavailable
from quaver.models.served.presets import PRESETS
from quaver.models.served.probe import tried
from quaver.models.served.server_faults import Address, Passing, Refused, read_failure

CHOICE = Needs(constraint=True)


class Listed:
    """A connection to a server that lists its models, or fails to with a status."""

    def __init__(self, status=200):
        self._status = status

    async def get(self, path):
        if self._status != 200:
            raise Passing(f"HTTP {self._status}", status=self._status, wait=0.0)
        return b"{}"


def probed(answer, needs, listing=200):
    async def arriving(connection, request):
        return answer(request)

    @asynccontextmanager
    async def connected():
        yield (Listed(listing))

    return tried(PRESETS["vllm"], needs, connected, Address("http://x/v1", "m"), arriving)


def thinks(tokens, says):
    """A model that thinks for so many tokens before it says something."""

    def answer(request):
        thought = "hm " * min(tokens, request.decoding.max_tokens)
        if request.decoding.max_tokens <= tokens:
            return Response("", finish="length", thinking=thought)
        return Response(says(request), thinking=thought)

    return answer


def test_a_model_that_thinks_first_is_given_room_to_answer():
    assert probed(thinks(500, lambda request: request.choices[0]), CHOICE)["honoured"] == {"choice": True}
    with pytest.raises(ModelError, match="it answers 'something'"):
        probed(thinks(500, lambda request: "something"), CHOICE)
    with pytest.raises(ModelError, match="2,048 tokens"):
        probed(thinks(5000, lambda request: request.choices[0]), CHOICE)


def test_a_server_that_only_fails_to_list_its_models_is_asked_all_the_same():
    def answer(request):
        return Response(request.choices[0])

    assert probed(answer, CHOICE, listing=500)["honoured"] == {"choice": True}
    for gone in (502, 503):
        with pytest.raises(Unavailable, match="does not answer"):
            probed(answer, CHOICE, listing=gone)


def test_thinking_shows_whether_seeds_are_heeded():
    def answer(request):
        assert request.decoding.max_tokens < 100, "no room is needed for that"
        return Response("", finish="length", thinking=f"hm {request.seed}")

    assert probed(answer, Needs(seed=True))["honoured"] == {"seed": True}


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (404, "The model `m` does not exist.", ModelError),
        (402, "Insufficient credit", RateLimited),
        (401, "Bad key", MissingKey),
    ],
)
def test_a_failure_of_the_probe_that_is_not_the_features_keeps_its_class(status, said, kind):
    """Some servers list their models for anybody, whatever model and key they are asked with."""

    def answer(request):
        content = json.dumps({"error": {"message": said}}).encode()
        found = read_failure(status, {}, content, Address("http://x/v1", "m"))
        assert isinstance(found, ModelError)
        raise found

    with pytest.raises(kind) as caught:
        probed(answer, CHOICE)
    assert not isinstance(caught.value, Refused)
    assert caught.value.where == "http://x/v1"


def test_an_error_about_the_prompt_is_told_as_what_it_is():
    with pytest.raises(ModelError, match="honour choice") as caught:
        probed(lambda request: Response("", finish="error", error="context overflow: 9 > 8"), CHOICE)
    assert "context overflow" in str(caught.value.found)
