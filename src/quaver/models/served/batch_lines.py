"""Requests as lines of a batch file in OpenAI's format, and the replies in its results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from quaver.core.batch import Unanswered
from quaver.core.meter import Meter
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import ModelError, RateLimited
from quaver.models.served.metering import reading
from quaver.models.served.presets import Preset
from quaver.models.served.request_body import CHAT, PLAIN, body_of, is_plain
from quaver.models.served.server_faults import Address, Passing, Refused, read_failure
from quaver.models.served.server_reply import reply_to


class LineReader:
    """Writes and reads the lines of one model's batches.

    Args:
        server: What the server honours.
        model: The model's name there.
        address: For errors.
        together: Whether a request's calls are drawn together.
        root: What stands before the path of an endpoint.
    """

    def __init__(
        self, server: Preset, model: str, address: Address, *, together: bool = False, root: str = "/v1"
    ) -> None:
        self._server, self._model, self._address = server, model, address
        self._together, self._root = together, root

    def parts(self, request: Request) -> Sequence[Request]:
        """A request for each call, unless the server draws them together."""
        if self._together:
            return [request]
        return [request.part((call,)) for call in request.calls]

    def kind_of(self, request: Request) -> str:
        """The endpoint."""
        return self._root + (PLAIN if is_plain(request.prompt.messages) else CHAT)

    def line(self, request_id: str, request: Request) -> bytes:
        """The line of a request."""
        body = body_of(self._server, self._model, request, n=len(request.calls))
        document = {"custom_id": request_id, "method": "POST", "url": self.kind_of(request), "body": body}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

    def read(self, request: Request, status: int, content: bytes) -> list[Response] | Unanswered:
        """A reply as responses, or why it is none; status 0 is that of a server that gives none."""
        if status and not 200 <= status < 300:
            return self._refused(request, status, content)
        meter = Meter()
        try:
            with reading(meter, request, content):
                return reply_to(content, request, self._server, len(request.calls))
        except Passing as fault:
            return Unanswered(fault.reason, traffic=meter.take())

    def read_document(self, request: Request, status: object, document: Any) -> list[Response] | Unanswered:
        """The same for a reply that stands in a line of results."""
        return self.read(request, token_count(status) or 0, json.dumps(document).encode())

    def _refused(self, request: Request, status: int, content: bytes) -> list[Response] | Unanswered:
        found = read_failure(status, {}, content, self._address)
        if isinstance(found, Response):
            return [found] * len(request.calls)
        if isinstance(found, Passing):
            return Unanswered(found.reason, counts=not found.limited)
        if isinstance(found, Refused):
            why = f"the request was refused: {printable(found.found or found.problem)}"
            return [Response("", finish="error", error=why[:500])] * len(request.calls)
        counts = not isinstance(found, RateLimited)
        return Unanswered(_reason(found), counts=counts, fatal=found)


def _reason(error: ModelError) -> str:
    return printable(error.found or error.problem)
