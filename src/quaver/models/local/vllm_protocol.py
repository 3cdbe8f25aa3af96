"""Requests as vLLM's sampling parameters, its outputs as responses, and the arguments of its engine.

Nothing here imports vLLM.
"""

from __future__ import annotations

import gc
import math
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from typing import Any, Final, NamedTuple

from quaver.core.records import Request, Response, Token
from quaver.core.response_validation import error_response
from quaver.errors import ModelError, SpecError, UnknownName, nearest
from quaver.models._defaults import sendable
from quaver.models.local.checkpoint import pytorch
from quaver.models.local.extras import unfit_library

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
    """Arguments of vLLM's engine, as a study gives them."""
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
    """The arguments of vLLM's engine."""
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
    """A response for each of a request's calls."""
    drawn = sorted(output.outputs, key=lambda one: int(one.index))
    prompt, cached = len(output.prompt_token_ids), output.num_cached_tokens
    latency = seconds / len(request.calls)
    responses = [
        error_response(
            f"vLLM gave this answer up: {one.finish_reason}", prompt_tokens=prompt, latency=latency
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


_INVARIANT = "VLLM_BATCH_INVARIANT"
_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # in this process, which schedules the same each time
    "VLLM_LOGGING_LEVEL": "CRITICAL",  # an error is raised, and is said once
    "VLLM_NO_USAGE_STATS": "1",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
}
"""What vLLM and PyTorch read when they are imported, unless the user has set it."""

_FIXES = {
    "batch invarian": "`mode: fast`, or another `engine: {attention_backend: …}`",
    "max seq len": "give the model a smaller `context`",
    "max_model_len": "give the model a smaller `context`",
    "memory": "a smaller `context` or `memory`, `dtype: bfloat16`, or `parallel: N` over several GPUs",
}
"""What to do, by what the error says."""


def vllm_device() -> Device:
    """What vLLM computes on here."""
    _set_up()
    with _quiet():
        from vllm.platforms import current_platform as here
    kind = str(here._enum.name).lower()
    if kind in ("cpu", "unspecified"):
        return Device(kind, "processor" if kind == "cpu" else "none")
    found = here.get_device_capability() if kind == "cuda" else None
    return Device(kind, str(here.get_device_name()), (found.major, found.minor) if found else None)


class Engine:
    """A loaded engine.

    Args:
        name: The model's name, for errors.
        arguments: Arguments of vLLM's engine.
        invariant: Whether to use batch-invariant kernels.

    Raises:
        ModelError: It cannot be loaded.
    """

    def __init__(self, name: str, arguments: Mapping[str, Any], *, invariant: bool) -> None:
        self._name = name
        _choose_kernels(invariant)
        with _translated(f"vLLM cannot load {name}"), _quiet():
            from vllm import SamplingParams, TokensPrompt
            from vllm.engine.arg_utils import EngineArgs
            from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams
            from vllm.v1.engine.llm_engine import LLMEngine

            self._engine: Any = LLMEngine.from_engine_args(EngineArgs(**arguments))
        self._prompt, self._sampling = TokensPrompt, SamplingParams
        self._structure, self._whole = StructuredOutputsParams, RequestOutputKind.FINAL_ONLY
        self.longest = int(self._engine.model_config.max_model_len)
        self.vocabulary = int(self._engine.model_config.get_vocab_size())

    def submit(self, name: str, tokens: Sequence[int], sampling: Mapping[str, Any]) -> None:
        """Hand a request over, to be computed beside the others."""
        asked = dict(sampling)
        with _translated(f"vLLM did not take a request to {self._name}"):
            if structure := asked.pop("structured_outputs", None):
                asked["structured_outputs"] = self._structure(**structure)
            prompt = self._prompt(prompt_token_ids=list(tokens))
            self._engine.add_request(name, prompt, self._sampling(output_kind=self._whole, **asked))

    def step(self) -> Iterator[tuple[str, Any]]:
        """Compute one token of as many answers as fit; those that are now complete, by name."""
        with _translated(f"vLLM failed while {self._name} answered"):
            outputs = self._engine.step()
        for output in outputs:
            if output.finished:
                yield output.request_id, output

    def abort(self, names: Sequence[str]) -> None:
        """Give requests up."""
        self._engine.abort_request(list(names))

    def close(self) -> None:
        """Release the weights."""
        with _quiet():
            from vllm.distributed import cleanup_dist_env_and_memory

            self._engine.engine_core.shutdown()
            self._engine = None
            gc.collect()
            cleanup_dist_env_and_memory()


def _set_up() -> None:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    pytorch()  # threads that sleep while they wait


def _choose_kernels(invariant: bool) -> None:
    """Say which kernels to use, before vLLM looks."""
    wanted = str(int(invariant))
    if os.environ.get(_INVARIANT, "0") == wanted:
        return
    if "vllm.v1.engine.llm_engine" in sys.modules:
        raise ModelError(
            "vLLM has one mode in a process",
            expected="the same `mode` for all models with `use: vllm`",
            found="repeatable and fast",
            fix="give them the same mode, or run on Ray, where each model has processes of its own",
        )
    os.environ[_INVARIANT] = wanted


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide what vLLM and PyTorch say while they load."""
    with warnings.catch_warnings(), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # vLLM, PyTorch, CUDA and grammars fail in many ways
        found = f"{type(error).__name__}: {error}".strip()
        fixes = (fix for sign, fix in _FIXES.items() if sign in found.lower())
        raise ModelError(what, found=found[:300], fix=unfit_library(error) or next(fixes, None)) from error
