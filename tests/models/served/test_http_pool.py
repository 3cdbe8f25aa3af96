"""HTTP/1.1 as a server may speak it, over connections that stay open."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from quaver.models.served.http_pool import Dropped, Endpoint, HttpPool, NotConnected, endpoint
from quaver.models.served.http_reply import BadReply, HttpReply, reading

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKS = OK + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nye\r\n1\r\ns\r\n0\r\nX-After: 1\r\n\r\n"


def read(wire: bytes, step: int = 10_000) -> HttpReply:
    """A reply whose bytes come a few at a time, before the connection is closed."""
    came, ended = bytearray(), list[bool]()
    work = reading(came, ended)
    try:
        for at in range(0, len(wire), step):
            came += wire[at : at + step]
            next(work)
        ended.append(True)
        next(work)
    except StopIteration as end:
        found: HttpReply = end.value
        return found
    raise AssertionError("it is still reading")


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("wire", "content", "stays"),
    [
        (OK + b"Content-Length: 3\r\n\r\nyes", b"yes", True),
        (OK + b"Content-Length: 3\r\nConnection: close\r\n\r\nyes", b"yes", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nyes", b"yes", False),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 3\r\n\r\nyes", b"yes", True),
        (CHUNKS, b"yes", True),
        (OK + b"\r\nyes", b"yes", False),  # as long as the connection
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
    ],
)
def test_where_a_reply_ends(wire: bytes, content: bytes, stays: bool, step: int) -> None:
    reply = read(wire, step)
    assert (reply.content, reply.stays) == (content, stays)


def test_compression_is_undone() -> None:
    squeezed = gzip.compress(b"yes" * 1000)
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(squeezed)
    assert read(head + squeezed).content == b"yes" * 1000
    with pytest.raises(BadReply):
        read(OK + b"Content-Encoding: gzip\r\n\r\n" + squeezed[:-9])


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        OK + b"Content-Length: 9\r\n\r\nyes",
        OK + b"Content-Length: -1\r\n\r\nyes",
        OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nyes",
        OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nyes\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-3\r\nyes\r\n0\r\n\r\n",
        OK + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_reply(wire: bytes) -> None:
    with pytest.raises(BadReply):
        read(wire)


def served(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    work: Callable[[HttpPool, Endpoint], Awaitable[None]],
) -> int:
    """Work with a pool; returns how many connections the server saw."""
    connections = 0

    async def run() -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            with suppress(asyncio.IncompleteReadError, OSError):
                await serve(reader, writer)
            writer.close()

        async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            to = endpoint(f"http://127.0.0.1:{port}/v1/x?y=1", [(b"Host", b"h")], ssl.create_default_context)
            assert to is not None
            pool = HttpPool(5.0)
            try:
                await asyncio.wait_for(work(pool, to), 20)
            finally:
                await pool.close()

    asyncio.run(run())
    return connections


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers each body with itself."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\n")
        body = await reader.readexactly(int(head.rpartition(b"Content-Length: ")[2]))
        writer.write(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def test_a_connection_is_used_again() -> None:
    async def work(pool: HttpPool, to: Endpoint) -> None:
        for n in range(5):
            assert (await pool.post(to, b"%d" % n)).content == b"%d" % n
        large = b"x" * 5_000_000
        assert (await pool.post(to, large)).content == large

    assert served(echo, work) == 1


def test_one_connection_for_each_call_at_a_time() -> None:
    async def work(pool: HttpPool, to: Endpoint) -> None:
        for _ in range(3):
            replies = await asyncio.gather(*(pool.post(to, b"%d" % n) for n in range(10)))
            assert [one.content for one in replies] == [b"%d" % n for n in range(10)]

    assert served(echo, work) == 10


def test_a_call_that_is_given_up_does_not_leave_its_reply_to_the_next() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.2)
        writer.write(OK + b"Content-Length: 3\r\n\r\nold")
        await echo(reader, writer)

    async def work(pool: HttpPool, to: Endpoint) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pool.post(to, b""), 0.05)
        await asyncio.sleep(0.3)
        assert (await pool.post(to, b"")).content == b"old"  # of a connection of its own

    assert served(slow, work) == 2


def test_more_than_the_reply_ends_the_connection() -> None:
    async def talkative(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write((OK + b"Content-Length: 3\r\n\r\nyes") * 2)
        await reader.read()

    async def work(pool: HttpPool, to: Endpoint) -> None:
        for _ in range(2):
            assert (await pool.post(to, b"")).content == b"yes"

    assert served(talkative, work) == 2


def test_a_kept_connection_that_is_closed_is_told_from_a_server_that_says_nothing() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: 3\r\n\r\nyes")
        await reader.readuntil(b"\r\n\r\n")

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    async def twice(pool: HttpPool, to: Endpoint) -> None:
        await pool.post(to, b"")
        with pytest.raises(Dropped):
            await pool.post(to, b"")
        assert (await pool.post(to, b"", afresh=True)).content == b"yes"

    async def first(pool: HttpPool, to: Endpoint) -> None:
        with pytest.raises(BadReply):
            await pool.post(to, b"")

    assert served(once, twice) == 2
    assert served(mute, first) == 1


def test_nothing_listens() -> None:
    async def work(pool: HttpPool, to: Endpoint) -> None:
        with pytest.raises(NotConnected) as caught:
            await pool.post(to._replace(port=1), b"")
        assert isinstance(caught.value.__cause__, ConnectionRefusedError)

    served(echo, work)


def test_a_proxy_is_left_to_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://api.example.org/v1/chat/completions"
    found = endpoint(url, [], ssl.create_default_context)
    assert found is not None
    assert (found.host, found.port, found.tls is None) == ("api.example.org", 443, False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.org:3128")
    assert endpoint(url, [], ssl.create_default_context) is None
    monkeypatch.setenv("NO_PROXY", "example.org")
    assert endpoint(url, [], ssl.create_default_context) is not None
