"""One rate limit for several processes: what one of them learns of a server's limits holds for all.

The limits' state is a few numbers in a small file that all of them have in memory. A process that is killed
leaves the lock to the others, since the operating system holds it for the process.

As long as nobody knows of a limit, there is nothing to agree on: a process then looks at one byte, and adds
its answers to the common count a few times a second.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quaver.models.served.pace import Pace, Sent, pause_for
from quaver.models.served.rate_limits import Limits

_STATE = struct.Struct("=18d")
_SIZE = 4096
_BEGUN, _ROOM, _FREE, _FIRST = 0, 1, 2, 8
"""Bytes of the file: whether the state is there, whether the budget lacks room, whether no limit is known;
where the state begins."""
_UNNOTED = 0.05
"""Seconds for which answers may be left out of the common count."""


class SharedLimits:
    """A server's limits in a file that processes share.

    Args:
        path: The file; made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if os.fstat(self._file).st_size < _SIZE:
            os.ftruncate(self._file, _SIZE)
        self._memory = mmap.mmap(self._file, _SIZE)
        self._lock = threading.Lock()  # the file's lock is the process's, not the thread's

    @property
    def has_room(self) -> bool:
        """Whether the budget allows a call that was billed to be sent again."""
        return not self._memory[_ROOM]

    @has_room.setter
    def has_room(self, room: bool) -> None:
        self._memory[_ROOM] = not room

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other process reads or changes the state inside the block."""
        with self._lock:
            _lock(self._file)
            try:
                yield
            finally:
                _unlock(self._file)

    def read(self) -> tuple[float, ...] | None:
        """The state; None before it is first written."""
        return _STATE.unpack_from(self._memory, _FIRST) if self._memory[_BEGUN] else None

    def write(self, state: tuple[float, ...], *, free: bool) -> None:
        """Keep the state, and whether it has no limit."""
        self._memory[_FREE] = free
        _STATE.pack_into(self._memory, _FIRST, *state)
        self._memory[_BEGUN] = 1

    @property
    def free(self) -> bool:
        """Whether no limit is known."""
        return bool(self._memory[_FREE])

    def close(self) -> None:
        """Let go of the file."""
        self._memory.close()
        os.close(self._file)


class SharedPace(Pace):
    """When the next call may be sent by one of several processes.

    The rate, the tokens and every pause are shared; how many calls may be in flight is this process's own.

    Args:
        limits: What is shared.
        options: As of ``Pace``.
    """

    def __init__(self, limits: SharedLimits, **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits
        self._is_current = False
        self._unnoted, self._noted_at = 0, -math.inf

    @property
    def has_room(self) -> bool:
        """Whether the budget allows a call that was billed to be sent again."""
        return self._limits.has_room

    def wait(self) -> float:
        """Seconds until the next call may be sent; infinite if an answer must arrive first."""
        if self.in_flight >= self.window:
            return math.inf
        if self._limits.free:
            return 0.0
        with self._current():
            return super().wait()

    def sent(self, tokens: int) -> Sent:
        """Record that a call was sent."""
        if self._limits.free:
            self.in_flight += 1
            return Sent(self._clock(), self.in_flight, tokens)
        with self._current():
            return super().sent(tokens)

    def hold(self, seconds: float) -> None:
        """Send nothing for a while."""
        with self._current():
            super().hold(seconds)

    def answered(self, sent: Sent, used: int | None, limits: Limits | None) -> None:
        """Record an answer."""
        if self._limits.free and not (limits and pause_for(limits, used or sent.tokens)):
            now = self._clock()
            self._landed(sent, now, is_open=True, limited=False)
            self._unnoted += 1
            if not self._noted_at <= now < self._noted_at + _UNNOTED:
                with self._current():
                    pass
            return
        with self._current():
            super().answered(sent, used, limits)

    def refused(self, sent: Sent, wait: float | None) -> None:
        """Record that the server asked for fewer calls."""
        with self._current():
            super().refused(sent, wait)

    def failed(self, sent: Sent, *, busy: bool, wait: float | None = None) -> None:
        """Record a failed call."""
        with self._current():
            super().failed(sent, busy=busy, wait=wait)

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Work on the shared state."""
        if self._is_current:  # one of these methods calls another
            yield
            return
        with self._limits.alone():
            if (state := self._limits.read()) is not None:
                self.restore(state)
            self._note()
            self._is_current = True
            try:
                yield
            finally:
                self._is_current = False
                self._limits.write(self.state(), free=not self.is_limited)

    def _note(self) -> None:
        """Add the answers that were not counted yet."""
        self._noted_at = self._clock()
        if self._unnoted:
            self.good(self._unnoted)
            self._unnoted = 0


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, _SIZE - 1, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_LOCK, 1)

    def _unlock(file: int) -> None:
        os.lseek(file, _SIZE - 1, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
