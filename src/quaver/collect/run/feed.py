"""One model's requests: those of the plan, and the follow-ups of stored answers."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from quaver.core.model import Answered
from quaver.core.records import Request, Response

Following = Callable[[Request, Sequence[Response]], Sequence[Request]]
"""Gives the follow-up requests of a request's answers."""

_PAUSE = 0.2


class Feed:
    """Iterates over the requests that can be sent now, follow-ups first: they share most of the last prompt.

    A model never waits for a follow-up: the iteration ends when no request is left. If answers were still
    unstored then, you can iterate again.

    Args:
        planned: The plan's requests.
        following: Gives the follow-ups of answers; None if there are none.
    """

    def __init__(self, planned: Iterator[Request], following: Following | None) -> None:
        self._planned, self._following = planned, following
        self._next: deque[Request] = deque()
        self._unstored = 0
        self._changed = threading.Condition()

    def __iter__(self) -> Iterator[Request]:
        return self if self._following else self._planned

    def __next__(self) -> Request:
        with self._changed:
            request = self._next.popleft() if self._next else None
        if request is None:
            request = next(self._planned)
        with self._changed:
            self._unstored += 1
        return request

    def stored(self, group: Sequence[Answered]) -> None:
        """Add the follow-ups of answers that have been stored."""
        if self._following is None:
            return
        more = [one for request, responses in group for one in self._following(request, responses)]
        with self._changed:
            self._unstored -= len(group)
            self._next.extend(more)
            self._changed.notify_all()

    def has_more(self, stopped: Callable[[], bool]) -> bool:
        """Wait for a follow-up, or until no answer is left that could have one.

        Args:
            stopped: Ends the wait, since pending requests may never be answered.
        """
        with self._changed:
            while self._following and not self._next and self._unstored > 0 and not stopped():
                self._changed.wait(_PAUSE)
            return bool(self._next) and not stopped()
