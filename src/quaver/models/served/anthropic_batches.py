"""Anthropic's Message Batches: one upload with all requests, and a file of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quaver.core.batch import Gone, Lines, Look, Unanswered
from quaver.core.records import Request, Response
from quaver.models.served.batch_http import HttpBatches, counts_in, name_in, seconds_in
from quaver.models.served.dialects import MESSAGES
from quaver.models.served.server_options import compact_json
from quaver.models.served.server_reply import object_in

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


_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")


class AnthropicBatches(HttpBatches):
    """Batches of one model at Anthropic."""

    kind = "anthropic"
    uploads = False
    is_named = False
    root = f"{MESSAGES}/batches"
    after = "after_id"

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
        return name_in(self._connect().ask("POST", self.root, content=content))

    def look(self, batch: str) -> Look:
        """Where a batch stands; its counts are zero until it has ended."""
        document = self._connect().ask("GET", self._path(batch))
        if document.get("archived_at"):
            raise Gone("its results were deleted after 29 days")
        counts, state = counts_in(document, *_COUNTS), "running"
        if document.get("processing_status") == "ended":
            state = "cancelled" if counts["canceled"] else "expired" if counts["expired"] else "done"
        expires = seconds_in(document.get("expires_at"))
        return Look(state, counts["succeeded"], counts["errored"], expires)  # type: ignore[arg-type]

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as a response, or why there is none."""
        result = object_in(came.get("result"))
        match result.get("type"):
            case "succeeded":
                return self._read(request, 200, result.get("message"))
            case "errored":
                kind = object_in(object_in(result.get("error")).get("error")).get("type")
                return self._read(request, _STATUSES.get(str(kind), 500), result.get("error"))
            case "expired" | "canceled" as why:
                return Unanswered(why, counts=False)
        return Unanswered("a result of an unknown type")

    def _may_be(self, batch: Mapping[str, Any], name: str, upload: str, calls: int) -> bool:
        """Batches have no names: one of the same size may be it."""
        return sum(counts_in(batch, *_COUNTS).values()) == calls

    def _results(self, batch: str, look: Look) -> list[str]:
        """Those of this server, whatever address it names."""
        return [f"{self._path(batch)}/results"]
