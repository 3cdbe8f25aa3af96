"""The protocol of a provider's batches: many requests handed over together, collected hours later.

A model whose provider has them gives a ``BatchService``. ``quaver.collect.batch`` decides when each of its
methods is called; a service only speaks to the provider, and says of each failure what it leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from quaver.core.meter import NO_TRAFFIC, Traffic
from quaver.core.records import Request, Response
from quaver.errors import ModelError

BatchState = Literal[
    "written", "uploaded", "running", "partly done", "collected", "expired", "cancelled", "failed"
]
"""The state of a batch: ``written`` here; ``uploaded``, but not started; ``running`` or ``partly done``;
``collected`` once every answer is stored. One that ``expired``, was ``cancelled`` or ``failed`` has given up
what was not answered, which goes into the next batch."""


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
class BatchLimits:
    """The largest batch that is written.

    Attributes:
        requests: Requests in it.
        size: Bytes of its lines.
        hours: After how many hours the provider gives up what it has not answered.
    """

    requests: int = 20_000
    size: int = 50 * 2**20
    hours: float = 24.0


class Problem(NamedTuple):
    """Why a provider did not accept a batch, or some of its lines.

    Attributes:
        message: In the provider's words.
        line: The line at fault, from 1; None for the whole batch.
        queue: More is queued already than the account may have queued.
        fatal: The error that no other batch would escape; None if another might.
        code: The provider's code for it.
    """

    message: str
    line: int | None = None
    queue: bool = False
    fatal: ModelError | None = None
    code: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """A batch as its provider describes it.

    Attributes:
        state: ``running``, or how it ended; ``done`` means that its results are there.
        done: Requests that were answered.
        refused: Requests that ended with an error.
        expires: When the provider gives up, in seconds since 1970; None if it does not say.
        files: Where the results are, as the service needs it.
        problems: Why it failed.
    """

    state: Literal["running", "done", "expired", "cancelled", "failed"]
    done: int = 0
    refused: int = 0
    expires: float | None = None
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


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
    """What a provider does with batches.

    Every method may raise ``NotNow``, ``Gone`` or a ``ModelError``. After a ``ModelError``, or a ``NotNow``
    that is not ``unsure``, nothing has happened at the provider.

    Attributes:
        kind: The protocol: ``openai`` or ``anthropic``.
        limits: The largest batch.
        uploads: Whether lines are uploaded before the batch is started.
        is_named: Whether ``started`` finds batches by their name; if not, it can only guess.
    """

    kind: str
    limits: BatchLimits
    uploads: bool
    is_named: bool

    def parts(self, request: Request) -> Sequence[Request]:
        """A request as those that a batch holds."""
        ...

    def kind_of(self, request: Request) -> str:
        """A batch holds requests of one kind only, such as those for one endpoint."""
        ...

    def line(self, request_id: str, request: Request) -> bytes:
        """A request as a line of a batch, without its end."""
        ...

    def upload(self, name: str, lines: Lines) -> str:
        """Upload the lines of a batch; returns what the provider calls them."""
        ...

    def uploaded(self, name: str) -> str | None:
        """What the provider calls lines that were uploaded under a name; None if it has none."""
        ...

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Start a batch; returns what the provider calls it."""
        ...

    def started(
        self, name: str, upload: str, since: float, calls: int, known: Container[str]
    ) -> Sequence[str]:
        """The batches that may be one whose start was not answered."""
        ...

    def look(self, batch: str) -> Look:
        """Where a batch stands."""
        ...

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The results of a batch that ended: each request's id and what came back.

        Results whose id cannot be read are left out.
        """
        ...

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """What came back for a request, as a response for each of its calls."""
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
