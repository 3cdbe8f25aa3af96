"""The requests of one model, as long as the budget has room for them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from quaver.collect.run.progress import Budget
from quaver.core.calls import Request, Response
from quaver.core.model import Answered

Following = Callable[[Request, Sequence[Response]], Sequence[Request]]
"""Gives the follow-up requests of a request's answers."""

_PAUSE = 0.2


class Feed:
    """Gives the requests that can be sent now, follow-ups first: they share most of the last prompt.

    A model never waits for a follow-up or for the budget: the iteration ends when no request can be sent, and
    you can iterate again.

    Args:
        budget: Admits each request.
        planned: The plan's requests.
        following: Gives the follow-ups of answers; None if there are none.
    """

    def __init__(
        self, budget: Budget, planned: Iterable[Request], following: Following | None = None
    ) -> None:
        self._budget, self._planned, self._following = budget, iter(planned), following
        self._next: deque[Request] = deque()
        self._refused: Request | None = None
        self._unstored = 0
        self._changed = threading.Condition()

    def __iter__(self) -> Iterator[Request]:
        while (request := self.next()) is not None:
            yield request

    def next(self) -> Request | None:
        """The next request; None where none can be sent now."""
        request, self._refused = self._refused, None
        if request is None and self._next:
            with self._changed:
                request = self._next.popleft()
        if request is None and (request := next(self._planned, None)) is None:
            return None
        if not self._budget.lets(request):
            self._refused = request
            return None
        if self._following is not None:
            with self._changed:
                self._unstored += 1
        return request

    def stored(self, group: Sequence[Answered]) -> None:
        """Add the follow-ups of answers that have been stored."""
        if self._following is None:
            return
        more = [
            following for request, responses in group for following in self._following(request, responses)
        ]
        with self._changed:
            self._unstored -= len(group)
            self._next.extend(more)
            self._changed.notify_all()

    @property
    def is_refused(self) -> bool:
        """Whether a request was refused that may have room once more answers have arrived."""
        return self._refused is not None and self._budget.stopped is None

    @property
    def has_more(self) -> bool:
        """Whether a follow-up can be sent, or may be once an answer is stored."""
        return self._budget.stopped is None and self._refused is None and bool(self._next or self._unstored)

    def wait(self) -> bool:
        """Wait until a follow-up can be sent; False if there will be none."""
        with self._changed:
            while self.has_more and not self._next:
                self._changed.wait(_PAUSE)
        return self.has_more
