"""Anthropic's Message Batches, from their published reference.

https://platform.claude.com/docs/en/build-with-claude/batch-processing. A batch has no name. Its counts are
zero until all of it has ended; then one file has a result for every request: succeeded, errored, canceled or
expired.
"""

import json
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

from tests.batches.reaching import Answer

__all__ = ["AnthropicProvider", "message"]


def message(text, *, read=20, written=1):
    """A message."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": read,
            "output_tokens": written,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "service_tier": "batch",
        },
    }


class AnthropicProvider:
    """Answers the requests of an HTTP client.

    Args:
        farm: What happens behind the API.
        answer: The message for a request's parameters.
        key: The key that it wants.
    """

    def __init__(self, farm, answer, key="sk-ant-test-1"):
        self.farm, self._answer, self._key = farm, answer, key

    def __call__(self, request):
        """The reply to a request."""
        if request.headers.get("x-api-key") != self._key:
            return _error(401, "authentication_error", "invalid x-api-key")
        if request.headers.get("anthropic-version") != "2023-06-01":
            return _error(400, "invalid_request_error", "anthropic-version: header is required")
        url = urlsplit(request.url)
        match request.method, url.path.removeprefix("/v1/messages/").split("/"):
            case "POST", ["batches"]:
                return self._create(json.loads(request.content))
            case "GET", ["batches"]:
                return self._list(parse_qs(url.query))
            case method, ["batches", name, *rest]:
                job = self.farm.find(name)
                if job is None:
                    return _error(404, "not_found_error", f"No batch {name}")
                match method, rest:
                    case "GET", []:
                        return Answer.json(self._batch(job))
                    case "GET", ["results"] if job.ended is not None:
                        return Answer(200, self._results(job))
                    case "POST", ["cancel"]:
                        return self._cancel(job)
        return _error(404, "not_found_error", "Not found")

    def _create(self, asked):
        requests = [(one["custom_id"], one["params"]) for one in asked["requests"]]
        how = self.farm.behaviour
        if len(requests) > how.requests or len(json.dumps(asked)) > how.size:
            return _error(413, "request_too_large", "Request exceeds the maximum size")
        if len({name for name, _ in requests}) < len(requests):
            return _error(400, "invalid_request_error", "requests: custom_id must be unique")
        queued = sum(len(one.lines) for one in self.farm.running())
        if how.queue is not None and queued + len(requests) > how.queue:
            return _error(429, "rate_limit_error", "This would exceed the number of requests in the queue")
        if how.credit is not None and how.credit <= 0:
            message = "Your credit balance is too low to access the Anthropic API."
            return _error(400, "invalid_request_error", message)
        job = self.farm.add(self.farm.new_id("msgbatch_"), "", requests)
        return Answer.json(self._batch(job))

    def _list(self, query):
        jobs = self.farm.jobs[::-1]
        if "after_id" in query:
            jobs = jobs[[one.id for one in jobs].index(query["after_id"][0]) + 1 :]
        limit = int(query.get("limit", ["20"])[0])
        data = [self._batch(job) for job in jobs[:limit]]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
        return Answer.json({"data": data, "has_more": len(jobs) > limit, **ends})

    def _cancel(self, job):
        if job.ended is not None:
            return _error(400, "invalid_request_error", "The batch has ended")
        self.farm.cancel(job)
        return Answer.json(self._batch(job))

    def _batch(self, job):
        self.farm.advance(job)
        ended = job.ended is not None
        counts = {
            "processing": 0 if ended else len(job.lines),
            "succeeded": job.count("good", "unusable") if ended else 0,
            "errored": job.count("refused", "fault", "credit") if ended else 0,
            "canceled": job.count("cancelled") if ended else 0,
            "expired": job.count("expired") if ended else 0,
        }
        return {
            "id": job.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "canceling" if job.cancelled else "in_progress",
            "request_counts": counts,
            "created_at": _moment(job.made),
            "expires_at": _moment(job.made + self.farm.behaviour.expires),
            "ended_at": _moment(job.ended) if job.ended is not None else None,
            "archived_at": None,
            "cancel_initiated_at": _moment(job.cancelled) if job.cancelled else None,
            "results_url": f"https://elsewhere.example/{job.id}/results" if ended else None,
        }

    def _results(self, job):
        if "results" not in job.facts:
            lines = list(job.lines)
            self.farm.draw.shuffle(lines)
            found = [{"custom_id": line.id, "result": self._result(line)} for line in lines]
            job.facts["results"] = "".join(json.dumps(one) + "\n" for one in found).encode()
        return job.facts["results"]

    def _result(self, line):
        match line.outcome:
            case "good":
                return {"type": "succeeded", "message": self._answer(line.body)}
            case "unusable":
                return {"type": "succeeded", "message": self._answer(line.body) | {"content": None}}
            case "refused":
                return _errored("invalid_request_error", "messages: text is required")
            case "fault":
                return _errored("api_error", "Internal server error")
            case "credit":
                return _errored("billing_error", "The account has no credit")
        return {"type": "expired" if line.outcome == "expired" else "canceled"}


def _errored(kind, message):
    error = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return {"type": "errored", "error": error}


def _error(status, kind, message):
    return Answer.json({"type": "error", "error": {"type": kind, "message": message}}, status)


def _moment(at):
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
