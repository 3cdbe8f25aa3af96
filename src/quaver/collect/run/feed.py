"""One model's requests: those of the plan, and those that follow from answers once these are stored."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from quaver.core.records import Request, Response

__all__ = ["Feed", "Following"]

Following = Callable[[Request, Sequence[Response]], Sequence[Request]]
"""What follows from a request's answers."""

_PAUSE = 0.2


class Feed:
    """Gives out what can be asked now, follow-ups first: they share most with what was read last.

    A model never waits for a follow-up: where nothing is left to give the iteration ends, and where
    answers were still to be stored then, another round of it may come.

    Args:
        planned: The plan's requests.
        following: What follows from answers; None where nothing does.
    """

    def __init__(self, planned: Iterator[Request], following: Following | None) -> None:
        self._planned, self._following = planned, following
        self._next: deque[Request] = deque()
        self._unstored = 0
        self._changed = threading.Condition()

    def __iter__(self) -> Feed:
        return self

    def __next__(self) -> Request:
        with self._changed:
            request = self._next.popleft() if self._next else None
        if request is None:
            request = next(self._planned)
        with self._changed:
            self._unstored += 1
        return request

    def stored(self, request: Request, responses: Sequence[Response]) -> None:
        """Take in what follows from answers that have been stored."""
        if self._following is None:
            return
        more = self._following(request, responses)
        with self._changed:
            self._unstored -= 1
            self._next.extend(more)
            self._changed.notify_all()

    def has_more(self, stopped: Callable[[], bool]) -> bool:
        """Wait until there is something to ask, or nothing is left that anything could follow from.

        Args:
            stopped: Ends the wait: what was given out may never be answered.
        """
        with self._changed:
            while self._following and not self._next and self._unstored > 0 and not stopped():
                self._changed.wait(_PAUSE)
            return bool(self._next) and not stopped()
