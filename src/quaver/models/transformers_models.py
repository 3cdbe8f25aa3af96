"""``transformers``: any causal language model that Hugging Face transformers loads, in this process.

The mode ``repeatable`` (the default) reads every prompt and writes every answer alone, so that the same call
gives bitwise identical answers whatever else is asked. The mode ``fast`` batches them, which changes the last
digits of log-probabilities. Each call has its own seed in both. A prompt is read once for all its repeats.

A model restricted to choices is not steered token by token: each choice is read whole after the prompt, its
likelihood is the product of its tokens' probabilities, and the answer is the most likely choice, or drawn
from exactly that distribution. If one choice is a prefix of another (1 and 10), the end of the answer counts
as one more token. The response then has a single token, which stands for the whole answer and lists all
choices.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from typing import Any, Literal

from quaver.core.model import Answered
from quaver.core.records import Message, Request, Response
from quaver.errors import ModelError
from quaver.models._defaults import LOCAL, Defaults, too_long
from quaver.models.local.checkpoint import (
    Causal,
    Checkpoint,
    Read,
    ends_of,
    load_network,
    pytorch,
)
from quaver.models.local.extras import require
from quaver.models.local.llama_protocol import Draft, Words, draw_text

_CONTEXT = 2048
"""Context of a model that does not state its own."""


class Transformers(Defaults):
    """A causal language model in this process, through PyTorch.

    Args:
        model: A name on the Hugging Face hub, a folder that ``save_pretrained`` wrote, the path of a GGUF
            file, or a bundled model's name (``smollm2-135m-instruct``).
        revision: Branch, tag or commit of a name on the hub. A local copy is not updated.
        mode: ``repeatable`` or ``fast``; see the module.
        batch: Answers that ``fast`` writes in parallel.
        context: Maximum tokens of prompt and answer together; by default the model's own. A longer prompt
            becomes an error response.
        dtype: The numeric type; a GGUF file's weights are converted to it.
        device: ``cpu``, ``cuda`` or ``mps``; by default the first accelerator that PyTorch finds.
        threads: Processor threads; PyTorch's choice by default.

    Messages go through the model's own chat template; a ``plain`` one is sent as it is.

    Log-probabilities are those of the model's own distribution, before temperature and any cut, up to the
    whole vocabulary. Samplers run in llama.cpp's order; the repetition penalty looks at the whole prompt
    and answer (llama.cpp's at the last 64 tokens).
    """

    abilities = replace(LOCAL, logprobs=1_000_000)

    def __init__(
        self,
        *,
        model: str,
        revision: str | None = None,
        mode: Literal["repeatable", "fast"] = "repeatable",
        batch: int = 16,
        context: int | None = None,
        dtype: Literal["float32", "bfloat16", "float16"] = "float32",
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        require("hf", "torch", "transformers")
        self._checkpoint = Checkpoint(model, revision)
        self._mode, self._batch, self._context = mode, max(1, batch), context
        self._dtype, self._device, self._threads = dtype, device, threads
        self._causal: Causal | None = None
        self._longest = context or 0
        self._ends: list[int] = []

    def identity(self) -> str:
        """Weights, mode and precision."""
        return f"transformers {self._checkpoint.identity} {self._mode} {self._dtype}"

    def provenance(self) -> Mapping[str, Any]:
        """Weights, library versions, device and options."""
        torch = pytorch()

        return {
            "engine": "transformers",
            "model": self._checkpoint.name,
            "weights": self._checkpoint.identity,
            "mode": self._mode,
            "context": self._context,
            "dtype": self._dtype,
            "device": self._where,
            "threads": self._threads or torch.get_num_threads(),
            "transformers": version("transformers"),
            "torch": version("torch"),
        }

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer requests one after another or, with ``fast``, in batches."""
        for group in self._groups(requests):
            started = time.perf_counter()
            answered = self._answer(group)
            share = (time.perf_counter() - started) / sum(len(responses) for responses in answered)
            for request, responses in zip(group, answered, strict=True):
                yield request, [response._replace(latency=share) for response in responses]

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """The number of tokens of each prompt, including the chat template."""
        return [len(self._checkpoint.tokens(prompt)) for prompt in prompts]

    def close(self) -> None:
        """Release the weights."""
        self._causal = None

    # ------------------------------------------------------------------ requests

    def _groups(self, requests: Iterable[Request]) -> Iterator[list[Request]]:
        group: list[Request] = []
        for request in requests:
            group.append(request)
            if self._mode == "repeatable" or sum(len(one.calls) for one in group) >= self._batch:
                yield group
                group = []
        if group:
            yield group

    def _answer(self, group: Sequence[Request]) -> list[list[Response]]:
        causal = self._load()
        prompts = [self._checkpoint.tokens(request.prompt.messages) for request in group]
        fit = [index for index, prompt in enumerate(prompts) if len(prompt) < self._longest]
        answered = {}
        if fit:
            with _translated():
                answered = self._answer_those(
                    causal, {index: (group[index], prompts[index]) for index in fit}
                )
        return [
            answered.get(index) or [too_long(len(prompts[index]), self._longest)] * len(request.calls)
            for index, request in enumerate(group)
        ]

    def _answer_those(
        self, causal: Causal, asked: Mapping[int, tuple[Request, list[int]]]
    ) -> dict[int, list[Response]]:
        read = causal.read([prompt for _, prompt in asked.values()])
        answered, drafts, lines = {}, {}, []
        for row, (index, (request, prompt)) in enumerate(asked.items()):
            if request.choices:
                answered[index] = self._choose(causal, causal.take(read, [row]), request, len(prompt))
            else:
                drafts[index] = self._drafts(request, prompt)
                lines += [(row, draft) for draft in drafts[index]]
        self._write(causal, read, lines)
        for index, written in drafts.items():
            responses = [draft.response() for draft in written]
            calls = len(asked[index][0].calls)
            answered[index] = responses if len(responses) == calls else responses * calls
        return answered

    def _drafts(self, request: Request, prompt: Sequence[int]) -> list[Draft]:
        """One draft per call, or one for all if nothing is drawn at random."""
        calls = 1 if request.decoding.temperature == 0 else len(request.calls)
        room = self._longest - len(prompt)
        return [
            Draft(prompt, request.decoding, request.seed + n, words=self._words, ends=self._ends, room=room)
            for n in range(calls)
        ]

    def _write(self, causal: Causal, read: Read, lines: Sequence[tuple[int, Draft]]) -> None:
        """Complete answers, each given with the row of its prompt."""
        begun = [(row, draft, draft.take(read.logits[row])) for row, draft in lines]
        left = [(row, draft, token) for row, draft, token in begun if token is not None]
        step = self._batch if self._mode == "fast" else 1
        for first in range(0, len(left), step):
            rows, drafts, tokens = map(list, zip(*left[first : first + step], strict=True))
            state = causal.take(read, rows)
            while drafts:
                state = causal.go_on(state, tokens)
                taken = [draft.take(logits) for draft, logits in zip(drafts, state.logits, strict=True)]
                on = [index for index, token in enumerate(taken) if token is not None]
                if on and len(on) < len(drafts):
                    state = causal.keep(state, on)
                drafts, tokens = [drafts[index] for index in on], [taken[index] for index in on]

    def _choose(self, causal: Causal, read: Read, request: Request, prompt_tokens: int) -> list[Response]:
        texts = list(dict.fromkeys(request.choices))
        tokens = {text: self._words.tokens(text) for text in texts}
        begins = any(one != other and other.startswith(one) for one in texts for other in texts)
        likelihoods = causal.likelihoods(read, list(tokens.values()), self._ends if begins else ())
        responses = []
        for number in range(len(request.calls)):
            text, token = draw_text(texts, likelihoods, request.decoding, request.seed + number)
            responses.append(
                Response(
                    text=text,
                    tokens=(token,) if request.decoding.logprobs else (),
                    prompt_tokens=prompt_tokens,
                    cached_tokens=0,
                    completion_tokens=len(tokens[text]),
                )
            )
        return responses

    # ------------------------------------------------------------------ loading

    @cached_property
    def _where(self) -> str:
        torch = pytorch()

        if self._device:
            return self._device
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"

    @cached_property
    def _words(self) -> Words:
        return Words(self._checkpoint.tokenizer)

    def _load(self) -> Causal:
        if self._causal is None:
            if self._threads:
                pytorch().set_num_threads(self._threads)
            network = load_network(self._checkpoint, self._dtype, self._where)
            config = network.config.get_text_config()
            self._longest = self._context or getattr(config, "max_position_embeddings", None) or _CONTEXT
            self._ends = ends_of(network, self._checkpoint.tokenizer)
            self._causal = Causal(network)
        return self._causal


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # PyTorch's own, out of memory among them
        raise ModelError(
            "PyTorch failed",
            found=str(error).partition("\n")[0][:300],
            fix="if memory is short, use a smaller `batch` or `context`, or `dtype: bfloat16`",
        ) from error
