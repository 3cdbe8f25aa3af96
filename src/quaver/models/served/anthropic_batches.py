"""Anthropic's Message Batches: one upload with all requests, and a file of results."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from quaver.core.batch import Gone, Lines, Look, Unanswered
from quaver.core.records import Request, Response
from quaver.models.served.batch_http import (
    BatchHttp,
    HttpBatches,
    LineReader,
    count_in,
    name_in,
    seconds_in,
)
from quaver.models.served.dialects import MESSAGES
from quaver.models.served.server_faults import Address
from quaver.models.served.server_options import compact_json
from quaver.models.served.server_reply import object_in
from quaver.models.served.wire import Wire

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
        wire: How the model is asked.
        address: For errors.
    """

    kind = "anthropic"
    uploads = False
    is_named = False
    paging = ("limit", "after_id")

    def __init__(self, connect: Callable[[], BatchHttp], wire: Wire, address: Address) -> None:
        super().__init__(connect, LineReader(address, wire))
        self._wire = wire

    def kind_of(self, request: Request) -> str:
        """There is one endpoint."""
        return MESSAGES

    def line(self, request_id: str, request: Request) -> bytes:
        """One of the batch's requests."""
        return compact_json({"custom_id": request_id, "params": self._wire.body(request)})

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
