"""The connection to a server: the SDK's first request, cheaper ones after it, their errors as Quaver's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
from httpx2 import Limits as Connections
from httpx2 import Request as SdkRequest
from httpx2 import Response as SdkReply

from quaver._secrets import Keys
from quaver.core.records import Response
from quaver.models.served.http_pool import Endpoint, HttpPool, HttpReply
from quaver.models.served.rate_limits import Limits, read_limits
from quaver.models.served.server_faults import Address, Passing, read_failure
from quaver.models.served.unreached import lost, was_dropped

_CONNECT = 10.0
"""Seconds for connecting to a server."""

_OWN = b"x-stainless"
"""Headers that are not copied from the first request: what the SDK says about itself."""

_KEYLESS = "none"
"""A placeholder, which the SDK requires if a server takes no key."""


_SUCCESS = range(200, 300)


class Connection:
    """A client of one server, used on one event loop.

    The SDK makes the first request to a path. Later ones differ only in their body, so they reuse its address
    and headers (``http_pool``): what the SDK and the clients below it do for each call costs several times
    what the call itself does. Where a proxy is to be used, the SDK makes them all.

    Args:
        address: The server.
        key: Its key, or an empty string.
        timeout: Seconds for one call.
        most: Maximum number of concurrent calls.
    """

    def __init__(self, address: Address, key: str, timeout: float, most: int) -> None:
        self._address, self._timeout = address, timeout
        self._host, self._base = urlsplit(address.url).netloc, urlsplit(address.url).path.rstrip("/")
        self._secret = Keys.of(key)
        self._replied = False
        self._endpoints: dict[str, Endpoint | None] = {}
        self._pool = HttpPool(most + 2, _CONNECT, httpx2.create_ssl_context)
        whole = httpx2.Timeout(None, connect=_CONNECT)
        limits = Connections(max_connections=most + 2, max_keepalive_connections=most + 2)
        self._client = openai.AsyncOpenAI(
            base_url=address.url,
            api_key=key or _KEYLESS,
            max_retries=0,
            timeout=whole,
            http_client=openai.DefaultAioHttpClient(
                limits=limits,
                timeout=whole,
                follow_redirects=False,
                event_hooks={"request": [self._learn]},
            ),
        )
        if "openai.com" not in address.url:  # these two are for OpenAI alone
            self._client.organization = self._client.project = None

    @classmethod
    @asynccontextmanager
    async def opened(cls, *arguments: Any) -> AsyncIterator[Connection]:
        """A connection that is closed at the end of the context."""
        connection = cls(*arguments)
        try:
            yield connection
        finally:
            await connection._pool.close()
            await connection._client.close()

    async def post(self, path: str, body: dict[str, Any]) -> tuple[bytes, Limits | None] | Response:
        """Send a body.

        Returns:
            The reply and the limits that it reports; or a response, if the prompt itself is at fault.

        Raises:
            Passing: A retry may succeed.
            ModelError: A retry will not succeed.
        """
        if to := self._endpoints.get(path):
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
            reply = await self._sent(lambda: self._pool.post(to, content))
        else:
            reply = await self._sent(lambda: self._first(path, body))
        if isinstance(reply, Response):
            return reply
        return self._redacted(reply.content), read_limits(reply.headers)

    async def _first(self, path: str, body: dict[str, Any]) -> HttpReply:
        """Send a body by way of the SDK."""
        return _as_reply(await self._client.post(path, cast_to=SdkReply, body=body))

    async def _learn(self, first: SdkRequest) -> None:
        """Learn from a request of the SDK, before it is sent, how to send others to its path."""
        path = first.url.path.removeprefix(self._base)
        if first.method == "POST" and path not in self._endpoints:
            head = [one for one in first.headers.raw if not one[0].lower().startswith(_OWN)]
            self._endpoints[path] = self._pool.endpoint(str(first.url), head)

    async def get(self, path: str) -> bytes:
        """Fetch a path below the base URL, or another URL of the server.

        Raises:
            Passing: A retry may succeed.
            ModelError: A retry will not succeed.
        """
        reply = await self._sent(lambda: self._got(path))
        return b"" if isinstance(reply, Response) else self._redacted(reply.content)

    async def _got(self, path: str) -> HttpReply:
        return _as_reply(await self._client.get(path, cast_to=SdkReply))

    async def _sent(self, send: Callable[[], Awaitable[HttpReply]]) -> HttpReply | Response:
        try:
            async with asyncio.timeout(self._timeout):
                reply = await self._sent_afresh(send)
        except TimeoutError:
            raise Passing(f"no answer within {self._timeout:g} s", busy=True) from None
        except openai.APIStatusError as error:
            reply = _as_reply(error.response)
        except Exception as error:  # of the SDK or of any layer below it
            raise lost(error, self._host) from None
        self._replied = True
        if reply.status in _SUCCESS:
            return reply
        content = self._redacted(reply.content)
        found = read_failure(reply.status, reply.headers, content, self._address)
        if isinstance(found, Response):
            return found
        raise found

    async def _sent_afresh(self, send: Callable[[], Awaitable[HttpReply]]) -> HttpReply:
        """Send once more where a connection that had been kept open turns out to be closed.

        A server may close it at any time without a word, and a call that was about to use it is not at fault.
        """
        try:
            return await send()
        except Exception as error:
            if not (self._replied and was_dropped(error)):
                raise
        return await send()

    def _redacted(self, content: bytes) -> bytes:
        """The content without the key, in case the server repeats it."""
        return self._secret.out_of_bytes(content)


def _as_reply(reply: SdkReply) -> HttpReply:
    return HttpReply(reply.status_code, reply.headers, reply.content)
