"""Anthropic's Messages and batches: requests as its JSON, its replies as responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote

from quaver.core.batch import Gone, Lines, Look, Unanswered
from quaver.core.records import Decoding, Request, Response
from quaver.core.response_validation import token_count, valid_response
from quaver.models._defaults import turns
from quaver.models.served.batch_http import (
    BatchHttp,
    HttpBatches,
    LineReader,
    count_in,
    name_in,
    seconds_in,
)
from quaver.models.served.server_faults import Address, Passing
from quaver.models.served.server_options import ROOM, compact_json, one_of
from quaver.models.served.server_reply import object_in, objects_in, parsed_reply, unwrapped

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
    """The response in a reply."""
    reply = parsed_reply(content)
    if reply.get("type") != "message" or not isinstance(reply.get("content"), list):
        raise Passing("the reply holds no message")
    blocks = objects_in(reply["content"])
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
    return "".join(str(block.get(kind) or "") for block in blocks if block.get("type") == kind)


def _refusal(reply: Mapping[str, Any]) -> str:
    details = object_in(reply.get("stop_details"))
    category = details.get("category")
    return "content filter: the model's safety classifier stopped the answer" + (
        f" ({category})" if isinstance(category, str) else ""
    )


def reply_of(content: bytes, request: Request) -> Response:
    """The response in a reply to a request."""
    return read_message(content, () if request.schema else request.choices)


_BATCHES = f"{MESSAGES}/batches"

_STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status of a reply with such an error, had the request been sent alone."""


class AnthropicBatches(HttpBatches):
    """Batches of one model at Anthropic.

    Args:
        connect: Opens the connection, with the key that is in the environment.
        model: The model's name there.
        asked: What the study file says of every request.
        address: For errors.
    """

    kind = "anthropic"
    uploads = False
    is_named = False
    paging = ("limit", "after_id")

    def __init__(
        self, connect: Callable[[], BatchHttp], model: str, asked: AskedOfClaude, address: Address
    ) -> None:
        super().__init__(connect, LineReader(address, lambda content, request: [reply_of(content, request)]))
        self._model, self._asked = model, asked

    def kind_of(self, request: Request) -> str:
        """There is one endpoint."""
        return MESSAGES

    def line(self, request_id: str, request: Request) -> bytes:
        """One of the batch's requests."""
        params = message_body(self._model, request, self._asked)
        return compact_json({"custom_id": request_id, "params": params})

    def upload(self, name: str, lines: Lines) -> str:
        """Nothing is uploaded."""
        return ""

    def uploaded(self, name: str) -> str | None:
        """Nothing is uploaded."""
        return ""

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Send the requests as a batch."""
        content = b'{"requests":[' + b",".join(line.rstrip(b"\n") for line in lines()) + b"]}"
        headers = {"content-type": "application/json"}
        return name_in(self._connect().ask("POST", _BATCHES, content=content, headers=headers)[0])

    def started(
        self, name: str, upload: str, since: float, calls: int, known: Container[str]
    ) -> Sequence[str]:
        """Unknown batches of the same size that were made since, the oldest first."""
        batches: list[str] = []
        for batch in self._pages(_BATCHES):
            if (seconds_in(batch.get("created_at")) or since) < since:
                break
            if name_in(batch) not in known and sum(_counts(batch).values()) == calls:
                batches.append(name_in(batch))
        return batches[::-1]

    def look(self, batch: str) -> Look:
        """Where a batch stands; its counts are zero until it has ended."""
        document = self._get(_path(batch))
        if document.get("archived_at"):
            raise Gone("its results were deleted after 29 days")
        counts = _counts(document)
        state: Any = "running"
        if document.get("processing_status") == "ended":
            state = "cancelled" if counts["canceled"] else "expired" if counts["expired"] else "done"
        return Look(
            state,
            done=counts["succeeded"],
            refused=counts["errored"],
            expires=seconds_in(document.get("expires_at")),
        )

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as a response, or why there is none."""
        result = object_in(came.get("result"))
        match result.get("type"):
            case "succeeded":
                return self._reader.read(request, 200, result.get("message"))
            case "errored":
                kind = object_in(object_in(result.get("error")).get("error")).get("type")
                return self._reader.read(request, _STATUSES.get(str(kind), 500), result.get("error"))
            case "expired" | "canceled" as why:
                return Unanswered(why, counts=False)
        return Unanswered("a result of an unknown type")

    def _result_urls(self, batch: str, look: Look) -> list[str]:
        """Those of this server, whatever address it names."""
        return [f"{_path(batch)}/results"]

    def _cancelling(self, batch: str) -> str:
        return f"{_path(batch)}/cancel"


def _path(batch: str) -> str:
    return f"{_BATCHES}/{quote(batch, safe='')}"


def _counts(document: Mapping[str, Any]) -> dict[str, int]:
    counts = object_in(document.get("request_counts"))
    names = ("processing", "succeeded", "errored", "canceled", "expired")
    return {name: count_in(counts, name) for name in names}
