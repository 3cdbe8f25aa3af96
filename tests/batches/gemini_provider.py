"""Gemini's Batch API, from its published reference: https://ai.google.dev/api/batch-api.

A batch is an operation. Its counts are texts, and its results are in its description, each with the metadata
of its request, in any order. A batch that expired has no results; neither has, here, one that was cancelled.
"""

import json
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

from tests.batches.farm import DAY
from tests.batches.reaching import Answer

__all__ = ["GeminiProvider", "content", "through_lines"]

_STATES = {
    "validating": "PENDING",
    "running": "RUNNING",
    "ending": "RUNNING",
    "done": "SUCCEEDED",
    "failed": "FAILED",
    "cancelled": "CANCELLED",
    "expired": "EXPIRED",
}
_ERRORS = {
    "refused": (3, "Request contains an invalid argument."),
    "fault": (13, "Internal error encountered."),
    "credit": (8, "Your prepayment credits are depleted."),
}


def content(text, *, read=20, written=1):
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


def through_lines(reply, change):
    """A batch's description whose results were changed as lines; what is no JSON is a text among them."""
    document = json.loads(reply)
    if "response" not in document:
        return reply
    results = document["response"]["inlinedResponses"]["inlinedResponses"]
    changed = []
    for line in change("".join(json.dumps(one) + "\n" for one in results).encode()).splitlines():
        try:
            changed.append(json.loads(line))
        except (ValueError, RecursionError):
            changed.append(line[:40].decode())
    results[:] = changed
    return json.dumps(document).encode()


class GeminiProvider:
    """Answers the requests of an HTTP client.

    Args:
        farm: What happens behind the API.
        answer: The content for a request.
        key: The key that it wants.
    """

    def __init__(self, farm, answer, key="AIza-test-1"):
        self.farm, self._answer, self._key = farm, answer, key
        farm.behaviour.expires = 2 * DAY

    def __call__(self, request):
        """The reply to a request."""
        if request.headers.get("x-goog-api-key") != self._key:
            return _error(400, "INVALID_ARGUMENT", "API key not valid.")
        url = urlsplit(request.url)
        match request.method, url.path.removeprefix("/v1beta/").split("/"):
            case "POST", ["models", call] if call.endswith(":batchGenerateContent"):
                return self._create(json.loads(request.content)["batch"])
            case "GET", ["batches"]:
                return self._list(parse_qs(url.query))
            case method, ["batches", call]:
                name, _, verb = call.partition(":")
                job = self.farm.find(name)
                if job is None:
                    return _error(404, "NOT_FOUND", "Requested entity was not found.")
                match method, verb:
                    case "GET", "":
                        return Answer.json(self._operation(job))
                    case "POST", "cancel":
                        return self._cancel(job)
        return _error(404, "NOT_FOUND", "Requested entity was not found.")

    def _create(self, batch):
        asked = [
            (one["metadata"]["key"], one["request"]) for one in batch["inputConfig"]["requests"]["requests"]
        ]
        how = self.farm.behaviour
        queued = sum(len(one.lines) for one in self.farm.running())
        if how.queue is not None and queued + len(asked) > how.queue:
            return _error(429, "RESOURCE_EXHAUSTED", "Batch enqueued tokens exceed the quota")
        job = self.farm.add(self.farm.new_id("b"), batch["displayName"], asked)
        return Answer.json(self._operation(job))

    def _list(self, query):
        jobs, size, at = (
            self.farm.jobs[::-1],
            int(query["pageSize"][0]),
            int(query.get("pageToken", ["0"])[0]),
        )
        more = {"nextPageToken": str(at + size)} if len(jobs) > at + size else {}
        found = {"operations": [self._operation(job) for job in jobs[at : at + size]]} if jobs else {}
        return Answer.json(found | more)

    def _cancel(self, job):
        if job.ended is not None:
            return _error(400, "FAILED_PRECONDITION", "The batch has ended")
        self.farm.cancel(job)
        return Answer.json({})

    def _operation(self, job):
        self.farm.advance(job)
        if job.state in ("expired", "cancelled") and "lost" not in job.facts:
            job.facts["lost"] = True  # whatever it answered is neither given nor billed
            self.farm.billed -= {line.id: 1 for line in job.lines if line.outcome in ("good", "unusable")}
            self.farm.paid -= {line.id: 1 for line in job.lines if line.outcome == "good"}
        good, bad = job.count("good", "unusable"), job.count(*_ERRORS)
        stats = {"requestCount": len(job.lines), "pendingRequestCount": len(job.lines) - good - bad}
        stats |= {"successfulRequestCount": good, "failedRequestCount": bad}
        about = {
            "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
            "model": "models/gemini-test",
            "displayName": job.name,
            "createTime": _moment(job.made),
            "batchStats": {name: str(count) for name, count in stats.items() if count},
            "state": f"BATCH_STATE_{_STATES[job.state]}",
            "name": f"batches/{job.id}",
        }
        found = {"name": f"batches/{job.id}", "metadata": about}
        match job.state:
            case "done":
                output = {"inlinedResponses": {"inlinedResponses": self._results(job)}}
                about |= {"endTime": _moment(job.ended), "output": output}
                return found | {"done": True, "response": {"@type": about["@type"], **output}}
            case "failed":
                return found | {"done": True, "error": {"code": 8, "message": job.problems[0][1]}}
            case "cancelled":
                return found | {"done": True, "error": {"code": 1, "message": "The operation was cancelled."}}
        return found | ({"done": True} if job.ended is not None else {})

    def _results(self, job):
        if "results" not in job.facts:
            lines = list(job.lines)
            self.farm.draw.shuffle(lines)
            job.facts["results"] = [{**self._result(line), "metadata": {"key": line.id}} for line in lines]
        return job.facts["results"]

    def _result(self, line):
        if line.outcome in _ERRORS:
            code, message = _ERRORS[line.outcome]
            return {"error": {"code": code, "message": message}}
        answer = self._answer(line.body)
        return {"response": answer if line.outcome == "good" else answer | {"candidates": []}}


def _error(status, name, message):
    return Answer.json({"error": {"code": status, "message": message, "status": name}}, status)


def _moment(at):
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
