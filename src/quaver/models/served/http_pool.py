"""Connections to one server that stay open, each with one request at a time.

A general client builds an address, headers, cookies, traces and objects for each call, which costs three
times what the call itself does. All calls of a run differ in their body alone, so nothing else is built here.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from quaver.models.served.http_reply import BadReply, HttpReply, Reading, reading

_KEPT = 15.0
"""Seconds after which an unused connection is not used any more: the server is about to close it."""

_ADDRESS_AFTER = 0.25
"""Seconds after which the next address of a name is tried too."""


class NotConnected(ConnectionError):
    """No connection was made."""


class Dropped(ConnectionError):
    """A connection that had been kept open was closed before any of a reply came."""


class Endpoint(NamedTuple):
    """Where requests go, and all of them that is the same.

    Attributes:
        host: The host's name.
        port: The port.
        tls: How to encrypt; None for not at all.
        head: Method, path and headers, up to the body's length.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None
    head: bytes


def endpoint(
    url: str, headers: Iterable[tuple[bytes, bytes]], tls: Callable[[], ssl.SSLContext]
) -> Endpoint | None:
    """An address with the headers of its requests; None if a proxy is to be used, which is not known here."""
    parts = urlsplit(url)
    if parts.hostname is None or _is_proxied(parts):
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    own = (b"content-length", b"accept-encoding", b"connection")
    kept = [b"%b: %b\r\n" % one for one in headers if one[0].lower() not in own]
    encrypted = parts.scheme == "https"
    head = b"POST %b HTTP/1.1\r\n%bAccept-Encoding: gzip, deflate\r\nContent-Length: " % (
        path.encode("ascii"),
        b"".join(kept),
    )
    return Endpoint(
        parts.hostname, parts.port or (443 if encrypted else 80), tls() if encrypted else None, head
    )


def _is_proxied(parts: SplitResult) -> bool:
    proxies = urllib.request.getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    return bool(named) and not urllib.request.proxy_bypass(parts.netloc)


class HttpPool:
    """Connections that are opened as they are needed, and kept.

    Args:
        connect: Seconds for opening one.
    """

    def __init__(self, connect: float) -> None:
        self._connect = connect
        self._idle: dict[tuple[str, int], deque[_Line]] = {}
        self._lines: set[_Line] = set()

    async def post(self, to: Endpoint, body: bytes, *, afresh: bool = False) -> HttpReply:
        """Send a body, and read the reply.

        Args:
            to: Where to.
            body: The body.
            afresh: Whether to open a connection in any case.

        Raises:
            NotConnected: No connection was made.
            Dropped: A kept connection was closed before a reply came.
            BadReply: What came is not a reply, or not a whole one.
            OSError: Anything else that happens to a connection.
        """
        idle = self._idle.setdefault((to.host, to.port), deque())
        line = None if afresh else _usable(idle)
        if line is None:
            line = await self._opened(to)
        try:
            reply = await line.exchange(b"%b%d\r\n\r\n%b" % (to.head, len(body), body))
        except BaseException:
            self._drop(line)
            raise
        if reply.stays and line.is_open:
            line.since = time.monotonic()
            idle.append(line)
        else:
            self._drop(line)
        return reply

    async def _opened(self, to: Endpoint) -> _Line:
        loop = asyncio.get_running_loop()
        name = to.host if to.tls else None
        try:
            async with asyncio.timeout(self._connect):
                _, line = await loop.create_connection(
                    _Line,
                    to.host,
                    to.port,
                    ssl=to.tls,
                    server_hostname=name,
                    happy_eyeballs_delay=_ADDRESS_AFTER,
                )
        except TimeoutError:
            raise NotConnected(f"no connection within {self._connect:g} s") from None
        except OSError as error:
            raise NotConnected(str(error)) from _plain(error)
        self._lines.add(line)
        return line

    def _drop(self, line: _Line) -> None:
        self._lines.discard(line)
        line.close()

    async def close(self) -> None:
        """Close all of them."""
        for line in self._lines:
            line.close()
        self._lines.clear()
        self._idle.clear()
        await asyncio.sleep(0)  # they are closed on the loop's next turn


def _usable(idle: deque[_Line]) -> _Line | None:
    """The connection that was used last, if it is still open."""
    while idle:
        line = idle.pop()
        if line.is_open and time.monotonic() - line.since < _KEPT:
            return line
        line.close()
    return None


def _plain(error: OSError) -> OSError:
    """The refusal, where each address of a name refused."""
    said = str(error)
    refused = f"[Errno {errno.ECONNREFUSED}]"
    if said.startswith("Multiple exceptions") and said.count("[Errno") == said.count(refused):
        return ConnectionRefusedError(said)
    return error


class _Line(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._came = bytearray()
        self._ended: list[bool] = []
        self._reading: Reading | None = None
        self._reply: asyncio.Future[HttpReply] | None = None
        self._uses = 0
        self._heard = False
        self.since = 0.0

    @property
    def is_open(self) -> bool:
        return not (self._ended or self._transport.is_closing())

    async def exchange(self, request: bytes) -> HttpReply:
        """Send a request and wait for its reply."""
        self._uses += 1
        self._heard = False
        self._reading = reading(self._came, self._ended)
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._reply

    def close(self) -> None:
        self._reply = self._reading = None
        self._transport.close()

    # ------------------------------------------------------------------ called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._reading is None:  # nobody asked for it
            self.close()
            return
        self._heard = True
        self._came += data
        self._go_on()

    def connection_lost(self, error: Exception | None) -> None:
        self._ended.append(True)
        if self._reply is None or self._reply.done():
            return
        if not self._heard and self._uses > 1:
            self._fail(Dropped("the server closed a connection that had been kept open"))
        elif error is not None:
            self._fail(error)
        else:
            self._go_on()

    # ------------------------------------------------------------------ inside

    def _go_on(self) -> None:
        assert self._reading is not None
        try:
            next(self._reading)
        except StopIteration as end:
            self._reading = None
            if self._reply is not None and not self._reply.done():
                self._reply.set_result(end.value)
        except BadReply as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._reading = None
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)
