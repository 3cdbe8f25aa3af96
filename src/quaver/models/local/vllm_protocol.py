"""Requests as vLLM's sampling parameters, its outputs as responses, and the arguments of its engine.

Nothing here imports vLLM.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from quaver.core.records import Request, Response, Token
from quaver.errors import SpecError, UnknownName, nearest
from quaver.models._prompts import sendable

_KV_ON_PROCESSORS = 1 << 30
"""Bytes for keys and values where there is no GPU; vLLM would take most of the machine's memory."""

_AT_ONCE = 256
"""Answers that are written at once, where nobody says."""

_LEAST_CAPABILITY = (8, 0)
"""Compute capability from which vLLM has batch-invariant kernels for NVIDIA's GPUs."""


MORE_ARGUMENTS: Final = (
    "async_scheduling",
    "attention_backend",
    "block_size",
    "cpu_offload_gb",
    "disable_cascade_attn",
    "enable_chunked_prefill",
    "enable_expert_parallel",
    "enable_prefix_caching",
    "enforce_eager",
    "kv_cache_dtype",
    "kv_cache_memory_bytes",
    "max_num_batched_tokens",
    "num_gpu_blocks_override",
    "optimization_level",
    "performance_mode",
    "pipeline_parallel_size",
    "quantization",
    "seed",
)
"""Arguments of vLLM's engine that a study may give: those of speed and memory. Others name code, files or
addresses, and a study file may come from somebody else."""

_VALUE = re.compile(r"[\w-]*")


class Device(NamedTuple):
    """What vLLM computes on.

    Attributes:
        kind: ``cuda``, ``rocm``, ``xpu``, ``cpu`` …, as vLLM's platforms are named.
        name: Its name, for people.
        capability: Compute capability of an NVIDIA GPU, otherwise None.
    """

    kind: str
    name: str
    capability: tuple[int, int] | None = None

    @property
    def has_invariant_kernels(self) -> bool:
        """Whether an answer can be made independent of the batch that it is computed in.

        >>> Device("cuda", "H200", (9, 0)).has_invariant_kernels
        True
        >>> Device("cuda", "T4", (7, 5)).has_invariant_kernels, Device("cpu", "").has_invariant_kernels
        (False, False)
        """
        if self.kind == "cuda":
            return self.capability is not None and self.capability >= _LEAST_CAPABILITY
        return self.kind in ("rocm", "xpu")

    @property
    def can_repeat(self) -> bool:
        """Whether ``mode: repeatable`` works here: on a processor, one answer at a time does the same."""
        return self.has_invariant_kernels or self.kind == "cpu"

    def repeats_by(self, mode: str) -> str:
        """What makes answers repeat themselves, for the provenance."""
        if mode == "fast":
            return "nothing: answers depend on what is computed beside them"
        return "batch-invariant kernels" if self.has_invariant_kernels else "one answer at a time"


def checked_arguments(given: Mapping[str, Any], allowed: Collection[str] = MORE_ARGUMENTS) -> dict[str, Any]:
    """Arguments of vLLM's engine, as a study gives them.

    Args:
        given: The arguments.
        allowed: Those that it may give.

    Raises:
        UnknownName: A study may not give one of them.
        SpecError: A value is no number, no switch and no name.
    """
    for name, value in given.items():
        if name not in allowed:
            raise UnknownName(
                "argument of vLLM's engine",
                name,
                allowed,
                where="engine",
                fix=f"{_nearest(name, allowed)}write a plug-in: a subclass of VLLM whose `allowed` has it",
            )
        if not isinstance(value, int | float) and not (isinstance(value, str) and _VALUE.fullmatch(value)):
            raise SpecError(
                "not a value for an argument of vLLM's engine",
                where=f"engine.{name}",
                expected="a number, true or false, or a name of letters, digits, - and _",
                found=repr(value)[:100],
            )
    return dict(given)


def _nearest(name: str, allowed: Collection[str]) -> str:
    guess = nearest(name, allowed)
    return f"did you mean {guess!r}? If not, " if guess else ""


def engine_arguments(
    source: Mapping[str, Any], device: Device, mode: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of vLLM's engine.

    Args:
        source: The model's name or folder, and the revision of a name.
        device: What it computes on.
        mode: ``repeatable`` or ``fast``.
        given: Arguments that the study gives; they replace what is usual, but not what the mode needs.
    """
    arguments: dict[str, Any] = {
        "model": source["pretrained_model_name_or_path"],
        "max_logprobs": -1,  # as many as the vocabulary has
        "max_num_seqs": _AT_ONCE,
        "seed": 0,
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
    }
    if revision := source.get("revision"):
        arguments |= {"revision": revision, "tokenizer_revision": revision}
    if device.kind == "cpu":
        # Compiling takes minutes and needs a C++ compiler.
        arguments["enforce_eager"] = True
        # After the first part of a prompt, vLLM sets the seed's generator back; on processors that fails.
        arguments["enable_chunked_prefill"] = False
        if "gpu_memory_utilization" not in given:
            arguments["kv_cache_memory_bytes"] = _KV_ON_PROCESSORS
    arguments |= given
    if mode == "repeatable" and not device.has_invariant_kernels:
        arguments |= {"max_num_seqs": 1, "enable_prefix_caching": False}
    return arguments


def sampling(request: Request, vocabulary: int) -> dict[str, Any]:
    """The sampling parameters of a request. Those of a constraint are under ``structured_outputs``.

    vLLM gives the samples of a request seeds that count up from the first, as Quaver's calls have them.

    Args:
        request: The request.
        vocabulary: The number of tokens that the model knows.
    """
    decoding = request.decoding
    asked: dict[str, Any] = {
        "n": samples(request),
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "top_k": decoding.top_k,
        "min_p": decoding.min_p,
        "repetition_penalty": decoding.repeat_penalty,
        "max_tokens": decoding.max_tokens,
    }
    if decoding.temperature:
        asked["seed"] = request.seed
    if decoding.stop:
        asked["stop"] = list(decoding.stop)
    if decoding.logprobs:
        asked["logprobs"] = decoding.logprobs if decoding.logprobs < vocabulary else -1
    if request.schema:
        asked["structured_outputs"] = {"json": request.schema}
    elif request.choices:
        asked["structured_outputs"] = {"choice": [sendable(choice) for choice in request.choices]}
    return asked


def samples(request: Request) -> int:
    """How many answers are written: one for all calls if nothing is drawn at random."""
    return len(request.calls) if request.decoding.temperature else 1


def responses_of(output: Any, request: Request, seconds: float) -> list[Response]:
    """A response for each of a request's calls.

    Args:
        output: vLLM's ``RequestOutput``.
        request: The request that it answers.
        seconds: How long it took.
    """
    drawn = sorted(output.outputs, key=lambda one: int(one.index))
    prompt, cached = len(output.prompt_token_ids), output.num_cached_tokens
    latency = seconds / len(request.calls)
    responses = [
        Response(
            "",
            finish="error",
            error=f"vLLM gave this answer up: {one.finish_reason}",
            prompt_tokens=prompt,
            latency=latency,
        )
        if one.finish_reason in ("abort", "error")
        else Response(
            one.text,
            finish="length" if one.finish_reason == "length" else "stop",
            tokens=_tokens(one.token_ids, one.logprobs, request.decoding.logprobs),
            prompt_tokens=prompt,
            cached_tokens=cached if len(drawn) == 1 else None,
            completion_tokens=len(one.token_ids),
            latency=latency,
        )
        for one in drawn
    ]
    return responses if len(responses) == len(request.calls) else responses * len(request.calls)


def _tokens(ids: Iterable[int], places: Iterable[Mapping[int, Any]] | None, most: int) -> tuple[Token, ...]:
    """The answer's tokens. vLLM adds the one that it took to the most likely ones, if it is not of them."""
    if not most or places is None:
        return ()
    tokens = []
    for taken, place in zip(ids, places, strict=False):
        # Under a constraint, tokens that cannot follow have no probability at all.
        possible = [one for one in place.values() if one.logprob > -math.inf]
        possible.sort(key=lambda one: (-one.logprob, one.rank))
        top = tuple((one.decoded_token or "", float(one.logprob)) for one in possible[:most])
        tokens.append(Token(place[taken].decoded_token or "", float(place[taken].logprob), top))
    return tuple(tokens)
