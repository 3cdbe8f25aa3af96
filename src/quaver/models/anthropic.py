"""``anthropic``: Claude by Anthropic's own API, with its prompt caching, its thinking and its batches.

The preset ``anthropic`` of ``openai_compatible`` has none of these three.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from quaver.core.batch import BatchService
from quaver.core.model import Abilities, Needs
from quaver.models.served.dialects import DIALECTS
from quaver.models.served.presets import Preset
from quaver.models.served.served_model import ServedModel
from quaver.models.served.server_options import (
    address_of,
    checked_body,
    checked_name,
    checked_variable,
    is_here,
)
from quaver.models.served.wire import Wire

VERSION: Final = "2023-06-01"
"""The API's version. The next one takes neither temperature nor cut-offs from any model."""

_URL, _KEY = "https://api.anthropic.com", "ANTHROPIC_API_KEY"

Thinking = Literal["adaptive"] | Annotated[int, Field(ge=1024)]


class Anthropic(ServedModel):
    """A Claude model.

    Args:
        model: Its name at Anthropic, such as ``claude-haiku-4-5``.
        thinking: Tokens for thinking before the answer, at least 1024 and beyond ``max_tokens``; or
            ``adaptive``, where the model decides. No thinking by default. Temperature and cut-offs are not
            sent with thinking, which does not take them.
        effort: How much the model should think and write: ``low``, ``medium``, ``high`` …
        cache: Mark system message and prompt for Anthropic's prompt cache. Repeats of a long prompt then cost
            a tenth; the first one costs a quarter more, and short prompts are not cached at all.
        key: The environment variable that holds the key.
        base_url: The server's address, without ``/v1``.
        version: A version of the served model, if its name does not show it.
        body: Extra fields of every request; null leaves a field out.
        unencrypted: Whether a key may be sent to another machine over plain HTTP.
        concurrency: Maximum number of concurrent calls; adapted by default.
        requests_per_minute: Maximum rate; adapted by default.
        timeout: Seconds for one call.
        retries: How often a call is retried before it becomes an error response.
        patience: Seconds without any answer after which the server is given up.

    Two are the same model if name, version, thinking, effort and body are the same. A model that refuses
    temperatures is asked without one, which is recorded.
    """

    abilities = Abilities(
        constraint=True,
        schema=True,
        decoding=frozenset(["top_p", "top_k", "stop"]),
        system=True,
        media=frozenset(DIALECTS["messages"].media),
    )

    def __init__(
        self,
        *,
        model: str,
        thinking: Thinking | None = None,
        effort: str = "",
        cache: bool = False,
        key: str | None = None,
        base_url: str | None = None,
        version: str = "",
        body: Mapping[str, Any] | None = None,
        unencrypted: bool = False,
        concurrency: PositiveInt | None = None,
        requests_per_minute: PositiveFloat | None = None,
        timeout: PositiveFloat = 120.0,
        retries: NonNegativeInt = 6,
        patience: PositiveFloat = 300.0,
    ) -> None:
        self._model, self._version = checked_name("model", model), checked_name("version", version)
        self._body = checked_body(body or {})
        self._usual, url = _URL, address_of(base_url, "anthropic", _URL)
        self._key, self._names_key = checked_variable(key) or _KEY, key is not None
        self._unencrypted = unencrypted
        server = Preset(
            url,
            _KEY,
            needs_key=not is_here(url),
            choice="json_schema",
            schema=True,
            body=self._body,
            effort=effort,
            thinking=thinking or 0,
            cache=cache,
        )
        self._wire, self._facts = Wire(server, model, "messages"), {}
        self._send_within(concurrency, requests_per_minute, timeout, retries, patience)

    def identity(self) -> str:
        """Model, thinking and extra fields; the cache changes no answer."""
        server = self._wire.server
        return self._named("anthropic", self._model, thinking=server.thinking, effort=server.effort)

    def provenance(self) -> Mapping[str, Any]:
        """Address, names and options."""
        server = self._wire.server
        thinking, effort = server.thinking or None, server.effort or None
        return self._described("anthropic", thinking=thinking, effort=effort, cache=server.cache)

    def probe(self, needs: Needs) -> None:
        """Try the knobs that the study varies; nothing else can be ignored in silence."""
        self._need(needs)
        if needs.varied:
            super().probe(Needs(varied=needs.varied))

    def batches(self) -> BatchService:
        """Anthropic's Message Batches."""
        from quaver.models.served.batch_http import AnthropicBatches

        return AnthropicBatches(self._with_key, self._wire, self._address)

    def _headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
