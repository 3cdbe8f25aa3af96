"""OpenAI's Batch API, and servers that speak it: a file of lines, a batch of that file, two files of results.

The reference: https://developers.openai.com/api/docs/guides/batch. The name of a batch is in its file's name
and in its metadata, by which both are found again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from quaver.core.batch import BatchLimits, Gone, Lines, Look, NotNow, Problem, Unanswered
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import ModelError, RateLimited
from quaver.models.served.batch_http import BatchHttp, LineReader, listed, object_of

_QUEUE = frozenset(["token_limit_exceeded", "request_limit_exceeded", "batch_limit_exceeded"])
_SPENT = frozenset(["billing_hard_limit_reached", "insufficient_quota", "billing_not_active"])
_WAITED = frozenset(["batch_expired", "batch_cancelled", "batch_canceled"])
_PAGES, _PAGE = 50, 100
_LAST = 2.0**34
"""Seconds; a later time is none."""
_MARK = "quaver"
"""The key of the batch's name in its metadata."""

_STATES: Mapping[str, Any] = {
    "completed": "done",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}


class OpenAIBatches:
    """Batches at a server that speaks OpenAI's Batch API.

    Args:
        connect: Opens the connection, with the key that is in the environment.
        reader: Makes lines of requests and reads what comes back for them.
    """

    kind = "openai"
    limits = BatchLimits(requests=20_000, size=50 * 2**20, hours=24.0)
    uploads = True
    is_named = True

    def __init__(self, connect: Callable[[], BatchHttp], reader: LineReader) -> None:
        self._connect, self._reader = connect, reader
        self.parts, self.kind_of, self.line = reader.parts, reader.kind_of, reader.line

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
        return _id(self._connect().ask("POST", "/files", content=content, headers=form)[0])

    def uploaded(self, name: str) -> str | None:
        """The file of the batch's name."""
        files = self._pages("/files", {"purpose": "batch", "order": "desc"})
        return next((_id(one) for one in files if one.get("filename") == f"{name}.jsonl"), None)

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Make a batch of the uploaded file."""
        first = object_of(next(iter(lines()), b""))
        document = {
            "input_file_id": upload,
            "endpoint": first.get("url"),
            "completion_window": "24h",
            "metadata": {_MARK: name},
        }
        return _id(self._connect().ask("POST", "/batches", document)[0])

    def started(
        self, name: str, upload: str, since: float, calls: int, known: Container[str]
    ) -> Sequence[str]:
        """The batches with this name in their metadata, or of this file."""
        found = []
        for one in self._pages("/batches", {}):
            if (_seconds(one.get("created_at")) or since) < since:
                break
            metadata = one.get("metadata")
            named = isinstance(metadata, dict) and metadata.get(_MARK) == name
            if (named or (upload and one.get("input_file_id") == upload)) and _id(one) not in known:
                found.append(_id(one))
        return found[::-1]

    def look(self, batch: str) -> Look:
        """Where a batch stands."""
        found = self._connect().ask("GET", f"/batches/{quote(batch, safe='')}")[0]
        status, counts = found.get("status"), found.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        files = [found.get(name) for name in ("output_file_id", "error_file_id")]
        state = _STATES.get(str(status), "running")
        return Look(
            state=state,
            done=token_count(counts.get("completed")) or 0,
            refused=(token_count(counts.get("failed")) or 0) if files[1] or state == "running" else 0,
            expires=_seconds(found.get("expires_at")),
            files=tuple(one for one in files if isinstance(one, str) and one),
            problems=tuple(_problems(found.get("errors"))) if state == "failed" else (),
        )

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The lines of the file of answers and of the file of errors."""
        for file in look.files:
            for line in self._connect().lines(f"/files/{quote(file, safe='')}/content"):
                found = object_of(line)
                if isinstance(found.get("custom_id"), str):
                    yield found["custom_id"], found

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as responses, or why there are none."""
        error, reply = came.get("error"), came.get("response")
        if isinstance(reply, dict) and isinstance(reply.get("body"), dict | list):
            return self._reader.read_document(request, reply.get("status_code"), reply["body"])
        error = error if isinstance(error, dict) else {}
        code, message = str(error.get("code") or ""), printable(error.get("message") or "no reason was given")
        if code in _WAITED:
            return Unanswered(message, counts=False)
        if code in _SPENT:
            return Unanswered(message, counts=False, fatal=_spent(message))
        return Unanswered(f"{code}: {message}" if code else message)

    def cancel(self, batch: str) -> None:
        """Cancel a batch; what is answered by then is kept."""
        try:
            self._connect().ask("POST", f"/batches/{quote(batch, safe='')}/cancel")
        except Gone:
            raise
        except ModelError:  # it has ended already
            return

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """The objects of a list, newest first."""
        after = ""
        for _ in range(_PAGES):
            asked = {**query, "limit": str(_PAGE)} | ({"after": after} if after else {})
            page = self._connect().ask("GET", f"{path}?{urlencode(asked)}")[0]
            objects = listed(page, "data")
            yield from objects
            if not page.get("has_more") or not objects:
                return
            after = _id(objects[-1])


def _id(found: Mapping[str, Any]) -> str:
    name = found.get("id")
    if not isinstance(name, str) or not name:
        raise NotNow("the reply names no file or batch", unsure=True)
    return name


def _seconds(moment: object) -> float | None:
    """A time in seconds since 1970."""
    is_number = isinstance(moment, int | float) and not isinstance(moment, bool)
    return float(moment) if is_number and 0 < moment < _LAST else None  # type: ignore[operator,arg-type]


def _problems(errors: Any) -> Iterator[Problem]:
    data = errors.get("data") if isinstance(errors, dict) else None
    for one in data if isinstance(data, list) else []:
        if not isinstance(one, dict):
            continue
        code, message = str(one.get("code") or ""), printable(one.get("message") or "no reason was given")
        fatal = _spent(message) if code in _SPENT else None
        line = token_count(one.get("line"))
        yield Problem(f"{code}: {message}" if code else message, line, code in _QUEUE, fatal)


def _spent(message: str) -> RateLimited:
    return RateLimited(
        "the account has no credit left",
        found=message,
        fix="add credit and run again; the run continues where it stopped",
    )
