"""Transformers in process, on small models made on the spot: real loading, batching and scoring."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import needs
from tests.models.tiny import make_tiny

from quaver.core.records import Message, Prompt, Request
from quaver.errors import ModelError, Unavailable
from quaver.models.llamacpp import LlamaCpp
from quaver.models.transformers_models import Transformers
from quaver.testing.requests import TEXTS, ask, bits, one, request

pytestmark = needs("hf")


def _device() -> str:
    """Where there is a GPU, the models run there."""
    try:
        import torch
    except ImportError:  # every test is skipped
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


DEVICE = _device()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[Transformers]:
    made = Transformers(model=str(folder), device=DEVICE)
    yield made
    made.close()


def fast(folder: Path, **more: Any) -> Transformers:
    return Transformers(model=str(folder), mode="fast", device=DEVICE, **more)


def drawn(text: str = TEXTS[0], repeats: tuple[int, ...] = (0,), **more: Any) -> Request:
    return request(text, repeats=repeats, **{"temperature": 1.3, "max_tokens": 6, "seed": 40, **more})


def reference(model: Transformers, asked: Request) -> Any:
    """Prompt and network, to go without Quaver's batching and caching."""
    return model._checkpoint.tokens(asked.prompt.messages), model._load()._network  # type: ignore[attr-defined]


def logprobs_of(network: Any, tokens: list[int]) -> Any:
    """Log-probabilities after each token, all read at once."""
    import torch

    with torch.no_grad():
        return network(torch.tensor([tokens], device=DEVICE)).logits[0].double().log_softmax(-1).cpu().numpy()


@pytest.mark.parametrize("architecture", ["llama", "mistral"])
@pytest.mark.parametrize("mode", ["repeatable", "fast"])
def test_greedy_answers_are_those_of_the_librarys_own_generate(
    tmp_path: Path, mode: Any, architecture: str
) -> None:
    import torch

    folder = make_tiny(tmp_path, architecture=architecture)
    model = Transformers(model=str(folder), mode=mode, device=DEVICE)
    asked = [request(text, max_tokens=12, logprobs=3) for text in (*TEXTS, "a", "b" * 90)]
    for asked_one, (response,) in zip(asked, ask(model, *asked), strict=True):
        tokens, network = reference(model, asked_one)
        made = network.generate(
            torch.tensor([tokens], device=DEVICE), max_new_tokens=12, do_sample=False, pad_token_id=0
        )
        assert response.text == model._words.text(made[0, len(tokens) :].tolist())
        exact = logprobs_of(network, made[0].tolist())[len(tokens) - 1 :]
        for place, token in enumerate(response.tokens):
            assert token.logprob == pytest.approx(exact[place].max(), abs=1e-4)


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma3_text", "mistral"])
def test_what_is_beside_an_answer_does_not_change_it(tmp_path: Path, architecture: str) -> None:
    folder = make_tiny(tmp_path, architecture=architecture)
    asked = [drawn(text, (0, 1, 2), logprobs=4) for text in (TEXTS[0], "x", TEXTS[2] * 2)]
    asked += [request(text, max_tokens=5, logprobs=4) for text in TEXTS]
    alone = ask(Transformers(model=str(folder), device=DEVICE), *asked)
    together = ask(fast(folder), *asked)
    pairs = ask(fast(folder, batch=2), *asked[::-1])[::-1]
    for other in (together, pairs):
        for expected, found in zip(alone, other, strict=True):
            assert [r.text for r in found] == [r.text for r in expected]
            for one_found, one_expected in zip(found, expected, strict=True):
                for token, exact in zip(one_found.tokens, one_expected.tokens, strict=True):
                    assert token.logprob == pytest.approx(exact.logprob, abs=1e-3)


def test_repeatable_gives_the_same_bits_whatever_is_asked_beside_it(model: Transformers) -> None:
    whole = ask(model, drawn(repeats=(0, 1, 2, 3), logprobs=5), request(TEXTS[1], logprobs=5))
    model.close()
    second, first, third = ask(
        model,
        request(TEXTS[1], logprobs=5),
        drawn(repeats=(0, 1), logprobs=5),
        drawn(repeats=(2, 3), logprobs=5),
    )
    assert bits(first + third) == bits(whole[0])
    assert bits(second) == bits(whole[1])
    assert len({response.text for response in whole[0]}) > 1


def test_the_whole_vocabulary_sums_to_one(model: Transformers) -> None:
    (token,) = one(model, request(logprobs=1_000_000, max_tokens=1)).tokens
    assert len(token.top) == len(model._checkpoint.tokenizer)
    assert sum(math.exp(logprob) for _, logprob in token.top) == pytest.approx(1)


def test_choices_have_the_product_of_their_tokens_probabilities(model: Transformers) -> None:
    choices = ("Bill Clinton", "Bob Dole", "é")
    asked = request(choices=choices, constraint="labels", logprobs=1, max_tokens=1)
    response = one(model, asked)
    (token,) = response.tokens
    tokens, network = reference(model, asked)
    for text, logprob in token.top:
        answer = model._words.tokens(text)
        exact = logprobs_of(network, tokens + answer)[len(tokens) - 1 :]
        assert logprob == pytest.approx(sum(exact[at, t] for at, t in enumerate(answer)), abs=1e-4)
    assert {text for text, _ in token.top} == set(choices)
    assert all(one >= other for (_, one), (_, other) in pairwise(token.top))
    assert response.text == token.text == token.top[0][0]
    assert response.finish == "stop"


def test_where_a_choice_begins_another_the_end_counts(model: Transformers) -> None:
    asked = request(choices=("1", "10", "2"), constraint="labels", logprobs=1)
    (token,) = one(model, asked).tokens
    tokens, network = reference(model, asked)
    for text, logprob in token.top:
        answer = [*model._words.tokens(text), model._checkpoint.tokenizer.eos_token_id]
        exact = logprobs_of(network, tokens + answer)[len(tokens) - 1 :]
        assert logprob == pytest.approx(sum(exact[at, t] for at, t in enumerate(answer)), abs=1e-4)


def test_choices_are_drawn_from_their_distribution(model: Transformers) -> None:
    choices = ("A", "B", "C", "D")
    asked = request(
        choices=choices, constraint="labels", logprobs=1, temperature=1.0, repeats=tuple(range(120)), seed=1
    )
    (responses,) = ask(model, asked)
    masses = np.exp([lp for _, lp in responses[0].tokens[0].top])
    names = [text for text, _ in responses[0].tokens[0].top]
    for name, mass in zip(names, masses / masses.sum(), strict=True):
        count = sum(response.text == name for response in responses)
        assert abs(count - 120 * mass) <= 4 * math.sqrt(120 * mass * (1 - mass)) + 1


def test_an_answer_ends_before_a_stop(model: Transformers) -> None:
    whole = one(model, request(max_tokens=8)).text
    stop = whole[3:5]
    response = one(model, request(max_tokens=8, stop=(stop,)))
    assert response.text == whole.partition(stop)[0]
    assert response.finish == "stop"


def test_a_repetition_penalty_is_heeded(model: Transformers) -> None:
    plain = one(model, request(max_tokens=12)).text
    assert one(model, request(max_tokens=12, repeat_penalty=50.0)).text != plain


def test_an_answer_stays_within_the_context(folder: Path) -> None:
    narrow = Transformers(model=str(folder), context=120, device=DEVICE)
    asked = request("x", max_tokens=500)
    response = one(narrow, asked)
    if response.finish == "length":
        assert response.prompt_tokens is not None
        assert response.completion_tokens == 120 - response.prompt_tokens
    (failed, _), (fine,) = ask(narrow, request("x" * 200, repeats=(0, 1)), asked)
    assert failed.error
    assert failed.error.startswith("context overflow")
    assert f"{failed.prompt_tokens} tokens" in failed.error
    assert fine.text == response.text


def test_a_plain_prompt_goes_without_the_template(model: Transformers) -> None:
    asked = request()._replace(prompt=Prompt((Message("plain", "abc de"),), "", ""))
    assert model._checkpoint.tokens(asked.prompt.messages) == model._words.tokens("abc de")
    assert one(model, asked).finish in ("stop", "length")


def test_a_model_without_a_template_says_what_to_do(tmp_path: Path) -> None:
    folder = make_tiny(tmp_path, template=None)
    with pytest.raises(ModelError, match="chat template") as caught:
        one(Transformers(model=str(folder), device=DEVICE), request())
    assert "plain" in str(caught.value)


def test_a_template_that_refuses_a_system_message_says_so(tmp_path: Path) -> None:
    refusing = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}x"
    folder = make_tiny(tmp_path, template=refusing)
    with pytest.raises(ModelError, match="chat template"):
        one(Transformers(model=str(folder), device=DEVICE), request(system="Be brief."))


def test_the_weights_decide_the_identity(folder: Path, tmp_path: Path) -> None:
    same, other = make_tiny(tmp_path / "same"), make_tiny(tmp_path / "other", seed=1)
    assert Transformers(model=str(same)).identity() == Transformers(model=str(folder)).identity()
    assert Transformers(model=str(other)).identity() != Transformers(model=str(folder)).identity()


def test_a_name_on_the_hub_is_loaded_from_what_is_here_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    kept = tmp_path / "models--someone--tiny"
    make_tiny(kept / "snapshots" / commit)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    model = Transformers(model="someone/tiny", device=DEVICE)
    assert f"hub:someone/tiny@{commit}" in model.identity()
    assert one(model, request()).finish in ("stop", "length")


def test_a_name_that_the_hub_does_not_give_says_what_else_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(Unavailable, match="'someone/nothing-of-that-name'"):
        Transformers(model="someone/nothing-of-that-name").identity()


def test_a_folder_without_a_model_is_refused_when_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="folder"):
        Transformers(model=str(tmp_path))
    with pytest.raises(Unavailable, match="model file"):
        Transformers(model=str(tmp_path / "nothing.gguf"))


def test_damaged_weights_are_one_error(tmp_path: Path) -> None:
    folder = make_tiny(tmp_path)
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelError, match="transformers cannot load"):
        one(Transformers(model=str(folder), device=DEVICE), request())


def test_the_embedded_models_file_says_here_what_it_says_in_llama_cpp() -> None:
    asked = [request(text, max_tokens=1, logprobs=20) for text in TEXTS]
    asked += [
        one._replace(prompt=Prompt((Message("plain", "The capital of France is"),), "", ""))
        for one in asked[:1]
    ]
    here = ask(Transformers(model="smollm2-135m-instruct", device=DEVICE), *asked)
    there = ask(LlamaCpp(model="smollm2-135m-instruct", context=256), *asked)
    assert here[-1][0].text == there[-1][0].text == " Paris"
    for (found,), (expected,) in zip(here, there, strict=True):
        assert found.prompt_tokens == expected.prompt_tokens
        known = dict(expected.tokens[0].top)
        shared = [(logprob, known[text]) for text, logprob in found.tokens[0].top if text in known]
        assert len(shared) >= 15
        # llama.cpp rounds activations to eight bits too: benchmarks/engines_agree.py says what that does.
        assert np.mean([abs(one - other) for one, other in shared]) < 0.15
