"""Batches over HTTP: OpenAI's Batch API, Anthropic's Message Batches, and what each failure leaves open.

A reply is read up to a size, since a server may send anything; the key never goes to another address, since
redirects are not followed. The references: https://developers.openai.com/api/docs/guides/batch and
https://platform.claude.com/docs/en/build-with-claude/batch-processing.
"""

from __future__ import annotations

import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

import aiohttp

from quaver._secrets import Keys
from quaver.core.batch import Gone, Lines, Look, NotNow, Unanswered
from quaver.core.calls import Request, Response
from quaver.core.conversation import finished, one_by_one
from quaver.core.input_budget import InputBudget, TooLarge, parsed_json
from quaver.core.meter import Meter
from quaver.core.response_validation import printable, token_count
from quaver.errors import ModelError, RateLimited
from quaver.models.served.dialects import MESSAGES
from quaver.models.served.http_pool import MOST_REPLY, MOST_VALUES, SUCCESS, HttpPool, whole
from quaver.models.served.server_faults import Address, Passing, Refused, lost, read_failure
from quaver.models.served.server_options import compact_json
from quaver.models.served.server_reply import object_in, objects_in, reading
from quaver.models.served.wire import Wire

_CONNECT, _QUIET = 10.0, 120.0
"""Seconds for connecting, and without a byte."""

MOST_LINE, MOST_RESULTS = MOST_REPLY, 2**31
"""Bytes of a line of results, and of all results."""

PAGES, _PAGE = 50, 100
"""Pages of a list that are looked through, and objects on each."""

_LAST = 2.0**34
"""Seconds since 1970; a later time is none."""


def opened() -> HttpPool:
    """A connection for one request."""
    return HttpPool(1, _CONNECT, _QUIET)


class HttpBatches:
    """Batches of one model at a provider.

    Args:
        connect: The headers of every request, and the key among them, which is removed from what comes back.
        wire: How the model is asked.
        address: For errors.
    """

    most_requests, most_bytes, hours = 20_000, 50 * 2**20, 24.0
    root: ClassVar = "/batches"
    """The path of the provider's batches."""
    after: ClassVar = "after"
    """What says after which object a page of a list begins."""
    cancelling, most_reply = "/cancel", MOST_REPLY
    """What follows a batch's path to cancel it, and bytes of what is said of a batch."""

    def __init__(
        self, connect: Callable[[], tuple[Mapping[str, str], str]], wire: Wire, address: Address
    ) -> None:
        self._connect, self._wire, self._address = connect, wire, address
        self._taught: set[str] = set()

    def endpoint(self, request: Request) -> str:
        """The path of the request."""
        return self._wire.path(request)

    def upload(self, name: str, lines: Lines) -> str:
        """Nothing is uploaded."""
        return ""

    def started(self, name: str, since: float, requests: int, known: Container[str]) -> Sequence[str]:
        """Unknown batches since then that may be this one, the oldest first."""
        batches: list[str] = []
        for batch in self._pages():
            if (seconds_in(batch.get("created_at")) or since) < since:
                break
            if name_in(batch) not in known and self._may_be(batch, name, requests):
                batches.append(name_in(batch))
        return batches[::-1]

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The lines of its results."""
        for path in self._results(batch, look):
            for result in map(_object, self._lines(path)):
                if isinstance(result.get("custom_id"), str):
                    yield result["custom_id"], result

    def cancel(self, batch: str) -> None:
        """Cancel a batch; what is answered by then is kept."""
        with suppress(ModelError):  # it has ended already
            self._ask("POST", f"{self._path(batch)}{self.cancelling}")

    def _may_be(self, batch: Mapping[str, Any], name: str, requests: int) -> bool:
        """Whether a batch in the provider's list may be that of a name."""
        raise NotImplementedError

    def _results(self, batch: str, look: Look) -> Iterable[str]:
        """The paths of its results."""
        raise NotImplementedError

    def _path(self, batch: str) -> str:
        return f"{self.root}/{quote(batch, safe='')}"

    def _pages(self) -> Iterator[dict[str, Any]]:
        """The batches in the provider's list, newest first."""
        query = {"limit": str(_PAGE)}
        for _ in range(PAGES):
            page = self._ask("GET", f"{self.root}?{urlencode(query)}")
            if not isinstance(page.get("data"), list):
                raise NotNow("the reply has no list")
            objects = objects_in(page["data"])
            yield from objects
            if not (page.get("has_more") and objects):
                return
            query[self.after] = name_in(objects[-1])

    # ------------------------------------------------------------------ requests to the provider

    def _ask(
        self, method: str, path: str, document: Any = None, *, content: bytes = b"", kind: str = ""
    ) -> dict[str, Any]:
        """Send a document, or content of a kind, and read the JSON object that comes back."""
        if document is not None:
            content = compact_json(document)
        kind = kind or ("application/json" if content else "")
        body = finished(self._asked(method, path, content, {"content-type": kind} if kind else {}))
        parsed: Any = None
        with suppress(ValueError, RecursionError):
            parsed = json.loads(body)
        if not isinstance(parsed, dict):
            raise NotNow("the reply is not an object of JSON", unsure=method != "GET")
        return parsed

    def _lines(self, path: str) -> Iterator[bytes]:
        """Download the lines of a file."""
        for lines in one_by_one(self._downloaded(path)):
            yield from (line for line in lines if line.strip())

    async def _asked(self, method: str, path: str, content: bytes, more: Mapping[str, str]) -> bytes:
        async with self._sent(method, path, content, more) as (reply, secret):
            return secret.out_of_bytes(await whole(reply, self.most_reply))

    async def _downloaded(self, path: str) -> AsyncGenerator[list[bytes], None]:
        """The lines of a file, those that came together together."""
        async with self._sent("GET", path, b"", {}) as (reply, secret):
            rest, results = b"", InputBudget(MOST_RESULTS, "bytes of results")
            while chunk := await reply.content.readany():
                results.spend(len(chunk))
                *lines, rest = (rest + chunk).split(b"\n")
                InputBudget(MOST_LINE, "bytes in a line").spend(len(rest))
                yield list(map(secret.out_of_bytes, lines))
            yield [secret.out_of_bytes(rest)]

    @asynccontextmanager
    async def _sent(
        self, method: str, path: str, content: bytes, more: Mapping[str, str]
    ) -> AsyncIterator[tuple[aiohttp.ClientResponse, Keys]]:
        (headers, key), changes, url = self._connect(), method != "GET", self._address.url + path
        secret = Keys.of(key)
        try:
            async with (
                opened() as pool,
                pool.sent(method, url, {**headers, **more}, content or None) as reply,
            ):
                if reply.status not in SUCCESS:
                    body = secret.out_of_bytes(await whole(reply))
                    raise _failure(reply.status, reply.headers, body, self._address, changes)
                yield reply, secret
        except TooLarge as error:
            raise NotNow(f"the reply holds {error}", unsure=changes) from None
        except (aiohttp.ClientError, OSError) as error:
            fault = lost(error, urlsplit(url).netloc)
            raise NotNow(fault.reason, unsure=changes and not fault.unreached) from None

    # ------------------------------------------------------------------ one reply

    def _read(self, request: Request, status: object, document: Any) -> list[Response] | Unanswered:
        """A reply as a response, or why it is none; a server may give no status."""
        status, content, meter = token_count(status) or 0, json.dumps(document).encode(), Meter()
        if status and not 200 <= status < 300:
            return self._refused(request, status, content)
        try:
            with reading(meter, request, content):
                return [self._wire.read(content, request, self._wire.body(request))]
        except Passing as fault:
            return Unanswered(fault.reason, traffic=meter.take())

    def _refused(self, request: Request, status: int, content: bytes) -> list[Response] | Unanswered:
        failure = read_failure(status, {}, content, self._address)
        if isinstance(failure, Response):
            return [failure]
        if isinstance(failure, Passing):
            return Unanswered(failure.reason, counts=not failure.limited)
        reason = printable(failure.found or failure.problem)
        if isinstance(failure, Refused):
            if failure.words in self._taught or self._wire.learn(failure, self._wire.body(request)):
                self._taught.add(failure.words)  # the next batch asks without what is refused
                return Unanswered(failure.words)
            if failure.may_be_the_texts:
                return [failure.response]
            failure = failure.error
        return Unanswered(reason, counts=not isinstance(failure, RateLimited), fatal=failure)


def _failure(
    status: int, headers: Mapping[str, str], content: bytes, address: Address, changes: bool
) -> Exception:
    """What an error reply means: nothing has happened unless the server itself failed."""
    if status in (404, 410):
        return Gone(f"HTTP {status}: {printable(content[:200].decode('utf-8', 'replace'))}")
    failure = read_failure(status, headers, content, address)
    if isinstance(failure, Passing):
        return NotNow(failure.reason, unsure=changes and status >= 500, limited=failure.limited)
    if isinstance(failure, Response):
        return ModelError("the provider refuses the batch", where=address.url, found=failure.error or "")
    return failure


def _object(line: bytes) -> Mapping[str, Any]:
    """A line of results as an object; an empty one if it is none."""
    try:
        return object_in(parsed_json(line, MOST_VALUES))
    except (ValueError, RecursionError, TooLarge):
        return {}


def name_in(document: Mapping[str, Any], field: str = "id") -> str:
    """What a provider calls a file or a batch."""
    name = document.get(field)
    if not isinstance(name, str) or not name:
        raise NotNow("the reply names no file or batch", unsure=True)
    return name


def counts_in(counts: object, *names: str) -> list[int]:
    """Numbers of requests, which Google writes as texts; 0 where there is none."""
    values = map(object_in(counts).get, names)
    texts = [int(value[:12]) if isinstance(value, str) and value.isdecimal() else value for value in values]
    return [token_count(count) or 0 for count in texts]


def joined(lines: Lines) -> bytes:
    """The lines of a batch as the entries of a list."""
    return b",".join(line.rstrip(b"\n") for line in lines())


def seconds_in(moment: object) -> float | None:
    """A time in seconds since 1970, given so or as ISO 8601 has it."""
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return float(moment) if 0 < moment < _LAST else None
    with suppress(ValueError):
        return datetime.fromisoformat(str(moment)).timestamp()
    return None


# ---------------------------------------------------------------------- OpenAI

_QUEUE = frozenset(["token_limit_exceeded", "request_limit_exceeded", "batch_limit_exceeded"])
_SPENT = frozenset(["billing_hard_limit_reached", "insufficient_quota", "billing_not_active"])
_WAITED = frozenset(["batch_expired", "batch_cancelled", "batch_canceled"])
STATES: Mapping[str, Any] = {
    **dict.fromkeys(("completed", "succeeded"), "collected"),
    **{ended: ended for ended in ("expired", "cancelled", "failed")},
}
_MARK = "quaver"
"""The key of the batch's name in its metadata, by which it is found again."""


class OpenAIBatches(HttpBatches):
    """A file of lines, a batch of it, two files of results: OpenAI, and servers that speak its Batch API."""

    kind = "openai"

    def endpoint(self, request: Request) -> str:
        """The path of the request."""
        return "/v1" + self._wire.path(request)

    def line(self, request_id: str, request: Request) -> bytes:
        """The line of a request."""
        about = {"custom_id": request_id, "method": "POST", "url": self.endpoint(request)}
        return compact_json(about | {"body": self._wire.body(request)})

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
        return name_in(self._ask("POST", "/files", content=content, kind=kind))

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Make a batch of the uploaded file."""
        document = {
            "input_file_id": upload,
            "endpoint": _object(next(iter(lines()), b"")).get("url"),
            "completion_window": "24h",
            "metadata": {_MARK: name},
        }
        return name_in(self._ask("POST", self.root, document))

    def look(self, batch: str) -> Look:
        """Where a batch stands."""
        document = self._ask("GET", self._path(batch))
        done, refused = counts_in(document.get("request_counts"), "completed", "failed")
        files = list(map(document.get, ("output_file_id", "error_file_id")))
        state = STATES.get(str(document.get("status")), "running")
        errors = objects_in(object_in(document.get("errors")).get("data")) if state == "failed" else []
        return Look(
            state=state,
            done=done,
            refused=refused if files[1] or state == "running" else 0,
            expires=seconds_in(document.get("expires_at")),
            files=[file for file in files if isinstance(file, str) and file],
            words="; ".join(map(_words, errors[:3])),
            lines={
                line: _words(error)
                for error in errors
                if (line := token_count(error.get("line"))) is not None
            },
            queue=any(error.get("code") in _QUEUE for error in errors),
            fatal=next(filter(None, map(_spent, errors)), None),
        )

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as a response, or why there is none."""
        reply = object_in(came.get("response"))
        if isinstance(reply.get("body"), dict | list):
            return self._read(request, reply.get("status_code"), reply["body"])
        error = object_in(came.get("error"))
        fatal = _spent(error)
        return Unanswered(_words(error), counts=not (error.get("code") in _WAITED or fatal), fatal=fatal)

    def _may_be(self, batch: Mapping[str, Any], name: str, requests: int) -> bool:
        """Whether it has this name in its metadata."""
        return bool(object_in(batch.get("metadata")).get(_MARK) == name)

    def _results(self, batch: str, look: Look) -> list[str]:
        """The file of answers and the file of errors."""
        return [f"/files/{quote(file, safe='')}/content" for file in look.files]


def _words(error: Mapping[str, Any]) -> str:
    code, message = str(error.get("code") or ""), printable(error.get("message") or "no reason was given")
    return f"{code}: {message}" if code else message


def _spent(error: Mapping[str, Any]) -> ModelError | None:
    if str(error.get("code")) not in _SPENT:
        return None
    return RateLimited(
        "the account has no credit left",
        found=_words(error),
        fix="add credit and run again; the run continues where it stopped",
    )


# ---------------------------------------------------------------------- Anthropic

_STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status of a reply with such an error, had the request been sent alone."""

_COUNTS = ("succeeded", "errored", "canceled", "expired", "processing")


class AnthropicBatches(HttpBatches):
    """One request that holds all others, and a file of results."""

    kind = "anthropic"
    root = f"{MESSAGES}/batches"
    after = "after_id"

    def line(self, request_id: str, request: Request) -> bytes:
        """One of the batch's requests."""
        return compact_json({"custom_id": request_id, "params": self._wire.body(request)})

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Send the requests as a batch."""
        return name_in(self._ask("POST", self.root, content=b'{"requests":[' + joined(lines) + b"]}"))

    def look(self, batch: str) -> Look:
        """Where a batch stands; its counts are zero until it has ended."""
        document = self._ask("GET", self._path(batch))
        if document.get("archived_at"):
            raise Gone("its results were deleted after 29 days")
        done, refused, cancelled, expired = counts_in(document.get("request_counts"), *_COUNTS[:4])
        ended: Any = "cancelled" if cancelled else "expired" if expired else "collected"
        state: Any = ended if document.get("processing_status") == "ended" else "running"
        return Look(state, done, refused, seconds_in(document.get("expires_at")))

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as a response, or why there is none."""
        result = object_in(came.get("result"))
        match result.get("type"):
            case "succeeded":
                return self._read(request, 200, result.get("message"))
            case "errored":
                kind = object_in(object_in(result.get("error")).get("error")).get("type")
                return self._read(request, _STATUSES.get(str(kind), 500), result.get("error"))
            case "expired" | "canceled" as why:
                return Unanswered(why, counts=False)
        return Unanswered("a result of an unknown type")

    def _may_be(self, batch: Mapping[str, Any], name: str, requests: int) -> bool:
        """Batches have no names: one of the same size may be it."""
        return sum(counts_in(batch.get("request_counts"), *_COUNTS)) == requests

    def _results(self, batch: str, look: Look) -> list[str]:
        """The paths of the results on this server, whatever address the batch names."""
        return [f"{self._path(batch)}/results"]
