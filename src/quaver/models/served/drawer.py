"""Draws requests in a thread of its own, as many as are wanted."""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from quaver.core.records import Request

__all__ = ["Drawer"]


class Drawer(threading.Thread):
    """Draws a request for each that is wanted, and hands it to an event loop.

    Args:
        requests: Drawn from here; may wait for as long as it likes.
        loop: The event loop.
        drawn: Called there with requests, as they come: all that were drawn since it was called last.
        ended: Called there when there are no more, with what drawing raised, if anything.
    """

    def __init__(
        self,
        requests: Iterable[Request],
        loop: AbstractEventLoop,
        drawn: Callable[[list[Request]], None],
        ended: Callable[[BaseException | None], None],
    ) -> None:
        super().__init__(name="quaver-drawer", daemon=True)
        self._requests, self._loop, self._drawn, self._ended = requests, loop, drawn, ended
        self._wanted = threading.Semaphore(0)
        self._stopped = False
        self._ready: deque[Request] = deque()
        self._is_told = False

    def want(self, requests: int) -> None:
        """Draw so many more."""
        self._wanted.release(requests)

    def stop(self) -> None:
        """Draw no more."""
        self._stopped = True
        self._wanted.release()

    def run(self) -> None:
        """Draw until there are no more."""
        error: BaseException | None = None
        with suppress(RuntimeError):  # the loop has ended in between
            try:
                requests = iter(self._requests)
                while self._is_wanted():
                    self._draw(next(requests))
                return
            except StopIteration:
                pass
            except BaseException as raised:  # handed to whoever takes the answers
                error = raised
            self._loop.call_soon_threadsafe(self._ended, error)

    def _is_wanted(self) -> bool:
        self._wanted.acquire()
        return not self._stopped

    def _draw(self, request: Request) -> None:
        self._ready.append(request)
        if not self._is_told:  # to wake the loop for each would cost more than to send it
            self._is_told = True
            self._loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        """On the loop."""
        self._is_told = False  # what is drawn from here on is told of again
        self._drawn([self._ready.popleft() for _ in range(len(self._ready))])
