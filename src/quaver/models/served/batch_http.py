"""Batches over HTTP: one small request at a time, with what each failure leaves open.

A reply is read up to a size, since a server may send anything; the key never goes to another address, since
redirects are not followed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2

from quaver._secrets import Keys
from quaver.core.batch import Gone, NotNow, Unanswered
from quaver.core.meter import Meter
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import ModelError, RateLimited
from quaver.models.served.http_pool import MOST_REPLY, TooLong, check_parts
from quaver.models.served.presets import Preset
from quaver.models.served.server_faults import Address, Passing, Refused, lost, read_failure
from quaver.models.served.server_options import CHAT, PLAIN, body_of, is_plain
from quaver.models.served.server_reply import reading, reply_to

_CONNECT, _QUIET = 10.0, 120.0
"""Seconds for connecting, and without a byte."""

MOST_DOCUMENT, MOST_LINE, MOST_RESULTS = MOST_REPLY, MOST_REPLY, 2**31
"""Bytes of a reply that is one document, of a line of results, and of all results."""


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
            content = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
            extra.setdefault("content-type", "application/json")
        with self._sent(method, url, content, extra, changes=method != "GET") as reply:
            body = self._body(reply, changes=method != "GET")
            found = dict(reply.headers)
        if not body.strip() and may_be_empty:
            return {}, found
        try:
            parsed = json.loads(body)
        except (ValueError, RecursionError):
            raise NotNow("the reply is not JSON", unsure=method != "GET") from None
        if not isinstance(parsed, dict):
            raise NotNow("the reply is not an object", unsure=method != "GET")
        return parsed, found

    def lines(self, url: str) -> Iterator[bytes]:
        """Download the lines of a file."""
        with self._sent("GET", url, None, {}, changes=False) as reply:
            rest, size = b"", 0
            for chunk in self._chunks(reply):
                size += len(chunk)
                *whole, rest = (rest + chunk).split(b"\n")
                if size > MOST_RESULTS or len(rest) > MOST_LINE:
                    raise NotNow(f"the results are larger than {size:,} bytes")
                yield from (self._secret.out_of_bytes(one) for one in whole if one.strip())
            if rest.strip():
                yield self._secret.out_of_bytes(rest)

    @contextmanager
    def _sent(
        self,
        method: str,
        url: str,
        content: Iterable[bytes] | bytes | None,
        headers: Mapping[str, str],
        *,
        changes: bool,
    ) -> Iterator[httpx2.Response]:
        where = url if "://" in url else self._address.url + url
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
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            fault = lost(error, self._host)
            if fault.unreached:
                raise NotNow(fault.reason) from None
            raise NotNow(fault.reason, unsure=changes) from None

    def _chunks(self, reply: httpx2.Response) -> Iterator[bytes]:
        yield from reply.iter_bytes()

    def _body(self, reply: httpx2.Response, *, changes: bool) -> bytes:
        whole = b""
        for chunk in self._chunks(reply):
            whole += chunk
            if len(whole) > MOST_DOCUMENT:
                raise NotNow(f"the reply is larger than {MOST_DOCUMENT:,} bytes", unsure=changes)
        try:
            check_parts(whole)
        except TooLong as error:
            raise NotNow(str(error), unsure=changes) from None
        return self._secret.out_of_bytes(whole)

    def _failure(self, reply: httpx2.Response, *, changes: bool) -> Exception:
        """What an error reply means: nothing has happened unless the server itself failed."""
        content = self._body(reply, changes=changes)
        if reply.status_code in (404, 410):
            return Gone(f"HTTP {reply.status_code}: {printable(content[:200].decode('utf-8', 'replace'))}")
        found = read_failure(reply.status_code, reply.headers, content, self._address)
        if isinstance(found, Passing):
            return NotNow(found.reason, unsure=changes and reply.status_code >= 500, limited=found.limited)
        if isinstance(found, Response):
            return ModelError(
                "the provider refuses the batch", where=self._address.url, found=found.error or ""
            )
        return found


def opened() -> httpx2.Client:
    """A client for one request."""
    return httpx2.Client(
        timeout=httpx2.Timeout(_QUIET, connect=_CONNECT), follow_redirects=False, trust_env=True
    )


def object_of(line: bytes) -> dict[str, Any]:
    """A line of results as an object; an empty one if it is none."""
    try:
        check_parts(line)
        found = json.loads(line)
    except (ValueError, RecursionError, TooLong):
        return {}
    return found if isinstance(found, dict) else {}


def listed(page: Mapping[str, Any], field: str, *, may_lack: bool = False) -> list[dict[str, Any]]:
    """The objects on a page of a list."""
    data = page.get(field, [] if may_lack else None)
    if not isinstance(data, list):
        raise NotNow(f"the reply has no list of {field}")
    return [one for one in data if isinstance(one, dict)]


class LineReader:
    """Writes and reads the lines of one model's batches.

    Args:
        server: What the server honours.
        model: The model's name there.
        address: For errors.
        together: Whether a request's calls are drawn together.
        root: What stands before the path of an endpoint.
    """

    def __init__(
        self, server: Preset, model: str, address: Address, *, together: bool = False, root: str = "/v1"
    ) -> None:
        self._server, self._model, self._address = server, model, address
        self._together, self._root = together, root

    def parts(self, request: Request) -> Sequence[Request]:
        """A request for each call, unless the server draws them together."""
        if self._together:
            return [request]
        return [request.part((call,)) for call in request.calls]

    def kind_of(self, request: Request) -> str:
        """The endpoint."""
        return self._root + (PLAIN if is_plain(request.prompt.messages) else CHAT)

    def line(self, request_id: str, request: Request) -> bytes:
        """The line of a request."""
        body = body_of(self._server, self._model, request, n=len(request.calls))
        document = {"custom_id": request_id, "method": "POST", "url": self.kind_of(request), "body": body}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

    def read(self, request: Request, status: int, content: bytes) -> list[Response] | Unanswered:
        """A reply as responses, or why it is none; status 0 is that of a server that gives none."""
        if status and not 200 <= status < 300:
            return self._refused(request, status, content)
        meter = Meter()
        try:
            with reading(meter, request, content):
                return reply_to(content, request, self._server, len(request.calls))
        except Passing as fault:
            return Unanswered(fault.reason, traffic=meter.take())

    def read_document(self, request: Request, status: object, document: Any) -> list[Response] | Unanswered:
        """The same for a reply that stands in a line of results."""
        return self.read(request, token_count(status) or 0, json.dumps(document).encode())

    def _refused(self, request: Request, status: int, content: bytes) -> list[Response] | Unanswered:
        found = read_failure(status, {}, content, self._address)
        if isinstance(found, Response):
            return [found] * len(request.calls)
        if isinstance(found, Passing):
            return Unanswered(found.reason, counts=not found.limited)
        if isinstance(found, Refused):
            why = f"the request was refused: {printable(found.found or found.problem)}"
            return [Response("", finish="error", error=why[:500])] * len(request.calls)
        counts = not isinstance(found, RateLimited)
        return Unanswered(_reason(found), counts=counts, fatal=found)


def _reason(error: ModelError) -> str:
    return printable(error.found or error.problem)
