"""A real vLLM server with the bundled model's weights, where one runs: ``QUAVER_VLLM=http://127.0.0.1:8000/v1``.

``benchmarks/checkpoint.py`` writes the weights as vLLM reads them, and says how to serve them.
"""

import json
import os

import pytest
from tests.local_engines import NAME

from quaver.core.calls import Message, Prompt
from quaver.core.model import Needs
from quaver.errors import ModelError
from quaver.models.openai_compatible import OpenAICompatible
from quaver.testing.requests import ask, one, request

URL = os.environ.get("QUAVER_VLLM", "")

pytestmark = pytest.mark.skipif(not URL, reason="no vLLM server: QUAVER_VLLM holds no address")

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"label": {"type": "string", "enum": ["yes", "no"]}},
        "required": ["label"],
        "additionalProperties": False,
    }
)
EVERYTHING = Needs(constraint=True, schema=True, logprobs=20, seed=True)


def vllm(**options):
    return OpenAICompatible(model=NAME, preset="vllm", base_url=URL, **options)


def with_messages(asked, *messages):
    return asked._replace(prompt=Prompt(tuple(Message(*one) for one in messages), "", ""))


def test_it_honours_all_that_its_preset_says():
    model = vllm()
    model.probe(EVERYTHING)
    facts = model.provenance()
    assert facts["honoured"] == dict.fromkeys(("choice", "schema", "logprobs", "seed"), True)
    assert facts["server"][0].isdigit()


@pytest.mark.parametrize("way", ["grammar", "regex"])
def test_a_constraint_that_it_ignores_without_a_word_is_noticed(way):
    asked = {"supports": {"choice": way}}
    with pytest.raises(ModelError, match="honour choice"):
        vllm(**asked).probe(Needs(constraint=True))


def test_more_log_probabilities_than_it_gives_are_refused():
    with pytest.raises(ModelError, match="max allowed"):
        vllm(supports={"logprobs": 100}).probe(Needs(logprobs=30))


def test_a_model_that_it_does_not_serve_is_told_as_that():
    with pytest.raises(ModelError, match="model 'another'"):
        OpenAICompatible(model="another", preset="vllm", base_url=URL).probe(Needs(logprobs=5))


def test_choices_schemas_and_seeds():
    model = vllm()
    names = ("Bill Clinton", 'says "no"', "Robert (Bob) Dole")
    held = one(model, request(choices=names, constraint="labels", max_tokens=16, logprobs=20))
    assert held.text in names
    assert len(held.tokens[0].top) == 20
    shaped = one(model, request(max_tokens=20)._replace(schema=SCHEMA))
    assert json.loads(shaped.text)["label"] in ("yes", "no")
    drawn = [one(model, request(seed=seed, temperature=1.0, max_tokens=12)).text for seed in (1, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


def test_repeats_are_drawn_apart():
    asked = request(repeats=range(4), temperature=1.0, max_tokens=12)
    (responses,) = ask(vllm(), asked)
    assert len({response.text for response in responses}) > 1
    assert responses[0].prompt_tokens


def test_plain_texts_and_messages_that_were_begun():
    model = vllm()
    plain = one(model, with_messages(request(max_tokens=3, logprobs=5), ("plain", "One, two, three, four,")))
    assert "five" in plain.text
    assert 5 <= len(plain.tokens[0].top) <= 6
    begun = with_messages(request(max_tokens=3), ("user", "Count."), ("assistant", "One, two, three,"))
    assert "four" in one(model, begun).text


def test_a_prompt_that_is_too_long_is_an_error_of_its_own():
    long, short = request("word " * 4000), request()
    (failed,), (answered,) = ask(vllm(), long, short)
    assert failed.error.startswith("context overflow: ")
    assert answered.finish in ("stop", "length")
