"""``openai_compatible``: any server that speaks OpenAI's protocol, by preset or by address.

Many calls are in flight at once, as many as the server takes (``pace``). Temporary faults are retried; a
fault of the prompt becomes an error response; any other ends the work with this model. Log-probabilities are
as the server returns them; vLLM's and llama.cpp's are those of the model's own distribution, before
temperature and any cut.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, NonNegativeInt, PositiveFloat, PositiveInt
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from quaver.core.batch import BatchService
from quaver.core.model import Abilities
from quaver.errors import UnknownName
from quaver.models.served.presets import ANY, PRESETS, Choice, Preset
from quaver.models.served.served_model import ServedModel
from quaver.models.served.server_options import (
    address_of,
    checked_body,
    checked_name,
    checked_variable,
    is_here,
)
from quaver.models.served.wire import Wire

_OF_OPENAI = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}


class Supports(TypedDict, total=False):
    """Features of a server, where they differ from its preset."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    batch: bool
    choice: Choice
    logprobs: int
    plain: bool
    schema: bool
    seed: bool


class OpenAICompatible(ServedModel):
    """A model that is reached over HTTP.

    Args:
        model: Its name there.
        preset: The kind of server; see ``docs/models.md``.
        base_url: The server's address, up to and including ``/v1``; the preset's by default.
        key: The environment variable that holds its key; the preset's by default.
        version: A version of the served model, if its name does not show it. A new version asks everything
            again.
        supports: Features of the server that differ from its preset.
        effort: How much the model should think before it answers: ``none``, ``minimal``, ``low``, ``medium``,
            ``high``, or another of the provider's words; the provider's default if left out.
        api: The API that is spoken: ``chat``, OpenAI's ``responses``, or ``gemini`` for Google's own. A model
            that is only in ``v1/responses``, as the server then says, is asked there in any case.
        route: OpenRouter's hosts, in order, of which one must answer.
        unencrypted: Whether a key may be sent to another machine over plain HTTP.
        body: Extra fields of every request (``top_a: 0.2``); null leaves a field out.
        concurrency: Maximum number of concurrent calls; adapted by default.
        requests_per_minute: Maximum rate; adapted by default.
        timeout: Seconds for one call.
        retries: How often a call is retried before it becomes an error response.
        patience: Seconds without any answer after which the server is given up.

    Two are the same model if preset (or, without one, address), name, version, effort, api,
    route and body are the same. A server may therefore move without anything being asked again.
    Thinking gets room beyond ``max_tokens``: where answers are cut off in thought, the limit that is sent
    grows.
    """

    offers: ClassVar[Mapping[str, Abilities]] = {name: preset.abilities() for name, preset in PRESETS.items()}
    """The abilities of each preset."""

    def __init__(
        self,
        *,
        model: str,
        preset: str | None = None,
        base_url: str | None = None,
        key: str | None = None,
        version: str = "",
        supports: Supports | None = None,
        effort: str = "",
        api: Literal["chat", "responses", "gemini"] = "chat",
        route: Sequence[str] = (),
        body: Mapping[str, Any] | None = None,
        unencrypted: bool = False,
        concurrency: PositiveInt | None = None,
        requests_per_minute: PositiveFloat | None = None,
        timeout: PositiveFloat = 120.0,
        retries: NonNegativeInt = 6,
        patience: PositiveFloat = 300.0,
    ) -> None:
        self._model, self._preset = checked_name("model", model), preset
        self._version = checked_name("version", version)
        self._body = checked_body(body or {})
        routed = {"provider": {"only": [*route], "require_parameters": True}} if route else {}
        server = _server(preset, supports or {}, routed | self._body)
        self._usual = server.base_url
        url = address_of(base_url, preset, server.base_url)
        if api == "gemini":
            url = url.removesuffix("/openai")
        self._key, self._names_key = checked_variable(key) or server.key, key is not None
        needs_key = server.needs_key and not is_here(url)
        server = replace(
            server,
            base_url=url,
            needs_key=needs_key,
            local=server.local or is_here(url),
            effort=effort,
        )
        self._api, self._route, self._unencrypted = api, tuple(route), unencrypted
        self._wire, self._facts = Wire(server, model, api), {}
        self._send_within(concurrency, requests_per_minute, timeout, retries, patience)

    @property
    def abilities(self) -> Abilities:
        """The preset's abilities, with what the study says about the server."""
        return replace(self._wire.server.abilities(), media=frozenset(self._wire.dialect.media))

    def identity(self) -> str:
        """Kind of server, model, and extra fields."""
        place, effort, route = self._preset or self._url, self._wire.server.effort, "+".join(self._route)
        return self._named("openai_compatible", place, self._model, self._api, effort=effort, route=route)

    def provenance(self) -> Mapping[str, Any]:
        """Address, names, versions, and what a probe found."""
        about = {"effort": self._wire.server.effort, "route": list(self._route)}
        given = {name: value for name, value in about.items() if value}
        return self._described("openai_compatible", preset=self._preset, **given)

    def batches(self) -> BatchService | None:
        """The server's Batch API, if it has one."""
        from quaver.models.served.batch_http import OpenAIBatches
        from quaver.models.served.gemini_batches import GeminiBatches

        if self._api == "gemini":
            return GeminiBatches(self._with_key, self._wire, self._address)
        if not self._wire.server.batch:
            return None
        return OpenAIBatches(self._with_key, self._wire, self._address)

    def _headers(self, key: str) -> dict[str, str]:
        """The key; for OpenAI alone also organization and project, as the environment has them."""
        if self._api == "gemini":
            return {"x-goog-api-key": key} if key else {}
        if "api-version=" in self._url:
            return {"api-key": key} if key else {}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        if urlsplit(self._url).hostname == "api.openai.com":
            named = {name: os.environ.get(variable, "") for name, variable in _OF_OPENAI.items()}
            headers |= {name: value for name, value in named.items() if value}
        return headers


def _server(preset: str | None, supports: Supports, body: Mapping[str, Any]) -> Preset:
    if preset is not None and preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    server = ANY if preset is None else PRESETS[preset]
    changes: dict[str, Any] = dict(supports)
    if "seed" in changes:
        changes["seed"] = (server.seed or "seed") if changes["seed"] else ""
    return replace(server, body={**server.body, **body}, **changes)
