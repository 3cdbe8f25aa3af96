"""aiohttp's connections to one server, without what its session builds anew for each call.

All calls of a run differ in their body alone. An address, headers, cookies, traces and objects for each of
them cost twice what the call itself does. Connecting, encrypting, keeping connections and reading replies are
aiohttp's.
"""

from __future__ import annotations

import asyncio
import ssl
import urllib.request
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

MOST_REPLY = 2**23
"""Bytes of a reply, without compression; long answers with all their log-probabilities have a tenth."""

_MOST_PARSED = 96 * 2**20
_PART = 64
"""Bytes that a reply may take once it is parsed, and those of each value in it."""

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
        url: The address.
        headers: The headers alone.
        proxy: What leads there; None for nothing.
    """

    key: aiohttp.ClientRequest
    head: bytes
    url: str
    headers: Mapping[str, str]
    proxy: str | None


class HttpPool:
    """Connections that are opened as they are needed, and kept; used on one event loop.

    Where a proxy leads to a server, and for the few requests without a body, aiohttp's own session is used.

    Args:
        most: Maximum number of connections.
        connect: Seconds for opening one.
    """

    def __init__(self, most: int, connect: float) -> None:
        self._most = most
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect)
        self._connector: aiohttp.TCPConnector | None = None
        self._session: aiohttp.ClientSession | None = None

    def endpoint(self, url: str, headers: Mapping[str, str]) -> Endpoint:
        """An address with the headers of its requests."""
        where = URL(url)
        self._open(where.scheme)
        whole = {"Host": where.host_port_subcomponent or "", **headers, "Accept-Encoding": "gzip, deflate"}
        written = "".join(f"{name}: {value}\r\n" for name, value in whole.items())
        head = f"POST {where.raw_path_qs} HTTP/1.1\r\n{written}Content-Length: "
        key = aiohttp.ClientRequest("POST", where, loop=asyncio.get_running_loop())
        return Endpoint(key, head.encode("latin-1"), url, headers, _proxy(url))

    async def post(self, to: Endpoint, body: bytes) -> HttpReply:
        """Send a body, and read the reply.

        Raises:
            aiohttp.ClientError: No connection was made, it was lost, or what came is not a reply.
        """
        if to.proxy is not None:
            return await self._by_session("POST", to.url, to.headers, body)
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
            content = await _whole(payload)
        except BaseException:
            connection.close()
            raise
        connection.release()
        return HttpReply(message.code, message.headers, content)

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpReply:
        """Fetch an address.

        Raises:
            aiohttp.ClientError: No connection was made, it was lost, or what came is not a reply.
        """
        self._open(URL(url).scheme)
        return await self._by_session("GET", url, headers, None)

    async def _by_session(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> HttpReply:
        """Redirects are not followed: a key is for the server that the study names."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector,
                connector_owner=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self._timeout,
            )
        sent = self._session.request(
            method, URL(url), headers=headers, data=body, proxy=_proxy(url), allow_redirects=False
        )
        async with sent as reply:
            return HttpReply(reply.status, reply.headers, await _whole(reply.content))

    def _open(self, scheme: str) -> None:
        """Encrypt as httpx2 does, which heeds SSL_CERT_FILE and the like."""
        if self._connector is None:
            tls = _trusted() if scheme == "https" else True
            self._connector = aiohttp.TCPConnector(limit=self._most, ssl=tls)

    async def close(self) -> None:
        """Close all of them."""
        if self._session is not None:
            await self._session.close()
        if self._connector is not None:
            await self._connector.close()


class TooLong(Exception):
    """A reply holds more than is read."""


async def _whole(payload: aiohttp.StreamReader) -> bytes:
    """A reply's body, read up to a size.

    Raises:
        TooLong: It goes on.
    """
    whole = bytearray()
    while chunk := await payload.readany():
        whole += chunk
        if len(whole) > MOST_REPLY:
            raise TooLong(f"the reply is larger than {MOST_REPLY:,} bytes")
    content = bytes(whole)
    check_parts(content)
    return content


def check_parts(content: bytes) -> None:
    """Refuse JSON of so many small values that it takes a multiple of its size.

    Raises:
        TooLong: It is such.
    """
    parts = sum(map(content.count, (b"[", b"{", b",", b":")))
    if parts * _PART > _MOST_PARSED:
        raise TooLong(f"the reply holds {parts:,} values")


def _trusted() -> ssl.SSLContext:
    from httpx2 import create_ssl_context

    return create_ssl_context()


def _proxy(url: str) -> str | None:
    """The proxy that leads to an address, as the environment says."""
    parts, proxies = urlsplit(url), urllib.request.getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or urllib.request.proxy_bypass(parts.netloc):
        return None
    return named if "://" in named else f"http://{named}"
