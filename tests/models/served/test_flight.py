"""A flight that is ended sends nothing more, and leaves the pace as it found it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quaver.core.records import Response
from quaver.models.served.flight import Flight, Landed, Part
from quaver.models.served.pace import Pace
from quaver.models.served.server_faults import Address
from quaver.testing.requests import request


@asynccontextmanager
async def nothing() -> AsyncIterator[None]:
    yield None


def test_nothing_is_sent_once_the_flight_is_ended() -> None:
    pace = Pace(concurrency=1)
    sent: list[Part] = []

    async def send(_: None, part: Part) -> Landed:
        sent.append(part)
        flight._stop()  # as if nobody took answers any more
        return Landed([Response("x")])

    flight = Flight(send, pace, Address("here", "m"), shared=False, retries=0, patience=1.0)
    list(flight.answers([request(repeats=range(5))], nothing))
    assert len(sent) == 1
    assert pace.in_flight == 0
