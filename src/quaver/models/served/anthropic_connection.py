"""The connection to Anthropic: its SDK's client, with its errors as Quaver's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anthropic
from httpx2 import Limits as Connections
from httpx2 import Response as HttpResponse
from httpx2 import Timeout

from quaver._secrets import Keys
from quaver.core.records import Response
from quaver.models.served.anthropic_messages import VERSION
from quaver.models.served.server_faults import Address, Passing, read_failure
from quaver.models.served.unreached import lost

_CONNECT = 10.0
"""Seconds for connecting to the server."""

_KEYLESS = "none"
"""A placeholder, which the SDK requires; the key is sent in a header of this API version."""


class AnthropicConnection:
    """A client of Anthropic's API, used on one event loop.

    Args:
        address: The server.
        key: Its key.
        timeout: Seconds for one call.
        most: Maximum number of concurrent calls.
    """

    def __init__(self, address: Address, key: str, timeout: float, most: int) -> None:
        self._address, self._timeout = address, timeout
        self._host, self._secret = urlsplit(address.url).netloc, Keys.of(key)
        whole = Timeout(None, connect=_CONNECT)
        limits = Connections(max_connections=most + 2, max_keepalive_connections=most + 2)
        of_version: Any = {
            "anthropic-version": VERSION,
            "x-api-key": key,
            "authorization": anthropic.Omit(),
        }
        self._client = anthropic.AsyncAnthropic(
            api_key=key or _KEYLESS,
            default_headers=of_version,
            base_url=address.url,
            max_retries=0,
            timeout=whole,
            http_client=anthropic.DefaultAsyncHttpxClient(
                limits=limits, timeout=whole, follow_redirects=False
            ),
        )

    @classmethod
    @asynccontextmanager
    async def opened(cls, *arguments: Any) -> AsyncIterator[AnthropicConnection]:
        """A connection that is closed at the end of the context."""
        connection = cls(*arguments)
        try:
            yield connection
        finally:
            await connection._client.close()

    async def post(self, path: str, body: dict[str, Any]) -> bytes | Response:
        """Send a body.

        Returns:
            The reply; or a response, if the prompt itself is at fault.

        Raises:
            Passing: A retry may succeed.
            ModelError: A retry will not succeed.
        """
        try:
            async with asyncio.timeout(self._timeout):
                reply = await self._client.post(path, cast_to=HttpResponse, body=body)
        except TimeoutError:
            raise Passing(f"no answer within {self._timeout:g} s", busy=True) from None
        except anthropic.APIStatusError as error:
            reply = error.response
        except Exception as error:  # of the SDK or of any layer below it
            raise lost(error, self._host) from None
        content = self._secret.out_of_bytes(reply.content)
        if reply.is_success:
            return content
        found = read_failure(reply.status_code, reply.headers, content, self._address)
        if isinstance(found, Response):
            return found
        raise found
