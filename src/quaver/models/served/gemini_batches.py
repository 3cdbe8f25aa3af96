"""Gemini's batch mode: a file of lines in Gemini's own format, a batch of that file, one file of results.

The reference: https://ai.google.dev/gemini-api/docs/batch-api. The name of a batch is its display name and
that of its file, by which both are found again. An expired batch has no results, whatever it had answered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from quaver.core.batch import BatchLimits, Lines, Look, NotNow, Problem, Unanswered
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import ModelError
from quaver.models.served.batch_http import BatchHttp, listed, object_of
from quaver.models.served.batch_lines import LineReader
from quaver.models.served.gemini_content import as_completion, generate_content

_PAGES, _PAGE = 50, 100
_STATES: Mapping[str, Any] = {
    "SUCCEEDED": "done",
    "PARTIALLY_SUCCEEDED": "done",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "EXPIRED": "expired",
}
_STATUS_OF_CODE: Mapping[int, int] = {
    3: 400,
    4: 504,
    5: 404,
    7: 403,
    8: 429,
    9: 400,
    13: 500,
    14: 503,
    16: 401,
}
"""The HTTP status of each of Google's error codes."""


class GeminiBatches:
    """Batches of one model at Google.

    Args:
        connect: Opens the connection, with the key that is in the environment.
        base_url: The address of Gemini's interface for OpenAI's protocol, as the preset has it.
        model: The model's name there.
        body: The extra fields of the study file.
        reader: Reads what comes back for requests.
    """

    kind = "gemini"
    limits = BatchLimits(requests=20_000, size=50 * 2**20, hours=48.0)
    uploads = True
    is_named = True

    def __init__(
        self,
        connect: Callable[[], BatchHttp],
        base_url: str,
        model: str,
        body: Mapping[str, Any],
        reader: LineReader,
    ) -> None:
        self._connect, self._model, self._body, self._reader = connect, model, body, reader
        parts = urlsplit(base_url.rstrip("/").removesuffix("/openai"))
        self._host, self._path = f"{parts.scheme}://{parts.netloc}", parts.path
        self.parts = reader.parts

    def kind_of(self, request: Request) -> str:
        """There is one endpoint."""
        return "generateContent"

    def line(self, request_id: str, request: Request) -> bytes:
        """The line of a request."""
        document = {"key": request_id, "request": generate_content(self._model, request, self._body)}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

    def upload(self, name: str, lines: Lines) -> str:
        """Upload the lines as a file of the batch's name."""
        content = b"".join(lines())
        begin = {
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(len(content)),
            "x-goog-upload-header-content-type": "application/jsonl",
        }
        about = {"file": {"display_name": name}}
        http = self._connect()
        _, headers = http.ask(
            "POST", f"{self._host}/upload{self._path}/files", about, headers=begin, may_be_empty=True
        )
        where = headers.get("x-goog-upload-url", "")
        if f"{urlsplit(where).scheme}://{urlsplit(where).netloc}" != self._host:
            raise NotNow("the server names no address of its own for the upload")
        finish = {"x-goog-upload-offset": "0", "x-goog-upload-command": "upload, finalize"}
        found, _ = http.ask("POST", where, content=content, headers=finish)
        return _name(found.get("file"))

    def uploaded(self, name: str) -> str | None:
        """The file of the batch's name."""
        files = self._pages("files", "files")
        return next((_name(one) for one in files if one.get("displayName") == name), None)

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Make a batch of the uploaded file."""
        url = f"{self._host}{self._path}/models/{quote(self._model, safe='')}:batchGenerateContent"
        batch = {"batch": {"displayName": name, "inputConfig": {"fileName": upload}}}
        return _name(self._connect().ask("POST", url, batch)[0])

    def started(
        self, name: str, upload: str, since: float, calls: int, known: Container[str]
    ) -> Sequence[str]:
        """The batches of this name, the oldest first."""
        batches = self._pages("batches", "operations")
        found = [_name(one) for one in batches if _part(one, "metadata").get("displayName") == name]
        return [one for one in found if one not in known][::-1]

    def look(self, batch: str) -> Look:
        """Where a batch stands."""
        found = self._connect().ask("GET", f"{self._host}{self._path}/{quote(batch)}")[0]
        metadata, stats = _part(found, "metadata"), _part(_part(found, "metadata"), "batchStats")
        state = _STATES.get(str(metadata.get("state")).rpartition("_STATE_")[2], "running")
        output = _part(found, "response") or _part(metadata, "output")
        file = output.get("responsesFile")
        has_results = isinstance(file, str) and bool(file)
        error = _part(found, "error")
        return Look(
            state=state,
            done=_count(stats, "successfulRequestCount") if has_results or state == "running" else 0,
            refused=_count(stats, "failedRequestCount") if has_results or state == "running" else 0,
            files=(str(file),) if has_results else (),
            problems=tuple(_problems(error)) if state == "failed" else (),
        )

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The lines of its file of results."""
        for file in look.files:
            url = f"{self._host}/download{self._path}/{quote(file)}:download?alt=media"
            for line in self._connect().lines(url):
                found = object_of(line)
                if isinstance(found.get("key"), str):
                    yield found["key"], found

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as responses, or why there are none."""
        response, error = came.get("response"), _part(came, "error")
        if isinstance(response, dict):
            return self._reader.read_document(request, 200, as_completion(response))
        if error:
            code = token_count(error.get("code")) or 500
            return self._reader.read_document(request, _STATUS_OF_CODE.get(code, code), {"error": error})
        return Unanswered("the line has neither a response nor an error")

    def cancel(self, batch: str) -> None:
        """Cancel a batch."""
        try:
            self._connect().ask(
                "POST", f"{self._host}{self._path}/{quote(batch)}:cancel", {}, may_be_empty=True
            )
        except ModelError:  # it has ended already
            return

    def _pages(self, path: str, field: str) -> Iterator[dict[str, Any]]:
        token = ""
        for _ in range(_PAGES):
            query = {"pageSize": str(_PAGE)} | ({"pageToken": token} if token else {})
            page = self._connect().ask("GET", f"{self._host}{self._path}/{path}?{urlencode(query)}")[0]
            yield from listed(page, field, may_lack=True)
            token = str(page.get("nextPageToken") or "")
            if not token:
                return


def _part(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = found.get(name)
    return part if isinstance(part, dict) else {}


def _name(found: object) -> str:
    name = found.get("name") if isinstance(found, dict) else None
    if not isinstance(name, str) or not name:
        raise NotNow("the reply names no file or batch", unsure=True)
    return name


def _count(stats: Mapping[str, Any], name: str) -> int:
    """A count, which Google writes as a text."""
    value = stats.get(name)
    return token_count(int(value) if isinstance(value, str) and value.isdecimal() else value) or 0


def _problems(error: Mapping[str, Any]) -> Iterator[Problem]:
    message = printable(error.get("message") or "no reason was given")
    yield Problem(message, queue=error.get("code") in (8, 429))
