"""When the next call may be sent to a server: not too many at once, not too many a second.

A call that is refused waits for as long as the server says. Where several in a row are refused, or the
headers say that nothing is left, all calls wait.

Nothing here waits or sends: it says how long to wait, and is told what was sent and what came back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from quaver.models.served.rate import Rate
from quaver.models.served.rate_limits import Limits
from quaver.models.served.window import Window

__all__ = ["Pace", "Sent"]

_IN_A_ROW, _IN_A_ROW_FOR = 3, 0.04
"""Calls turned away one after another from which all wait; where many a second are sent, seconds of them."""

_LONGEST_HOLD = 60.0
"""Seconds that all calls wait for what a header says: then one is sent to see whether it holds."""


class Sent(NamedTuple):
    """A call on its way.

    Attributes:
        at: Seconds on the pace's clock.
        at_once: Calls that were under way then, this one among them.
        tokens: That it may take.
    """

    at: float
    at_once: int
    tokens: int


class Pace:
    """When the next call may be sent.

    Args:
        concurrency: Calls at once; found out by itself where it is left out.
        requests_per_minute: At most; found out by itself where it is left out.
        tokens_per_minute: At most, of prompts and answers together; unlimited where it is left out.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        *,
        concurrency: int | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._window = Window(concurrency)
        self._rate = Rate(requests_per_minute / 60 if requests_per_minute else None, clock())
        self._token_rate = tokens_per_minute / 60 if tokens_per_minute else math.inf
        self._level, self._level_at = 0.0, clock()
        self._held = 0.0
        self._in_a_row = 0
        self.in_flight = 0

    # ------------------------------------------------------------------ what may be sent

    @property
    def window(self) -> int:
        """Calls that may be under way at once."""
        return self._window.size

    @property
    def most(self) -> int:
        """Calls that will never be exceeded at once."""
        return self._window.most

    @property
    def rate(self) -> float:
        """Calls a second that are sent at most; infinite before the server named a limit."""
        return self._rate.a_second

    def wait(self) -> float:
        """Seconds until the next call may be sent; infinite where an answer must come in first."""
        if self.in_flight >= self.window:
            return math.inf
        now = self._clock()
        until = max(self._held, self._rate.free_at())
        if self._token_rate < math.inf:
            self._refill(now)
            until = max(until, now - self._level / self._token_rate)
        return max(0.0, until - now)

    def sent(self, tokens: int) -> Sent:
        """A call goes out.

        Args:
            tokens: That it may take, prompt and answer.

        Returns:
            What ``answered`` wants to know of it.
        """
        now = self._clock()
        self.in_flight += 1
        self._level -= tokens if self._token_rate < math.inf else 0
        self._rate.sent(now)
        return Sent(now, self.in_flight, tokens)

    def hold(self, seconds: float) -> None:
        """Send nothing for a while."""
        now = self._clock()
        self._held = max(self._held, now + seconds)
        self._rate.hold(self._held, now)

    # ------------------------------------------------------------------ what came back

    def answered(self, sent: Sent, used: int | None, limits: Limits | None) -> None:
        """An answer is in.

        Args:
            sent: What was told when the call went out.
            used: The tokens that it took, where the server says so.
            limits: What is left, as the server says.
        """
        now = self._clock()
        full = self.in_flight >= self.window and now >= max(self._held, self._rate.free_at())
        self._window.answered(now - sent.at, sent.at_once, full=full, limited=self.rate < math.inf)
        self.in_flight -= 1
        self._in_a_row = 0
        if self._token_rate < math.inf and used is not None:
            self._level += sent.tokens - used
        if limits is not None:
            self._heed(limits, used or sent.tokens)
        self._came_back(sent)

    def refused(self, sent: Sent, wait: float | None) -> None:
        """The server asks to be called less often.

        Args:
            sent: What was told when the call went out.
            wait: Seconds for which it wants to be left alone.
        """
        self.in_flight -= 1
        self._one_more(wait)
        # Who may come back at once is not told that calls were too many.
        self._came_back(sent, refused=wait != 0)

    def failed(self, sent: Sent, *, busy: bool, wait: float | None = None) -> None:
        """A call brought nothing.

        Args:
            sent: What was told when it went out.
            busy: Whether it looks as if the server had too much to do.
            wait: Seconds for which it wants to be left alone.
        """
        self.in_flight -= 1
        if busy:
            self._one_more(wait)
        self._came_back(sent, busy=busy)

    # ------------------------------------------------------------------ inside

    def _one_more(self, wait: float | None) -> None:
        """One more call in a row that was turned away; from some number on, all the others wait too."""
        self._in_a_row += 1
        many = 0.0 if self.rate == math.inf else self.rate * _IN_A_ROW_FOR
        if wait and self._in_a_row >= max(_IN_A_ROW, many):
            self.hold(wait)

    def _came_back(self, sent: Sent, *, refused: bool = False, busy: bool = False) -> None:
        now = self._clock()
        self._rate.came_back(sent.at, now, refused=refused)
        self._window.came_back(sent.at, now, busy=busy)

    def _refill(self, now: float) -> None:
        self._level = min(self._token_rate, self._level + (now - self._level_at) * self._token_rate)
        self._level_at = now

    def _heed(self, limits: Limits, tokens: int) -> None:
        if limits.requests is not None and limits.requests < 1 and limits.requests_reset:
            self.hold(min(limits.requests_reset, _LONGEST_HOLD))
        if limits.tokens is not None and limits.tokens < tokens and limits.tokens_reset:
            self.hold(min(limits.tokens_reset, _LONGEST_HOLD))
