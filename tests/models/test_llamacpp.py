"""The embedded engine on the real model: it repeats itself to the last bit, and keeps to what it is told."""

import json

import pytest

from quaver.core.calls import Message, Prompt
from quaver.errors import ModelError, Unavailable
from quaver.models.llamacpp import LlamaCpp
from quaver.models.local.extras import cores, waiting
from quaver.models.local.weights import BUNDLED, BundledModel, find_weights
from quaver.testing.requests import TEXTS, ask, bits, one, request

NAME = "smollm2-135m-instruct"


@pytest.fixture(scope="module")
def model():
    made = LlamaCpp(model=NAME, context=256)
    made.prepare(3)
    yield made
    made.close()


def greedy(text, **more):
    return request(text, logprobs=10, **more)


def alone(model, asked):
    """Answered by an engine that has just started."""
    model.close()
    return ask(model, asked)[0]


@pytest.mark.long
@pytest.mark.parametrize("max_tokens", [1, 5])
def test_the_same_call_gives_the_same_bits_whatever_was_asked_before(model, max_tokens):
    asked = [greedy(text, max_tokens=max_tokens) for text in TEXTS]
    cold = [bits(alone(model, one)) for one in asked]
    assert all(len(responses[0][1]) >= 1 for responses in cold)
    cached = [bits(found) for found in ask(model, *(one for one in asked for _ in range(2)))]
    assert cached[0::2] == cold
    assert cached[1::2] == cold
    reordered = [bits(found) for found in ask(model, *asked[::-1])][::-1]
    assert reordered == cold
    together = [
        bits(found)
        for found in ask(model, *(greedy(t, max_tokens=max_tokens, repeats=range(3)) for t in TEXTS))
    ]
    assert together == [one * 3 for one in cold]


@pytest.mark.long
def test_prompts_that_share_a_beginning_give_the_same_bits(model):
    questions = ("Positive or negative?", "Positive or not?", "Positive")
    asked = [greedy(TEXTS[2], question=question, max_tokens=1) for question in questions]
    cold = [bits(alone(model, one)) for one in asked]
    assert [bits(found) for found in ask(model, *asked)] == cold
    assert [bits(found) for found in ask(model, *asked[::-1])] == cold[::-1]


def test_seeds_give_the_same_samples_in_another_grouping(model):
    def drawn(*repeats):
        return request(repeats=repeats, temperature=1.5, max_tokens=4, seed=40, logprobs=3)

    (whole,) = ask(model, drawn(0, 1, 2, 3, 4))
    first, second, third = ask(model, drawn(0), drawn(3, 4), drawn(1, 2))
    assert bits(first + third + second) == bits(whole)
    assert len({response.text for response in whole}) > 2


def test_log_probabilities_are_those_before_temperature(model):
    answer = one(model, greedy(TEXTS[0], max_tokens=1))
    (token,) = answer.tokens
    assert token.top[0] == (answer.text, token.logprob)
    hot = one(model, greedy(TEXTS[0], max_tokens=1, temperature=2.0, top_k=1)).tokens[0].top
    assert hot == token.top
    (many,) = one(model, request(logprobs=500, max_tokens=1)).tokens
    assert len(many.top) == 500


def test_an_answer_ends_before_a_stop(model):
    whole = one(model, request(max_tokens=8)).text
    stop = whole[2:5]
    response = one(model, request(max_tokens=8, stop=(stop,)))
    assert response.text == whole.partition(stop)[0]
    assert response.finish == "stop"


def test_what_was_in_the_cache_is_counted(model):
    first = alone(model, request(TEXTS[2]))[0]
    again, other = ask(model, request(TEXTS[2]), request(TEXTS[2], question="Yes or no?"))
    assert first.cached_tokens == 0
    assert again[0].cached_tokens == again[0].prompt_tokens == first.prompt_tokens
    cached, whole = other[0].cached_tokens, other[0].prompt_tokens
    assert 0 < cached < whole


def test_the_fast_setting_answers_too():
    fast = LlamaCpp(model=NAME, context=256, mode="fast")
    fast.prepare(3)
    (responses,) = ask(fast, greedy(TEXTS[0], repeats=range(3)))
    assert len({response.text for response in responses}) == 1
    failed = one(fast, request("many words " * 400))
    assert failed.finish == "error"
    fast.close()


def saying(*turns, **decoding):
    """A request of these messages."""
    messages = tuple(Message(role, content) for role, content in turns)
    return request(**{"logprobs": 5, "max_tokens": 1, **decoding})._replace(prompt=Prompt(messages, "", ""))


def test_a_plain_text_is_sent_as_it_is(model):
    asked = saying(("plain", "The capital of France is"))
    cold = alone(model, asked)
    assert cold[0].text == " Paris"
    assert cold[0].tokens[0].top[0][0] == " Paris"
    assert model.count_tokens([asked.prompt.messages]) == [cold[0].prompt_tokens]
    longer = saying(("plain", "The capital of France is Paris, and"))
    fresh = bits(alone(model, longer))
    assert bits([one(model, asked)]) == bits(cold)
    assert bits([one(model, longer)]) == fresh, "a prompt that goes on from the last one is read as if cold"
    chat = saying(("user", "The capital of France is"))
    again = [bits(found) for found in ask(model, chat, asked, chat, longer, asked)]
    assert again == [again[0], bits(cold), again[0], fresh, bits(cold)]


def shots(text, *, k=2):
    shown = [("I like it.", "positive"), ("How very dull it was.", "negative")][:k]
    turns = [turn for t, answer in shown for turn in (("user", f"{t}\nGood or bad?"), ("assistant", answer))]
    return [*turns, ("user", f"{text}\nGood or bad?")]


@pytest.mark.long
def test_examples_as_turns_share_their_reading_and_give_the_same_bits(model):
    asked = [saying(*shots(text, k=k), max_tokens=3) for k in (0, 2) for text in TEXTS]
    cold = [bits(alone(model, one)) for one in asked]
    found = ask(model, *asked)
    assert [bits(responses) for responses in found] == cold
    assert [bits(responses) for responses in ask(model, *asked[::-1])] == cold[::-1]
    cached = [responses[0].cached_tokens or 0 for responses in ask(model, *asked)]
    whole = [responses[0].prompt_tokens or 0 for responses in found]
    assert all(2 * read > size for read, size in zip(cached[-2:], whole[-2:], strict=True)), (
        "two shots are shared"
    )


@pytest.mark.long
def test_a_turn_after_an_answer_is_read_as_if_cold(model):
    asked = saying(("user", "The capital of France?"), max_tokens=3)
    (answered,) = ask(model, asked)
    after = saying(
        ("user", "The capital of France?"), ("assistant", answered[0].text), ("user", "Sure?"), max_tokens=3
    )
    cold = bits(alone(model, after))
    begun = [saying(("user", "France?"), ("assistant", f"The capital{more}")) for more in ("", " is")]
    colds = [bits(alone(model, one)) for one in begun]
    assert [bits(found) for found in ask(model, *begun)] == colds
    (_, one_found), (other,) = ask(model, asked, after), ask(model, after)
    assert bits(one_found) == bits(other) == cold


SCHEMA = (
    '{"type": "object", "properties": {"why": {"type": "string", "maxLength": 20},'
    ' "label": {"type": "string", "enum": ["good", "so-so"]}}, "required": ["why", "label"],'
    ' "additionalProperties": false}'
)


@pytest.mark.parametrize("role", ["user", "plain"])
def test_an_answer_follows_its_schema(model, role):
    asked = saying((role, "I like it. Good?"), max_tokens=60, logprobs=0)._replace(schema=SCHEMA)
    answer = json.loads(one(model, asked).text)
    assert list(answer) == ["why", "label"]
    assert answer["label"] in ("good", "so-so")


@pytest.mark.long
@pytest.mark.usefixtures("all_cores")
@pytest.mark.parametrize("mode", ["repeatable", "fast"])
def test_any_number_of_threads_gives_the_same_bits(mode):
    asked = [greedy(text, max_tokens=tokens) for text in TEXTS for tokens in (1, 6)]
    asked += [request(text, repeats=range(3), temperature=1.5, max_tokens=4, seed=40) for text in TEXTS]
    found = []
    for threads in (1, 2, 3, None):
        made = LlamaCpp(model=NAME, context=256, threads=threads, mode=mode)
        made.prepare(3)
        found.append([bits(responses) for responses in ask(made, *asked)])
        made.close()
    assert found[1:] == found[:1] * 3


def test_provenance_has_the_threads_and_how_they_wait():
    assert LlamaCpp(model=NAME, threads=3).provenance()["threads"] == 3
    own = LlamaCpp(model=NAME).provenance()
    assert own["threads"] == (cores() or "llama.cpp's choice")
    assert own["threads_wait"] == waiting() != ""


def test_identity_is_of_weights_and_what_changes_an_answer():
    plain = LlamaCpp(model=NAME).identity()
    assert "sha256:" in plain
    assert LlamaCpp(model=str(find_weights(NAME))).identity() == plain, "a path to the same weights"
    assert LlamaCpp(model=NAME, context=512, threads=1, slots=2).identity() == plain
    assert LlamaCpp(model=NAME, mode="fast").identity() != plain


def test_a_model_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Unavailable) as caught:
        LlamaCpp(model=str(tmp_path / "model.gguf"))
    assert caught.value.found == str(tmp_path / "model.gguf")
    with pytest.raises(Unavailable, match=f"did you mean '{NAME}'"):
        LlamaCpp(model="smollm2-135m")


def test_a_bundled_model_that_is_not_installed(monkeypatch):
    other = BundledModel("no-such-package", "1.0", 1, "0" * 64, "no_such_module", "x.gguf")
    monkeypatch.setitem(BUNDLED, "other", other)
    with pytest.raises(Unavailable, match="not installed") as caught:
        find_weights("other")
    assert (caught.value.fix or "").split()[-2:] == ["--no-deps", "no-such-package==1.0"]


def test_a_file_that_is_no_model(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"not weights" * 100)
    broken = LlamaCpp(model=str(tmp_path / "model.gguf"))
    with pytest.raises(ModelError, match=r"cannot load model\.gguf"):
        one(broken, request())
