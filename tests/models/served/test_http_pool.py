"""Calls over connections that stay open: none gets another's reply, whatever the server does."""

import asyncio
import threading
from contextlib import contextmanager, suppress

import aiohttp
import pytest
from tests.collect.fakes import request
from tests.models.odd_replies.odd_reply import ANSWER, on_the_wire, whole

from quaver.models.openai_compatible import OpenAICompatible
from quaver.models.served.http_pool import HttpPool

OK = b"HTTP/1.1 200 OK\r\n"
HEADERS = {"X": "h"}


def served(serve, work):
    """Work with a pool; returns how many connections the server saw."""
    connections = 0

    async def run():
        async def accept(reader, writer):
            nonlocal connections
            connections += 1
            with suppress(asyncio.IncompleteReadError, OSError):
                await serve(reader, writer)
            writer.close()

        async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with HttpPool(100, 5.0) as pool:
                await asyncio.wait_for(work(pool, f"http://127.0.0.1:{port}/v1/x?y=1"), 20)

    asyncio.run(run())
    return connections


def body_length(head):
    return int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])


async def echo(reader, writer):
    """Answers each body with itself."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"POST /v1/x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:")
        assert b"\r\nX: h\r\n" in head
        body = await reader.readexactly(body_length(head))
        writer.write(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def test_a_connection_is_used_again():
    async def work(pool, url):
        for n in range(5):
            assert (await pool.post(url, HEADERS, b"%d" % n)).content == b"%d" % n
        large = b"x" * 5_000_000
        assert (await pool.post(url, HEADERS, large)).content == large

    assert served(echo, work) == 1


def test_a_call_that_is_given_up_does_not_leave_its_reply_to_the_next():
    async def slow(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.2)
        writer.write(OK + b"Content-Length: 3\r\n\r\nold")
        await echo(reader, writer)

    async def work(pool, url):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pool.post(url, HEADERS, b""), 0.05)
        await asyncio.sleep(0.3)
        assert (await pool.post(url, HEADERS, b"")).content == b"old"  # of a connection of its own

    assert served(slow, work) == 2


async def proxy(reader, writer):
    """Answers with the address that it is to fetch, and with the key that is meant for that."""
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if "Content-Length: " in head:
            await reader.readexactly(int(head.partition("Content-Length: ")[2].partition("\r\n")[0]))
        said = f"{head.splitlines()[0]} {'Authorization: Bearer k' in head}".encode()
        writer.write(OK + b"Content-Length: %d\r\n\r\n%b" % (len(said), said))


@pytest.mark.parametrize("named", ["http_proxy", "all_proxy"])
def test_a_proxy_is_gone_through(named, monkeypatch):
    url, key = "http://api.example.invalid/v1/x", {"Authorization": "Bearer k"}

    async def work(pool, direct):
        monkeypatch.setenv(named, direct.removeprefix("http://").partition("/")[0])
        for _ in range(2):
            assert (await pool.post(url, key, b"{}")).content == f"POST {url} HTTP/1.1 True".encode()
        assert (await pool.get(url, key)).content == f"GET {url} HTTP/1.1 True".encode()
        for environment, proxies in (("example.invalid", True), ("", False)):
            monkeypatch.setenv("NO_PROXY", environment)
            async with HttpPool(1, 5.0, proxies=proxies) as other:
                with pytest.raises(aiohttp.ClientError):  # no address is known for it
                    await other.get(url, key)

    assert served(proxy, work) == 1


def test_no_redirect_is_followed():
    async def elsewhere(reader, writer):
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 307 Elsewhere\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")

    async def work(pool, url):
        assert (await pool.post(url, HEADERS, b"")).status == (await pool.get(url, {})).status == 307

    assert served(elsewhere, work) == 1


GOOD = on_the_wire(whole(ANSWER)).replace(b"Connection: close\r\n", b"")


class Dropping:
    """Answers so many requests of a connection, takes in the next, and closes without a word."""

    def __init__(self, answers):
        self.answers = answers
        self.connections = self.requests = 0

    async def serve(self, reader, writer):
        self.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError):
            for turn in range(self.answers + 1):
                await reader.readexactly(body_length(await reader.readuntil(b"\r\n\r\n")))
                self.requests += 1
                if turn < self.answers:
                    writer.write(GOOD)
                    await writer.drain()
        writer.close()


@contextmanager
def dropping(answers):
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


def answered(url, calls):
    model = OpenAICompatible(model="m", base_url=url, retries=0, concurrency=1, timeout=30)
    requests = [request(item, text=str(item)) for item in range(calls)]
    return [one for _, responses in model.answer(requests) for one in responses]


def test_a_connection_that_the_server_had_closed_costs_no_call_a_try():
    with dropping(answers=1) as (url, server):
        found = answered(url, 4)
    assert [one.text for one in found] == [ANSWER] * 4
    assert server.connections == 4
    assert server.requests == 7  # all but the first once more


@pytest.mark.parametrize("calls", [1, 2])
def test_a_server_that_never_answers_is_not_asked_twice(calls):
    with dropping(answers=0) as (url, server):
        found = answered(url, calls)
    assert [one.finish for one in found] == ["error"] * calls
    assert server.requests == calls
