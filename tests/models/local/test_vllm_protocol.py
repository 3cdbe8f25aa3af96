"""What vLLM is asked for, and how its outputs are read; vLLM itself is not needed."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from quaver.errors import SpecError, UnknownName
from quaver.models.local.vllm_protocol import (
    MORE_ARGUMENTS,
    Device,
    checked_arguments,
    engine_arguments,
    responses_of,
    samples,
    sampling,
)
from quaver.testing.requests import request

H200, T4, PROCESSOR = Device("cuda", "H200", (9, 0)), Device("cuda", "T4", (7, 5)), Device("cpu", "processor")
HERE = {"pretrained_model_name_or_path": "folder"}


def written(*outputs: Any, cached: int | None = 16) -> Any:
    return SimpleNamespace(outputs=outputs, prompt_token_ids=[1] * 20, num_cached_tokens=cached)


def one(text: str, index: int = 0, *, finish: str = "stop", logprobs: Any = None) -> Any:
    ids = [next(iter(place)) for place in logprobs or ()] or [7, 8]
    return SimpleNamespace(text=text, index=index, finish_reason=finish, token_ids=ids, logprobs=logprobs)


def place(*entries: tuple[int, str | None, float, int]) -> dict[int, Any]:
    """A position as vLLM gives it: the token that it took comes first."""
    return {
        token: SimpleNamespace(decoded_token=text, logprob=logprob, rank=rank)
        for token, text, logprob, rank in entries
    }


# ---------------------------------------------------------------------------- what is asked


def test_every_option_of_a_decoding_is_sent() -> None:
    asked = request(
        repeats=(2, 3, 4),
        temperature=0.7,
        top_p=0.9,
        top_k=40,
        min_p=0.05,
        repeat_penalty=1.1,
        stop=("\n",),
        logprobs=5,
        seed=10,
    )
    assert sampling(asked, 50_000) == {
        "n": 3,
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "repetition_penalty": 1.1,
        "max_tokens": 2,
        "seed": 12,  # of the first call; vLLM counts up from it
        "stop": ["\n"],
        "logprobs": 5,
    }


def test_a_greedy_answer_is_written_once_and_needs_no_seed() -> None:
    asked = request(repeats=range(5))
    assert samples(asked) == 1
    assert sampling(asked, 50_000)["n"] == 1
    assert "seed" not in sampling(asked, 50_000)
    responses = responses_of(written(one("yes")), asked, seconds=5.0)
    assert [response.text for response in responses] == ["yes"] * 5
    assert [response.latency for response in responses] == [1.0] * 5


def test_more_log_probabilities_than_there_are_tokens_are_all_of_them() -> None:
    assert sampling(request(logprobs=1_000_000), 49_152)["logprobs"] == -1
    assert sampling(request(logprobs=49_151), 49_152)["logprobs"] == 49_151
    assert "logprobs" not in sampling(request(), 49_152)


def test_a_schema_takes_the_place_of_choices() -> None:
    choosing = request(choices=("yes", "a\ud800b"), constraint="labels")
    assert sampling(choosing, 9)["structured_outputs"] == {"choice": ["yes", "a?b"]}
    shaped = choosing._replace(schema='{"type": "object"}')
    assert sampling(shaped, 9)["structured_outputs"] == {"json": '{"type": "object"}'}
    assert "structured_outputs" not in sampling(request(), 9)


# ---------------------------------------------------------------------------- what comes back


def test_answers_are_in_the_order_of_their_calls() -> None:
    asked = request(repeats=range(3), temperature=1.0)
    outputs = written(one("c", 2, finish="length"), one("a", 0), one("b", 1))
    responses = responses_of(outputs, asked, seconds=3.0)
    assert [(response.text, response.finish) for response in responses] == [
        ("a", "stop"),
        ("b", "stop"),
        ("c", "length"),
    ]
    assert {response.prompt_tokens for response in responses} == {20}
    assert {response.cached_tokens for response in responses} == {None}  # counted for all together
    assert responses_of(written(one("a")), request(), seconds=1.0)[0].cached_tokens == 16


@pytest.mark.parametrize("finish", ["abort", "error"])
def test_an_answer_that_was_given_up_is_an_error(finish: str) -> None:
    (response,) = responses_of(written(one("half", finish=finish)), request(), seconds=1.0)
    assert (response.text, response.finish) == ("", "error")
    assert finish in (response.error or "")


def test_the_token_that_was_taken_is_not_among_the_likeliest_unless_it_is_one_of_them() -> None:
    rare = place((5, "rare", -6.0, 9), (1, "a", -0.3, 1), (2, "b", -1.6, 2))
    usual = place((1, "a", -0.3, 1), (2, "b", -1.6, 2))
    (response,) = responses_of(
        written(one("rare a", logprobs=[rare, usual])), request(logprobs=2), seconds=1.0
    )
    first, second = response.tokens
    assert (first.text, first.logprob) == ("rare", -6.0)
    assert first.top == second.top == (("a", -0.3), ("b", -1.6))
    assert second.text == "a"


def test_tokens_that_a_constraint_excludes_are_left_out() -> None:
    held = place((1, "yes", -0.1, 1), (2, "no", -2.4, 2), (3, "<eos>", -math.inf, 3), (4, None, -math.inf, 4))
    (response,) = responses_of(written(one("yes", logprobs=[held])), request(logprobs=4), seconds=1.0)
    assert response.tokens[0].top == (("yes", -0.1), ("no", -2.4))


# ---------------------------------------------------------------------------- the engine


def test_repeatable_costs_nothing_where_the_kernels_do_it() -> None:
    arguments = engine_arguments(HERE, H200, "repeatable", {})
    assert arguments == engine_arguments(HERE, H200, "fast", {})
    assert "enable_prefix_caching" not in arguments
    assert arguments["max_num_seqs"] > 1


def test_a_processor_repeats_itself_one_answer_at_a_time() -> None:
    alone = engine_arguments(HERE, PROCESSOR, "repeatable", {"max_num_seqs": 64})
    assert (alone["max_num_seqs"], alone["enable_prefix_caching"]) == (1, False)
    assert engine_arguments(HERE, PROCESSOR, "fast", {"max_num_seqs": 64})["max_num_seqs"] == 64
    assert alone["kv_cache_memory_bytes"] == 2**30
    assert alone["enable_chunked_prefill"] is False, "else seeds fail where a prompt is read in two parts"
    assert "kv_cache_memory_bytes" not in engine_arguments(
        HERE, PROCESSOR, "fast", {"gpu_memory_utilization": 0.3}
    )


@pytest.mark.parametrize(
    "name",
    [
        "trust_remote_code",
        "worker_cls",
        "worker_extension_cls",
        "scheduler_cls",
        "logits_processors",
        "compilation_config",
        "load_format",
        "hf_overrides",
        "model",
    ],
)
def test_a_study_cannot_have_the_engine_run_code(name: str) -> None:
    with pytest.raises(UnknownName) as caught:
        checked_arguments({"quantization": "fp8", name: "evil.module.Class"})
    assert caught.value.where == "engine"
    assert "plug-in" in str(caught.value.fix)
    assert name not in MORE_ARGUMENTS


def test_a_misspelled_argument_is_one_error_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="block_size"):
        checked_arguments({"blocksize": 16})


@pytest.mark.parametrize("value", ["a.b:C", "/tmp/x", {"a": 1}, ["a"], None])
def test_a_value_is_a_number_a_switch_or_a_name(value: Any) -> None:
    with pytest.raises(SpecError) as caught:
        checked_arguments({"quantization": value})
    assert caught.value.where == "engine.quantization"
    fine = {"quantization": "fp8_e4m3", "block_size": 32, "cpu_offload_gb": 1.5, "enforce_eager": True}
    assert checked_arguments(fine) == fine


def test_a_name_on_the_hub_keeps_its_commit() -> None:
    arguments = engine_arguments({**HERE, "revision": "abc"}, H200, "fast", {"seed": 3})
    assert (arguments["revision"], arguments["tokenizer_revision"], arguments["seed"]) == ("abc", "abc", 3)
    assert "revision" not in engine_arguments(HERE, H200, "fast", {})


def test_which_devices_repeat_themselves() -> None:
    assert H200.can_repeat
    assert PROCESSOR.can_repeat
    assert not T4.can_repeat
    assert H200.repeats_by("repeatable") == "batch-invariant kernels"
    assert PROCESSOR.repeats_by("repeatable") == "one answer at a time"
    assert H200.repeats_by("fast").startswith("nothing")
