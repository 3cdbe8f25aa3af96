"""Runs a faulty server beside a test: in a thread, or as a process that can be killed."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web
from tests.models.faulty_server import Faulty

SCRIPT = Path(__file__).with_name("faulty_server.py")


def free_port():
    """A port that nobody listens at just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def serving(**options):
    """The base URL of a server in a thread, and the server, to look at what it saw."""
    faulty, port = Faulty(**options), free_port()
    up, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run():
        runner = web.AppRunner(faulty.application(), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        up.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    assert up.wait(30)
    try:
        yield f"http://127.0.0.1:{port}/v1", faulty
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()


class Process:
    """A server in a process of its own.

    Args:
        log: Gets a line for every good answer.
        **options: Of ``Faulty``.
    """

    def __init__(self, log, **options):
        self._log, self._options, self._port = log, options, free_port()
        self._process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}/v1"

    def start(self):
        command = [sys.executable, str(SCRIPT), str(self._port), json.dumps(self._options), str(self._log)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the server did not start")

    def kill(self):
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None
