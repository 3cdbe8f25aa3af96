"""Calls of one server over HTTP: kept connections, limits of what a reply may take, and faults in words."""

from __future__ import annotations

import asyncio
import ssl
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict

from quaver._secrets import Keys
from quaver.core.input_budget import InputBudget, TooLarge, check_values
from quaver.core.records import Response
from quaver.core.response_validation import error_response
from quaver.models.served.server_faults import Address, Passing, lost, read_failure, was_dropped
from quaver.models.served.server_options import compact_json

MOST_REPLY = 2**23
"""Bytes of a reply, without compression; long answers with all their log-probabilities have a tenth."""

MOST_VALUES = 1_500_000
"""Values of a reply, which take 64 bytes each once it is parsed."""

_BUFFER = 2**16


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
        url: The address.
        headers: The headers.
        proxy: What leads there; None for nothing.
    """

    url: str
    headers: Mapping[str, str]
    proxy: str | None


class HttpPool:
    """Connections that are opened as they are needed, and kept; used on one event loop.

    Args:
        most: Maximum number of connections.
        connect: Seconds for opening one.
    """

    def __init__(self, most: int, connect: float) -> None:
        self._most = most
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect)
        self._session: aiohttp.ClientSession | None = None

    def endpoint(self, url: str, headers: Mapping[str, str]) -> Endpoint:
        """An address with the headers of its requests."""
        return Endpoint(url, CIMultiDict(headers), _proxy(url))

    async def post(self, to: Endpoint, body: bytes) -> HttpReply:
        """Send a body, and read the reply."""
        return await self._sent("POST", to, body)

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpReply:
        """Fetch an address."""
        return await self._sent("GET", self.endpoint(url, headers), None)

    async def _sent(self, method: str, to: Endpoint, body: bytes | None) -> HttpReply:
        """Redirects are not followed: a key is for the server that the study names."""
        session = self._session
        if session is None:  # encrypted as httpx2 does, which heeds SSL_CERT_FILE and the like
            tls = _trusted() if to.url.startswith("https:") else True
            session = self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._most, ssl=tls),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self._timeout,
                read_bufsize=_BUFFER,
            )
        sent = session.request(
            method, to.url, headers=to.headers, data=body, proxy=to.proxy, allow_redirects=False
        )
        async with sent as reply:
            return HttpReply(reply.status, reply.headers, await _whole(reply.content))

    async def close(self) -> None:
        """Close all of them."""
        if self._session is not None:
            await self._session.close()


async def _whole(payload: aiohttp.StreamReader) -> bytes:
    """A reply's body, read up to a size."""
    chunks, budget = [], InputBudget(MOST_REPLY, "bytes")
    while chunk := await payload.readany():
        budget.spend(len(chunk))
        chunks.append(chunk)
    content = b"".join(chunks)
    check_values(content, MOST_VALUES)
    return content


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

    Attributes:
        settling: Held by the call that finds out what the server takes.
    """

    def __init__(
        self, address: Address, headers: Mapping[str, str], key: str, timeout: float, most: int
    ) -> None:
        self._address, self._timeout = address, timeout
        self._base, _, query = address.url.partition("?")
        self._host, self._query = urlsplit(address.url).netloc, f"?{query}" if query else ""
        self.settling = asyncio.Lock()
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

    async def post(self, path: str, body: dict[str, Any]) -> bytes | Response:
        """Send a body.

        Returns:
            The reply; or a response, if the prompt itself is at fault.
        """
        content = compact_json(body)
        to = self._endpoints.get(path)
        if to is None:
            to = self._endpoints[path] = self._pool.endpoint(
                self._base + path + self._query, {**self._headers, **_JSON}
            )
        reply = await self._sent(self._pool.post, to, content)
        return reply if isinstance(reply, Response) else self._secret.out_of_bytes(reply.content)

    async def get(self, path: str) -> bytes:
        """Fetch a path below the base URL, or another URL of the server."""
        url = path if "://" in path else self._base + path + self._query
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
        except TooLarge as error:  # another try would be as long
            return error_response(f"the reply holds {error}")
        except Exception as error:  # of any layer below
            raise lost(error, self._host) from None
        self._replied = True
        if reply.status in _SUCCESS:
            return reply
        content = self._secret.out_of_bytes(reply.content)
        response = read_failure(reply.status, reply.headers, content, self._address)
        if isinstance(response, Response):
            return response
        raise response
