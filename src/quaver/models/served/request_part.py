"""Calls that are sent to a server together, and what comes back for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from quaver.core.records import Request, Response
from quaver.models.served.rate_limits import Limits

_CHARACTERS_A_TOKEN = 4


@dataclass(slots=True, eq=False)
class Part:
    """Some of a request's calls that are sent together.

    Attributes:
        request: The request.
        first: The position of its first call in the request.
        n: The number of its calls.
        tries: How often sending it has failed.
        responses: What came back.
        whole: All parts of the request.
        billed: Whether the server may have billed a failed try.
    """

    request: Request
    first: int
    n: int
    tries: int = 0
    responses: list[Response] = field(default_factory=list)
    whole: list[Part] = field(default_factory=list)
    billed: bool = False

    @property
    def tokens(self) -> int:
        """A rough upper bound of the tokens that it takes."""
        read = sum(len(content) for _, content in self.request.prompt.messages) // _CHARACTERS_A_TOKEN
        return read + self.n * self.request.decoding.max_tokens

    def finish(self, responses: Sequence[Response], seconds: float) -> None:
        """Take its responses, each with its share of the time and the number of tries."""
        tries = {"tries": self.tries + 1} if self.tries else {}
        self.responses = [
            one._replace(latency=seconds / self.n, raw=dict(one.raw or {}) | tries if tries else one.raw)
            for one in responses
        ]


@dataclass(frozen=True, slots=True)
class Landed:
    """What came back for a part.

    Attributes:
        responses: One for each call.
        limits: What the server says is left of its limits.
    """

    responses: list[Response]
    limits: Limits | None = None

    @property
    def tokens(self) -> int | None:
        """The tokens that the part took; None where the server does not count them."""
        first = self.responses[0]
        written = [response.completion_tokens for response in self.responses]
        if len(self.responses) > 1 and first.raw:
            written = [first.raw.get("completion_tokens_of_request")]
        if first.prompt_tokens is None or None in written:
            return None
        return first.prompt_tokens + sum(tokens or 0 for tokens in written)


Send = Callable[[Any, Part], Awaitable[Landed]]
"""Sends a part over a connection, once; raises ``Passing`` or a ``ModelError``."""
