"""``gpt4all``: a GGUF file in this process, through the GPT4All library, as its desktop program runs it.

The library has neither seeds nor log-probabilities, and its llama.cpp is of 2024, so it cannot read newer
kinds of models (``llamacpp`` can). Prompts go through the file's own chat template.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from quaver.core.calls import Message, Request, Response
from quaver.core.model import Abilities, Answered
from quaver.core.records import Decoding
from quaver.core.response_validation import error_response
from quaver.errors import ModelError
from quaver.models._defaults import Defaults, before_stop, plain_text, turns
from quaver.models.local.extras import require
from quaver.models.local.weights import digest, find_weights

_READ_TOGETHER = 128
_ERROR = -1
"""The token id that the library sends if it cannot answer; its text says why."""


class GPT4All(Defaults):
    """A GGUF model in this process, through GPT4All.

    Args:
        model: The path of a GGUF file, or a bundled model's name.
        context: Tokens of prompt and answer together; a longer item becomes an error response.
        device: ``cpu``, ``gpu``, ``cuda``, ``kompute``, or a device's name, as GPT4All takes them.
        threads: Processor threads; GPT4All's choice by default.
    """

    abilities = Abilities(
        plain=True,
        decoding=frozenset(["top_p", "top_k", "min_p", "repeat_penalty", "stop"]),
        local=True,
    )

    def __init__(
        self, *, model: str, context: int = 2048, device: str = "cpu", threads: int | None = None
    ) -> None:
        require("gpt4all", "gguf", "gpt4all")
        self._name, self._path = model, find_weights(model)
        self._context, self._device, self._threads = context, device, threads
        self._library: Any = None

    @cached_property
    def _digest(self) -> str:
        return digest(self._path)

    def identity(self) -> str:
        """The weights."""
        return f"gpt4all sha256:{self._digest}"

    def provenance(self) -> Mapping[str, Any]:
        """File, hash, library version and options."""
        return {
            "engine": "gpt4all",
            "model": self._name,
            "file": self._path.name,
            "sha256": self._digest,
            "context": self._context,
            "device": self._device,
            "gpt4all": version("gpt4all"),
        }

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer one call after another."""
        for request in requests:
            prompt = self._prompt(request.prompt.messages)
            yield request, [self._call(prompt, request.decoding) for _ in request.calls]

    def close(self) -> None:
        """Release the weights."""
        if self._library is not None:
            self._library.close()
        self._library = None

    # ------------------------------------------------------------------ one call

    def _call(self, prompt: str, decoding: Decoding) -> Response:
        library, written = self._load(), _Written(decoding.stop)
        started = time.perf_counter()
        library.model.prompt_model(
            prompt,
            "%1",
            written.take,
            n_predict=decoding.max_tokens,
            temp=decoding.temperature,
            top_p=decoding.top_p,
            top_k=decoding.top_k,
            min_p=decoding.min_p,
            repeat_penalty=decoding.repeat_penalty,
            repeat_last_n=64,
            n_batch=_READ_TOGETHER,
            reset_context=True,
            special=True,
        )
        seconds = time.perf_counter() - started
        if written.error:
            reason = "context overflow: " * ("context" in written.error) + written.error
            return error_response(reason, latency=seconds)
        return Response(
            written.text,
            finish="length" if written.tokens >= decoding.max_tokens and not written.stopped else "stop",
            completion_tokens=written.tokens,
            latency=seconds,
        )

    def _load(self) -> Any:
        if self._library is None:
            import gpt4all
            from gpt4all._pyllmodel import llmodel

            try:
                library = gpt4all.GPT4All(
                    self._path.name,
                    model_path=self._path.parent,
                    allow_download=False,
                    device=self._device,
                    n_ctx=self._context,
                    n_threads=self._threads,
                )
                loaded = bool(llmodel.llmodel_isModelLoaded(library.model.model))
            except (RuntimeError, ValueError, OSError) as error:
                raise self._unloadable(str(error)) from error
            if not loaded:  # the library only prints it
                raise self._unloadable("")
            self._library = library
        return self._library

    def _unloadable(self, found: str) -> ModelError:
        return ModelError(
            f"GPT4All cannot load {self._path.name}",
            expected="a GGUF file of a kind that was known in 2024, an existing device, and enough memory",
            found=found[:300] or None,
            fix="`use: llamacpp` reads newer kinds",
        )

    # ------------------------------------------------------------------ the chat template

    def _prompt(self, messages: Sequence[Message]) -> str:
        # The library reads a text up to a NUL.
        whole = [message._replace(content=message.content.replace("\0", "?")) for message in messages]
        plain = plain_text(whole)
        if plain is not None:
            return plain
        try:
            return self._template(turns(whole))
        except TemplateError as error:
            raise ModelError(
                f"the chat template of {self._path.name} does not take these messages", found=str(error)[:300]
            ) from error

    @cached_property
    def _template(self) -> Callable[[list[dict[str, str]]], str]:
        from gguf import GGUFReader

        fields = GGUFReader(self._path).fields
        if "tokenizer.chat_template" not in fields:
            raise ModelError(
                f"{self._path.name} has no chat template",
                expected="a model that was tuned to chat",
                fix="ask a base model in plain text: `frame: plain` under prompt",
            )
        words = fields["tokenizer.ggml.tokens"]
        known = {"add_generation_prompt": True, "raise_exception": _refuse}
        for name in ("bos", "eos"):
            number = fields.get(f"tokenizer.ggml.{name}_token_id")
            known[f"{name}_token"] = words.contents(number.contents()) if number else ""
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        template = environment.from_string(fields["tokenizer.chat_template"].contents())
        return lambda said: template.render(known, messages=said)


class _Written:
    """The answer so far."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self.text, self.error = "", ""
        self.tokens, self.stopped = 0, False

    def take(self, token: int, piece: str) -> bool:
        """Add a token.

        Returns:
            Whether the library should continue.
        """
        if token == _ERROR:
            self.error = piece
            return False
        self.tokens += 1
        self.text += piece
        if (text := before_stop(self.text, self._stops)) is not None:
            self.text, self.stopped = text, True
        return not self.stopped


def _refuse(reason: str) -> None:
    raise TemplateError(reason)
