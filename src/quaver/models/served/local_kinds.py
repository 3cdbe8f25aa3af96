"""Whether a server is of a kind that people run themselves, by what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from quaver.core.conversation import finished
from quaver.core.input_budget import TooLarge
from quaver.models.served.http_pool import SUCCESS, HttpPool

_SECONDS: Final = 1.0

_KINDS: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any]], bool]]]] = {
    "Ollama": ("/api/version", lambda said: [*said] == ["version"]),
    "llama.cpp": ("/props", lambda said: "default_generation_settings" in said),
    "vLLM": ("/v1/models", lambda said: _owner(said) == "vllm"),
    "SGLang": ("/v1/models", lambda said: _owner(said) == "sglang"),
    "LM Studio": ("/api/v0/models", lambda said: "compatibility_type" in _first(said)),
}
"""By kind, where such a server says so, and how what it says is recognised."""


def kind_at(url: str) -> str | None:
    """The kind of a server; empty if it is of none that is known, None if nothing answers there."""
    return finished(found_kind(url))


async def found_kind(url: str) -> str | None:
    """The kind of a local server, found on the event loop."""
    parts, replies = urlsplit(url), dict[str, Any]()
    try:
        async with HttpPool(1, _SECONDS, _SECONDS, proxies=False) as pool:
            for kind, (path, says_so) in _KINDS.items():
                if path not in replies:
                    replies[path] = await _document(pool, f"{parts.scheme}://{parts.netloc}{path}")
                if says_so(replies[path]):
                    return kind
    except (aiohttp.ClientError, OSError):
        return "" if replies else None
    return ""


async def _document(pool: HttpPool, url: str) -> Mapping[str, Any]:
    """The JSON object at an address; an empty one for anything else."""
    try:
        reply = await pool.get(url, {"Accept": "application/json"})
        document = json.loads(reply.content) if reply.status in SUCCESS else {}
    except (ValueError, RecursionError, TooLarge):
        return {}
    return document if isinstance(document, dict) else {}


def _first(said: Mapping[str, Any]) -> Mapping[str, Any]:
    data = said.get("data")
    return data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}


def _owner(said: Mapping[str, Any]) -> object:
    return _first(said).get("owned_by")
