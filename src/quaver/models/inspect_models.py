"""``inspect``: any model of inspect-ai, by its name there: ``anthropic/…``, ``bedrock/…``, ``hf/…``.

Many requests are in flight at a time. inspect-ai retries temporary failures; a call that it gives up becomes
an error response. Which options a provider honours is as inspect-ai documents it.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any

from quaver.core.conversation import Coroutines, answers_of
from quaver.core.model import Abilities, Answered
from quaver.core.records import Decoding, Message, Request, Response, Token
from quaver.core.response_validation import FailedItems, error_response, failed_response, printable
from quaver.errors import MissingKey, ModelError, SpecError
from quaver.models._defaults import Defaults, sendable
from quaver.models.local.extras import require
from quaver.models.served.server_options import checked_body, checked_url

_FIRST = 4
"""Calls at a time until one is answered, and refusals until then after which no more are asked."""

_REFUSED = "refused by the provider: "
_CLIENT, _PASSING = (400, 500), (408, 409, 425, 429)
"""Statuses of requests that are refused, and those of them that pass."""

_LOGPROBS = ("google", "grok", "hf", "openai")
_SEEDS = ("google", "groq", "hf", "mistral", "openai", "vllm")
_TOP_K = ("google", "hf")
_SCHEMAS = ("google", "mistral", "openai")


class Inspect(Defaults):
    """A model of inspect-ai.

    Args:
        model: ``provider/name``. Keys come from the environment, as inspect-ai names them.
        connections: Maximum number of concurrent requests.
        retries: How often inspect-ai retries a call.
        timeout: Seconds for a call, retries included.
        base_url: The provider's server, if it is not the usual one.
        options: Model arguments that inspect-ai passes to the provider.

    Raises:
        SpecError: The model's name lacks a provider, or the options hold a key.
    """

    abilities = Abilities(decoding=frozenset(["top_p", "stop"]))

    def __init__(
        self,
        *,
        model: str,
        connections: int = 10,
        retries: int = 5,
        timeout: int = 300,
        base_url: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        provider, slash, name = model.partition("/")
        if not (slash and provider and name):
            raise SpecError("inspect names a model by its provider", expected="provider/name", found=model)
        checked_body(options or {}, "options")
        if base_url is not None:
            checked_url(base_url, None)
        require("inspect", "inspect_ai")
        self._name, self._connections, self._base_url = model, max(1, connections), base_url
        self._limits = {"max_retries": retries, "timeout": timeout, "max_connections": self._connections}
        self._options = dict(options or {})
        self.abilities = Abilities(
            logprobs=20 if provider in _LOGPROBS else 0,
            seed=provider in _SEEDS,
            schema=provider in _SCHEMAS,
            decoding=frozenset(["top_p", "stop", *(["top_k"] if provider in _TOP_K else [])]),
            local=provider in ("hf", "mockllm"),
        )

    def identity(self) -> str:
        """The model's name, where it is served, and the provider's options."""
        options = json.dumps(self._options, sort_keys=True, default=repr)
        return f"inspect {self._name} {self._base_url or ''} {options}"

    def provenance(self) -> Mapping[str, Any]:
        """Names, versions and options."""
        return {
            "engine": "inspect",
            "model": self._name,
            "base_url": self._base_url,
            "options": json.loads(json.dumps(self._options, default=repr)),
            "inspect_ai": version("inspect_ai"),
        }

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Keep as many calls in flight as there are connections; answers come as they finish."""
        return answers_of(self, requests)

    def conversation(self) -> AbstractAsyncContextManager[Coroutines]:
        """Ask a few requests first: as long as none is answered, all may be refused alike."""
        model, failed = self._model, FailedItems(self._name, self.identity)
        answered, refused = False, 0

        def settled(request: Request, responses: list[Response]) -> None:
            nonlocal answered, refused
            last = responses[-1].error or ""
            if all(response.finish == "error" for response in responses):
                failed.add(request)
                refused += last.startswith(_REFUSED)
            else:
                failed.clear()
                answered, refused = True, 0
            if refused >= _FIRST and not answered:  # as every other request would be
                raise ModelError(
                    f"the provider refuses the requests: {last.removeprefix(_REFUSED)}",
                    where=self._name,
                    fix="change what it names, in the decoding or in the model's `options:`",
                )
            failed.check(last or None)

        def most() -> int:
            return self._connections if answered else min(_FIRST, self._connections)

        return Coroutines.opened(partial(self._answers, model), most, settled)

    # ------------------------------------------------------------------ one request

    @cached_property
    def _model(self) -> Any:
        from inspect_ai.model import GenerateConfig, get_model

        try:
            return get_model(
                self._name,
                config=GenerateConfig(**self._limits),
                base_url=self._base_url,
                memoize=False,
                **self._options,
            )
        except Exception as error:  # a provider's library is missing, or its key, or anything else
            kind = (
                MissingKey if "API_KEY" in str(error) or "environment variable" in str(error) else ModelError
            )
            raise kind(
                f"inspect-ai cannot reach {self._name}",
                found=f"{type(error).__name__}: {error}"[:500],
                fix="install the provider's library, or put its key into the environment",
            ) from error

    async def _answers(self, model: Any, request: Request) -> list[Response]:
        calls: list[Coroutine[Any, Any, Response]] = [
            self._call(model, request, request.seed + number) for number in range(len(request.calls))
        ]
        return list(await asyncio.gather(*calls))

    async def _call(self, model: Any, request: Request, seed: int) -> Response:
        from inspect_ai.model import GenerateConfig

        started = time.perf_counter()
        try:
            config = GenerateConfig(**self._options_of(request, seed))
            output = await model.generate(_messages(request.prompt.messages), config=config)
            return _response(output, time.perf_counter() - started)
        except Exception as error:  # whatever a provider raises is that call's result
            return _failed(error)

    def _options_of(self, request: Request, seed: int) -> dict[str, Any]:
        """What the decoding asks for beyond a provider's own defaults."""
        decoding, plain = request.decoding, Decoding("")
        options: dict[str, Any] = {
            "temperature": decoding.temperature,
            "max_tokens": decoding.max_tokens,
            "seed": seed if self.abilities.seed else None,
            "top_p": decoding.top_p if decoding.top_p != plain.top_p else None,
            "top_k": decoding.top_k or None,
            "stop_seqs": list(decoding.stop) or None,
        }
        if decoding.logprobs:
            options |= {"logprobs": True, "top_logprobs": decoding.logprobs}
        if request.schema:
            options["response_schema"] = _schema(request.schema)
        return {name: value for name, value in options.items() if value is not None}


def _failed(error: BaseException) -> Response:
    """A failure in the provider's own words, which inspect-ai wraps in an error of its own."""
    causes, cause = [error], error.__cause__ or error.__context__
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    codes = [(getattr(one, "status_code", None), str(one)) for one in causes]
    status, said = next(((code, words) for code, words in codes if isinstance(code, int)), (0, str(error)))
    if not status and (
        found := re.search(r"\b(?:error code|status|HTTP)\D{0,12}(4\d\d)\b", said, re.IGNORECASE)
    ):
        status = int(found[1])
    if _CLIENT[0] <= status < _CLIENT[1] and status not in _PASSING:
        return error_response(f"{_REFUSED}{printable(said)}")
    return failed_response(error)


def _messages(messages: Sequence[Message]) -> list[Any]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[message.role](content=sendable(message.content)) for message in messages]


def _schema(text: str) -> Any:
    from inspect_ai.model import ResponseSchema
    from inspect_ai.util import JSONSchema

    return ResponseSchema(name="answer", json_schema=JSONSchema.model_validate(json.loads(text)))


def _response(output: Any, seconds: float) -> Response:
    if output.error or not output.choices:
        return error_response(str(output.error or "no choices"), latency=seconds)
    choice, usage = output.choices[0], output.usage
    details: dict[str, Any] = {
        "latency": seconds,
        "served_model": output.model or None,
        "thinking": _thinking(choice.message.content),
    }
    if usage is not None:
        details |= {
            "prompt_tokens": usage.input_tokens,
            "cached_tokens": usage.input_tokens_cache_read,
            "completion_tokens": usage.output_tokens,
            "thinking_tokens": usage.reasoning_tokens,
        }
    if choice.stop_reason == "model_length":
        return error_response("context overflow: the model's context is full", **details)
    if choice.stop_reason == "content_filter":
        return Response(choice.message.text, finish="content_filter", error="content filter", **details)
    finish: Any = "length" if choice.stop_reason == "max_tokens" else "stop"
    return Response(choice.message.text, finish=finish, tokens=_tokens(choice.logprobs), **details)


def _thinking(content: Any) -> str | None:
    if isinstance(content, str):
        return None
    parts = [part.reasoning for part in content if part.type == "reasoning"]
    return "\n".join(parts) or None


def _tokens(logprobs: Any) -> tuple[Token, ...]:
    if logprobs is None:
        return ()
    return tuple(
        Token(one.token, one.logprob, tuple((top.token, top.logprob) for top in one.top_logprobs or ()))
        for one in logprobs.content
    )
