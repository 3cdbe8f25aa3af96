"""Draws requests in its own thread, as many as are wanted."""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import SimpleQueue

from quaver.core.records import Request


class Drawer(threading.Thread):
    """Draws as many requests as are wanted, and hands them to an event loop.

    Args:
        requests: The requests; drawing one may block.
        loop: The event loop.
        drawn: Called on the loop with the requests drawn since the last call.
        ended: Called on the loop when there are no more, with the exception that drawing raised, if any.
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
        self._wanted: SimpleQueue[int] = SimpleQueue()
        self._left = 0
        self._stopped = False
        self._ready: deque[Request] = deque()
        self._is_scheduled = False

    def want(self, requests: int) -> None:
        """Draw this many more."""
        self._wanted.put(requests)

    def stop(self) -> None:
        """Draw no more."""
        self._stopped = True
        self._wanted.put(1)

    def run(self) -> None:
        """Draw until there are no more."""
        error: BaseException | None = None
        with suppress(RuntimeError):  # the loop has ended
            try:
                requests = iter(self._requests)
                while self._is_wanted():
                    self._draw(next(requests))
                return
            except StopIteration:
                pass
            except BaseException as raised:  # raised again where the answers are read
                error = raised
            self._loop.call_soon_threadsafe(self._ended, error)

    def _is_wanted(self) -> bool:
        if not self._left:
            self._left = self._wanted.get()
        self._left -= 1
        return not self._stopped

    def _draw(self, request: Request) -> None:
        self._ready.append(request)
        if not self._is_scheduled:  # waking the loop for each would cost more than sending
            self._is_scheduled = True
            self._loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        """On the loop."""
        self._is_scheduled = False  # later requests schedule this again
        self._drawn([self._ready.popleft() for _ in range(len(self._ready))])
