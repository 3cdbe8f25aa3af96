"""A connection to a server that is kept open, and closed by the server when it likes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from tests.collect.fakes import request
from tests.models.odd_replies.odd_reply import ANSWER, on_the_wire, whole

from quaver.core.records import Response
from quaver.models.openai_compatible import OpenAICompatible

GOOD = on_the_wire(whole(ANSWER)).replace(b"Connection: close\r\n", b"")


class Dropping:
    """Answers so many requests of a connection, takes in the next, and closes without a word."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.connections = self.requests = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError):
            for turn in range(self.answers + 1):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
                self.requests += 1
                if turn < self.answers:
                    writer.write(GOOD)
                    await writer.drain()
        writer.close()


@contextmanager
def dropping(answers: int) -> Iterator[tuple[str, Dropping]]:
    server, loop = Dropping(answers), asyncio.new_event_loop()
    listening = loop.run_until_complete(asyncio.start_server(server.serve, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", server
    finally:
        loop.call_soon_threadsafe(listening.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)


def answered(url: str, calls: int) -> list[Response]:
    model = OpenAICompatible(model="m", base_url=url, retries=0, concurrency=1, timeout=30)
    requests = [request(item, text=str(item)) for item in range(calls)]
    return [one for _, responses in model.answer(requests) for one in responses]


def test_a_connection_that_the_server_had_closed_costs_no_call_a_try() -> None:
    with dropping(answers=1) as (url, server):
        found = answered(url, 4)
    assert [one.text for one in found] == [ANSWER] * 4
    assert server.connections == 4
    assert server.requests == 7  # all but the first once more


@pytest.mark.parametrize("calls", [1, 2])
def test_a_server_that_never_answers_is_not_asked_twice(calls: int) -> None:
    with dropping(answers=0) as (url, server):
        found = answered(url, calls)
    assert [one.finish for one in found] == ["error"] * calls
    assert server.requests == calls
