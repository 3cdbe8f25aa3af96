"""The connection to a server: the SDK's client, with its errors as Quaver's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import openai
from httpx2 import URL, Timeout
from httpx2 import Limits as Connections
from httpx2 import Request as HttpRequest
from httpx2 import Response as HttpResponse

from quaver._secrets import Keys
from quaver.core.records import Response
from quaver.models.served.rate_limits import Limits, read_limits
from quaver.models.served.server_faults import Address, Passing, read_failure
from quaver.models.served.unreached import lost, was_dropped

_CONNECT = 10.0
"""Seconds for connecting to a server."""

_OWN = (b"content-length", b"x-stainless")
"""Headers that are not copied from the first request: its length, and what the SDK says about itself."""

_KEYLESS = "none"
"""A placeholder, which the SDK requires if a server takes no key."""


class Connection:
    """A client of one server, used on one event loop.

    The SDK makes the first request to a path. Later ones differ only in their body, so they reuse its address
    and headers over the SDK's own connections: building each anew is a good part of a call's cost.

    Args:
        address: The server.
        key: Its key, or an empty string.
        timeout: Seconds for one call.
        most: Maximum number of concurrent calls.
    """

    def __init__(self, address: Address, key: str, timeout: float, most: int) -> None:
        self._address, self._key, self._timeout = address, key, timeout
        self._host = urlsplit(address.url).netloc
        self._secret = Keys.of(key)
        self._replied = False
        self._made: dict[str, tuple[URL, list[tuple[bytes, bytes]], dict[str, Any]]] = {}
        whole = Timeout(None, connect=_CONNECT)
        limits = Connections(max_connections=most + 2, max_keepalive_connections=most + 2)
        self._http = openai.DefaultAioHttpClient(limits=limits, timeout=whole, follow_redirects=False)
        self._client = openai.AsyncOpenAI(
            base_url=address.url,
            api_key=key or _KEYLESS,
            max_retries=0,
            timeout=whole,
            http_client=self._http,
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
            await connection._client.close()

    async def post(self, path: str, body: dict[str, Any]) -> tuple[bytes, Limits | None] | Response:
        """Send a body.

        Returns:
            The reply and the limits that it reports; or a response, if the prompt itself is at fault.

        Raises:
            Passing: A retry may succeed.
            ModelError: A retry will not succeed.
        """
        if path in self._made:
            reply = await self._sent(lambda: self._http.send(self._like_the_first(path, body)))
        else:
            reply = await self._sent(lambda: self._client.post(path, cast_to=HttpResponse, body=body))
            if isinstance(reply, HttpResponse):
                first = reply.request
                head = [one for one in first.headers.raw if not one[0].lower().startswith(_OWN)]
                self._made[path] = first.url, head, first.extensions
        if isinstance(reply, Response):
            return reply
        return self._redacted(reply.content), _limits(reply.headers.raw)

    def _like_the_first(self, path: str, body: dict[str, Any]) -> HttpRequest:
        url, head, extensions = self._made[path]
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return HttpRequest("POST", url, headers=head, content=content.encode(), extensions=extensions)

    async def get(self, path: str) -> bytes:
        """Fetch a path below the base URL, or another URL of the server.

        Raises:
            Passing: A retry may succeed.
            ModelError: A retry will not succeed.
        """
        reply = await self._sent(lambda: self._client.get(path, cast_to=HttpResponse))
        return b"" if isinstance(reply, Response) else self._redacted(reply.content)

    async def _sent(self, send: Callable[[], Awaitable[HttpResponse]]) -> HttpResponse | Response:
        try:
            async with asyncio.timeout(self._timeout):
                reply = await self._sent_afresh(send)
        except TimeoutError:
            raise Passing(f"no answer within {self._timeout:g} s", busy=True) from None
        except openai.APIStatusError as error:
            reply = error.response
        except Exception as error:  # of the SDK or of any layer below it
            raise lost(error, self._host) from None
        self._replied = True
        if reply.is_success:
            return reply
        content = self._redacted(reply.content)
        found = read_failure(reply.status_code, reply.headers, content, self._address)
        if isinstance(found, Response):
            return found
        raise found

    async def _sent_afresh(self, send: Callable[[], Awaitable[HttpResponse]]) -> HttpResponse:
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


def _limits(raw: list[tuple[bytes, bytes]]) -> Limits | None:
    """The limits in headers; most replies have none, and parsing is slow."""
    found = {
        name.lower().decode("latin-1"): value.decode("latin-1")
        for name, value in raw
        if name[:11].lower() == b"x-ratelimit"
    }
    return read_limits(found) if found else None
