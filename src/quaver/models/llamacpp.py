"""``llamacpp``: any GGUF model, in this process, through llama.cpp.

The mode ``repeatable`` (the default) gives bitwise identical answers to the same call, whatever else is asked
before or beside it: flash attention is off, repeats have their own caches, and every prompt's last token is
read alone, after the rest. (If a prompt is read at once, its last token shares a matrix product with others,
which rounds differently from the cache.) The mode ``fast`` omits all this.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any, Literal
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from quaver.core.calls import Message, Request, Response
from quaver.core.model import Abilities, Answered
from quaver.errors import ModelError
from quaver.models._defaults import plain_text, sendable, too_long, turns
from quaver.models.local.extras import cores, require, spin_briefly, waiting
from quaver.models.local.weights import digest, find_weights
from quaver.models.served.dialects import CHAT_API
from quaver.models.served.presets import PRESETS
from quaver.models.served.server_reply import response_in

_CELLS = 32768
"""Tokens in the caches of all slots together, unless the study gives the number of slots."""

_MOST_SLOTS = 32


class LlamaCpp:
    """A GGUF model in this process.

    Args:
        model: A bundled model's name (``smollm2-135m-instruct``) or the path of a GGUF file.
        mode: ``repeatable`` or ``fast``; see the module.
        context: Maximum tokens of prompt and answer together; a longer prompt becomes an error response.
        slots: Repeats decoded in parallel; by default as many as the study has, within memory.
        threads: Processor threads; by default one per core. They do not change the answers.

    Messages go through the model's own chat template; a ``plain`` one is sent as it is.

    Log-probabilities are those of the model's own distribution, before temperature and any cut.
    Samplers run in llama.cpp's order: penalties, top_k, top_p, min_p, temperature.
    """

    abilities = Abilities(
        logprobs=500,
        constraint=True,
        seed=True,
        plain=True,
        schema=True,
        decoding=frozenset(["top_p", "top_k", "min_p", "repeat_penalty", "stop"]),
        continues=True,
        local=True,
    )

    def __init__(
        self,
        *,
        model: str,
        mode: Literal["repeatable", "fast"] = "repeatable",
        context: int = 2048,
        slots: int | None = None,
        threads: int | None = None,
    ) -> None:
        require("local", "xllamacpp")
        self._name = model
        self._path = find_weights(model)
        self._mode, self._context = mode, context
        self._threads = threads or cores()
        self._slots = slots
        self._wanted_slots = 1
        self._server: Any = None
        self._last_read: tuple[Message, ...] = ()

    @cached_property
    def _digest(self) -> str:
        return digest(self._path)

    def identity(self) -> str:
        """Weights and mode."""
        return f"llamacpp sha256:{self._digest} {self._mode}"

    def provenance(self) -> Mapping[str, Any]:
        """File, hash, library version and options."""
        xllamacpp = _library()
        return {
            "engine": "llamacpp",
            "model": self._name,
            "file": self._path.name,
            "sha256": self._digest,
            "mode": self._mode,
            "context": self._context,
            "xllamacpp": version("xllamacpp"),
            "processor": xllamacpp.get_system_info().strip(),
            "threads": self._threads or "llama.cpp's choice",
            "threads_wait": waiting(),
        }

    def prepare(self, repeats: int) -> None:
        """Make room for this many repeats in parallel."""
        wanted = self._slots or max(1, min(repeats, _MOST_SLOTS, _CELLS // self._context))
        if wanted > self._wanted_slots:
            self._wanted_slots = wanted
            self.close()

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer one request after another."""
        for request in requests:
            started = time.perf_counter()
            responses = self._answer(request)
            share = (time.perf_counter() - started) / len(responses)
            yield request, [response._replace(latency=share) for response in responses]

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """The number of tokens of each prompt, including the chat template."""
        counts = []
        for prompt in prompts:
            text = plain_text(prompt)
            if text is None:
                asked = {"messages": turns(prompt)}
                text = self._http("/apply-template", asked)["prompt"]
            body = {"content": text, "add_special": True, "parse_special": True}
            counts.append(len(self._http("/tokenize", body)["tokens"]))
        return counts

    def close(self) -> None:
        """Release the weights."""
        self._server = None
        self._last_read = ()

    # ------------------------------------------------------------------ one request

    def _answer(self, request: Request) -> list[Response]:
        self._load()
        read = self._read_prompt(request.prompt.messages) if self._mode == "repeatable" else None
        if isinstance(read, Response):
            return [read] * len(request.calls)
        responses: list[Response] = []
        for first in range(0, len(request.calls), self._wanted_slots):
            n = min(self._wanted_slots, len(request.calls) - first)
            body = CHAT_API.body(PRESETS["llamacpp_server"], self._name, request)
            if body.pop("response_format", None):  # which a prompt without a chat template does not take
                body["json_schema"] = json.loads(request.schema)
            reply = self._send(body | {"seed": request.seed + first, "n": n})
            failed = failure_of(reply)
            responses += [failed] * n if failed else responses_of(reply, request, read)
            read = 0
        return responses

    def _read_prompt(self, messages: tuple[Message, ...]) -> int | Response:
        """Read a prompt into the cache, so that its last token is always read alone.

        Returns:
            How many tokens were not in the cache, or the error.
        """
        if messages == self._last_read:
            return 0
        # A prompt that continues the last one would build on a token that was read alone. Read
        # cold, it does not depend on what was asked before.
        cached = not continues(messages, self._last_read)
        self._last_read = ()
        text = plain_text(messages)
        said: dict[str, Any] = {"messages": turns(messages)} if text is None else {"prompt": text}
        reply = self._send(said | {"max_tokens": 0, "cache_prompt": cached})
        failed = failure_of(reply)
        if failed:
            return failed
        self._last_read = messages
        return int(reply["timings"]["prompt_n"])

    def _send(self, body: dict[str, Any]) -> dict[str, Any]:
        handle = self._server.handle_completions if "prompt" in body else self._server.handle_chat_completions
        try:
            return handle({"id_slot": 0, "cache_prompt": True, "stream": False} | body)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError) as error:
            raise ModelError(
                f"llama.cpp did not take a request to {self._name}", found=str(error)[:300]
            ) from error

    def _load(self) -> None:
        if self._server is not None:
            return
        xllamacpp = _library()
        repeatable = self._mode == "repeatable"
        flash = xllamacpp.llama_flash_attn_type
        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_parallel = self._wanted_slots
        params.kv_unified = not repeatable
        params.n_ctx = self._context * (self._wanted_slots if repeatable else 1)
        if not repeatable:
            params.n_ctx = max(self._context, min(_CELLS, self._context * self._wanted_slots))
        params.flash_attn_type = (
            flash.LLAMA_FLASH_ATTN_TYPE_DISABLED if repeatable else flash.LLAMA_FLASH_ATTN_TYPE_AUTO
        )
        params.cache_ram_mib = 0  # one prompt at a time; older ones are never needed again
        params.warmup = False
        params.verbosity = -1
        params.endpoint_slots = params.endpoint_props = False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads or -1
        try:
            self._server = xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            raise ModelError(
                f"llama.cpp cannot load {self._path.name}",
                expected="a GGUF file that this version of xllamacpp can read, and memory for it",
                found=str(error)[:300],
            ) from error

    def _http(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the engine's local HTTP server for what only that offers."""
        self._load()
        url = self._server.listening_address + path
        head = {"Content-Type": "application/json"}
        try:
            with urlopen(HttpRequest(url, json.dumps(body).encode(), head)) as reply:
                return json.load(reply)  # type: ignore[no-any-return]
        except OSError as error:
            raise ModelError("llama.cpp's own server does not answer", where=url, found=str(error)) from error


def _library() -> Any:
    """The bindings, with threads that wait as `quaver.models.local.extras` describes."""
    spin_briefly()
    import xllamacpp

    return xllamacpp


def continues(messages: Sequence[Message], before: Sequence[Message]) -> bool:
    """Whether a prompt continues a whole earlier one, including a begun answer."""
    if not before:
        return False
    text, start = plain_text(messages), plain_text(before)
    if text is not None:
        return start is not None and text.startswith(start)
    new = [(role, content.strip()) for role, content in messages]
    *whole, (role, last) = [(role, content.strip()) for role, content in before]
    if new[: len(whole)] != whole or len(new) <= len(whole) or new[len(whole)][0] != role:
        return False
    same = new[len(whole)][1]
    if role == "assistant":  # a begun message that continued
        return same.startswith(last)
    return len(new) > len(before) and same == last


def failure_of(reply: Mapping[str, Any]) -> Response | None:
    """The response to a prompt that is too long; other errors end the run."""
    error = reply.get("error")
    if not error:
        return None
    if error.get("type") == "exceed_context_size_error":
        size, room = error.get("n_prompt_tokens"), error.get("n_ctx")
        return too_long(size, room)
    raise ModelError("llama.cpp refused a request", found=str(error.get("message"))[:300])


def responses_of(reply: Mapping[str, Any], request: Request, read: int | None) -> list[Response]:
    """The responses in a reply."""
    usage = reply["usage"]
    prompt, answered = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
    cached = int(usage.get("prompt_tokens_details", {}).get("cached_tokens", 0))
    drawn, begun = (
        len(reply["choices"]),
        (
            sendable(request.prompt.messages[-1].content)
            if request.prompt.messages[-1].role == "assistant"
            else ""
        ),
    )
    together = {"completion_tokens_of_request": answered, "answers_of_request": drawn} if drawn > 1 else None
    return [
        response_in(
            choice,
            request.decoding.logprobs,
            begun,
            prompt_tokens=prompt,
            cached_tokens=cached if read is None else prompt - read,
            completion_tokens=answered if drawn == 1 else None,
            raw=together,
        )
        for choice in sorted(reply["choices"], key=lambda choice: int(choice["index"]))
    ]
