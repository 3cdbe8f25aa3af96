"""Parts of requests as they are sent, and those that the server rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from quaver.core.records import Request, Response
from quaver.models.served.server_faults import Refused

_CHARACTERS_A_TOKEN = 4

_REJECTED = 6
"""Requests that are rejected without an answer in between, after which the server is at fault."""


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
            response._replace(
                latency=seconds / self.n, raw=dict(response.raw or {}) | tries if tries else response.raw
            )
            for response in responses
        ]


class Rejected:
    """Parts that were rejected, of which it is not known yet whether their texts are at fault.

    They are if other requests are answered, before or after; if all are rejected alike, the server is.

    Attributes:
        parts: They, with what the server said.
    """

    def __init__(self) -> None:
        self.parts: list[tuple[Part, Refused]] = []

    def add(self, part: Part, fault: Refused) -> None:
        """Keep a part."""
        self.parts.append((part, fault))

    def taken(self) -> list[tuple[Part, Refused]]:
        """All of them, which are kept no longer."""
        taken, self.parts = self.parts, []
        return taken

    def are_the_servers_fault(self, last: Refused, answered_once: bool) -> bool:
        """Whether the server is to be given up: for several texts, or for what is no text's fault."""
        items = {part.request.calls[0].item for part, _ in self.parts}
        requests = {id(part.request) for part, _ in self.parts}
        alone = answered_once and len(items) == 1
        return not last.may_be_the_texts or (len(requests) >= _REJECTED and not alone)

    @property
    def complete(self) -> int:
        """Requests of which nothing is left but rejected parts."""
        kept = {id(part) for part, _ in self.parts}
        wholes = {id(part.whole): part.whole for part, _ in self.parts}
        return sum(all(one.responses or id(one) in kept for one in whole) for whole in wholes.values())
