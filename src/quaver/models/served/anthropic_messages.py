"""Anthropic's Messages and batches: requests as its JSON, its replies as responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

from quaver.core.batch import BatchLimits, Gone, Lines, Look, NotNow, Unanswered
from quaver.core.meter import Meter
from quaver.core.records import Decoding, Request, Response
from quaver.core.response_validation import printable, token_count, valid_response
from quaver.errors import ModelError, RateLimited
from quaver.models._defaults import turns
from quaver.models.served.batch_http import BatchHttp, listed, object_of
from quaver.models.served.server_faults import Address, Passing, Refused, read_failure
from quaver.models.served.server_options import ROOM, one_of
from quaver.models.served.server_reply import object_in, parsed_reply, reading, unwrapped

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


_BATCHES = f"{MESSAGES}/batches"
_PAGES, _PAGE = 50, 100

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


class AnthropicBatches:
    """Batches of one model at Anthropic.

    Args:
        connect: Opens the connection, with the key that is in the environment.
        model: The model's name there.
        asked: What the study file says of every request.
        address: For errors.
    """

    kind = "anthropic"
    limits = BatchLimits(requests=20_000, size=50 * 2**20, hours=24.0)
    uploads = False
    is_named = False

    def __init__(
        self, connect: Callable[[], BatchHttp], model: str, asked: AskedOfClaude, address: Address
    ) -> None:
        self._connect, self._model, self._asked, self._address = connect, model, asked, address

    def parts(self, request: Request) -> Sequence[Request]:
        """A request for each call."""
        return [request.part((call,)) for call in request.calls]

    def kind_of(self, request: Request) -> str:
        """There is one endpoint."""
        return MESSAGES

    def line(self, request_id: str, request: Request) -> bytes:
        """One of the batch's requests."""
        document = {"custom_id": request_id, "params": message_body(self._model, request, self._asked)}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

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
        return _id(self._connect().ask("POST", _BATCHES, content=content, headers=headers)[0])

    def started(
        self, name: str, upload: str, since: float, calls: int, known: Container[str]
    ) -> Sequence[str]:
        """Unknown batches of the same size that were made since, the oldest first."""
        found: list[str] = []
        after = ""
        for _ in range(_PAGES):
            query = {"limit": str(_PAGE)} | ({"after_id": after} if after else {})
            page = self._connect().ask("GET", f"{_BATCHES}?{urlencode(query)}")[0]
            batches = listed(page, "data")
            for one in batches:
                if (_seconds(one.get("created_at")) or since) < since:
                    return found[::-1]
                if _id(one) not in known and sum(_counts(one).values()) == calls:
                    found.append(_id(one))
            if not page.get("has_more") or not batches:
                break
            after = _id(batches[-1])
        return found[::-1]

    def look(self, batch: str) -> Look:
        """Where a batch stands; its counts are zero until it has ended."""
        found = self._connect().ask("GET", _path(batch))[0]
        if found.get("archived_at"):
            raise Gone("its results were deleted after 29 days")
        counts = _counts(found)
        state: Any = "running"
        if found.get("processing_status") == "ended":
            state = "cancelled" if counts["canceled"] else "expired" if counts["expired"] else "done"
        return Look(
            state,
            done=counts["succeeded"],
            refused=counts["errored"],
            expires=_seconds(found.get("expires_at")),
        )

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The lines of its results, from this server whatever address it names."""
        for line in self._connect().lines(f"{_path(batch)}/results"):
            found = object_of(line)
            if isinstance(found.get("custom_id"), str) and isinstance(found.get("result"), dict):
                yield found["custom_id"], found["result"]

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A result as a response, or why there is none."""
        match came.get("type"):
            case "succeeded":
                return self._message(request, json.dumps(came.get("message")).encode())
            case "errored":
                return self._error(came.get("error"))
            case "expired" | "canceled" as why:
                return Unanswered(why, counts=False)
        return Unanswered("a result of an unknown type")

    def cancel(self, batch: str) -> None:
        """Cancel a batch; what is answered by then is kept."""
        try:
            self._connect().ask("POST", f"{_path(batch)}/cancel")
        except ModelError:  # it has ended already
            return

    def _message(self, request: Request, content: bytes) -> list[Response] | Unanswered:
        meter = Meter()
        try:
            with reading(meter, request, content):
                return [read_message(content, () if request.schema else request.choices)]
        except Passing as fault:
            return Unanswered(fault.reason, traffic=meter.take())

    def _error(self, error: Any) -> list[Response] | Unanswered:
        inner = error.get("error") if isinstance(error, dict) else None
        kind = str(inner.get("type")) if isinstance(inner, dict) else ""
        found = read_failure(_STATUSES.get(kind, 500), {}, json.dumps(error).encode(), self._address)
        if isinstance(found, Response):
            return [found]
        if isinstance(found, Passing):
            return Unanswered(found.reason, counts=not found.limited)
        why = printable(found.found or found.problem)
        if isinstance(found, Refused):
            return [Response("", finish="error", error=f"the request was refused: {why}"[:500])]
        return Unanswered(why, counts=not isinstance(found, RateLimited), fatal=found)


def _path(batch: str) -> str:
    return f"{_BATCHES}/{quote(batch, safe='')}"


def _counts(found: Mapping[str, Any]) -> dict[str, int]:
    counts = found.get("request_counts")
    counts = counts if isinstance(counts, dict) else {}
    names = ("processing", "succeeded", "errored", "canceled", "expired")
    return {name: token_count(counts.get(name)) or 0 for name in names}


def _seconds(moment: object) -> float | None:
    try:
        return datetime.fromisoformat(str(moment)).timestamp()
    except ValueError:
        return None


def _id(found: Mapping[str, Any]) -> str:
    name = found.get("id")
    if not isinstance(name, str) or not name:
        raise NotNow("the reply names no batch", unsure=True)
    return name
