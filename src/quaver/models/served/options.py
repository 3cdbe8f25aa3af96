"""Whether what a study file says of a server makes sense, before the server is reached."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from quaver.errors import SpecError
from quaver.models.presets import PRESETS
from quaver.secrets import without_keys

__all__ = ["check_repeatable", "checked_body", "checked_url", "checked_variable", "is_here"]

_KEYS = frozenset(["access_token", "api_key", "apikey", "authorization", "password", "secret"])
"""Fields that a body has for nothing but a key."""


def check_repeatable(preset: str | None, repeats: str, concurrency: int | None) -> None:
    """See that ``setting: repeatable`` is asked of a server that can.

    Raises:
        SpecError: It is not.
    """
    if preset != "llamacpp_server":
        raise SpecError(
            "only llama.cpp's server can be made to repeat itself",
            where="setting",
            found=f"setting: repeatable, with {f'preset: {preset}' if preset else 'no preset'}",
            fix="leave `setting` out, or `preset: llamacpp_server`; `quaver doctor` measures the noise",
        )
    if repeats == "shared" or concurrency not in (None, 1):
        raise SpecError(
            "what is to repeat itself is asked one call at a time",
            where="setting",
            found=f"repeats: {repeats}, concurrency: {concurrency or 'not given'}",
            fix="leave out `repeats` and `concurrency`, or `setting: fast`",
        )


def checked_url(url: str, preset: str | None) -> str:
    """The address, if it is one and holds nothing secret.

    Raises:
        SpecError: It is not.
    """
    if not url:
        azure = preset == "azure"
        raise SpecError(
            "nothing says where the server is",
            where="base_url",
            expected="`base_url: https://RESOURCE.openai.azure.com/openai/v1`, or AZURE_OPENAI_ENDPOINT set"
            if azure
            else f"`base_url:`, or `preset:` with one of {', '.join(PRESETS)}",
        )
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query:
        raise SpecError(
            "the address holds more than an address",
            where="base_url",
            expected="no name, password or query in it: the study file is kept beside the answers",
            fix="put the key into an environment variable and name that with `key:`",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SpecError(
            "this is no address",
            where="base_url",
            expected="such as http://localhost:8000/v1",
            found=url[:120],
        )
    return url.rstrip("/")


def checked_variable(name: str | None) -> str:
    """The name of the variable with the key, if it is a name and not the key itself.

    Raises:
        SpecError: It is not.
    """
    if name is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        raise SpecError(
            "`key:` names an environment variable, and is never the key itself",
            where="key",
            expected="capitals, digits and underscores, such as OPENAI_API_KEY",
            fix="if this was a key, change it: the file may have been seen",
        )
    return name or ""


def checked_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that every request carries, if none looks like a key.

    Raises:
        SpecError: It is not.
    """
    keys = sorted(_KEYS & {name.lower().replace("-", "_") for name in body})
    written = json.dumps(body, default=str, ensure_ascii=False)
    if keys or without_keys(written) != written:
        raise SpecError(
            "what looks like a key does not go into the study file",
            where="body",
            expected="fields of a request; the key is taken from an environment variable",
            found=f"the field {keys[0]!r}" if keys else "a value that looks like a key",
            fix="name the variable with `key:`; if this was a key, change it: the file may have been seen",
        )
    return dict(body)


def is_here(url: str) -> bool:
    """Whether an address is this machine's."""
    return (urlsplit(url).hostname or "") in ("localhost", "127.0.0.1", "::1")
