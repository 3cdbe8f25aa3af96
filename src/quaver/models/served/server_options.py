"""A study file's options for a server, checked before it is reached."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from quaver._secrets import Keys, looks_like_key, name_keys, texts_in, without_keys
from quaver.errors import ModelError, SpecError
from quaver.models.served.presets import PRESETS

_KEYS = re.compile(
    r"(x|proxy|client|ocpapim|aws)*"
    r"(auth|authorization|bearer|cookie|credentials?|pass(wd|word|phrase)|secret"
    r"|(access|api|auth|private|secret|secretaccess|subscription)key"
    r"|(access|api|auth|bearer|id|refresh)?token)"
)
"""Names of fields that only hold keys, without case and separators."""


_RANDOM = re.compile(r"(?=[A-Za-z0-9]*[a-z])(?=[A-Za-z0-9]*[A-Z])(?=(?:[A-Za-z]+[0-9]+){3})[A-Za-z0-9]{16,}")
"""A part of a path that nobody made up: small letters, capitals, and digits again and again."""


_LONG = 6
"""Characters from which on what stands after ``/key/`` in a path is one, if it is no version."""


def checked_url(url: str, preset: str | None) -> str:
    """The address, if it is valid and holds nothing secret."""
    if not url:
        azure = preset == "azure"
        raise SpecError(
            "the server's address is missing",
            where="base_url",
            expected="`base_url: https://RESOURCE.openai.azure.com/openai/v1`, or AZURE_OPENAI_ENDPOINT set"
            if azure
            else f"`base_url:`, or `preset:` with one of {', '.join(PRESETS)}",
        )
    bare, _, version = url.partition("?")
    if re.fullmatch(r"api-version=[\w.-]{1,40}", version):  # Azure's, which is no secret
        return f"{checked_url(bare, preset)}?{version}"
    parts = _split(url)
    if "@" in parts.netloc or parts.query or parts.fragment or "?" in url or "#" in url or _names_key(url):
        raise SpecError(
            "the address contains more than scheme, host and path",
            where="base_url",
            expected="no user name, password, query, fragment or key: the study file is kept beside the "
            "answers",
            fix="put the key into an environment variable and name that with `key:`",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SpecError(
            "this is not an address",
            where="base_url",
            expected="such as http://localhost:8000/v1",
            found=url[:120],
        )
    return url.rstrip("/")


_VARIABLES: Final = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "ollama": "OLLAMA_HOST",
    "azure": "AZURE_OPENAI_ENDPOINT",
}
"""The environment variables in which other tools keep the address of a kind of server."""


_ADDRESS_OF: Final = {
    "OPENAI_API_KEY": "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY": "ANTHROPIC_BASE_URL",
    "OLLAMA_API_KEY": "OLLAMA_HOST",
    "AZURE_OPENAI_API_KEY": "AZURE_OPENAI_ENDPOINT",
}
"""The environment variable with the address for which the key in another is meant."""


def is_named_by_environment(url: str, variable: str) -> bool:
    """Whether the environment names an address for the key in a variable; Azure's hosts are its own."""
    here = _split(url)
    if variable == "AZURE_OPENAI_API_KEY" and (here.hostname or "").endswith(".azure.com"):
        return here.scheme == "https"
    named = os.environ.get(_ADDRESS_OF.get(variable, ""), "").strip()
    there = _split(_of_ollama(named) if variable == "OLLAMA_API_KEY" and named else named)
    return bool(named) and (here.scheme, here.netloc) == (there.scheme, there.netloc)


def address_of(given: str | None, preset: str | None, usual: str) -> str:
    """A server's address: the one that is given, else that of the environment, else the usual one."""
    variable = _VARIABLES.get(preset or "", "")
    address = os.environ.get(variable, "").strip().rstrip("/") if variable and not given else ""
    if not address:
        return checked_url(given or usual, preset)
    if preset == "anthropic":  # its own clients leave out the version, OpenAI's have it in the address
        address = address.removesuffix("/v1") + ("/v1" if usual.endswith("/v1") else "")
    elif preset == "azure":
        address = address if address.endswith("/v1") else f"{address}/openai/v1"
    elif preset == "ollama":
        address = _of_ollama(address)
    try:
        return checked_url(address, preset)
    except SpecError as error:
        error.where = f"the environment variable {variable}"
        raise


def _of_ollama(host: str) -> str:
    """The address in ``OLLAMA_HOST``, which may leave out scheme and port, or say where the server listens.

    >>> _of_ollama("0.0.0.0"), _of_ollama("https://models.example")
    ('http://127.0.0.1:11434/v1', 'https://models.example:443/v1')
    """
    scheme, _, rest = host.rpartition("://")
    name = rest.split("/")[0].replace("0.0.0.0", "127.0.0.1")  # where it listens is not where it is found
    usual = {"http": 80, "https": 443}.get(scheme, 11434)
    port = "" if re.search(r":\d+$", name) else f":{usual}"
    return f"{scheme or 'http'}://{name}{port}/v1"


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # an unclosed bracket, for example
        return SplitResult("", "", url, "", "")


def _names_key(url: str) -> bool:
    """Whether a part of an address is a key, or announces one."""
    parts = re.split(r"[/;&]", unquote(unquote(url)))
    named = any(_is_key_name(re.split("[=:]", part)[0]) and re.search("[=:]", part) for part in parts[3:])
    before = any(
        (name == "key" or _is_key_name(name)) and re.search(r"\d", part) and len(part) >= _LONG
        for name, part in pairwise(parts[3:])
        if not re.match(r"v\d", part)
    )
    shaped = any(re.search(r"\d", part) and without_keys(part) != part for part in parts[2:])
    return (
        named
        or before
        or shaped
        or any(looks_like_key(part) or _RANDOM.search(part) for part in (url, *parts[2:]))
    )


def checked_variable(name: str | None) -> str:
    """The name of the environment variable for the key, if it is not the key itself."""
    if name is None:
        return ""
    # A name has words; a long run of capitals and digits is a key.
    is_name = re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) and not re.search(r"[A-Z0-9]{20}|(\d[A-Z]+){4}", name)
    if not is_name or Keys().within(name):
        raise SpecError(
            "`key:` names an environment variable, and is never the key itself",
            where="key",
            expected="capitals, digits and underscores, such as OPENAI_API_KEY",
            fix="if this was a key, revoke it: somebody may have read the file",
        )
    name_keys({"key": name})
    return name


def checked_key(secret: str, variable: str, url: str) -> str:
    """A key, if it can be sent in a header."""
    index, odd = next(
        ((index, character) for index, character in enumerate(secret, 1) if not "!" <= character <= "~"),
        (0, ""),
    )
    if not odd:
        return secret
    named = unicodedata.name(odd, "a control character").lower()
    raise ModelError(
        f"the key in {variable} cannot be sent",
        where=url,
        expected="ASCII letters, digits and punctuation, without white space",
        found=f"U+{ord(odd):04X} ({named}) as character {index} of {len(secret)}",
        fix=f"copy the key and export {variable}=… again; use straight quotation marks",
    )


def checked_name(where: str, text: str) -> str:
    """A model's name or version, if it is not a key."""
    if looks_like_key(text):
        raise _looks_secret(where, "a name", f"a {where} that looks like a key")
    return text


def checked_body(body: Mapping[str, Any], where: str = "body") -> dict[str, Any]:
    """Extra fields for every request, if none looks like a key, at any depth."""
    for loc, text in texts_in(body):
        is_field = loc[-1] == text
        if is_field and _is_key_name(text) and not _is_harmless(_at(body, loc)):
            raise _looks_secret(where, "fields of a request", f"the field {text[:40]!r}")
        if without_keys(text) != text or (
            not is_field and _is_key_name(text) and loc[-1] in ("name", "header")
        ):
            raise _looks_secret(where, "fields of a request", "a value that looks like a key")
    return dict(body)


def _looks_secret(where: str, expected: str, found: str) -> SpecError:
    return SpecError(
        "this looks like a key, which must not be in the study file",
        where=where,
        expected=f"{expected}; the key is taken from an environment variable",
        found=found,
        fix="name the variable with `key:`; if this was a key, change it: the file may have been seen",
    )


def _at(document: Any, loc: tuple[str | int, ...]) -> Any:
    for part in loc:
        document = document[part]
    return document


def _is_harmless(value: Any) -> bool:
    """Whether a value cannot be a key; null leaves a field out."""
    return value is None or isinstance(value, bool | int | float)


def _is_key_name(name: str) -> bool:
    return bool(_KEYS.fullmatch(re.sub(r"[^a-z]", "", name.lower())))


def is_here(url: str) -> bool:
    """Whether an address is on this machine."""
    return (_split(url).hostname or "") in ("localhost", "127.0.0.1", "::1")


def compact_json(document: Mapping[str, Any]) -> bytes:
    """A document as JSON without white space, as it is sent."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
