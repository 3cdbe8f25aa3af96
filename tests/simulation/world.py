"""The world that a simulated study lives in: clock, threads, event loops, all out of one seed."""

import asyncio
import pkgutil
import queue
import random
import signal
import sys
import threading
import time
from asyncio import base_events
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace
from unittest.mock import patch

from tests.simulation.schedule import Schedule

import quaver.collect
import quaver.core
import quaver.models.served
from quaver.core import conversation

__all__ = ["World"]

_clock = {name: getattr(time, name) for name in ("monotonic", "perf_counter", "time", "sleep")}
# What is imported only later would keep the machine's clock and threads.
for _package in (quaver.collect, quaver.core, quaver.models.served):
    for _module in pkgutil.iter_modules(_package.__path__, f"{_package.__name__}."):
        import_module(_module.name)

_version = cache(version)
"""Of a library: read from the disk anew for each run, it would take a fifth of the time."""

_TODAY = 1_800_000_000.0
_thread = {name: getattr(threading.Thread, name) for name in ("start", "join")}


class _Loop(base_events.BaseEventLoop):
    """An event loop that waits by giving its turn away; nothing comes to it from outside the process."""

    def __init__(self, schedule):
        super().__init__()
        self._schedule, self._selector, self._is_woken = schedule, self, False
        self.set_exception_handler(lambda loop, context: None)  # what a kill leaves behind is no news

    def select(self, timeout):
        self._schedule.wait(lambda: self._is_woken, timeout)
        self._is_woken = False
        return []

    def time(self):
        return self._schedule.now

    def _process_events(self, events): ...

    def _write_to_self(self):
        self._is_woken = True


class World:
    """Everything that chance and time decide.

    Args:
        seed: Decides all of it.

    Attributes:
        draw: Further chances, of whoever needs some.
        schedule: Threads and time.
    """

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.schedule = Schedule(random.Random(seed + 1))
        self._names = self.schedule.primitives()

    @contextmanager
    def entered(self):
        """Let the program see this clock, these threads and this chance instead of the machine's."""
        with ExitStack() as stack:
            for name, real in _clock.items():
                stack.enter_context(patch.object(time, name, self._timely(name, real)))
            for name, real in _thread.items():
                stack.enter_context(patch.object(threading.Thread, name, self._turning(name, real)))
            for module, name, value in [*self._replaced(), *self._defaults()]:
                stack.enter_context(patch.object(module, name, value))
            stack.enter_context(patch.object(sys, "unraisablehook", lambda raised: None))
            yield

    def _timely(self, name, real):
        def told(*arguments):
            if not self.schedule.is_mine:
                return real(*arguments)
            if name == "sleep":
                return self.schedule.sleep(*arguments)
            return self.schedule.now + (_TODAY if name == "time" else 0)

        return told

    def _turning(self, name, real):
        ours = getattr(self.schedule, name)

        def called(thread, *arguments, **named):
            return (ours if self.schedule.is_mine else real)(thread, *arguments, **named)

        return called

    def _replaced(self):
        """Under which names Quaver's modules know threads, queues, event loops and chance."""
        of_threads = {name: value for name, value in self._names.items() if name != "Queue"}
        threads = _Instead(threading, **of_threads)
        loops = _Instead(asyncio, run=self._run)
        chances = {name: getattr(self.draw, name) for name in ("uniform", "random", "choice")}
        known = {
            id(threading): threads,
            id(asyncio): loops,
            id(random): _Instead(random, **chances),
            id(queue): _Instead(queue, Queue=self._names["Queue"], SimpleQueue=self._names["Queue"]),
            id(queue.Queue): self._names["Queue"],
            id(queue.SimpleQueue): self._names["Queue"],
            id(version): _version,
            id(conversation.started): self._started,
        }
        known |= {id(getattr(threading, name)): value for name, value in of_threads.items()}
        for path, module in sorted(sys.modules.copy().items()):
            if path.startswith("quaver.") and module is not None:
                for name, value in sorted(vars(module).items()):
                    if id(value) in known:
                        yield module, name, known[id(value)]

    def _defaults(self):
        """The clocks that Quaver's classes take where they are given none."""
        for path, module in sorted(sys.modules.copy().items()):
            if path.startswith("quaver.") and module is not None:
                for one in vars(module).values():
                    if isinstance(one, type) and one.__module__ == path:
                        yield from self._clocks_of(one.__init__)

    def _clocks_of(self, made):
        ours = {real: self._timely(name, real) for name, real in _clock.items()}
        named = getattr(made, "__kwdefaults__", None) or {}
        if any(value in ours for value in named.values() if callable(value)):
            yield made, "__kwdefaults__", {k: ours.get(v, v) if callable(v) else v for k, v in named.items()}
        placed = getattr(made, "__defaults__", None) or ()
        if any(value in ours for value in placed if callable(value)):
            yield made, "__defaults__", tuple(ours.get(v, v) if callable(v) else v for v in placed)

    def _run(self, main, **_):
        with asyncio.Runner(loop_factory=lambda: _Loop(self.schedule)) as runner:
            return runner.run(main)

    def _started(self, coroutine):
        return _Started(self._run, coroutine)

    @staticmethod
    def press_ctrl_c():
        """What the terminal does to the first thread."""
        handler = signal.getsignal(signal.SIGINT)
        assert callable(handler)
        handler(signal.SIGINT, None)


class _Started:
    """A coroutine on an event loop of its own, which ends with it."""

    def __init__(self, run, coroutine):
        self._result = None
        self._error = None
        self._loop = None

        async def whole():
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            return await coroutine

        def work():
            try:
                self._result = run(whole())
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=work, name="loop")
        self._thread.start()

    def result(self):
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result

    def cancel(self):
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)


class _Instead(SimpleNamespace):
    """A module with some of its names replaced."""

    def __init__(self, module, **names):
        super().__init__(**names)
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)
