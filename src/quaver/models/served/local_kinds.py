"""Whether a server is of a kind that people run themselves, by what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

_SECONDS: Final = 1.0
_MOST: Final = 1 << 20

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
    parts, replies = urlsplit(url), dict[str, Any]()
    try:
        with httpx2.Client(timeout=_SECONDS, follow_redirects=False, trust_env=False) as client:
            for kind, (path, says_so) in _KINDS.items():
                if path not in replies:
                    replies[path] = _document(client, f"{parts.scheme}://{parts.netloc}{path}")
                if says_so(replies[path]):
                    return kind
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
        return "" if replies else None
    return ""


def _document(client: httpx2.Client, url: str) -> Mapping[str, Any]:
    """The JSON object at an address; an empty one for anything else."""
    with client.stream("GET", url, headers={"Accept": "application/json"}) as reply:
        content = b""
        for part in reply.iter_bytes():
            content += part
            if len(content) > _MOST:
                return {}
        if not reply.is_success:
            return {}
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _first(said: Mapping[str, Any]) -> Mapping[str, Any]:
    data = said.get("data")
    return data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}


def _owner(said: Mapping[str, Any]) -> object:
    return _first(said).get("owned_by")
