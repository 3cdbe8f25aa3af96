"""Anthropic's Messages: requests as its JSON, its replies as responses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from quaver.core.records import Decoding, Request, Response
from quaver.core.response_validation import token_count, valid_response
from quaver.models._defaults import turns
from quaver.models.served.request_body import ROOM, one_of
from quaver.models.served.server_faults import Passing
from quaver.models.served.server_reply import object_in, parsed_reply, unwrapped

MESSAGES: Final = "/v1/messages"

VERSION: Final = "2023-06-01"
"""The API's version. The next one takes neither temperature nor cut-offs from any model."""

_DEFAULTS = Decoding("")
_MARK = {"type": "ephemeral"}
_ENDS: Mapping[str, Literal["stop", "length"]] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


@dataclass(frozen=True, slots=True)
class AskedOfClaude:
    """What the study file says of every request.

    Attributes:
        cache: Whether prompts are marked for the cache.
        thinking: Tokens for thinking, ``adaptive``, or 0 for none.
        body: Extra fields; null leaves one out.
    """

    cache: bool
    thinking: int | Literal["adaptive"]
    body: Mapping[str, Any]


def message_body(model: str, request: Request, asked: AskedOfClaude) -> dict[str, Any]:
    """The body for one call."""
    decoding, thinking = request.decoding, asked.thinking
    said = turns(request.prompt.messages)
    system = "\n\n".join(one["content"] for one in said if one["role"] == "system")
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": decoding.max_tokens + (thinking if isinstance(thinking, int) else 0),
        "messages": [one for one in said if one["role"] != "system"],
    }
    if system:
        mark = {"cache_control": _MARK} if asked.cache else {}
        body["system"] = [{"type": "text", "text": system} | mark]
    if asked.cache:
        body["cache_control"] = _MARK  # marks the last block: repeats read it all
    if thinking:  # which does not go with temperature and cut-offs
        budget = {"type": "enabled", "budget_tokens": thinking}
        body["thinking"] = {"type": "adaptive"} if thinking == "adaptive" else budget
    else:
        body["temperature"] = decoding.temperature
        for name in ("top_p", "top_k"):
            if getattr(decoding, name) != getattr(_DEFAULTS, name):
                body[name] = getattr(decoding, name)
    if decoding.stop:
        body["stop_sequences"] = list(decoding.stop)
    if request.schema or request.choices:
        schema = json.loads(request.schema) if request.schema else one_of(request.choices)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        body["max_tokens"] += 0 if request.schema else ROOM
    extra = dict(asked.body)
    if isinstance(extra.get("output_config"), Mapping):
        extra["output_config"] = {**body.get("output_config", {}), **extra["output_config"]}
    return {name: value for name, value in (body | extra).items() if value is not None}


def read_message(content: bytes, choices: Sequence[str] = ()) -> Response:
    """The response in a reply.

    Args:
        content: The reply's body.
        choices: The choices, if the label was requested inside a JSON object.

    Raises:
        Passing: The reply is empty, cut, not JSON, or no message.
    """
    reply = parsed_reply(content)
    blocks = reply.get("content")
    if reply.get("type") != "message" or not isinstance(blocks, list):
        raise Passing("the reply holds no message")
    blocks = [one for one in blocks if isinstance(one, dict)]
    usage = object_in(reply.get("usage"))
    read, made, cached = (
        token_count(usage.get(name))
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    details = object_in(usage.get("output_tokens_details"))
    reason = str(reply.get("stop_reason"))
    response = Response(
        text=_joined(blocks, "text"),
        finish="content_filter" if reason == "refusal" else _ENDS.get(reason, "stop"),
        error=_refusal(reply) if reason == "refusal" else None,
        thinking=_joined(blocks, "thinking") or None,
        prompt_tokens=None if read is None else read + (made or 0) + (cached or 0),
        cached_tokens=cached,
        completion_tokens=token_count(usage.get("output_tokens")),
        thinking_tokens=token_count(details.get("thinking_tokens")),
        served_model=reply.get("model"),
        raw={"cache_creation_input_tokens": made} if made else None,
    )
    response = valid_response(response)
    return unwrapped(response, choices) if choices else response


def _joined(blocks: Sequence[Mapping[str, Any]], kind: str) -> str:
    return "".join(str(one.get(kind) or "") for one in blocks if one.get("type") == kind)


def _refusal(reply: Mapping[str, Any]) -> str:
    details = object_in(reply.get("stop_details"))
    category = details.get("category")
    return "content filter: the model's safety classifier stopped the answer" + (
        f" ({category})" if isinstance(category, str) else ""
    )
