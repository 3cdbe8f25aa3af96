"""vLLM's engine in this process: loading it, handing requests to it, and its failures as Quaver's errors.

vLLM keeps its state in the process, so there is one engine at a time.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from typing import Any

from quaver.errors import ModelError
from quaver.models.local.causal import pytorch
from quaver.models.local.extras import unfit_library
from quaver.models.local.vllm_protocol import Device

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
        """Hand a request over, to be computed beside the others.

        Args:
            name: Its name in ``step``.
            tokens: The prompt.
            sampling: Sampling parameters.

        Raises:
            ModelError: vLLM refuses it.
        """
        asked = dict(sampling)
        with _translated(f"vLLM did not take a request to {self._name}"):
            if structure := asked.pop("structured_outputs", None):
                asked["structured_outputs"] = self._structure(**structure)
            prompt = self._prompt(prompt_token_ids=list(tokens))
            self._engine.add_request(name, prompt, self._sampling(output_kind=self._whole, **asked))

    def step(self) -> Iterator[tuple[str, Any]]:
        """Compute one token of as many answers as fit; those that are now complete, by name.

        Raises:
            ModelError: vLLM fails.
        """
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
    """Say which kernels to use, before vLLM looks.

    Raises:
        ModelError: It has looked already.
    """
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
