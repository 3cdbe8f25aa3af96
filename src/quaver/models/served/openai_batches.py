"""OpenAI's Batch API, and servers that speak it: a file of lines, a batch of that file, two files of results.

The reference: https://developers.openai.com/api/docs/guides/batch. The name of a batch is in its file's name
and in its metadata, by which both are found again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from quaver.core.batch import Lines, Look, Problem, Unanswered
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import RateLimited
from quaver.models.served.batch_http import (
    BatchHttp,
    ChatLines,
    HttpBatches,
    count_in,
    name_in,
    object_of,
    seconds_in,
)
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
    """Batches at a server that speaks OpenAI's Batch API.

    Args:
        connect: Opens the connection, with the key that is in the environment.
        lines: Makes lines of requests and reads what comes back for them.
    """

    kind = "openai"

    def __init__(self, connect: Callable[[], BatchHttp], lines: ChatLines) -> None:
        super().__init__(connect, lines)
        self.kind_of, self.line = lines.kind_of, lines.line

    def upload(self, name: str, lines: Lines) -> str:
        """Upload the lines as a file of the batch's name."""
        boundary = f"----{name}"
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{boundary}\r\n'
            f'Content-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        content = head.encode() + b"".join(lines()) + f"\r\n--{boundary}--\r\n".encode()
        form = {"content-type": f"multipart/form-data; boundary={boundary}"}
        return name_in(self._connect().ask("POST", "/files", content=content, headers=form)[0])

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
        return name_in(self._connect().ask("POST", "/batches", document)[0])

    def started(
        self, name: str, upload: str, since: float, calls: int, known: Container[str]
    ) -> Sequence[str]:
        """The batches with this name in their metadata, or of this file."""
        batches: list[str] = []
        for batch in self._pages("/batches"):
            if (seconds_in(batch.get("created_at")) or since) < since:
                break
            is_named = object_in(batch.get("metadata")).get(_MARK) == name
            is_of_file = bool(upload) and batch.get("input_file_id") == upload
            if (is_named or is_of_file) and name_in(batch) not in known:
                batches.append(name_in(batch))
        return batches[::-1]

    def look(self, batch: str) -> Look:
        """Where a batch stands."""
        document = self._get(_path(batch))
        counts = object_in(document.get("request_counts"))
        files = [document.get(name) for name in ("output_file_id", "error_file_id")]
        state = _STATES.get(str(document.get("status")), "running")
        return Look(
            state=state,
            done=count_in(counts, "completed"),
            refused=count_in(counts, "failed") if files[1] or state == "running" else 0,
            expires=seconds_in(document.get("expires_at")),
            files=tuple(file for file in files if isinstance(file, str) and file),
            problems=tuple(_problems(document.get("errors"))) if state == "failed" else (),
        )

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as responses, or why there are none."""
        error, reply = came.get("error"), came.get("response")
        if isinstance(reply, dict) and isinstance(reply.get("body"), dict | list):
            return self._reader.read(request, reply.get("status_code"), reply["body"])
        error = object_in(error)
        code, message = str(error.get("code") or ""), printable(error.get("message") or "no reason was given")
        if code in _WAITED:
            return Unanswered(message, counts=False)
        if code in _SPENT:
            return Unanswered(message, counts=False, fatal=_spent(message))
        return Unanswered(f"{code}: {message}" if code else message)

    def _result_urls(self, batch: str, look: Look) -> list[str]:
        """The file of answers and the file of errors."""
        return [f"/files/{quote(file, safe='')}/content" for file in look.files]

    def _cancelling(self, batch: str) -> str:
        return f"{_path(batch)}/cancel"


def _path(batch: str) -> str:
    return f"/batches/{quote(batch, safe='')}"


def _problems(errors: Any) -> Iterator[Problem]:
    for error in objects_in(object_in(errors).get("data")):
        code, message = str(error.get("code") or ""), printable(error.get("message") or "no reason was given")
        fatal = _spent(message) if code in _SPENT else None
        line = token_count(error.get("line"))
        yield Problem(f"{code}: {message}" if code else message, line, code in _QUEUE, fatal)


def _spent(message: str) -> RateLimited:
    return RateLimited(
        "the account has no credit left",
        found=message,
        fix="add credit and run again; the run continues where it stopped",
    )
