"""Batches over HTTP: what providers have in common, with what each failure leaves open.

A reply is read up to a size, since a server may send anything; the key never goes to another address, since
redirects are not followed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit

import httpx2

from quaver._secrets import Keys
from quaver.core.batch import BatchLimits, Gone, Look, NotNow, Unanswered
from quaver.core.input_budget import InputBudget, TooLarge, check_values, parsed_json
from quaver.core.meter import Meter
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import ModelError, RateLimited
from quaver.models.served.http_pool import MOST_REPLY, MOST_VALUES
from quaver.models.served.server_faults import Address, Passing, Refused, lost, read_failure
from quaver.models.served.server_options import compact_json
from quaver.models.served.server_reply import objects_in, reading
from quaver.models.served.wire import Wire

_CONNECT, _QUIET = 10.0, 120.0
"""Seconds for connecting, and without a byte."""

MOST_LINE, MOST_RESULTS = MOST_REPLY, 2**31
"""Bytes of a line of results, and of all results."""

_PAGES, _PAGE = 50, 100
"""Pages of a list that are looked through, and objects on each."""

_LAST = 2.0**34
"""Seconds since 1970; a later time is none."""


class BatchHttp:
    """Speaks to one provider.

    Args:
        address: The provider.
        headers: The headers of every request, with the key among them.
        key: The key, which is removed from whatever comes back.
    """

    def __init__(self, address: Address, headers: Mapping[str, str], key: str) -> None:
        self._address, self._headers = address, dict(headers)
        self._secret, self._host = Keys.of(key), urlsplit(address.url).netloc

    def ask(
        self,
        method: str,
        url: str,
        document: Any = None,
        *,
        content: Iterable[bytes] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        may_be_empty: bool = False,
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Send a request and read the JSON object that comes back, with the reply's headers."""
        extra = dict(headers or {})
        if document is not None:
            content = compact_json(document)
            extra.setdefault("content-type", "application/json")
        changes = method != "GET"
        with self._sent(method, url, content, extra) as reply:
            body, head = self._body(reply), dict(reply.headers)
        if not body.strip() and may_be_empty:
            return {}, head
        try:
            parsed = json.loads(body)
        except (ValueError, RecursionError):
            raise NotNow("the reply is not JSON", unsure=changes) from None
        if not isinstance(parsed, dict):
            raise NotNow("the reply is not an object", unsure=changes)
        return parsed, head

    def lines(self, url: str) -> Iterator[bytes]:
        """Download the lines of a file."""
        with self._sent("GET", url, None, {}) as reply:
            rest, results = b"", InputBudget(MOST_RESULTS, "bytes of results")
            for chunk in reply.iter_bytes():
                results.spend(len(chunk))
                *whole, rest = (rest + chunk).split(b"\n")
                InputBudget(MOST_LINE, "bytes in a line").spend(len(rest))
                yield from (self._secret.out_of_bytes(line) for line in whole if line.strip())
            if rest.strip():
                yield self._secret.out_of_bytes(rest)

    @contextmanager
    def _sent(
        self,
        method: str,
        url: str,
        content: Iterable[bytes] | bytes | None,
        headers: Mapping[str, str],
    ) -> Iterator[httpx2.Response]:
        where = url if "://" in url else self._address.url + url
        changes = method != "GET"
        try:
            with (
                opened() as client,
                client.stream(method, where, content=content, headers=self._headers | dict(headers)) as reply,
            ):
                if not reply.is_success:
                    raise self._failure(reply, changes=changes)
                yield reply
        except (NotNow, Gone, ModelError):
            raise
        except TooLarge as error:
            raise NotNow(f"the reply holds {error}", unsure=changes) from None
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            fault = lost(error, self._host)
            raise NotNow(fault.reason, unsure=changes and not fault.unreached) from None

    def _body(self, reply: httpx2.Response) -> bytes:
        chunks, budget = [], InputBudget(MOST_REPLY, "bytes")
        for chunk in reply.iter_bytes():
            budget.spend(len(chunk))
            chunks.append(chunk)
        whole = b"".join(chunks)
        check_values(whole, MOST_VALUES)
        return self._secret.out_of_bytes(whole)

    def _failure(self, reply: httpx2.Response, *, changes: bool) -> Exception:
        """What an error reply means: nothing has happened unless the server itself failed."""
        content = self._body(reply)
        if reply.status_code in (404, 410):
            return Gone(f"HTTP {reply.status_code}: {printable(content[:200].decode('utf-8', 'replace'))}")
        failure = read_failure(reply.status_code, reply.headers, content, self._address)
        if isinstance(failure, Passing):
            unsure = changes and reply.status_code >= 500
            return NotNow(failure.reason, unsure=unsure, limited=failure.limited)
        if isinstance(failure, Response):
            return ModelError(
                "the provider refuses the batch", where=self._address.url, found=failure.error or ""
            )
        return failure


def opened() -> httpx2.Client:
    """A client for one request."""
    return httpx2.Client(
        timeout=httpx2.Timeout(_QUIET, connect=_CONNECT), follow_redirects=False, trust_env=True
    )


def object_of(line: bytes) -> dict[str, Any]:
    """A line of results as an object; an empty one if it is none."""
    try:
        parsed = parsed_json(line, MOST_VALUES)
    except (ValueError, RecursionError, TooLarge):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def listed(page: Mapping[str, Any], field: str, *, may_lack: bool = False) -> list[dict[str, Any]]:
    """The objects on a page of a list."""
    data = page.get(field, [] if may_lack else None)
    if not isinstance(data, list):
        raise NotNow(f"the reply has no list of {field}")
    return objects_in(data)


def name_in(document: object, field: str = "id") -> str:
    """What a provider calls a file or a batch."""
    name = document.get(field) if isinstance(document, dict) else None
    if not isinstance(name, str) or not name:
        raise NotNow("the reply names no file or batch", unsure=True)
    return name


def count_in(counts: Mapping[str, Any], name: str) -> int:
    """A number of requests, which Google writes as a text; 0 where there is none."""
    value = counts.get(name)
    return token_count(int(value) if isinstance(value, str) and value.isdecimal() else value) or 0


def seconds_in(moment: object) -> float | None:
    """A time in seconds since 1970, given so or as ISO 8601 has it."""
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return float(moment) if 0 < moment < _LAST else None
    with suppress(ValueError):
        return datetime.fromisoformat(str(moment)).timestamp()
    return None


class LineReader:
    """Writes and reads the lines of one model's batches.

    Args:
        address: For errors.
        wire: How the model is asked.
        together: Whether a request's calls are drawn together.
    """

    def __init__(self, address: Address, wire: Wire, *, together: bool = False) -> None:
        self._address, self._wire, self._together = address, wire, together
        self._taught: set[str] = set()

    def parts(self, request: Request) -> Sequence[Request]:
        """A request for each call, unless the server draws them together."""
        if self._together:
            return [request]
        return [request.part((call,)) for call in request.calls]

    def read(self, request: Request, status: object, document: Any) -> list[Response] | Unanswered:
        """A reply as responses, or why it is none; a server may give no status."""
        status, content = token_count(status) or 0, json.dumps(document).encode()
        if status and not 200 <= status < 300:
            return self._refused(request, status, content)
        meter = Meter()
        try:
            with reading(meter, request, content):
                n = len(request.calls)
                return self._wire.read(content, request, n, self._wire.body(request, n=n))
        except Passing as fault:
            return Unanswered(fault.reason, traffic=meter.take())

    def _refused(self, request: Request, status: int, content: bytes) -> list[Response] | Unanswered:
        failure = read_failure(status, {}, content, self._address)
        if isinstance(failure, Response):
            return [failure] * len(request.calls)
        if isinstance(failure, Passing):
            return Unanswered(failure.reason, counts=not failure.limited)
        reason = printable(failure.found or failure.problem)
        if isinstance(failure, Refused):
            if failure.words in self._taught or self._wire.learn(failure, self._wire.body(request)):
                self._taught.add(failure.words)  # the next batch asks without what is refused
                return Unanswered(failure.words)
            if failure.may_be_the_texts:
                return [failure.response] * len(request.calls)
            failure = failure.error
        return Unanswered(reason, counts=not isinstance(failure, RateLimited), fatal=failure)


class ChatLines(LineReader):
    """The lines of a batch as OpenAI's Batch API has them."""

    def kind_of(self, request: Request) -> str:
        """The endpoint."""
        return "/v1" + self._wire.path(request)

    def line(self, request_id: str, request: Request) -> bytes:
        """The line of a request."""
        body = self._wire.body(request, n=len(request.calls))
        return compact_json(
            {"custom_id": request_id, "method": "POST", "url": self.kind_of(request), "body": body}
        )


class HttpBatches:
    """Batches of one model at a provider.

    Args:
        connect: Opens the connection, with the key that is in the environment.
        reader: Reads what comes back for requests.
    """

    limits = BatchLimits()
    uploads = True
    is_named = True

    request_id: ClassVar = "custom_id"
    """The field with a request's id in a line of results."""
    paging: ClassVar = ("limit", "after")
    """What says how many objects a page of a list has, and after which it begins."""

    cancel_body: ClassVar[Mapping[str, Any] | None] = None

    def __init__(self, connect: Callable[[], BatchHttp], reader: LineReader) -> None:
        self._connect, self._reader = connect, reader
        self.parts = reader.parts

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The lines of its results."""
        for url in self._result_urls(batch, look):
            for line in self._connect().lines(url):
                result = object_of(line)
                if isinstance(result.get(self.request_id), str):
                    yield result[self.request_id], result

    def cancel(self, batch: str) -> None:
        """Cancel a batch; what is answered by then is kept."""
        with suppress(ModelError):  # it has ended already
            self._connect().ask("POST", self._cancelling(batch), self.cancel_body, may_be_empty=True)

    def _result_urls(self, batch: str, look: Look) -> Iterable[str]:
        raise NotImplementedError

    def _cancelling(self, batch: str) -> str:
        """The address that cancels a batch."""
        raise NotImplementedError

    def _get(self, url: str) -> dict[str, Any]:
        return self._connect().ask("GET", url)[0]

    def _pages(
        self, url: str, field: str = "data", *, may_lack: bool = False, **query: str
    ) -> Iterator[dict[str, Any]]:
        """The objects of a list, newest first."""
        size, begins = self.paging
        query |= {size: str(_PAGE)}
        for _ in range(_PAGES):
            page = self._get(f"{url}?{urlencode(query)}")
            objects = listed(page, field, may_lack=may_lack)
            yield from objects
            following = self._following(page, objects)
            if not following:
                return
            query[begins] = following

    def _following(self, page: Mapping[str, Any], objects: Sequence[Mapping[str, Any]]) -> str:
        """Where the next page begins; empty after the last."""
        return name_in(objects[-1]) if page.get("has_more") and objects else ""
