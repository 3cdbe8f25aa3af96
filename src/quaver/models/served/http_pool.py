"""Calls of one server over HTTP: kept connections, limits of what a reply may take, and faults in words."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import truststore

from quaver._secrets import Keys
from quaver.core.calls import Response
from quaver.core.input_budget import InputBudget, TooLarge, check_values
from quaver.core.response_validation import error_response
from quaver.models.served.server_faults import Address, Passing, lost, read_failure, was_dropped
from quaver.models.served.server_options import compact_json

MOST_REPLY = 2**23
"""Bytes of a reply, without compression; long answers with all their log-probabilities have a tenth."""

MOST_VALUES = 1_500_000
"""Values of a reply, which take 64 bytes each once it is parsed."""

_BUFFER, _LONG = 2**16, 2**20
"""Bytes of a reply that wait to be read, and of a body that is sent in pieces."""


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


class HttpPool:
    """Connections that are opened as they are needed, and kept; used on one event loop.

    Args:
        most: Maximum number of connections.
        connect: Seconds for opening one.
        quiet: Seconds without a byte; None for no limit.
        proxies: Whether the proxies in the environment are used.
    """

    def __init__(
        self, most: int, connect: float, quiet: float | None = None, *, proxies: bool = True
    ) -> None:
        self._most, self._uses_proxies = most, proxies
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=quiet)
        self._session: aiohttp.ClientSession | None = None
        self._proxies: dict[str, str | None] = {}

    async def __aenter__(self) -> HttpPool:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """Send a body, and read the reply."""
        return await self._whole("POST", url, headers, body)

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpReply:
        """Fetch an address."""
        return await self._whole("GET", url, headers)

    async def _whole(self, *request: Any) -> HttpReply:
        async with self.sent(*request) as reply:
            return HttpReply(reply.status, reply.headers, await whole(reply))

    @asynccontextmanager
    async def sent(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A reply that has begun; redirects are not followed: a key is for the server that was named."""
        if self._session is None:
            tls = _trusted() if url.startswith("https:") else True
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._most, ssl=tls),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self._timeout,
                read_bufsize=_BUFFER,
            )
        if url not in self._proxies:
            self._proxies[url] = _proxy(url) if self._uses_proxies else None
        data = BytesIO(body) if body and len(body) > _LONG else body
        sent = self._session.request(
            method, url, headers=headers, data=data, proxy=self._proxies[url], allow_redirects=False
        )
        async with sent as reply:
            yield reply


async def whole(reply: aiohttp.ClientResponse, most: int = 0) -> bytes:
    """A reply's body, read up to a size."""
    chunks, budget = [], InputBudget(most or MOST_REPLY, "bytes")
    while chunk := await reply.content.readany():
        budget.spend(len(chunk))
        chunks.append(chunk)
    content = b"".join(chunks)
    check_values(content, MOST_VALUES)
    return content


def _trusted() -> ssl.SSLContext:
    """The authorities that the environment names, or else those that the system trusts."""
    is_named = "SSL_CERT_FILE" in os.environ or "SSL_CERT_DIR" in os.environ
    if sys.platform in ("win32", "darwin") and not is_named:
        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return ssl.create_default_context()


def _proxy(url: str) -> str | None:
    """The proxy that leads to an address, as the environment says."""
    parts, proxies = urlsplit(url), urllib.request.getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or urllib.request.proxy_bypass(parts.netloc):
        return None
    return named if "://" in named else f"http://{named}"


_CONNECT = 10.0
"""Seconds for connecting to a server."""

SUCCESS = range(200, 300)

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
        self._posted = {**self._headers, **_JSON}
        self._secret = Keys.of(key)
        self._replied = False
        self._pool = HttpPool(most + 2, _CONNECT)

    @classmethod
    @asynccontextmanager
    async def opened(cls, *arguments: Any) -> AsyncIterator[Connection]:
        """A connection that is closed at the end of the context."""
        connection = cls(*arguments)
        async with connection._pool:
            yield connection

    async def post(self, path: str, body: dict[str, Any]) -> bytes | Response:
        """Send a body.

        Returns:
            The reply; or a response, if the prompt itself is at fault.
        """
        url, content = self._base + path + self._query, compact_json(body)
        return await self._sent(lambda: self._pool.post(url, self._posted, content))

    async def get(self, path: str) -> bytes:
        """Fetch a path below the base URL, or another URL of the server."""
        url = path if "://" in path else self._base + path + self._query
        reply = await self._sent(lambda: self._pool.get(url, self._headers))
        return b"" if isinstance(reply, Response) else reply

    async def _sent(self, send: Callable[[], Awaitable[HttpReply]]) -> bytes | Response:
        try:
            async with asyncio.timeout(self._timeout):
                try:
                    reply = await send()
                except Exception as error:
                    # A server may close a kept connection at any time without a word, and a call that was
                    # about to use it is not at fault.
                    if not (self._replied and was_dropped(error)):
                        raise
                    reply = await send()
        except TimeoutError:
            raise Passing(f"no answer within {self._timeout:g} s", busy=True) from None
        except TooLarge as error:  # another try would be as long
            return error_response(f"the reply holds {error}")
        except Exception as error:  # of any layer below
            raise lost(error, self._host) from None
        self._replied = True
        content = self._secret.out_of_bytes(reply.content)
        if reply.status in SUCCESS:
            return content
        response = read_failure(reply.status, reply.headers, content, self._address)
        if isinstance(response, Response):
            return response
        raise response
