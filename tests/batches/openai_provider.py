"""OpenAI's files and Batch API, from their published reference.

https://developers.openai.com/api/docs/guides/batch and the reference of batches and files. A batch's states
are ``validating``, ``failed``, ``in_progress``, ``finalizing``, ``completed``, ``expired``, ``cancelling``
and ``cancelled``. Answers are in one file; requests that failed or expired are in another.
"""

import json
import re
from urllib.parse import parse_qs, urlsplit

from tests.batches.reaching import Answer

__all__ = ["OpenAIProvider", "completion"]

_STATUS = {
    "validating": "validating",
    "running": "in_progress",
    "done": "completed",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}


def completion(text, *, read=20, written=1, model="m-2026"):
    """A chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


class OpenAIProvider:
    """Answers the requests of an HTTP client.

    Args:
        farm: What happens behind the API.
        answer: The reply to a request's body.
        key: The key that it wants.

    Attributes:
        files: Name, purpose, content and time of each file, by id.
    """

    def __init__(self, farm, answer, key="sk-test-provider-1"):
        self.farm, self._answer, self._key = farm, answer, key
        self.files = {}

    def __call__(self, request):
        """The reply to a request."""
        if request.headers.get("authorization") != f"Bearer {self._key}":
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        url = urlsplit(request.url)
        path, query = url.path.removeprefix("/v1"), parse_qs(url.query)
        match request.method, path.strip("/").split("/"):
            case "POST", ["files"]:
                return self._upload(request)
            case "GET", ["files"]:
                return self._page([self._file(one) for one in reversed(self.files)], query)
            case "GET", ["files", name, "content"]:
                return self._content(name)
            case "POST", ["batches"]:
                return self._create(json.loads(request.content))
            case "GET", ["batches"]:
                return self._page([self._batch(job) for job in reversed(self.farm.jobs)], query)
            case "GET", ["batches", name]:
                job = self.farm.find(name)
                return _missing("batch", name) if job is None else _reply(self._batch(job))
            case "POST", ["batches", name, "cancel"]:
                return self._cancel(name)
        return _error(404, f"Unknown request URL: {request.method} {path}", "unknown_url")

    def _upload(self, request):
        boundary = re.search("boundary=(.+)$", request.headers["content-type"])
        assert boundary is not None
        fields = {}
        for part in request.content.split(b"--" + boundary[1].encode())[1:-1]:
            head, _, body = part.strip(b"\r\n").partition(b"\r\n\r\n")
            named = dict(re.findall(r'(\w+)="([^"]*)"', head.decode()))
            fields[named["name"]] = (named.get("filename", ""), body)
        filename, content = fields["file"]
        if len(content) > self.farm.behaviour.size:
            return _error(400, "File is too large.", None)
        name = self.farm.new_id("file-")
        self.files[name] = filename, fields["purpose"][1].decode(), content, self.farm.clock()
        return _reply(self._file(name))

    def _file(self, name):
        filename, purpose, content, made = self.files[name]
        return {
            "id": name,
            "object": "file",
            "bytes": len(content),
            "created_at": int(made),
            "filename": filename,
            "purpose": purpose,
            "status": "processed",
        }

    def _create(self, asked):
        if asked["input_file_id"] not in self.files:
            return _error(400, f"Cannot find file {asked['input_file_id']}", None)
        lines, problems = [], []
        for number, text in enumerate(self.files[asked["input_file_id"]][2].splitlines(), 1):
            line = json.loads(text)
            if line["url"] != asked["endpoint"]:
                problems.append(("mismatched_endpoint", "The URL is not the batch's endpoint.", number))
            lines.append((line["custom_id"], line["body"]))
        if len(lines) > self.farm.behaviour.requests:
            problems.append(("too_many_tasks", "The batch input file has too many lines.", None))
        if len({name for name, _ in lines}) < len(lines):
            problems.append(("duplicate_custom_id", "The custom_id is not unique.", 1))
        metadata = asked.get("metadata") or {}
        job = self.farm.add(
            self.farm.new_id("batch_"),
            metadata.get("quaver", ""),
            lines,
            input=asked["input_file_id"],
            endpoint=asked["endpoint"],
            metadata=metadata,
        )
        job.problems = problems
        return _reply(self._batch(job))

    def _cancel(self, name):
        job = self.farm.find(name)
        if job is None:
            return _missing("batch", name)
        if job.ended is not None:
            return _error(409, f"Cannot cancel a batch with status '{_STATUS[job.state]}'.", None)
        self.farm.cancel(job)
        return _reply(self._batch(job))

    def _batch(self, job):
        self.farm.advance(job)
        status = _STATUS.get(job.state, "cancelling" if job.cancelled else "finalizing")
        failed = job.state == "failed"
        document = {
            "id": job.id,
            "object": "batch",
            "endpoint": job.facts["endpoint"],
            "model": "m-2026",
            "input_file_id": job.facts["input"],
            "completion_window": "24h",
            "status": status,
            "created_at": int(job.made),
            "expires_at": int(job.made + self.farm.behaviour.expires),
            "metadata": job.facts["metadata"],
            "request_counts": {
                "total": 0 if failed else len(job.lines),
                "completed": job.count("good", "unusable"),
                "failed": job.count("refused", "fault", "credit"),
            },
            "errors": None,
        }
        if failed:
            data = [{"code": c, "message": m, "line": at, "param": None} for c, m, at in job.problems]
            document["errors"] = {"object": "list", "data": data}
        elif job.ended is not None:
            document |= self._results(job)
        return document

    def _results(self, job):
        """The files of a batch that ended, made once."""
        if "files" not in job.facts:
            answers = [line for line in job.lines if line.outcome in ("good", "unusable")]
            others = [line for line in job.lines if line not in answers]
            job.facts["files"] = {}
            for field, lines in (("output_file_id", answers), ("error_file_id", others)):
                if lines:
                    self.farm.draw.shuffle(lines)
                    name = self.farm.new_id("file-")
                    content = "".join(json.dumps(self._result(line)) + "\n" for line in lines).encode()
                    self.files[name] = f"{job.id}_{field}.jsonl", "batch_output", content, self.farm.clock()
                    job.facts["files"][field] = name
        return job.facts["files"]

    def _result(self, line):
        found = {"id": f"batch_req_{line.id[:8]}", "custom_id": line.id}
        match line.outcome:
            case "good":
                status, body = 200, self._answer(line.body)
            case "unusable":
                status, body = 200, {**self._answer(line.body), "choices": []}
            case "refused":
                status, body = 400, {"error": {"message": "Invalid prompt.", "type": "invalid_request_error"}}
            case "fault":
                status, body = 500, {"error": {"message": "The server had an error.", "type": "server_error"}}
            case "credit":
                status, body = 429, {"error": {"message": "No quota.", "code": "insufficient_quota"}}
            case _:
                code = f"batch_{line.outcome}"
                return found | {"response": None, "error": {"code": code, "message": "It was not executed."}}
        return found | {"response": {"status_code": status, "request_id": "r", "body": body}, "error": None}

    def _content(self, name):
        if name not in self.files:
            return _missing("File object", name)
        return Answer(200, self.files[name][2])

    def _page(self, data, query):
        if "purpose" in query:
            data = [one for one in data if one["purpose"] == query["purpose"][0]]
        if "after" in query:
            at = [one["id"] for one in data].index(query["after"][0])
            data = data[at + 1 :]
        limit = int(query.get("limit", ["20"])[0])
        return _reply({"object": "list", "data": data[:limit], "has_more": len(data) > limit})


def _reply(document):
    return Answer.json(document)


def _error(status, message, code):
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Answer.json({"error": error}, status)


def _missing(what, name):
    return _error(404, f"No {what} found with id '{name}'.", None)
