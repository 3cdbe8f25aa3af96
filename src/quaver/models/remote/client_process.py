"""What runs in a client process: one server's client, asked whatever comes through a pipe.

It stores nothing and decides nothing. Answers go back as they arrive, a few milliseconds' worth at a time, so
that a process that dies costs what it had in flight and hardly more.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from quaver.core.meter import NO_TRAFFIC, Metered
from quaver.core.model import Model, Spread
from quaver.core.records import Response
from quaver.core.response_validation import error_line
from quaver.errors import ModelError
from quaver.models.remote.packed import Place, PlacedAnswer, packed_answers, unpacked_requests
from quaver.models.remote.remote_worker import RemoteWorker, Setup

_LENGTH = struct.Struct("=Q")
_HELD = 0.005
"""Seconds for which answers are gathered before they are sent together."""


def frame(message: bytes) -> bytes:
    """A message as it goes through a pipe."""
    return _LENGTH.pack(len(message)) + message


def framed(pipe: IO[bytes]) -> bytes | None:
    """The next message of a pipe; None at its end."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = pipe.read(length)
    return message if len(message) == length else None


class _Group:
    """Where the answers to a group of requests go."""

    def __init__(self, number: int, size: int, outbox: _Outbox) -> None:
        self._number, self._left, self._outbox = number, size, outbox

    def add(self, place: Place, responses: list[Response]) -> None:
        self._left -= isinstance(place, int)
        self._outbox.add(self._number, place, responses, over=not self._left)


class _Outbox:
    """Answers on their way back."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._held: dict[int, list[PlacedAnswer]] = {}
        self._over: set[int] = set()
        self._changed = threading.Event()
        self._lock = threading.Lock()
        self.model: Model | None = None

    def add(self, number: int, place: Place, responses: list[Response], *, over: bool) -> None:
        """An answer to a group, which may be over with it."""
        with self._lock:
            self._held.setdefault(number, []).append((place, responses))
            if over:
                self._over.add(number)
        self._changed.set()

    def run(self) -> None:
        """Send what there is, again and again."""
        while self._changed.wait():
            time.sleep(_HELD)
            self._changed.clear()
            self.flush()

    def flush(self) -> None:
        """Send what there is."""
        with self._lock:
            (held, self._held), (over, self._over) = (self._held, {}), (self._over, set())
            if held:
                traffic = self.model.meter.take() if isinstance(self.model, Metered) else NO_TRAFFIC
                answers = [(number, packed_answers(some), number in over) for number, some in held.items()]
                self._write(("answers", answers, traffic, room(self.model)))

    def send(self, *message: Any) -> None:
        """Send something else, after the answers."""
        self.flush()
        with self._lock:
            self._write(message)

    def _write(self, message: Any) -> None:
        self._pipe.write(frame(pickle.dumps(message, pickle.HIGHEST_PROTOCOL)))
        self._pipe.flush()


def room(model: Model | None) -> int:
    """How many requests a model should have at a time: those in flight, and those to be sent next."""
    assert isinstance(model, Spread)
    at_once = model.at_once
    return at_once + at_once // 2 + 2


class ClientWorker(RemoteWorker):
    """A server's client, whose answers go where they are wanted by themselves."""

    def __init__(self, setup: Setup, outbox: _Outbox, within: tuple[int, int, Path]) -> None:
        super().__init__(setup)
        self._outbox, self._within = outbox, within

    def make(self) -> Model:
        """The model, as one of several clients."""
        model = super().make()
        assert isinstance(model, Spread)
        model.share(*self._within)
        self._outbox.model = model
        return model

    def take(self, number: int, packed: bytes) -> None:
        """Ask a group of packed requests."""
        requests = unpacked_requests(packed)
        self.ask(requests, _Group(number, len(requests), self._outbox))

    def _fail(self, error: BaseException) -> None:
        self._outbox.send("failed", _sendable(error))


def _sendable(error: BaseException) -> BaseException:
    """An error that survives the way."""
    try:
        return pickle.loads(pickle.dumps(error))  # type: ignore[no-any-return]
    except Exception:  # a foreign error may do anything
        return ModelError("a client process failed", where="processes", found=error_line(error))


def main() -> None:
    """Work until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    back = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no message
    outbox = _Outbox(back)
    first = framed(sys.stdin.buffer)
    if first is None:
        return
    try:
        setup, within = pickle.loads(first)
        worker = ClientWorker(setup, outbox, within)
        worker.ready()
        outbox.send("ready", room(outbox.model))
    except Exception as error:  # raised in the process that runs the study
        outbox.send("failed", _sendable(error))
        return
    threading.Thread(target=outbox.run, name="quaver-outbox", daemon=True).start()
    while (message := framed(sys.stdin.buffer)) is not None:
        worker.take(*pickle.loads(message))
    os._exit(0)  # calls in flight have nobody to go to
