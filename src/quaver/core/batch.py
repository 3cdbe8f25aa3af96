"""The protocol of a provider's batches: many requests handed over together, collected hours later.

A model whose provider has them gives a ``BatchService``. ``quaver.collect.run.batching`` decides when each of
its methods is called; a service only speaks to the provider, and says of each failure what it leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from quaver.core.calls import Request, Response
from quaver.core.meter import NO_TRAFFIC, Traffic
from quaver.errors import ModelError


class NotNow(Exception):
    """A provider could not do something now, and may do it later.

    Args:
        reason: What happened.
        unsure: Whether it may have been done all the same: the reply was lost.
        limited: Whether it was more than the account may ask for now.
    """

    def __init__(self, reason: str, *, unsure: bool = False, limited: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.unsure, self.limited = reason, unsure, limited


class Gone(Exception):
    """The provider no longer has, or never had, what is asked for."""


@dataclass(frozen=True, slots=True)
class Look:
    """A batch as its provider describes it.

    Attributes:
        state: ``running``, or how it ended; ``collected`` means that its results are there.
        done: Requests that were answered.
        refused: Requests that ended with an error.
        expires: When the provider gives up, in seconds since 1970; None if it does not say.
        files: Where the results are, as the service needs it.
        words: Why it failed, in the provider's words.
        lines: The same of single requests, by their place from 1.
        queue: More was queued already than the account may have queued.
        fatal: The error that no other batch would escape; None if another might.
    """

    state: Literal["running", "collected", "expired", "cancelled", "failed"]
    done: int = 0
    refused: int = 0
    expires: float | None = None
    files: Sequence[str] = ()
    words: str = ""
    lines: Mapping[int, str] = field(default_factory=dict)
    queue: bool = False
    fatal: ModelError | None = None


class Unanswered(NamedTuple):
    """A request of a batch that has no answer, so that it goes into the next.

    Attributes:
        reason: Why.
        counts: Whether this was a try; a request that only waited is not charged with one.
        fatal: The error that no other request would escape; None if another might.
        traffic: What the provider billed all the same.
    """

    reason: str
    counts: bool = True
    fatal: ModelError | None = None
    traffic: Traffic = NO_TRAFFIC


Lines = Callable[[], Iterable[bytes]]
"""The lines of a batch, each time anew."""


class BatchService(Protocol):
    """What a provider does with batches of requests, each of one call.

    Every method may raise ``NotNow``, ``Gone`` or a ``ModelError``. After a ``ModelError``, or a ``NotNow``
    that is not ``unsure``, nothing has happened at the provider.

    Attributes:
        kind: The protocol: ``openai``, ``anthropic`` or ``gemini``.
        most_requests: Requests in the largest batch that is written.
        most_bytes: Bytes of its lines.
        hours: After how many hours the provider gives up what it has not answered.
    """

    kind: str
    most_requests: int
    most_bytes: int
    hours: float

    def endpoint(self, request: Request) -> str:
        """A batch holds requests for one endpoint only."""
        ...

    def line(self, request_id: str, request: Request) -> bytes:
        """A request as a line of a batch, without its end."""
        ...

    def upload(self, name: str, lines: Lines) -> str:
        """Upload the lines, if that comes before the start; returns what the provider calls them."""
        ...

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Start a batch; returns what the provider calls it."""
        ...

    def started(self, name: str, since: float, requests: int, known: Container[str]) -> Sequence[str]:
        """Unknown batches since then that may be one whose start was not answered, the oldest first."""
        ...

    def look(self, batch: str) -> Look:
        """Where a batch stands."""
        ...

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The results of a batch that ended: each request's id and what came back, where that can be read."""
        ...

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """What came back for a request, as a response."""
        ...

    def cancel(self, batch: str) -> None:
        """Have a batch end early; what is answered stays."""
        ...


@runtime_checkable
class Batched(Protocol):
    """A model that may be asked in batches."""

    def batches(self) -> BatchService | None:
        """The service that takes them; None if this model's provider has none."""
        ...
