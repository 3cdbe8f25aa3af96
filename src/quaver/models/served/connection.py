"""The connection to a server: bodies go out, replies come back, and every failure is one of Quaver's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from quaver._secrets import Keys
from quaver.core.records import Response
from quaver.models.served.http_pool import Endpoint, HttpPool, HttpReply
from quaver.models.served.rate import Limits, read_limits
from quaver.models.served.server_faults import Address, Passing, lost, read_failure, was_dropped

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
