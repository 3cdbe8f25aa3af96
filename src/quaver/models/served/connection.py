"""The one place where a server is spoken to: the SDK's client, and its errors as Quaver's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
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
from quaver.models.served.unreached import lost

__all__ = ["Connection"]

_CONNECT = 10.0
"""Seconds in which a server must take up the telephone."""

_OWN = (b"content-length", b"x-stainless")
"""Headers that a request does not take over from the first: its length, and what the SDK tells of itself."""

_KEYLESS = "none"
"""What the SDK wants to have where a server takes no key."""


class Connection:
    """A client of one server, used on one event loop.

    The SDK makes the first request to a path. Those after it are the same but for their body, and go out over
    the SDK's own connections with the address and headers of the first: to have each made anew is a good
    part of what a call costs.

    Args:
        address: The server.
        key: Its key, or an empty string.
        timeout: Seconds for one call.
        most: Calls at once.
    """

    def __init__(self, address: Address, key: str, timeout: float, most: int) -> None:
        self._address, self._key, self._timeout = address, key, timeout
        self._host = urlsplit(address.url).netloc
        self._secret = Keys.of(key)
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
        if "openai.com" not in address.url:  # these two are for its own makers
            self._client.organization = self._client.project = None

    @classmethod
    @asynccontextmanager
    async def opened(cls, *arguments: Any) -> AsyncIterator[Connection]:
        """A connection that is closed again."""
        connection = cls(*arguments)
        try:
            yield connection
        finally:
            await connection._client.close()

    async def post(self, path: str, body: dict[str, Any]) -> tuple[bytes, Limits | None] | Response:
        """Send a body.

        Args:
            path: Below the base URL.
            body: The JSON.

        Returns:
            The reply and what it says of the server's limits; or a response, where the prompt itself is
            at fault.

        Raises:
            Passing: It may work another time.
            ModelError: It will not.
        """
        if path in self._made:
            reply = await self._sent(self._http.send(self._like_the_first(path, body)))
        else:
            reply = await self._sent(self._client.post(path, cast_to=HttpResponse, body=body))
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
        """Fetch what is at a path below the base URL, or at a URL of the server's.

        Raises:
            Passing: It may work another time.
            ModelError: It will not.
        """
        reply = await self._sent(self._client.get(path, cast_to=HttpResponse))
        return b"" if isinstance(reply, Response) else self._redacted(reply.content)

    async def _sent(self, sending: Awaitable[HttpResponse]) -> HttpResponse | Response:
        try:
            async with asyncio.timeout(self._timeout):
                reply = await sending
        except TimeoutError:
            raise Passing(f"no answer within {self._timeout:g} s", busy=True) from None
        except openai.APIStatusError as error:
            reply = error.response
        except Exception as error:  # the SDK's, its transport's, the transport's own transport's
            raise lost(error, self._host) from None
        if reply.is_success:
            return reply
        content = self._redacted(reply.content)
        found = read_failure(reply.status_code, reply.headers, content, self._address)
        if isinstance(found, Response):
            return found
        raise found

    def _redacted(self, content: bytes) -> bytes:
        """What came, without the key, should a server repeat it."""
        return self._secret.out_of_bytes(content)


def _limits(raw: list[tuple[bytes, bytes]]) -> Limits | None:
    """The limits in headers; most replies have none, and looking is dear."""
    told = {
        name.lower().decode("latin-1"): value.decode("latin-1")
        for name, value in raw
        if name[:11].lower() == b"x-ratelimit"
    }
    return read_limits(told) if told else None
