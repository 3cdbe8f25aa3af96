"""Gemini's files and batch mode, from their published reference.

https://ai.google.dev/gemini-api/docs/batch-api and …/api/files. Counts are texts. A batch that expired has no
results; neither has, here, one that was cancelled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from tests.batches.farm import Farm, Job, Line

__all__ = ["GeminiProvider", "content"]

_STATES = {
    "validating": "PENDING",
    "running": "RUNNING",
    "ending": "RUNNING",
    "done": "SUCCEEDED",
    "failed": "FAILED",
    "cancelled": "CANCELLED",
    "expired": "EXPIRED",
}


def content(text: str, *, read: int = 20, written: int = 1) -> dict[str, Any]:
    """A generated content."""
    return {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": read,
            "candidatesTokenCount": written,
            "totalTokenCount": read + written,
        },
        "modelVersion": "gemini-test-1",
        "responseId": "r1",
    }


class GeminiProvider:
    """Answers the requests of an HTTP client.

    Args:
        farm: What happens behind the API.
        answer: The content for a request.
        key: The key that it wants.

    Attributes:
        files: Name, content and time of each file, by id.
    """

    def __init__(
        self, farm: Farm, answer: Callable[[dict[str, Any]], dict[str, Any]], key: str = "AIza-test-1"
    ) -> None:
        self.farm, self._answer, self._key = farm, answer, key
        self.files: dict[str, tuple[str, bytes, float]] = {}
        self._uploads: dict[str, str] = {}

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """The reply to a request."""
        if request.headers.get("x-goog-api-key") != self._key:
            return _error(400, "INVALID_ARGUMENT", "API key not valid.")
        url = urlsplit(str(request.url))
        query = parse_qs(url.query)
        match request.method, url.path.strip("/").split("/"):
            case "POST", ["upload", "v1beta", "files"]:
                return self._upload(request, query)
            case "GET", ["v1beta", "files"]:
                names = list(reversed(self.files))
                return self._page("files", [self._file(one) for one in names], query)
            case "GET", ["download", "v1beta", "files", name] if query.get("alt") == ["media"]:
                return self._download(name.removesuffix(":download"))
            case "POST", ["v1beta", "models", call] if call.endswith(":batchGenerateContent"):
                return self._create(json.loads(request.content)["batch"])
            case "GET", ["v1beta", "batches"]:
                jobs = reversed(self.farm.jobs)
                return self._page("operations", [self._operation(job) for job in jobs], query)
            case "GET", ["v1beta", "batches", name]:
                job = self.farm.find(name)
                return _missing() if job is None else httpx2.Response(200, json=self._operation(job))
            case "POST", ["v1beta", "batches", call] if call.endswith(":cancel"):
                return self._cancel(call.removesuffix(":cancel"))
        return _missing()

    def _upload(self, request: httpx2.Request, query: Mapping[str, list[str]]) -> httpx2.Response:
        if request.headers["x-goog-upload-command"] == "start":
            upload = self.farm.new_id("u")
            self._uploads[upload] = json.loads(request.content)["file"]["display_name"]
            where = f"https://generativelanguage.googleapis.com/upload/v1beta/files?upload_id={upload}"
            return httpx2.Response(200, headers={"x-goog-upload-url": where})
        name = self.farm.new_id("f")
        self.files[name] = self._uploads[query["upload_id"][0]], request.content, self.farm.clock()
        return httpx2.Response(200, json={"file": self._file(name)})

    def _file(self, name: str) -> dict[str, Any]:
        shown, whole, made = self.files[name]
        return {
            "name": f"files/{name}",
            "displayName": shown,
            "mimeType": "application/jsonl",
            "sizeBytes": str(len(whole)),
            "createTime": _moment(made),
            "expirationTime": _moment(made + 172_800.0),
            "state": "ACTIVE",
        }

    def _download(self, name: str) -> httpx2.Response:
        if name not in self.files:
            return _missing()
        return httpx2.Response(200, content=self.files[name][1])

    def _create(self, batch: Mapping[str, Any]) -> httpx2.Response:
        file = batch["inputConfig"]["fileName"].removeprefix("files/")
        if file not in self.files:
            return _missing()
        lines = [json.loads(line) for line in self.files[file][1].splitlines()]
        how = self.farm.behaviour
        queued = sum(len(one.lines) for one in self.farm.running())
        if how.queue is not None and queued + len(lines) > how.queue:
            return _error(429, "RESOURCE_EXHAUSTED", "Batch enqueued tokens exceed the quota")
        requests = [(line["key"], line["request"]) for line in lines]
        job = self.farm.add(self.farm.new_id("b"), batch["displayName"], requests)
        return httpx2.Response(200, json=self._operation(job))

    def _cancel(self, name: str) -> httpx2.Response:
        job = self.farm.find(name)
        if job is None:
            return _missing()
        if job.ended is not None:
            return _error(400, "FAILED_PRECONDITION", "The batch has ended")
        self.farm.cancel(job)
        return httpx2.Response(200, json={})

    def _operation(self, job: Job) -> dict[str, Any]:
        self.farm.advance(job)
        if job.state in ("expired", "cancelled") and "lost" not in job.facts:
            job.facts["lost"] = True  # whatever it answered is neither given nor billed
            self.farm.billed -= {line.id: 1 for line in job.lines if line.outcome in ("good", "unusable")}
            self.farm.paid -= {line.id: 1 for line in job.lines if line.outcome == "good"}
        good, bad = job.count("good", "unusable"), job.count("refused", "fault", "credit")
        stats = {"requestCount": str(len(job.lines)), "pendingRequestCount": str(len(job.lines) - good - bad)}
        stats |= {"successfulRequestCount": str(good)} if good else {}
        stats |= {"failedRequestCount": str(bad)} if bad else {}
        metadata = {
            "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
            "model": "models/gemini-test",
            "displayName": job.name,
            "createTime": _moment(job.made),
            "updateTime": _moment(self.farm.clock()),
            "batchStats": stats,
            "state": f"BATCH_STATE_{_STATES[job.state]}",
            "name": f"batches/{job.id}",
        }
        found: dict[str, Any] = {"name": f"batches/{job.id}", "metadata": metadata}
        if job.state == "done":
            output = {"responsesFile": self._results(job)}
            metadata |= {"endTime": _moment(job.ended or 0.0), "output": output}
            return found | {"done": True, "response": {"@type": metadata["@type"], **output}}
        if job.state == "failed":
            return found | {"done": True, "error": {"code": 8, "message": job.problems[0][1]}}
        return found | ({"done": True} if job.ended is not None else {})

    def _results(self, job: Job) -> str:
        if "file" not in job.facts:
            lines = list(job.lines)
            self.farm.draw.shuffle(lines)
            job.facts["file"] = name = self.farm.new_id("batch-")
            whole = "".join(json.dumps({"key": line.id, **self._result(line)}) + "\n" for line in lines)
            self.files[name] = "", whole.encode(), self.farm.clock()
        return f"files/{job.facts['file']}"

    def _result(self, line: Line) -> dict[str, Any]:
        match line.outcome:
            case "good":
                return {"response": self._answer(line.body)}
            case "unusable":
                return {"response": self._answer(line.body) | {"candidates": []}}
            case "refused":
                return {"error": {"code": 3, "message": "Request contains an invalid argument."}}
            case "credit":
                return {"error": {"code": 402, "message": "The prepaid credits are used up."}}
        return {"error": {"code": 13, "message": "Internal error encountered."}}

    def _page(
        self, field: str, data: list[dict[str, Any]], query: Mapping[str, list[str]]
    ) -> httpx2.Response:
        size, at = int(query["pageSize"][0]), int(query.get("pageToken", ["0"])[0])
        more = {"nextPageToken": str(at + size)} if len(data) > at + size else {}
        return httpx2.Response(200, json={field: data[at : at + size], **more})


def _error(status: int, name: str, message: str) -> httpx2.Response:
    return httpx2.Response(status, json={"error": {"code": status, "message": message, "status": name}})


def _missing() -> httpx2.Response:
    return _error(404, "NOT_FOUND", "Requested entity was not found.")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
