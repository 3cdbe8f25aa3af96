"""Keys belong in the environment and nowhere else: everything that is written is searched for their values.

A variable holds a key if a provider's tools use it (``OPENAI_API_KEY``), if a study names it with ``key:``,
or if its name suggests it (``DB_PASSWORD``). The last is a guess: a short value of such a variable, which any
text may contain by chance, is removed from errors but does not stop a study.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

_NAMED: set[str] = set()
"""Variables that this process's studies name with ``key:``."""

_PROVIDERS = re.compile(
    r"\w*_API_?(KEY|TOKEN|SECRET)(_\w+)?|(HF|HUGGING_FACE_HUB|HUGGINGFACE|REPLICATE|GITHUB)_(API_)?TOKEN"
    r"|AWS_(SECRET_ACCESS_KEY|SESSION_TOKEN|BEARER_TOKEN_BEDROCK)|OPENAI_ADMIN_KEY|WATSONX_APIKEY",
    re.IGNORECASE,
)
_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_\d+)?$", re.IGNORECASE)
_PLACEHOLDERS = frozenset(
    [
        "lm-studio",
        "no-key-required",
        "sk-no-key-required",
        "not-needed",
        "not-required",
        "changeme",
        "token-abc123",
    ]
)
"""Values for servers that need no key."""

_SHORTEST, _SHORTEST_SURE = 8, 6
"""Characters of a value; the second where a variable surely holds a key, and that is no mere word."""

_NEVER_BY_CHANCE = 16

_LOOKS_LIKE_ONE = re.compile(
    r"\b(?:sk|gsk|hf|xai|pk|rk|or|key)[-_][A-Za-z0-9*._-]{8,}|\bAIza[A-Za-z0-9_-]{20,}"
    r"|(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}"
)
"""Including a key that a server has masked: its ends, with asterisks between them."""

_IS_ONE = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|gsk|rk|xai|hf|pplx|nvapi|csk|r8)[-_](?=[A-Za-z_-]*[0-9A-Z])[A-Za-z0-9_-]{16,}"
    r"|AIza[A-Za-z0-9_-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|gh[opsu]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})"
    r"|(?<=Bearer )(?=[A-Za-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{16,}"
)
"""Texts that are certainly a key."""

_PREFIXED = re.compile(r"(?:sk|gsk)[-_][\w.-]{8,}")

_ASSIGNED = re.compile(
    r"\b[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)[A-Z0-9_]*[\"']?\s*[=:]\s*[\"']?"
    r"(?![A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b)((?=[a-z._~+/=-]*[0-9A-Z])[A-Za-z0-9._~+/=-]{12,}|sk-[\w-]{8,})"
)
"""``export OPENAI_API_KEY=…``, whatever the value looks like, unless it is the name of another variable."""

_USER = re.compile(r"(?<=//)[^\s/@]+@|(?<![\w.+-])[\w.+-]+:[^\s/@]+@(?=[\w.\[-]+)")
"""The credentials in an address: ``user:password@host``."""


class Keys:
    """The current values of the variables that hold keys.

    Args:
        environment: The variables; this process's by default.
        guessed: Whether to include variables whose name alone suggests a key, however short the value.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, *, guessed: bool = False) -> None:
        variables = (os.environ if environment is None else environment).items()
        self._values = {
            name: value for name, given in variables if _holds_key(name, value := given.strip(), guessed)
        }

    @classmethod
    def of(cls, key: str) -> Keys:
        """A single key, whatever its variable."""
        keys, value = cls({}), key.strip()
        if _is_long(value, surely=True):
            keys._values["key"] = value
        return keys

    def __bool__(self) -> bool:
        return bool(self._values)

    def within(self, content: str | bytes) -> str | None:
        """The variable whose value occurs in a text or in a file's bytes, plain or encoded; or None.

        >>> Keys({"OPENAI_API_KEY": "hunter2-hunter2"}).within("?key=aHVudGVyMi1odW50ZXIy")
        'OPENAI_API_KEY'
        """
        for name, value in self._values.items():
            if isinstance(content, str):
                if any(form in content for form in _forms(value)):
                    return name
            elif any(form in content for form in _forms_in_bytes(value)):
                return name
        return None

    def plainly_within(self, text: str) -> str | None:
        """Whether a text is a plain value of a variable; fifteen times as fast as the full check."""
        return next((name for name, value in self._values.items() if value in text), None)

    def out_of(self, text: str) -> str:
        """A text with each value replaced by the name of its variable."""
        for name, value in self._values.items():
            for form in _forms(value):
                if form in text:
                    text = text.replace(form, f"[{name}]")
        return text

    def out_of_bytes(self, content: bytes) -> bytes:
        """Bytes without the values of variables."""
        for name, value in self._values.items():
            for form in _forms_in_bytes(value):
                if form in content:
                    content = content.replace(form, f"[{name}]".encode())
        return content


def name_keys(document: Any) -> None:
    """Register the variables that a study names with ``key:``."""
    for loc, text in texts_in(document):
        if loc[-1:] == ("key",) and re.fullmatch(r"[A-Za-z_]\w*", text):
            _NAMED.add(text)


def texts_in(document: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text in a document, and every key of its mappings, each with its location."""
    left: list[tuple[tuple[str | int, ...], Any]] = [((), document)]
    seen: set[int] = set()  # YAML's aliases can repeat a part, or nest it in itself
    while left:
        loc, node = left.pop()
        if isinstance(node, str):
            yield loc, str(node)
        elif isinstance(node, Mapping | list | tuple) and id(node) not in seen:
            seen.add(id(node))
            parts = node.items() if isinstance(node, Mapping) else enumerate(node)
            inside = [((*loc, part), value) for part, value in parts]
            yield from ((place, place[-1]) for place, _ in inside if isinstance(place[-1], str))
            left += reversed(inside)


def is_key_shaped(text: str) -> bool:
    """Whether a text contains something that is certainly a key, whatever the environment holds.

    >>> is_key_shaped("# export OPENAI_API_KEY=sk-proj-4bX9"), is_key_shaped("key: OPENAI_API_KEY")
    (True, False)
    """
    return bool(_IS_ONE.search(text) or _ASSIGNED.search(text))


def looks_like_key(text: str) -> bool:
    """Whether a text is or contains a variable's value, or something that is certainly a key."""
    return bool(_IS_ONE.search(text) or _PREFIXED.match(text) or Keys(guessed=True).within(text))


def without_key_values(text: str, environment: Mapping[str, str] | None = None) -> str:
    """A text without the values of keys and without the credentials in addresses.

    >>> without_key_values("ftp://me:hunter2@host: no such column: pk_item")
    'ftp://[user]@host: no such column: pk_item'
    """
    text = Keys(environment, guessed=True).out_of(text)
    return _USER.sub("[user]@", _IS_ONE.sub("[key]", text))


def without_keys(text: str, environment: Mapping[str, str] | None = None) -> str:
    """A text without the values of secret variables and without what looks like a key.

    >>> without_keys("401: hunter2hunter2 is no key", {"MY_API_KEY": "hunter2hunter2"})
    '401: [MY_API_KEY] is no key'
    >>> without_keys("Incorrect API key provided: sk-proj-ab**********cdef.")
    'Incorrect API key provided: [key]'
    """
    return _LOOKS_LIKE_ONE.sub("[key]", without_key_values(text, environment))


def _holds_key(name: str, value: str, guessed: bool) -> bool:
    is_named = name in _NAMED or _is_providers(name)
    if not _is_long(value, surely=is_named):
        return False
    is_guess = guessed or (len(value) >= _NEVER_BY_CHANCE and any(map(str.isdigit, value)))
    return is_named or (is_guess and _sounds_secret(name))


def _is_long(value: str, *, surely: bool) -> bool:
    """Whether no text contains a value by chance; what is surely a key may be shorter."""
    shortest = _SHORTEST_SURE if surely and not value.isalpha() else _SHORTEST
    return len(value) >= shortest and value not in _PLACEHOLDERS


@lru_cache(4096)
def _is_providers(name: str) -> bool:
    return bool(_PROVIDERS.fullmatch(name))


@lru_cache(4096)
def _sounds_secret(name: str) -> bool:
    return bool(_SECRET.search(name))


@lru_cache(64)
def _forms(value: str) -> tuple[str, ...]:
    """A value plain and as files and addresses encode it, the longest first."""
    percent = quote(value, safe="")
    page = html.escape(value)
    forms = {value, page, html.escape(value, quote=False), value.replace('"', '""')}
    forms.add(page.replace("&quot;", "&#34;").replace("&#x27;", "&#39;"))  # as templates write it
    forms |= {
        percent,
        quote(value),
        re.sub("%..", lambda match: match[0].lower(), percent),
        value.encode().hex(),
    }
    forms |= {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    forms |= {json.dumps(json.dumps(value)[1:-1])[1:-1], *_base64(value.encode())}
    block = json.dumps(value, ensure_ascii=False)[1:-1]  # as it stands in a page's block of JSON
    forms.add(block.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
    return tuple(sorted(forms, key=len, reverse=True))


@lru_cache(64)
def _forms_in_bytes(value: str) -> tuple[bytes, ...]:
    wide = (value.encode("utf-16-le"), value.encode("utf-16-be"))
    return (*(form.encode("utf-8", "surrogatepass") for form in _forms(value)), *wide)


def _base64(value: bytes) -> Iterator[str]:
    """The part of a value's Base64 that does not depend on its neighbours."""
    for before in range(3):
        written = base64.b64encode(bytes(before) + value).decode()
        own = written[(before * 8 + 5) // 6 : (before + len(value)) * 8 // 6]
        yield own
        yield own.replace("+", "-").replace("/", "_")
