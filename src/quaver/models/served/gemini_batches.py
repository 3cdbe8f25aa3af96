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
from quaver.core.records import Decoding, Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import ModelError, SpecError
from quaver.models._defaults import turns
from quaver.models.served.batch_http import BatchHttp, LineReader, listed, object_of
from quaver.models.served.server_options import ROOM, one_of

_DEFAULTS = Decoding("")
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Tokens of thinking by ``reasoning_effort``, as Google documents it for models before Gemini 3."""

_FILTERED = frozenset(
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"]
)


def generate_content(model: str, request: Request, body: Mapping[str, Any]) -> dict[str, Any]:
    """A request as Gemini's ``GenerateContentRequest``."""
    decoding, said = request.decoding, turns(request.prompt.messages)
    system = [{"text": one["content"]} for one in said if one["role"] == "system"]
    contents = [
        {"role": "model" if one["role"] == "assistant" else "user", "parts": [{"text": one["content"]}]}
        for one in said
        if one["role"] != "system"
    ]
    config: dict[str, Any] = {"temperature": decoding.temperature, "maxOutputTokens": decoding.max_tokens}
    if decoding.top_p != _DEFAULTS.top_p:
        config["topP"] = decoding.top_p
    if decoding.stop:
        config["stopSequences"] = list(decoding.stop)
    if len(request.calls) > 1:
        config["candidateCount"] = len(request.calls)
    if request.schema or request.choices:
        schema = json.loads(request.schema) if request.schema else one_of(request.choices)
        config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        config["maxOutputTokens"] += 0 if request.schema else ROOM
    if effort := body.get("reasoning_effort"):
        config["thinkingConfig"] = _thinking(model, str(effort))
    found: dict[str, Any] = {"contents": contents, "generationConfig": config}
    return found | ({"systemInstruction": {"parts": system}} if system else {})


def check_body(body: Mapping[str, Any]) -> None:
    """Check that the extra fields of the study file have a counterpart in a batch."""
    unknown = sorted(name for name, value in body.items() if name != "reasoning_effort" and value is not None)
    effort = body.get("reasoning_effort")
    if unknown or (effort is not None and effort not in _BUDGETS):
        raise SpecError(
            "Gemini's batches do not take this field",
            where="body",
            expected=f"reasoning_effort, with one of {', '.join(_BUDGETS)}",
            found=unknown[0] if unknown else f"reasoning_effort: {effort}",
            fix="leave it out, or ask this model without batches",
        )


def _thinking(model: str, effort: str) -> dict[str, Any]:
    if model.removeprefix("models/").startswith(("gemini-1", "gemini-2")):
        return {"thinkingBudget": _BUDGETS[effort]}
    return {"thinkingLevel": effort}


def as_completion(found: Mapping[str, Any]) -> dict[str, Any]:
    """Gemini's ``GenerateContentResponse`` as a chat completion, so that both are read by the same rules."""
    candidates = found.get("candidates")
    candidates = [one for one in candidates if isinstance(one, dict)] if isinstance(candidates, list) else []
    feedback, usage = found.get("promptFeedback"), found.get("usageMetadata")
    usage = usage if isinstance(usage, dict) else {}
    choices = [_choice(at, one) for at, one in enumerate(candidates)]
    if not choices and isinstance(feedback, dict) and feedback.get("blockReason"):
        choices = [{"index": 0, "message": {"content": ""}, "finish_reason": "content_filter"}]
    read = token_count(usage.get("promptTokenCount"))
    counts = [token_count(usage.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    return {
        "model": found.get("modelVersion"),
        "choices": choices,
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": None if counts == [None, None] else sum(one or 0 for one in counts),
            "prompt_tokens_details": {"cached_tokens": token_count(usage.get("cachedContentTokenCount"))},
            "completion_tokens_details": {"reasoning_tokens": counts[1]},
        },
    }


def _choice(at: int, candidate: Mapping[str, Any]) -> dict[str, Any]:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    parts = [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []
    texts: dict[bool, str] = {False: "", True: ""}
    for one in parts:
        if isinstance(one.get("text"), str):
            texts[one.get("thought") is True] += one["text"]
    reason = str(candidate.get("finishReason"))
    ends = "length" if reason == "MAX_TOKENS" else "content_filter" if reason in _FILTERED else "stop"
    message = {"content": texts[False]} | ({"reasoning_content": texts[True]} if texts[True] else {})
    return {"index": at, "message": message, "finish_reason": ends}


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
