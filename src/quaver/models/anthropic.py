"""``anthropic``: Claude by Anthropic's own API, with its prompt caching, its thinking and its batches.

The preset ``anthropic`` of ``openai_compatible`` has none of these three.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from quaver.core.batch import BatchService
from quaver.core.model import Abilities
from quaver.core.records import Response
from quaver.models.served.anthropic_messages import MESSAGES, VERSION, AskedOfClaude, message_body, reply_of
from quaver.models.served.flight import Landed, Part
from quaver.models.served.served_model import ServedModel
from quaver.models.served.server_options import (
    address_of,
    checked_body,
    checked_name,
    checked_variable,
    is_here,
)
from quaver.models.served.server_reply import reading, sending

if TYPE_CHECKING:
    from quaver.models.served.http_pool import Connection

_URL, _KEY = "https://api.anthropic.com", "ANTHROPIC_API_KEY"

Thinking = Literal["adaptive"] | Annotated[int, Field(ge=1024)]


class Anthropic(ServedModel):
    """A Claude model.

    Args:
        model: Its name at Anthropic, such as ``claude-haiku-4-5``.
        thinking: Tokens for thinking before the answer, at least 1024 and beyond ``max_tokens``; or
            ``adaptive``, where the model decides. No thinking by default. Temperature and cut-offs are not
            sent with thinking, which does not take them.
        cache: Mark system message and prompt for Anthropic's prompt cache. Repeats of a long prompt then cost
            a tenth; the first one costs a quarter more, and short prompts are not cached at all.
        key: The environment variable that holds the key.
        base_url: The server's address, without ``/v1``.
        version: A version of the served model, if its name does not show it.
        body: Extra fields of every request; null leaves a field out. Models from Claude Opus 4.7 on refuse
            temperatures: ``body: {temperature: null}``.
        concurrency: Maximum number of concurrent calls; adapted by default.
        requests_per_minute: Maximum rate; adapted by default.
        tokens_per_minute: Maximum of prompt and completion tokens.
        timeout: Seconds for one call.
        retries: How often a call is retried before it becomes an error response.
        patience: Seconds without any answer after which the server is given up.

    Two are the same model if name, version, thinking and body are the same.
    """

    abilities = Abilities(
        constraint=True, schema=True, decoding=frozenset(["top_p", "top_k", "stop"]), system=True
    )

    def __init__(
        self,
        *,
        model: str,
        thinking: Thinking | None = None,
        cache: bool = False,
        key: str = _KEY,
        base_url: str | None = None,
        version: str = "",
        body: Mapping[str, Any] | None = None,
        concurrency: PositiveInt | None = None,
        requests_per_minute: PositiveFloat | None = None,
        tokens_per_minute: PositiveFloat | None = None,
        timeout: PositiveFloat = 120.0,
        retries: NonNegativeInt = 6,
        patience: PositiveFloat = 300.0,
    ) -> None:
        self._model, self._version = checked_name("model", model), checked_name("version", version)
        self._asked = AskedOfClaude(cache, thinking or 0, checked_body(body or {}))
        self._base_url, self._key = address_of(base_url, "anthropic", _URL), checked_variable(key)
        self._send_within(concurrency, requests_per_minute, tokens_per_minute, timeout, retries, patience)

    def identity(self) -> str:
        """Model, thinking and extra fields; the cache changes no answer."""
        thinking, body = self._asked.thinking, self._asked.body
        parts = ["anthropic", self._model]
        parts += [f"thinking={thinking}"] * bool(thinking)
        parts += [f"{name}={body[name]!r}" for name in sorted(body)]
        return " ".join([*parts, self._version]).strip()

    def provenance(self) -> Mapping[str, Any]:
        """Address, names and options."""
        return {
            "engine": "anthropic",
            "base_url": self._url,
            "model": self._model,
            "version": self._version,
            "thinking": self._asked.thinking or None,
            "cache": self._asked.cache,
            "body": dict(self._asked.body),
        }

    def batches(self, folder: Path) -> BatchService:
        """Anthropic's Message Batches."""
        from quaver.models.served.anthropic_messages import AnthropicBatches
        from quaver.models.served.batch_http import BatchHttp

        def connected() -> BatchHttp:
            key = self._secret()
            return BatchHttp(self._address, self._headers(key), key)

        return AnthropicBatches(connected, self._model, self._asked, self._address)

    async def _send(self, connection: Connection, part: Part) -> Landed:
        request = part.request
        with sending(self.meter, request, part.n):
            came = await connection.post(MESSAGES, message_body(self._model, request, self._asked))
        if isinstance(came, Response):
            return Landed([came])
        content, limits = came
        with reading(self.meter, request, content):
            return Landed([reply_of(content, request)], limits)

    @property
    def _url(self) -> str:
        return self._base_url

    @property
    def _needs_key(self) -> bool:
        return not is_here(self._base_url)

    def _headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
