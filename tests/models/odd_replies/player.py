"""A server on this machine that plays odd replies, byte for byte."""

import asyncio
import json
import threading
from contextlib import contextmanager, suppress

from tests.models.odd_replies.odd_reply import ANSWER, AUTHORIZATION, on_the_wire, whole

_SILENCE = 30.0
"""Seconds for which a connection is left open."""

_LONGEST = 2**24
"""Bytes of a request that are read."""


@contextmanager
def playing(choose, host="127.0.0.1", port=0):
    """A server in a thread of its own, as long as the context lasts.

    Args:
        choose: Says what is played; called on the server's thread.
        host: Where it listens.
        port: Where it listens; any free one by default.

    Yields:
        Its base URL, up to and with ``/v1``.
    """
    player, loop = _Player(choose), asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(player.serve, host, port, limit=_LONGEST))
    at = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, name="quaver-player", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{at}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(player.end(server), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


class _Player:
    def __init__(self, choose):
        self._choose = choose
        self._serving = set()

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            broken = (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
            with suppress(*broken, asyncio.CancelledError):  # it is cancelled by ``end`` alone
                await self._serve(reader, writer)
        finally:
            self._serving.discard(task)
            writer.close()

    async def _serve(self, reader, writer):
        """One request a connection, answered and closed."""
        head = await reader.readuntil(b"\r\n\r\n")
        line, *rest = head.decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)
        }
        content = await reader.readexactly(int(headers.get("content-length") or 0))
        if line.startswith("GET"):
            reply = None
            wire = on_the_wire({"object": "list", "data": [{"id": "odd", "object": "model"}]})
        else:
            reply = self._choose(json.loads(content))
            wire = on_the_wire(whole(ANSWER)) if reply is None else reply.wire
        key = headers.get("authorization", "").rpartition(" ")[2]
        writer.write(wire.replace(AUTHORIZATION, key.encode("latin-1")))
        with suppress(TimeoutError):
            await asyncio.wait_for(writer.drain(), _SILENCE)
        if reply is not None and reply.stays_open:
            await asyncio.sleep(_SILENCE)
        if reply is not None and reply.resets:
            writer.transport.abort()

    async def end(self, server):
        server.close()
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
