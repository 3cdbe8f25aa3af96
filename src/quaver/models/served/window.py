"""How many concurrent calls suit a server: adapted, unless the study gives the number.

Starting from four, each answer makes room for one more call while that increases throughput. From then on, a
larger and a smaller number are tried in turn and compared with the current one: the larger is kept if it
brings more, the smaller if it brings hardly less. The number is cut if the server is too busy for a good
share of the calls. While the rate is limited, the rate alone decides.
"""

from __future__ import annotations

import math
from itertools import cycle

_FIRST = 4
_MOST = 256
_BETTER = 1.15
"""Factor of throughput by which a larger number must be better while it grows."""

_PROBES = ((1.25, 1.06), (0.8, 0.97))
"""Changes tried later, and the factor of throughput that each must reach."""

_MANY = 60
"""Minimum number of answers for judging a change later."""

_TOO_BUSY, _ENOUGH = 0.25, 30
"""Share of busy replies above which the number is cut; minimum number of calls for it."""


class Window:
    """The maximum number of concurrent calls.

    Args:
        given: The study's number; None to adapt.

    Attributes:
        most: The number that is never exceeded.
    """

    def __init__(self, given: int | None) -> None:
        self._seeks = given is None
        self.most = given or _MOST
        self._size = float(given or _FIRST)
        self._calls = self._busy = 0
        self._cut_at = -math.inf
        self._settle(settled=False)

    @property
    def size(self) -> int:
        """The number."""
        return max(1, int(self._size))

    def answered(self, seconds: float, at_once: int, *, full: bool, limited: bool) -> None:
        """Record an answer.

        Args:
            seconds: Its duration.
            at_once: Calls in flight when it was sent, including itself.
            full: Whether this number kept more calls from being sent.
            limited: Whether the rate is limited.
        """
        if not self._seeks:
            return
        if limited:
            self._size += full
            self._settle(settled=True)
        elif full or not self._settled:
            self._answered(seconds, at_once, full)
        self._size = min(self._size, float(self.most))

    def came_back(self, sent: float, now: float, *, busy: bool) -> None:
        """Record a reply."""
        if sent < self._cut_at:
            return  # it was sent under a former number
        self._calls += 1
        self._busy += busy
        if self._calls >= max(_ENOUGH, self.size // 2):
            share = self._busy / self._calls
            if self._seeks and share > _TOO_BUSY:
                self._cut_at = now
                self._size = max(1.0, self._size * max(0.5, 1 - share))
                self._settle(settled=True)
            self._calls = self._busy = 0

    # ------------------------------------------------------------------ inside

    def _settle(self, *, settled: bool) -> None:
        self._settled = settled
        self._best_rate, self._best_size, self._flat = 0.0, self._size, 0
        self._probes, self._is_probe = cycle(_PROBES), False
        self._begin()

    def _begin(self) -> None:
        """Start counting answers, after those of earlier calls."""
        self._answers, self._seconds, self._at_once = 0, 0.0, 0
        self._old = self.size if self._settled else 0
        self._length = max(_MANY, 4 * self.size) if self._settled else self.size

    def _answered(self, seconds: float, at_once: int, full: bool) -> None:
        if self._old > 0:
            self._old -= 1
            return
        self._answers += 1
        self._seconds += seconds
        self._at_once += at_once
        # A number that seems too large is judged twice.
        self._size += full and not (self._settled or self._flat)
        if self._answers >= self._length:
            # Unlike a count of answers per second, this leaves out calls that stall or fail.
            rate = self._at_once / max(self._seconds, 1e-9)
            self._size = self._probed(rate) if self._settled else self._grown(rate)
            self._begin()

    def _grown(self, rate: float) -> float:
        """The next number while it grows, given the throughput."""
        if rate > self._best_rate * _BETTER:
            self._best_rate, self._best_size, self._flat = rate, self._size, 0
            return self._size
        self._flat += 1
        self._settled = self._flat == 2
        return self._best_size if self._settled else self._size

    def _probed(self, rate: float) -> float:
        """The next number later: a new probe, or the better of two."""
        self._is_probe = not self._is_probe
        if self._is_probe:
            self._best_rate, self._best_size = rate, self._size
            change, self._asked = next(self._probes)
            return max(1.0, self._size * change)
        return self._size if rate > self._best_rate * self._asked else self._best_size
