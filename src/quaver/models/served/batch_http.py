"""Batches over HTTP: what providers have in common, with what each failure leaves open.

A reply is read up to a size, since a server may send anything; the key never goes to another address, since
redirects are not followed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

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
from quaver.models.served.server_reply import object_in, objects_in, reading
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
        self, method: str, path: str, document: Any = None, *, content: bytes = b"", kind: str = ""
    ) -> dict[str, Any]:
        """Send a document, or content of a kind, and read the JSON object that comes back."""
        if document is not None:
            content = compact_json(document)
        changes, kind = method != "GET", kind or ("application/json" if content else "")
        with self._sent(method, path, content, {"content-type": kind} if kind else {}) as reply:
            body = self._body(reply)
        try:
            parsed = json.loads(body)
        except (ValueError, RecursionError):
            raise NotNow("the reply is not JSON", unsure=changes) from None
        if not isinstance(parsed, dict):
            raise NotNow("the reply is not an object", unsure=changes)
        return parsed

    def lines(self, path: str) -> Iterator[bytes]:
        """Download the lines of a file."""
        with self._sent("GET", path, b"", {}) as reply:
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
        self, method: str, path: str, content: bytes, headers: Mapping[str, str]
    ) -> Iterator[httpx2.Response]:
        changes, url, heads = method != "GET", self._address.url + path, self._headers | dict(headers)
        try:
            with opened() as client, client.stream(method, url, content=content, headers=heads) as reply:
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
        status, content = reply.status_code, self._body(reply)
        if status in (404, 410):
            return Gone(f"HTTP {status}: {printable(content[:200].decode('utf-8', 'replace'))}")
        failure = read_failure(status, reply.headers, content, self._address)
        if isinstance(failure, Passing):
            return NotNow(failure.reason, unsure=changes and status >= 500, limited=failure.limited)
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


def name_in(document: Mapping[str, Any]) -> str:
    """What a provider calls a file or a batch."""
    name = document.get("id")
    if not isinstance(name, str) or not name:
        raise NotNow("the reply names no file or batch", unsure=True)
    return name


def counts_in(document: Mapping[str, Any], *names: str) -> dict[str, int]:
    """Numbers of requests; 0 where there is none."""
    counts = object_in(document.get("request_counts"))
    return {name: token_count(counts.get(name)) or 0 for name in names}


def seconds_in(moment: object) -> float | None:
    """A time in seconds since 1970, given so or as ISO 8601 has it."""
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return float(moment) if 0 < moment < _LAST else None
    with suppress(ValueError):
        return datetime.fromisoformat(str(moment)).timestamp()
    return None


class HttpBatches:
    """Batches of one model at a provider.

    Args:
        connect: Opens the connection, with the key that is in the environment.
        wire: How the model is asked.
        address: For errors.
        together: Whether a request's calls are drawn together.
    """

    limits = BatchLimits()
    uploads = True
    is_named = True

    root: ClassVar = "/batches"
    """The path of the provider's batches."""
    after: ClassVar = "after"
    """What says after which object a page of a list begins."""

    def __init__(
        self, connect: Callable[[], BatchHttp], wire: Wire, address: Address, *, together: bool = False
    ) -> None:
        self._connect, self._wire, self._address, self._together = connect, wire, address, together
        self._taught: set[str] = set()

    def parts(self, request: Request) -> Sequence[Request]:
        """A request for each call, unless the server draws them together."""
        return [request] if self._together else [request.part((call,)) for call in request.calls]

    def started(
        self, name: str, upload: str, since: float, calls: int, known: Container[str]
    ) -> Sequence[str]:
        """Unknown batches since then that may be this one, the oldest first."""
        batches: list[str] = []
        for batch in self._pages(self.root):
            if (seconds_in(batch.get("created_at")) or since) < since:
                break
            if name_in(batch) not in known and self._may_be(batch, name, upload, calls):
                batches.append(name_in(batch))
        return batches[::-1]

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The lines of its results."""
        for path in self._results(batch, look):
            for result in map(object_of, self._connect().lines(path)):
                if isinstance(result.get("custom_id"), str):
                    yield result["custom_id"], result

    def cancel(self, batch: str) -> None:
        """Cancel a batch; what is answered by then is kept."""
        with suppress(ModelError):  # it has ended already
            self._connect().ask("POST", f"{self._path(batch)}/cancel")

    def _may_be(self, batch: Mapping[str, Any], name: str, upload: str, calls: int) -> bool:
        """Whether a batch in the provider's list may be that of a name."""
        raise NotImplementedError

    def _results(self, batch: str, look: Look) -> Iterable[str]:
        """The paths of its results."""
        raise NotImplementedError

    def _path(self, batch: str) -> str:
        return f"{self.root}/{quote(batch, safe='')}"

    def _pages(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        """The objects of a list, newest first."""
        query["limit"] = str(_PAGE)
        for _ in range(_PAGES):
            page = self._connect().ask("GET", f"{path}?{urlencode(query)}")
            if not isinstance(page.get("data"), list):
                raise NotNow("the reply has no list")
            objects = objects_in(page["data"])
            yield from objects
            if not (page.get("has_more") and objects):
                return
            query[self.after] = name_in(objects[-1])

    # ------------------------------------------------------------------ one reply

    def _read(self, request: Request, status: object, document: Any) -> list[Response] | Unanswered:
        """A reply as responses, or why it is none; a server may give no status."""
        status, content, meter = token_count(status) or 0, json.dumps(document).encode(), Meter()
        if status and not 200 <= status < 300:
            return self._refused(request, status, content)
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
