"""When the next call may be sent to a server: what the study allows, and what the server shows that it takes.

Calls in flight grow by one with each round of answers, while answers do not take twice as long for it, and
are halved where the server is overloaded. Calls a second are unlimited until it refuses many: they fall to
less than it took, and rise by some percent a second. What a server asks to wait is waited for.

Nothing here waits or sends: the caller reports what it sent and received, and asks how long to wait.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_EPOCH = 10.0**9
"""A larger number of seconds is a point in time; no pause is longer."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait.

    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after-ms": "250"}), retry_after({})
    (2.0, 0.25, None)
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return min(milliseconds / 1000, _EPOCH)
    given = headers.get("retry-after")
    if not given or (seconds := _seconds(given)) is not None:
        return seconds if given else None
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    try:
        number = math.nan if text is None else float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _seconds(text: str | None) -> float | None:
    """``20ms``, ``6m0s``, a number of seconds, or a point in time."""
    number = _number(text)
    if text is None or number is None:
        parts = _DURATION.findall(text or "")
        return min(sum(float(count) * _SECONDS[unit] for count, unit in parts), _EPOCH) if parts else None
    if number > _EPOCH * 1000:
        number /= 1000
    return min(max(0.0, number - time.time()), _EPOCH) if number > _EPOCH else number


_FIRST, _MOST = 4, 256
"""Calls in flight at first, and at most."""

_STRAINED, _RELIEF = 3.0, 0.2
"""Refusals in a row that are too many, and how much of one an answer makes up for."""

_LESS, _RISE = 0.9, 0.05
"""Factor of the rate after a cut, and its growth per second."""

_SLOWER, _SMOOTHED = 2.0, 1 / 16
"""Factor of an answer's usual time from which on more calls at a time are of no use; weight of the last."""

_CATCH_UP, _AT_ONCE = 0.05, 4
"""Seconds, and calls, by which delays may be caught up."""

_LONGEST_HOLD = 60.0
"""Seconds in which a server that counts by the minute takes one call at least."""


class Pace:
    """When the next call may be sent.

    Args:
        concurrency: Maximum number of concurrent calls; adapted by default.
        requests_per_minute: Maximum rate; adapted by default.
        clock: A monotonic clock, in seconds.

    Attributes:
        most: How many calls may ever be in flight.
        rate: Maximum calls per second; infinite until the server shows a limit.
    """

    def __init__(
        self,
        *,
        concurrency: int | None = None,
        requests_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._seeks, self._is_given = clock, concurrency is None, bool(requests_per_minute)
        self.most, self._size, self.in_flight = concurrency or _MOST, float(concurrency or _FIRST), 0
        self.rate = requests_per_minute / 60 if requests_per_minute else math.inf
        self._began = self._cut_at = clock()
        self._next = self._held = self._waited = 0.0
        self._strain = {"busy": 0.0, "limited": 0.0}
        self._answered = self._since_cut = 0
        self._latency, self._quickest, self._was_cut = 0.0, math.inf, False

    @property
    def window(self) -> int:
        """How many calls may be in flight now."""
        return max(1, int(self._size))

    def wait(self) -> float:
        """Seconds until the next call may be sent; infinite if an answer must arrive first."""
        if self.in_flight >= self.window:
            return math.inf
        now = self._clock()
        until = max(self._held, self._next if self.rate < math.inf else 0.0)
        return max(0.0, until - now)

    def sent(self) -> float:
        """Record that a call was sent; returns when, for ``answered``, ``refused`` or ``failed``."""
        now = self._clock()
        self.in_flight += 1
        if self.rate < math.inf:
            late = min(_CATCH_UP, _AT_ONCE / self.rate)
            self._next = max(self._next, now - late) + 1 / self.rate
        return now

    def hold(self, seconds: float) -> None:
        """Send nothing for a while."""
        now = self._clock()
        self._waited += max(0.0, now + seconds - max(self._held, now))
        self._held = max(self._held, now + seconds)

    def answered(self, sent: float) -> None:
        """Record an answer."""
        now, full = self._clock(), self.in_flight >= self.window
        self.in_flight -= 1
        self._answered, self._since_cut = self._answered + 1, self._since_cut + 1
        self._strain = {kind: max(0.0, strain - _RELIEF) for kind, strain in self._strain.items()}
        self._latency += (now - sent - self._latency) * (_SMOOTHED if self._latency else 1)
        self._quickest = min(self._quickest, self._latency)
        if self._seeks and full and self._latency <= _SLOWER * self._quickest:
            self._size = min(self.most, self._size + (1 / self._size if self._was_cut else 1))
        if self.rate < math.inf and not self._is_given:
            self.rate *= 1 + _RISE / max(self.rate, _RISE)

    def refused(self, sent: float, wait: float | None) -> None:
        """Record that the server asked for fewer calls; one that may come back at once is not too many."""
        self.in_flight -= 1
        if wait != 0 and self._is_strained("limited", sent, wait) and not self._is_given:
            now = self._clock()
            seconds = now - self._cut_at - (self._waited - max(0.0, self._held - now))
            taken = self._since_cut / max(0.1, seconds)
            # A server that counts by the minute takes nothing for a while; that is not its rate.
            least = self._answered / max(1.0, now - self._began)
            self.rate = min(self.rate, max(_LESS * min(self.rate, taken), least, 1 / _LONGEST_HOLD))
            self._cut_at, self._since_cut, self._waited = now, 0, max(0.0, self._held - now)

    def failed(self, sent: float, *, busy: bool, wait: float | None = None) -> None:
        """Record a failed call."""
        self.in_flight -= 1
        if busy and self._is_strained("busy", sent, wait) and self._seeks:
            self._size, self._was_cut = max(1.0, self._size / 2), True
            self._cut_at = self._clock()

    def _is_strained(self, kind: str, sent: float, wait: float | None) -> bool:
        """Count a refusal; whether there were too many since the last cut. Then all calls wait."""
        self._strain[kind] = min(self._strain[kind] + 1, _STRAINED)
        if self._strain[kind] < _STRAINED:
            return False
        self.hold(wait or 0.0)
        return sent >= self._cut_at


_ILL, _OF = 10, 3
"""Failures in a row, and of at least how many different calls, that are blamed on the server."""

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
        self._patience, self._clock, self.answered_once = patience, clock, False
        self._calls: set[int] = set()
        self._reset()

    def _reset(self) -> None:
        self.failures, self._since, self._pause = 0, math.inf, _FIRST_PAUSE
        self._calls.clear()

    @property
    def ill(self) -> bool:
        """Whether the failures are the server's rather than single calls'."""
        return self.failures >= _ILL and len(self._calls) >= _OF

    @property
    def hopeless(self) -> bool:
        """Whether to give the server up."""
        return self._clock() - self._since > self._patience

    def well(self) -> None:
        """An answer arrived."""
        self._reset()
        self.answered_once = True

    def failed(self, call: int, *, limited: bool = False) -> float:
        """A call failed; returns seconds for which to send nothing."""
        self._since = min(self._since, self._clock())
        if limited:
            return 0.0
        self.failures += 1
        self._calls.add(call)
        if not self.ill:
            return 0.0
        pause = min(self._pause, self._patience / 20)
        self._pause = min(self._pause * 1.5, _LONGEST_PAUSE)
        return pause
