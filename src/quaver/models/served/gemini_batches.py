"""Gemini's batch mode: a file of lines in Gemini's own format, a batch of that file, one file of results.

The reference: https://ai.google.dev/gemini-api/docs/batch-api. The name of a batch is its display name and
that of its file, by which both are found again. An expired batch has no results, whatever it had answered.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from quaver.core.batch import BatchLimits, Lines, Look, NotNow, Problem, Unanswered
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import SpecError
from quaver.models.served.batch_http import BatchHttp, HttpBatches, LineReader, count_in, name_in
from quaver.models.served.dialects import EFFORTS
from quaver.models.served.server_options import compact_json
from quaver.models.served.server_reply import object_in
from quaver.models.served.wire import Wire


def check_body(body: Mapping[str, Any]) -> None:
    """Check that the extra fields of the study file have a counterpart in a batch."""
    unknown = sorted(name for name, value in body.items() if name != "reasoning_effort" and value is not None)
    effort = body.get("reasoning_effort")
    if unknown or (effort is not None and effort not in EFFORTS):
        raise SpecError(
            "Gemini's batches do not take this field",
            where="body",
            expected=f"reasoning_effort, with one of {', '.join(EFFORTS)}",
            found=unknown[0] if unknown else f"reasoning_effort: {effort}",
            fix="leave it out, or ask this model without batches",
        )


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


class GeminiBatches(HttpBatches):
    """Batches of one model at Google.

    Args:
        connect: Opens the connection, with the key that is in the environment.
        base_url: The address of Gemini's interface for OpenAI's protocol, as the preset has it.
        model: The model's name there.
        wire: How it is asked in Gemini's own API.
        reader: Reads what comes back for requests.
    """

    kind = "gemini"
    limits = BatchLimits(hours=48.0)
    request_id = "key"
    paging = ("pageSize", "pageToken")
    cancel_body: ClassVar = {}

    def __init__(
        self,
        connect: Callable[[], BatchHttp],
        base_url: str,
        model: str,
        wire: Wire,
        reader: LineReader,
    ) -> None:
        super().__init__(connect, reader)
        self._model, self._wire = model, wire
        parts = urlsplit(base_url.rstrip("/").removesuffix("/openai"))
        self._host, self._path = f"{parts.scheme}://{parts.netloc}", parts.path

    def kind_of(self, request: Request) -> str:
        """There is one endpoint."""
        return "generateContent"

    def line(self, request_id: str, request: Request) -> bytes:
        """The line of a request."""
        content = self._wire.body(request, n=len(request.calls))
        return compact_json({"key": request_id, "request": content})

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
        reply, _ = http.ask("POST", where, content=content, headers=finish)
        return name_in(reply.get("file"), "name")

    def uploaded(self, name: str) -> str | None:
        """The file of the batch's name."""
        files = self._pages(f"{self._host}{self._path}/files", "files", may_lack=True)
        return next((name_in(file, "name") for file in files if file.get("displayName") == name), None)

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Make a batch of the uploaded file."""
        url = f"{self._host}{self._path}/models/{quote(self._model, safe='')}:batchGenerateContent"
        batch = {"batch": {"displayName": name, "inputConfig": {"fileName": upload}}}
        return name_in(self._connect().ask("POST", url, batch)[0], "name")

    def started(
        self, name: str, upload: str, since: float, calls: int, known: Container[str]
    ) -> Sequence[str]:
        """The batches of this name, the oldest first."""
        batches = self._pages(f"{self._host}{self._path}/batches", "operations", may_lack=True)
        alike = [
            name_in(batch, "name")
            for batch in batches
            if object_in(batch.get("metadata")).get("displayName") == name
        ]
        return [batch for batch in alike if batch not in known][::-1]

    def look(self, batch: str) -> Look:
        """Where a batch stands."""
        document = self._get(f"{self._host}{self._path}/{quote(batch)}")
        metadata = object_in(document.get("metadata"))
        counts = object_in(metadata.get("batchStats"))
        state = _STATES.get(str(metadata.get("state")).rpartition("_STATE_")[2], "running")
        output = object_in(document.get("response")) or object_in(metadata.get("output"))
        file = output.get("responsesFile")
        has_results = isinstance(file, str) and bool(file)
        is_counted = has_results or state == "running"
        return Look(
            state=state,
            done=count_in(counts, "successfulRequestCount") if is_counted else 0,
            refused=count_in(counts, "failedRequestCount") if is_counted else 0,
            files=(str(file),) if has_results else (),
            problems=(_problem(object_in(document.get("error"))),) if state == "failed" else (),
        )

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as responses, or why there are none."""
        response, error = came.get("response"), object_in(came.get("error"))
        if isinstance(response, dict):
            return self._reader.read(request, 200, response)
        if error:
            code = token_count(error.get("code")) or 500
            return self._reader.read(request, _STATUS_OF_CODE.get(code, code), {"error": error})
        return Unanswered("the line has neither a response nor an error")

    def _result_urls(self, batch: str, look: Look) -> list[str]:
        """Its one file."""
        return [f"{self._host}/download{self._path}/{quote(file)}:download?alt=media" for file in look.files]

    def _cancelling(self, batch: str) -> str:
        return f"{self._host}{self._path}/{quote(batch)}:cancel"

    def _following(self, page: Mapping[str, Any], objects: Sequence[Mapping[str, Any]]) -> str:
        return str(page.get("nextPageToken") or "")


def _problem(error: Mapping[str, Any]) -> Problem:
    message = printable(error.get("message") or "no reason was given")
    return Problem(message, queue=error.get("code") in (8, 429))
