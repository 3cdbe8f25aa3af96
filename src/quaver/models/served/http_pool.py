"""aiohttp's connections to one server, without what its session builds anew for each call.

All calls of a run differ in their body alone. An address, headers, cookies, traces and objects for each of
them cost twice what the call itself does. Connecting, encrypting, keeping connections and reading replies are
aiohttp's.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from quaver._secrets import Keys
from quaver.core.records import Response
from quaver.models.served.rate import Limits, read_limits
from quaver.models.served.server_faults import Address, Passing, lost, read_failure, was_dropped

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


_CONNECT = 10.0
"""Seconds for connecting to a server."""

_SUCCESS = range(200, 300)

_COMMON = {"Accept": "application/json", "User-Agent": "quaver"}
_JSON = {"Content-Type": "application/json"}


class Connection:
    """A client of one server, used on one event loop.

    Args:
        address: The server.
        headers: Headers of every request, with the key among them.
        key: The key, which is removed from whatever comes back; an empty string if there is none.
        timeout: Seconds for one call.
        most: Maximum number of concurrent calls.
    """

    def __init__(
        self, address: Address, headers: Mapping[str, str], key: str, timeout: float, most: int
    ) -> None:
        self._address, self._timeout = address, timeout
        self._host, self._base = urlsplit(address.url).netloc, address.url.rstrip("/")
        self._headers = {**_COMMON, **headers}
        self._secret = Keys.of(key)
        self._replied = False
        self._pool = HttpPool(most + 2, _CONNECT)
        self._endpoints: dict[str, Endpoint] = {}

    @classmethod
    @asynccontextmanager
    async def opened(cls, *arguments: Any) -> AsyncIterator[Connection]:
        """A connection that is closed at the end of the context."""
        connection = cls(*arguments)
        try:
            yield connection
        finally:
            await connection._pool.close()

    async def post(self, path: str, body: dict[str, Any]) -> tuple[bytes, Limits | None] | Response:
        """Send a body.

        Returns:
            The reply and the limits that it reports; or a response, if the prompt itself is at fault.

        Raises:
            Passing: A retry may succeed.
            ModelError: A retry will not succeed.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        to = self._endpoints.get(path)
        if to is None:
            to = self._endpoints[path] = self._pool.endpoint(self._base + path, {**self._headers, **_JSON})
        reply = await self._sent(self._pool.post, to, content)
        if isinstance(reply, Response):
            return reply
        return self._secret.out_of_bytes(reply.content), read_limits(reply.headers)

    async def get(self, path: str) -> bytes:
        """Fetch a path below the base URL, or another URL of the server.

        Raises:
            Passing: A retry may succeed.
            ModelError: A retry will not succeed.
        """
        url = path if "://" in path else self._base + path
        reply = await self._sent(self._pool.get, url, self._headers)
        return b"" if isinstance(reply, Response) else self._secret.out_of_bytes(reply.content)

    async def _sent(
        self, send: Callable[[Any, Any], Awaitable[HttpReply]], to: object, what: object
    ) -> HttpReply | Response:
        try:
            async with asyncio.timeout(self._timeout):
                try:
                    reply = await send(to, what)
                except Exception as error:
                    # A server may close a kept connection at any time without a word, and a call that was
                    # about to use it is not at fault.
                    if not (self._replied and was_dropped(error)):
                        raise
                    reply = await send(to, what)
        except TimeoutError:
            raise Passing(f"no answer within {self._timeout:g} s", busy=True) from None
        except Exception as error:  # of any layer below
            raise lost(error, self._host) from None
        self._replied = True
        if reply.status in _SUCCESS:
            return reply
        content = self._secret.out_of_bytes(reply.content)
        found = read_failure(reply.status, reply.headers, content, self._address)
        if isinstance(found, Response):
            return found
        raise found
