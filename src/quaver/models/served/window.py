"""How many calls at once a server does best with: found by asking, unless the study says it.

From four on, each answer makes room for one more, as long as more at once bring more answers a second.
From then on some more and some fewer are tried in turn, each against the number that it starts from: more
are kept if they bring more, fewer if they bring hardly less. They are cut where a good part of the calls
finds the server too busy. While the server takes only so many calls a second, that limit alone says how
much is sent, and calls at once are as many as it takes.
"""

from __future__ import annotations

import math
from itertools import cycle

__all__ = ["Window"]

_FIRST = 4
_MOST = 256
_BETTER = 1.15
"""So many times the answers show that more calls at once are better, while their number grows."""

_PROBES = ((1.25, 1.06), (0.8, 0.97))
"""Changes that are tried later, and how many times the answers each must bring to stay."""

_MANY = 60
"""Answers, at least, by which a change is judged later."""

_TOO_BUSY, _ENOUGH = 0.25, 30
"""Share of calls that find the server too busy above which they are too many; calls by which it is told."""


class Window:
    """Calls at once, at most.

    Args:
        given: As the study says; None to find it.

    Attributes:
        most: A number that is never exceeded.
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
        """Their number."""
        return max(1, int(self._size))

    def answered(self, seconds: float, at_once: int, *, full: bool, limited: bool) -> None:
        """An answer came in.

        Args:
            seconds: That it took.
            at_once: Calls that were under way when it was asked for, that one among them.
            full: Whether it was this number that kept more from being sent.
            limited: Whether the calls a second are.
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
        """A call came back.

        Args:
            sent: When it went out.
            now: When, on the same clock.
            busy: Because the server has too much to do.
        """
        if sent < self._cut_at:
            return  # it was one of a number that is given up
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
        """Begin to count answers, after those of what was sent before."""
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
        self._size += full and not (self._settled or self._flat)  # one that looks too many is looked at again
        if self._answers >= self._length:
            # Calls that stall or fail at once are not in it, as they would be in answers a second counted.
            rate = self._at_once / max(self._seconds, 1e-9)
            self._size = self._probed(rate) if self._settled else self._grown(rate)
            self._begin()

    def _grown(self, rate: float) -> float:
        """The number to go on with while it grows, where so many would be answered a second."""
        if rate > self._best_rate * _BETTER:
            self._best_rate, self._best_size, self._flat = rate, self._size, 0
            return self._size
        self._flat += 1
        self._settled = self._flat == 2
        return self._best_size if self._settled else self._size

    def _probed(self, rate: float) -> float:
        """The number to go on with later: what is tried next, or what was better of two."""
        self._is_probe = not self._is_probe
        if self._is_probe:
            self._best_rate, self._best_size = rate, self._size
            change, self._asked = next(self._probes)
            return max(1.0, self._size * change)
        return self._size if rate > self._best_rate * self._asked else self._best_size
