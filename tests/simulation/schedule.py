"""Threads that take turns, on a clock that only moves when all of them wait.

Real threads run the program under test, but only one at a time: it keeps the turn until it waits for
something (a lock, a queue, a sleep, an event loop with nothing to do). Who goes on then is drawn from the
seed. When nobody can go on, the clock jumps to the next moment at which somebody can. So a seed decides the
order of everything that happens, and a wait of two minutes takes no time.
"""

import math
import threading
from typing import Any

__all__ = ["Deadlock", "Killed", "Schedule"]

_start, _join, _Semaphore = threading.Thread.start, threading.Thread.join, threading.Semaphore


class Killed(BaseException):
    """The process is dead: whatever still runs of it ends here."""


class Deadlock(AssertionError):
    """Everybody waits for somebody else."""


class _Task:
    """A thread, and what it waits for."""

    def __init__(self, name, process=None):
        self.name, self.process = name, process
        self.turn = _Semaphore(0)
        self.ready = lambda: True
        self.until = math.inf
        self.done = self.dead = False


class Schedule:
    """Whose turn it is, and what time.

    Args:
        draw: Decides who goes on.
        start: Seconds at which the clock begins; small, or an event loop's resolution is lost in rounding.

    Attributes:
        now: The time.
        dead: Set when the process was killed: every wait raises ``Killed`` from then on.
        before_turn: Called by the first thread whenever it may go on; may raise.
    """

    def __init__(self, draw, start=1000.0):
        self._draw = draw
        self.now = start
        self.dead = False
        self.before_turn = lambda: None
        self._main = self._current = _Task("main")
        self._tasks = [self._main]
        self._of_thread = {threading.get_ident(): self._main}
        self._deadlock = None

    @property
    def is_mine(self):
        """Whether the thread that asks takes turns here."""
        return threading.get_ident() in self._of_thread

    @property
    def process(self):
        """The process of the thread whose turn it is; None is the first one."""
        return self._current.process

    def wait(self, ready=lambda: True, seconds=None):
        """Give the turn away until something holds or the time is over.

        Args:
            ready: What is waited for; everything that it reads changes during somebody's turn.
            seconds: How long, at most.

        Returns:
            Whether it holds.

        Raises:
            Killed: The process has been killed.
        """
        me = self._of_thread[threading.get_ident()]
        if self.dead or me.dead:
            raise Killed
        me.ready, me.until = ready, math.inf if seconds is None else self.now + max(0.0, seconds)
        self._pass_on(me)
        if self._deadlock is not None:
            raise self._deadlock
        if self.dead or me.dead:
            raise Killed
        if me is self._main:
            self.before_turn()
        return ready()

    def sleep(self, seconds):
        """Wait for some time."""
        self.wait(lambda: False, seconds)

    def _pass_on(self, me):
        """Draw who goes on; return when it is this one's turn again."""
        chosen = self._next()
        if chosen is me:
            return
        self._current = chosen
        chosen.turn.release()
        if me is not None:
            me.turn.acquire()

    def _next(self):
        waiting = [task for task in self._tasks if not task.done]
        if self.dead or self._deadlock is not None:  # everybody wakes, one after the other, and ends
            others = [task for task in waiting if task is not self._main]
            return others[0] if others else self._main
        able = [task for task in waiting if task.dead or task.until <= self.now or task.ready()]
        if not able:
            soonest = min(task.until for task in waiting)
            if soonest == math.inf:
                names = ", ".join(task.name for task in waiting)
                self._deadlock = Deadlock(f"these wait for each other: {names}")
                return self._next()
            self.now = soonest
            able = [task for task in waiting if task.until <= self.now]
        return self._draw.choice(able) if len(able) > 1 else able[0]

    # ------------------------------------------------------------------ threads

    def start(self, thread, process=None):
        """Start a thread that takes turns with the others.

        Args:
            thread: The thread.
            process: Whose it is; that of the thread that starts it if left out.
        """
        task, run = _Task(thread.name, process or self._current.process), thread.run

        def taking_turns():
            self._of_thread[threading.get_ident()] = task
            task.turn.acquire()
            try:
                if not (self.dead or task.dead):
                    run()
            except (Killed, Deadlock):
                pass
            finally:
                task.done = True
                del self._of_thread[threading.get_ident()]
                self._pass_on(None)

        thread.run = taking_turns
        thread._task = task
        self._tasks.append(task)
        _start(thread)
        self.wait()

    def join(self, thread, timeout=None):
        """Wait until a thread has ended."""
        task = getattr(thread, "_task", None)
        if task is None:
            _join(thread, timeout)
        elif self.wait(lambda: task.done, timeout):
            _join(thread)

    def kill(self):
        """End all processes here and now; the caller raises ``Killed`` itself."""
        self.dead = True

    def end(self, process):
        """End another process: each of its threads ends when it is its turn."""
        for task in self._tasks:
            task.dead = task.dead or task.process is process

    def bury(self):
        """After a kill: let every other thread come to its end."""
        while any(not task.done for task in self._tasks[1:]):
            self._pass_on(self._main)
        self._tasks, self.dead, self._deadlock = [self._main], False, None

    # ------------------------------------------------------------------ what threads wait on

    def primitives(self):
        """What a module finds under the names of ``threading`` and ``queue``."""
        schedule = self

        class Lock:
            def __init__(self):
                self._held = False

            def acquire(self, blocking=True, timeout=-1):
                free = lambda: not self._held  # noqa: E731
                if blocking:
                    schedule.wait(free, None if timeout < 0 else timeout)
                if self._held:
                    return False
                self._held = True
                return True

            def release(self):
                self._held = False

            def locked(self):
                return self._held

            __enter__ = acquire

            def __exit__(self, *_):
                self.release()

        class Condition:
            def __init__(self, lock=None):
                self._lock = lock or Lock()
                self._waiting = []

            def __enter__(self):
                return bool(self._lock.acquire())

            def __exit__(self, *_):
                self._lock.release()

            def wait(self, timeout=None):
                told = [False]
                self._waiting.append(told)
                self._lock.release()
                try:
                    return schedule.wait(lambda: told[0], timeout)
                finally:
                    self._lock.acquire()

            def notify(self, n=1):
                for told in self._waiting[:n]:
                    told[0] = True
                del self._waiting[:n]

            def notify_all(self):
                self.notify(len(self._waiting))

        class Event:
            def __init__(self):
                self._set = False

            def set(self):
                self._set = True

            def clear(self):
                self._set = False

            def is_set(self):
                return self._set

            def wait(self, timeout=None):
                return schedule.wait(lambda: self._set, timeout)

        class Semaphore:
            def __init__(self, value=1):
                self._value = value

            def acquire(self, blocking=True, timeout=None):
                if blocking:
                    schedule.wait(lambda: self._value > 0, timeout)
                if self._value == 0:
                    return False
                self._value -= 1
                return True

            def release(self, n=1):
                self._value += n

            __enter__ = acquire

            def __exit__(self, *_):
                self.release()

        return {
            "Lock": Lock,
            "RLock": Lock,
            "Condition": Condition,
            "Event": Event,
            "Semaphore": Semaphore,
            "Queue": _queue_on(self),
        }


def _queue_on(schedule):
    from queue import Empty, Full

    class Queue:
        """``queue.Queue`` and ``queue.SimpleQueue``."""

        def __init__(self, maxsize=0):
            self._most, self._held = maxsize or math.inf, list[Any]()

        def put(self, one, block=True, timeout=None):
            if block:
                schedule.wait(lambda: len(self._held) < self._most, timeout)
            if len(self._held) >= self._most:
                raise Full
            self._held.append(one)

        def get(self, block=True, timeout=None):
            if block:
                schedule.wait(lambda: bool(self._held), timeout)
            if not self._held:
                raise Empty
            return self._held.pop(0)

        def put_nowait(self, one):
            self.put(one, block=False)

        def get_nowait(self):
            return self.get(block=False)

        def qsize(self):
            return len(self._held)

        def empty(self):
            return not self._held

    return Queue
