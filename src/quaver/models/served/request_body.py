"""Requests as the JSON that each kind of server expects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from quaver.core.records import Decoding, Message, Request
from quaver.models._defaults import grammar, sendable, turns
from quaver.models.served.presets import Preset

CHAT = "/chat/completions"
PLAIN = "/completions"

LABEL = "label"
"""The key of the label, for servers whose only constraint is a JSON schema."""

ROOM = 16
"""Tokens of that object around the label, which do not count towards ``max_tokens``."""

_DEFAULTS = Decoding("")


def is_plain(messages: Sequence[Message]) -> bool:
    """Whether a prompt goes without a chat template."""
    return any(role == "plain" for role, _ in messages)


def body_of(server: Preset, model: str, request: Request, *, first: int = 0, n: int = 1) -> dict[str, Any]:
    """The body for some of a request's calls."""
    decoding, plain = request.decoding, is_plain(request.prompt.messages)
    body: dict[str, Any] = {"model": model}
    if plain:
        body["prompt"] = "\n\n".join(sendable(content) for _, content in request.prompt.messages)
    else:
        body["messages"] = turns(request.prompt.messages)
        if server.continues == "flag" and request.prompt.messages[-1].role == "assistant":
            body |= {"continue_final_message": True, "add_generation_prompt": False}
    body["temperature"] = decoding.temperature
    length = "max_tokens" if plain else server.length
    body[length] = decoding.max_tokens
    for option, name in server.options.items():
        value = getattr(decoding, option)
        # A local server may have other defaults; a service gets only the options that differ.
        if server.local or value != getattr(_DEFAULTS, option):
            body[name] = server.top_k_off if option == "top_k" and not value else value
    if not body.get("stop", True):
        del body["stop"]
    if decoding.temperature and server.seed:
        body[server.seed] = request.seed + first
    if n > 1:
        body["n"] = n
    if decoding.logprobs and server.logprobs:
        most = min(decoding.logprobs, server.logprobs)
        body |= {"logprobs": most} if plain else {"logprobs": True, "top_logprobs": most}
    if request.schema and server.schema:
        body["response_format"] = _format("answer", json.loads(request.schema))
    elif request.choices:
        body |= _choice(server, request.choices)
        if server.choice == "json_schema":
            body[length] += ROOM
    body |= server.body
    return {name: value for name, value in body.items() if value is not None}


def _choice(server: Preset, choices: Sequence[str]) -> dict[str, Any]:
    match server.choice:
        case "structured_outputs":
            return {"structured_outputs": {"choice": list(choices)}}
        case "grammar":
            return {"grammar": grammar(choices)}
        case "regex":
            return {"regex": "(" + "|".join(re.escape(choice) for choice in choices) + ")"}
        case "json_schema":
            return {"response_format": _format(LABEL, one_of(choices))}
    return {}


def one_of(choices: Sequence[str]) -> dict[str, Any]:
    """The schema of an object whose label is one of the choices."""
    return {
        "type": "object",
        "properties": {LABEL: {"type": "string", "enum": list(choices)}},
        "required": [LABEL],
        "additionalProperties": False,
    }


def _format(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
