"""GPT4All on the embedded model: it says what llama.cpp says, and fails in words."""

import pytest
from tests.extras import needs
from tests.local_engines import older_smollm2

from quaver.core.calls import Message, Prompt
from quaver.errors import ModelError, Unavailable
from quaver.models.gpt4all import GPT4All, _Written
from quaver.models.llamacpp import LlamaCpp
from quaver.testing.requests import TEXTS, one, request

pytestmark = needs("gpt4all")


@pytest.fixture(scope="module")
def model():
    made = GPT4All(**older_smollm2())
    yield made
    made.close()


def test_it_reads_the_prompt_that_llama_cpp_reads(model):
    llamacpp = LlamaCpp(model=older_smollm2()["model"], context=256)
    for asked in (request(TEXTS[0], system="Be brief."), request("Capital of France?", question="")):
        turns = [{"role": role, "content": content} for role, content in asked.prompt.messages]
        rendered = llamacpp._http("/apply-template", {"messages": turns})["prompt"]
        assert model._prompt(asked.prompt.messages) == rendered
    asked = request("Capital of France?", question="", max_tokens=8)
    assert one(model, asked).text == one(llamacpp, asked).text


def test_a_plain_text_is_gone_on_with(model):
    asked = request(max_tokens=1)._replace(
        prompt=Prompt((Message("plain", "The capital of France is"),), "", "")
    )
    assert one(model, asked).text == " Paris"


def test_an_answer_ends_before_a_stop(model):
    whole = one(model, request(max_tokens=8))
    assert (whole.finish, whole.completion_tokens) == ("length", 8)
    stop = whole.text[2:5]
    cut = one(model, request(max_tokens=8, stop=(stop,)))
    assert (cut.text, cut.finish) == (whole.text.partition(stop)[0], "stop")


def test_what_the_library_sends_is_gathered():
    written = _Written(("END",))
    assert written.take(5, "one E")
    assert not written.take(6, "ND two")
    assert (written.text, written.stopped, written.tokens) == ("one ", True, 2)


def test_a_model_that_it_does_not_know_is_one_error():
    newer = GPT4All(model="smollm2-135m-instruct", context=256)
    with pytest.raises(ModelError, match="GPT4All cannot load") as caught:
        one(newer, request())
    assert "llamacpp" in str(caught.value)


def test_bad_input(tmp_path):
    with pytest.raises(Unavailable, match="model file"):
        GPT4All(model=str(tmp_path / "no.gguf"))
    with pytest.raises(ModelError, match="GPT4All cannot load"):
        one(GPT4All(**older_smollm2(), device="no such device"), request())
