"""aiohttp's connections to one server, without what its session builds anew for each call.

All calls of a run differ in their body alone. An address, headers, cookies, traces and objects for each of
them cost twice what the call itself does. Connecting, encrypting, keeping connections and reading replies are
aiohttp's.
"""

from __future__ import annotations

import asyncio
import ssl
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

_WRITTEN = (b"content-length", b"accept-encoding", b"connection", b"transfer-encoding")
"""Headers that are written here."""

_BUFFER = 2**16
_CONTINUES, _SWITCHES = range(100, 200), 101


class HttpReply(NamedTuple):
    """A reply.

    Attributes:
        status: Its status.
        headers: Its headers, whatever the case of their names.
        content: Its body, without compression.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


class Endpoint(NamedTuple):
    """Where requests go, and all of them that is the same.

    Attributes:
        key: A request, by which aiohttp finds a connection.
        head: Method, path and headers, up to the body's length.
    """

    key: aiohttp.ClientRequest
    head: bytes


class HttpPool:
    """Connections that are opened as they are needed, and kept; used on one event loop.

    Args:
        most: Maximum number of connections.
        connect: Seconds for opening one.
        tls: How to encrypt; called when it is first needed.
    """

    def __init__(self, most: int, connect: float, tls: Callable[[], ssl.SSLContext]) -> None:
        self._most, self._tls = most, tls
        self._timeout = aiohttp.ClientTimeout(sock_connect=connect)
        self._connector: aiohttp.TCPConnector | None = None

    def endpoint(self, url: str, headers: Iterable[tuple[bytes, bytes]]) -> Endpoint | None:
        """An address with the headers of its requests; None if a proxy leads there."""
        where = URL(url)
        if _is_proxied(url):
            return None
        if self._connector is None:
            tls = self._tls() if where.scheme == "https" else True
            self._connector = aiohttp.TCPConnector(limit=self._most, ssl=tls)
        kept = b"".join(b"%b: %b\r\n" % one for one in headers if one[0].lower() not in _WRITTEN)
        path = where.raw_path_qs.encode("ascii")
        head = b"POST %b HTTP/1.1\r\n%bAccept-Encoding: gzip, deflate\r\nContent-Length: " % (path, kept)
        return Endpoint(aiohttp.ClientRequest("POST", where, loop=asyncio.get_running_loop()), head)

    async def post(self, to: Endpoint, body: bytes) -> HttpReply:
        """Send a body, and read the reply.

        Raises:
            aiohttp.ClientError: No connection was made, it was lost, or what came is not a reply.
        """
        assert self._connector is not None
        connection = await self._connector.connect(to.key, [], self._timeout)
        try:
            protocol, transport = connection.protocol, connection.transport
            if protocol is None or transport is None:
                raise aiohttp.ServerDisconnectedError()
            protocol.set_response_params(read_until_eof=True, read_bufsize=_BUFFER)
            transport.write(b"%b%d\r\n\r\n%b" % (to.head, len(body), body))
            message, payload = await protocol.read()
            while message.code in _CONTINUES and message.code != _SWITCHES:
                message, payload = await protocol.read()
            content = await payload.read()
        except BaseException:
            connection.close()
            raise
        connection.release()
        return HttpReply(message.code, message.headers, content)

    async def close(self) -> None:
        """Close all of them."""
        if self._connector is not None:
            await self._connector.close()


def _is_proxied(url: str) -> bool:
    parts, proxies = urlsplit(url), urllib.request.getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    return bool(named) and not urllib.request.proxy_bypass(parts.netloc)
