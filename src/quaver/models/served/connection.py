"""The one place where a server is spoken to: the SDK's client, and its errors as Quaver's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import openai
from httpx2 import URL, Timeout
from httpx2 import Limits as Connections
from httpx2 import Request as HttpRequest
from httpx2 import Response as HttpResponse

from quaver.models.served.faults import Address, Passing, read_failure
from quaver.models.served.limits import Limits, read_limits
from quaver.records import Response

if TYPE_CHECKING:
    from openai._models import FinalRequestOptions
    from openai._types import RequestOptions

__all__ = ["Connection"]

_CONNECT = 10.0
"""Seconds in which a server must take up the telephone."""

_KEYLESS = "none"
"""What the SDK wants to have where a server takes no key."""


class _Client(openai.AsyncOpenAI):
    """The SDK's client, which builds the headers and address of a kind of request once, not for each.

    That is a third of what a request costs. Should a later SDK build its requests elsewhere, this is
    not called, and all goes on as the SDK does it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._built: dict[str, tuple[URL, list[tuple[bytes, bytes]], dict[str, Any]]] = {}

    def _build_request(self, options: FinalRequestOptions, *, retries_taken: int = 0) -> HttpRequest:
        if options.method != "post" or not isinstance(options.json_data, dict):
            return super()._build_request(options, retries_taken=retries_taken)
        if options.url not in self._built:
            first = super()._build_request(options, retries_taken=retries_taken)
            head = [(name, value) for name, value in first.headers.raw if name.lower() != b"content-length"]
            self._built[options.url] = first.url, head, first.extensions
            return first
        url, head, extensions = self._built[options.url]
        content = json.dumps(options.json_data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return HttpRequest("POST", url, headers=head, content=content.encode(), extensions=extensions)


class Connection:
    """A client of one server, used on one event loop.

    Args:
        address: The server.
        key: Its key, or an empty string.
        timeout: Seconds for one call.
        most: Calls at once.
    """

    def __init__(self, address: Address, key: str, timeout: float, most: int) -> None:
        self._address, self._key, self._timeout = address, key, timeout
        self._base = address.url.rstrip("/")
        whole = Timeout(None, connect=_CONNECT)
        # Named one by one: what is left out the SDK copies from its defaults, deeply, for every request.
        self._options: RequestOptions = {
            "headers": {},
            "params": {},
            "max_retries": 0,
            "timeout": whole,
            "security": {"bearer_auth": True},
        }
        limits = Connections(max_connections=most + 2, max_keepalive_connections=most + 2)
        client = openai.DefaultAioHttpClient(limits=limits, timeout=whole, follow_redirects=False)
        self._client = _Client(
            base_url=address.url, api_key=key or _KEYLESS, max_retries=0, http_client=client
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

        Returns:
            The reply and what it says of the server's limits; or a response, where the prompt itself is
            at fault.

        Raises:
            Passing: It may work another time.
            ModelError: It will not.
        """
        # A whole URL is read once, where the SDK would read a path, its base and both together.
        sending = self._client.post(self._base + path, cast_to=HttpResponse, body=body, options=self._options)
        reply = await self._sent(sending)
        if isinstance(reply, Response):
            return reply
        return self._redacted(reply.content), _limits(reply.headers.raw)

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
                return await sending
        except TimeoutError:
            raise Passing(f"no answer within {self._timeout:g} s", busy=True) from None
        except openai.APIStatusError as error:
            reply = error.response
            content = self._redacted(reply.content)
            found = read_failure(reply.status_code, reply.headers, content, self._address)
            if isinstance(found, Response):
                return found
            raise found from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            reason = f"{type(cause).__name__}: {cause}".rstrip(": ")[:300]
            raise Passing(reason, unreached="Connect" in type(cause).__name__) from None
        except (openai.OpenAIError, OSError, ValueError) as error:
            raise Passing(f"{type(error).__name__}: {error}"[:300]) from None

    def _redacted(self, content: bytes) -> bytes:
        """What came, without the key, should a server repeat it."""
        key = self._key.encode()
        return content.replace(key, b"[key]") if key and key in content else content


def _limits(raw: list[tuple[bytes, bytes]]) -> Limits | None:
    """The limits in headers; most replies have none, and looking is dear."""
    told = {
        name.lower().decode(): value.decode() for name, value in raw if name[:11].lower() == b"x-ratelimit"
    }
    return read_limits(told) if told else None
