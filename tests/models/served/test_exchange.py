"""A conversation with a server: what is asked at a time, and what is left when it ends."""

import asyncio
from contextlib import asynccontextmanager

from quaver.core.calls import Response
from quaver.core.conversation import answers_of
from quaver.models.served.exchange import Exchange
from quaver.models.served.pace import Pace
from quaver.models.served.server_faults import Address
from quaver.testing.requests import TEXTS, request


class Served:
    """A server behind a pace."""

    def __init__(self, send, concurrency=4):
        self.send, self.pace = send, Pace(concurrency=concurrency)

    @asynccontextmanager
    async def conversation(self):
        yield Exchange(self.send, self.pace, Address("here", "m"), retries=0, patience=1.0)


def test_nothing_is_sent_once_the_answers_are_given_up():
    sent = []

    async def send(asked):
        sent.append(asked)
        if len(sent) > 1:
            await asyncio.sleep(60)
        return Response("x")

    served = Served(send, concurrency=1)
    answers = answers_of(served, [request(TEXTS[0]), request(TEXTS[1]), request(TEXTS[2])])
    next(answers)
    answers.close()
    assert len(sent) <= 2
