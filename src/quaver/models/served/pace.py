"""When the next call may be sent to a server, given its limits on concurrency and rate.

A refused call waits as long as the server says. If several in a row are refused, or the headers say that
nothing is left, all calls wait.

Nothing here waits or sends: the caller reports what it sent and received, and asks how long to wait.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from quaver.models.served.rate import Limits, Rate, Window

_IN_A_ROW, _IN_A_ROW_FOR = 3, 0.04
"""Refusals in a row after which all calls wait; at high rates, this many seconds' worth of calls."""

_LONGEST_HOLD = 60.0
"""Longest wait for what a header says, in seconds; then one call tests whether it still holds."""


class Sent(NamedTuple):
    """A call in flight.

    Attributes:
        at: When it was sent, on the pace's clock.
        at_once: The number of calls in flight then, including this one.
        tokens: The tokens that it may take.
    """

    at: float
    at_once: int
    tokens: int


class Pace:
    """When the next call may be sent.

    Args:
        concurrency: Maximum number of concurrent calls; adapted by default.
        requests_per_minute: Maximum rate; adapted by default.
        tokens_per_minute: Maximum of prompt and completion tokens; unlimited by default.
        clock: A monotonic clock, in seconds.
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
        self._token_rate = _a_second(tokens_per_minute)
        self._level, self._level_at = 0.0, clock()
        self._held = 0.0
        self._in_a_row = 0
        self.in_flight = 0

    # ------------------------------------------------------------------ what may be sent

    @property
    def window(self) -> int:
        """How many calls may be in flight now."""
        return self._window.size

    @property
    def most(self) -> int:
        """How many calls may ever be in flight."""
        return self._window.most

    @property
    def rate(self) -> float:
        """Maximum calls per second; infinite until the server shows a limit."""
        return self._rate.a_second

    def wait(self) -> float:
        """Seconds until the next call may be sent; infinite if an answer must arrive first."""
        if self.in_flight >= self.window:
            return math.inf
        now = self._clock()
        until = max(self._held, self._rate.free_at())
        if self._token_rate < math.inf:
            self._refill(now)
            until = max(until, now - self._level / self._token_rate)
        return max(0.0, until - now)

    def sent(self, tokens: int) -> Sent:
        """Record that a call was sent.

        Returns:
            The call, for ``answered``, ``refused`` or ``failed``.
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
        """Record an answer."""
        now = self._clock()
        is_open = now >= max(self._held, self._rate.free_at())
        self._landed(sent, now, is_open=is_open, limited=self.rate < math.inf)
        self._in_a_row = 0
        if self._token_rate < math.inf and used is not None:
            self._level += sent.tokens - used
        if limits is not None and (pause := pause_for(limits, used or sent.tokens)):
            self.hold(pause)
        self._rate.came_back(sent.at, now, refused=False)

    def refused(self, sent: Sent, wait: float | None) -> None:
        """Record that the server asked for fewer calls."""
        self.in_flight -= 1
        self._one_more(wait)
        # A refusal without a wait does not mean that calls were too many.
        self._came_back(sent, refused=wait != 0)

    def failed(self, sent: Sent, *, busy: bool, wait: float | None = None) -> None:
        """Record a failed call."""
        self.in_flight -= 1
        if busy:
            self._one_more(wait)
        self._came_back(sent, busy=busy)

    # ------------------------------------------------------------------ inside

    def _one_more(self, wait: float | None) -> None:
        """Count a refusal in a row; after several, all calls wait."""
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

    def _landed(self, sent: Sent, now: float, *, is_open: bool, limited: bool) -> None:
        """Record an answer as far as it concerns the calls in flight."""
        full = is_open and self.in_flight >= self.window
        self._window.answered(now - sent.at, sent.at_once, full=full, limited=limited)
        self.in_flight -= 1
        self._window.came_back(sent.at, now, busy=False)


def pause_for(limits: Limits, tokens: int) -> float:
    """Seconds for which nothing can be sent, since a header says that nothing is left."""
    pause = 0.0
    if limits.requests is not None and limits.requests < 1 and limits.requests_reset:
        pause = limits.requests_reset
    if limits.tokens is not None and limits.tokens < tokens and limits.tokens_reset:
        pause = max(pause, limits.tokens_reset)
    return min(pause, _LONGEST_HOLD)


def _a_second(a_minute: float | None) -> float:
    return a_minute / 60 if a_minute else math.inf


_ILL = 10
"""Failures in a row, of at least ``_OF`` different calls, that are blamed on the server."""

_OF = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class Health:
    """Counts failures in a row.

    Args:
        patience: Seconds without an answer after which the server is given up.
        clock: A monotonic clock, in seconds.

    Attributes:
        failures: The number of failures in a row.
        answered_once: Whether the server has ever answered.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience, self._clock = patience, clock
        self.failures = 0
        self._calls: set[int] = set()
        self._since: float | None = None
        self._pause = _FIRST_PAUSE
        self.answered_once = False

    @property
    def ill(self) -> bool:
        """Whether the failures are the server's rather than single calls'."""
        return self.failures >= _ILL and len(self._calls) >= _OF

    @property
    def hopeless(self) -> bool:
        """Whether to give the server up."""
        return self._since is not None and self._clock() - self._since > self._patience

    def well(self) -> None:
        """An answer arrived."""
        self.failures, self._since, self._pause = 0, None, _FIRST_PAUSE
        self._calls.clear()
        self.answered_once = True

    def failed(self, call: int, *, limited: bool = False) -> float:
        """A call failed.

        Returns:
            Seconds for which to send nothing.
        """
        if self._since is None:
            self._since = self._clock()
        if limited:
            return 0.0
        self.failures += 1
        self._calls.add(call)
        if not self.ill:
            return 0.0
        pause = min(self._pause, self._patience / 20)
        self._pause = min(self._pause * 1.5, _LONGEST_PAUSE)
        return pause
