"""Client processes of a server on this machine: ``processes: 4``.

To ``RemoteModel`` they are a cluster. A process has connections of its own and keeps them busy; they share
one rate limit (``shared_pace``). They are started when the first call is to be asked.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from quaver.core.meter import NO_TRAFFIC
from quaver.errors import ModelError, Unavailable
from quaver.models.remote.arrivals import Arrivals
from quaver.models.remote.client_process import frame, framed
from quaver.models.remote.remote_worker import Setup
from quaver.models.served.shared_pace import SharedLimits

_PATIENCE = 120.0
"""Seconds that the first process is waited for."""

_STEP = 0.5
"""Seconds that an answer is waited for before the processes are looked at again."""

_STILLBORN = 3
"""Processes in a row that end before they can be asked, after which the model is given up."""

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; from quaver.models.remote.client_process import main; main()"
)


class Ended(Exception):
    """A client process is gone."""


class ClientProcesses:
    """As many processes as are wanted, each of which asks the same server.

    Args:
        processes: How many.
    """

    losses: tuple[type[BaseException], ...] = (Ended,)
    every = 10.0
    free = False  # nothing is gained by asking twice: all of them wait for the same server
    kind = "client process"

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self.spare: Callable[[], None] = lambda: None
        self._alive: dict[int, _Process] = {}
        self._came: SimpleQueue[tuple[_Process, Any]] = SimpleQueue()
        self._arrivals = Arrivals()
        self._limits: SharedLimits | None = None
        self._stillborn = 0

    def described(self) -> str:
        """For the provenance."""
        return f"{self._processes} client processes"

    def wanted(self) -> int:
        """How many there should be."""
        return self._processes

    def start(self, kind: type, setup: Setup) -> _Process:
        """Start a process."""
        index = next(one for one in range(self._processes) if one not in self._alive)
        if self._limits is None:
            self._folder = tempfile.TemporaryDirectory(prefix="quaver-", ignore_cleanup_errors=True)
            self._limits = SharedLimits(Path(self._folder.name, "limits"))
        within = index, self._processes, Path(self._folder.name, "limits")
        process = self._alive[index] = _Process(index, self._came, (setup, within))
        return process

    def end(self, worker: _Process) -> None:
        """End a process, if it has not ended by itself."""
        worker.kill()
        if self._alive.get(worker.index) is worker:
            del self._alive[worker.index]
        if not self._alive and self._limits is not None:  # what was learnt of the server is forgotten
            self._limits.close()
            self._limits = None
            self._folder.cleanup()

    def room(self, worker: _Process, ahead: float) -> int:
        """How many requests a process should have at a time."""
        return worker.room

    def allow(self, room: bool) -> None:
        """Say whether the budget allows a call that was billed to be sent again."""
        if self._limits is not None:
            self._limits.has_room = room

    def make_room(self) -> None:
        """Processes take no room from each other."""

    def check_patience(self, seconds: float) -> None:
        """Give up where no process has started for long.

        Raises:
            Unavailable: None has.
        """
        if seconds > _PATIENCE:
            raise Unavailable(
                "no client process has started",
                where="processes",
                fix="leave `processes` out, or look at the machine's load",
            )

    def arrived(self, refs: Sequence[object]) -> list[object]:
        """What has come for whom, after a moment's wait."""
        wait = _STEP if refs else 0.0
        with suppress(Empty):
            while True:
                self._note(*self._came.get(timeout=wait) if wait else self._came.get_nowait())
                wait = 0.0
        return self._arrivals.among(refs)

    def got(self, ref: object) -> Any:
        """What a process returned.

        Raises:
            Ended: It is gone.
            QuaverError: It raised one, which is raised as it was.
        """
        return self._arrivals.got(ref)

    def _note(self, process: _Process, message: Any) -> None:
        """Keep what came."""
        if message is None:
            if process.was_ready or self._stillborn < _STILLBORN - 1:
                self._stillborn += not process.was_ready
                error: BaseException = Ended(f"it ended with status {process.status()}")
            else:
                error = ModelError(
                    "the client processes end before they can be asked",
                    where="processes",
                    found=process.last_words(),
                    fix="leave `processes` out: this process then asks the server itself",
                )
            message = "failed", error
        what, *rest = message
        if what == "failed":
            self._arrivals.add(process.waited_for(), rest[0])
        elif what == "ready":
            process.was_ready, process.room, self._stillborn = True, rest[0], 0
            self._arrivals.add([process.starting], True)
        else:
            answers, traffic, process.room = rest
            for number, packed, over in answers:
                self._arrivals.add([process.numbered[number]], (packed, traffic))
                traffic = NO_TRAFFIC
                if over:
                    del process.numbered[number]


class _Process:
    """This side of a client process."""

    def __init__(self, index: int, came: SimpleQueue[tuple[_Process, Any]], first: Any) -> None:
        self.index, self.room, self.was_ready = index, 0, False
        self.starting = object()
        self.numbered: dict[int, object] = {}
        self._next = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C is for the process that runs the study
        )
        self._send(first)
        threading.Thread(target=self._listen, args=(came,), name="quaver-client", daemon=True).start()

    def waited_for(self) -> list[object]:
        """What it still owes."""
        return [*self.numbered.values()] if self.was_ready else [self.starting]

    def ask(self, packed: bytes) -> object:
        """Send it a group; returns what its answers come for."""
        ref = object()
        self.numbered[self._next] = ref
        self._send((self._next, packed))
        self._next += 1
        return ref

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it is gone; the thread that listens says so
            self._process.stdin.write(frame(pickle.dumps(message, pickle.HIGHEST_PROTOCOL)))
            self._process.stdin.flush()

    def _listen(self, came: SimpleQueue[tuple[_Process, Any]]) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):
            while (message := framed(self._process.stdout)) is not None:
                came.put((self, pickle.loads(message)))
        came.put((self, None))

    def status(self) -> int | None:
        """How it ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        return self._process.returncode

    def last_words(self) -> str:
        """The last line that it wrote on its way out."""
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else f"status {self.status()}"

    def kill(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
