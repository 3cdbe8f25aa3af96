"""OpenAI's Batch API, and servers that speak it: a file of lines, a batch of that file, two files of results.

The reference: https://developers.openai.com/api/docs/guides/batch. The name of a batch is in its file's name
and in its metadata, by which both are found again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from quaver.core.batch import Lines, Look, Problem, Unanswered
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import RateLimited
from quaver.models.served.batch_http import HttpBatches, counts_in, name_in, object_of, seconds_in
from quaver.models.served.server_options import compact_json
from quaver.models.served.server_reply import object_in, objects_in

_QUEUE = frozenset(["token_limit_exceeded", "request_limit_exceeded", "batch_limit_exceeded"])
_SPENT = frozenset(["billing_hard_limit_reached", "insufficient_quota", "billing_not_active"])
_WAITED = frozenset(["batch_expired", "batch_cancelled", "batch_canceled"])
_MARK = "quaver"
"""The key of the batch's name in its metadata."""

_STATES: Mapping[str, Any] = {
    "completed": "done",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}


class OpenAIBatches(HttpBatches):
    """Batches at a server that speaks OpenAI's Batch API."""

    kind = "openai"

    def kind_of(self, request: Request) -> str:
        """The endpoint."""
        return "/v1" + self._wire.path(request)

    def line(self, request_id: str, request: Request) -> bytes:
        """The line of a request."""
        body = self._wire.body(request, n=len(request.calls))
        return compact_json(
            {"custom_id": request_id, "method": "POST", "url": self.kind_of(request), "body": body}
        )

    def upload(self, name: str, lines: Lines) -> str:
        """Upload the lines as a file of the batch's name."""
        boundary = f"----{name}"
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{boundary}\r\n'
            f'Content-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        content = head.encode() + b"".join(lines()) + f"\r\n--{boundary}--\r\n".encode()
        kind = f"multipart/form-data; boundary={boundary}"
        return name_in(self._connect().ask("POST", "/files", content=content, kind=kind))

    def uploaded(self, name: str) -> str | None:
        """The file of the batch's name."""
        files = self._pages("/files", purpose="batch", order="desc")
        return next((name_in(file) for file in files if file.get("filename") == f"{name}.jsonl"), None)

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Make a batch of the uploaded file."""
        first = object_of(next(iter(lines()), b""))
        document = {
            "input_file_id": upload,
            "endpoint": first.get("url"),
            "completion_window": "24h",
            "metadata": {_MARK: name},
        }
        return name_in(self._connect().ask("POST", self.root, document))

    def look(self, batch: str) -> Look:
        """Where a batch stands."""
        document = self._connect().ask("GET", self._path(batch))
        counts = counts_in(document, "completed", "failed")
        files = [document.get(name) for name in ("output_file_id", "error_file_id")]
        state = _STATES.get(str(document.get("status")), "running")
        errors = objects_in(object_in(document.get("errors")).get("data")) if state == "failed" else []
        return Look(
            state=state,
            done=counts["completed"],
            refused=counts["failed"] if files[1] or state == "running" else 0,
            expires=seconds_in(document.get("expires_at")),
            files=tuple(file for file in files if isinstance(file, str) and file),
            problems=tuple(map(_problem, errors)),
        )

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as responses, or why there are none."""
        reply = object_in(came.get("response"))
        if isinstance(reply.get("body"), dict | list):
            return self._read(request, reply.get("status_code"), reply["body"])
        problem = _problem(object_in(came.get("error")))
        waited = problem.code in _WAITED
        return Unanswered(problem.message, counts=not (waited or problem.fatal), fatal=problem.fatal)

    def _may_be(self, batch: Mapping[str, Any], name: str, upload: str, calls: int) -> bool:
        """Whether it has this name in its metadata, or is of this file."""
        is_named = object_in(batch.get("metadata")).get(_MARK) == name
        return is_named or (bool(upload) and batch.get("input_file_id") == upload)

    def _results(self, batch: str, look: Look) -> list[str]:
        """The file of answers and the file of errors."""
        return [f"/files/{quote(file, safe='')}/content" for file in look.files]


def _problem(error: Mapping[str, Any]) -> Problem:
    code, message = str(error.get("code") or ""), printable(error.get("message") or "no reason was given")
    fatal = None
    if code in _SPENT:
        fatal = RateLimited(
            "the account has no credit left",
            found=message,
            fix="add credit and run again; the run continues where it stopped",
        )
    whole = f"{code}: {message}" if code else message
    return Problem(whole, token_count(error.get("line")), code in _QUEUE, fatal, code)
