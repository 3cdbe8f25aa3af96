"""The JSON Schemas of what the commands print with ``--json``, as ``documents.toml`` declares them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from quaver.errors import UnknownName

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_SEVERAL: Final = {
    "studies": ("variants", "plan", "run", "status", "report"),
    "fields": ("accept", "paper"),
}
"""The key under which a command gives one object for each study of a list, or each field of a task."""


def document_schema(command: str) -> dict[str, Any]:
    """The JSON Schema of what a command prints with ``--json``.

    >>> document_schema("export")["properties"]["calls"]
    {'type': 'integer', 'description': 'calls in it'}
    """
    documents = _documents()
    names = {*documents} - {"part"}
    if command not in names:
        raise UnknownName("command", command, names, where="quaver schema")
    own = _object(documents[command])
    for key, commands in _SEVERAL.items():
        if command in commands:
            named = {"type": "object", "additionalProperties": own}
            own = {"anyOf": [own, {"type": "object", "properties": {key: named}, "required": [key]}]}
    return {"$schema": _DIALECT, "title": f"quaver {command} --json", **own}


@cache
def _documents() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("documents.toml").read_text(encoding="utf-8"))


def _object(keys: Mapping[str, str]) -> dict[str, Any]:
    """The schema of an object with these keys."""
    properties = {}
    for key, written in keys.items():
        kind, _, text = written.partition("  ")
        properties[key.rstrip("?")] = {**_typed(kind), "description": text}
    required = [key for key in keys if not key.endswith("?")]
    return {"type": "object", "properties": properties, "required": required}


def _typed(kind: str) -> dict[str, Any]:
    """The schema of a type."""
    if kind.endswith("?"):
        return {"anyOf": [_typed(kind[:-1]), {"type": "null"}]}
    if kind.endswith("[]"):
        return {"type": "array", "items": _typed(kind[:-2])}
    if kind in _documents()["part"]:
        return _object(_documents()["part"][kind])
    return {} if kind == "any" else {"type": kind}
