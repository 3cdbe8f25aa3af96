"""How many calls a second a server takes: found by asking, unless the study says it.

Unlimited until a good part of the calls is refused as too many; then as many as were taken, cut by the
share that is refused, and rising again, the faster the longer they were not cut. A call that is refused now
and then changes nothing.
"""

from __future__ import annotations

import math

__all__ = ["Rate"]

_TOO_MANY, _AT_FIRST = 0.05, 0.1
"""Share of calls refused above which they are too many a second; the same where no limit is known yet."""

_SOME, _ONE = 0.03, 1
"""Share of calls refused above which they do not become more, unless it is a single one."""

_ENOUGH, _LONG = 30, 1.0
"""Calls, and seconds, at least, by which such a share is told."""

_RISE, _STEEPEST, _A_CALL = 0.02, 0.25, 0.02
"""Share by which the rate rises a second soon after it was cut; the most a second, and with one call."""

_CALM, _CALM_CALLS, _UNSURE = 5.0, 20, 4
"""Seconds and calls without a cut, the later of both, after which the rise doubles; and how often it is
doubled from the start after the first cut, which may have been far too deep."""

_KEPT, _KEPT_AGAIN, _SOON = 0.95, 0.7, 3.0
"""What is left of a rate at which the server wanted to be left alone for a while; the same where it was cut
less than so many seconds before."""

_IDLE, _IDLE_FOR = 2.0, 30.0
"""A rate so many times what is sent, and not cut for so many seconds, limits nothing, and is forgotten."""

_MEMORY = 60.0
"""Seconds over which the calls taken are averaged: a server that took so many takes so many."""

_CATCH_UP, _AT_ONCE = 0.05, 4
"""Seconds, and calls, by which late ones may be made up for."""


class Rate:
    """Calls a second, at most.

    Args:
        given: As the study says; None to find it.
        now: Seconds on a clock that never goes back, as everywhere here.

    Attributes:
        a_second: Their number; infinite before the server showed a limit.
    """

    def __init__(self, given: float | None, now: float) -> None:
        self._is_given = given is not None
        self.a_second = math.inf if given is None else given
        self._next = self._held = 0.0
        self._taken = _Average(now)
        self._quiet = True
        self._cut(now, self.a_second)
        self._begin(now)

    def free_at(self) -> float:
        """When the next call may be sent."""
        return self._next if self.a_second < math.inf else self._held

    def sent(self, now: float) -> None:
        """A call goes out."""
        if self.a_second < math.inf:
            late = min(_CATCH_UP, _AT_ONCE / self.a_second)
            self._next = max(self._next, now - late) + 1 / self.a_second

    def hold(self, until: float, now: float) -> None:
        """Send nothing until then."""
        if until > max(self._held, now):
            begins = now >= self._held
            self._waited += until - max(self._held, now)
            self._held = until
            self._next = max(self._next, until)
            if begins and not self._is_given and self.a_second < math.inf:
                kept = _KEPT_AGAIN if now - self._cut_at < _SOON else _KEPT
                self._cut(now, kept * self.a_second)
                self._begin(until)

    def came_back(self, sent: float, now: float, *, refused: bool) -> None:
        """A call came back.

        Args:
            sent: When it went out.
            now: When.
            refused: As too many, rather than taken, whatever became of it then.
        """
        if refused and sent < self._cut_at:
            return  # it was sent at a rate that is given up
        self._calls += 1
        self._refused += refused
        if not refused:
            self._taken.add(now)
            self._rise(now)
        if self._calls >= _ENOUGH and now - self._since >= _LONG:
            if not self._is_given:
                self._judge(now)
            self._begin(now)

    # ------------------------------------------------------------------ inside

    def _begin(self, now: float) -> None:
        self._since, self._calls, self._refused = now, 0, 0
        self._waited = max(0.0, self._held - now)  # of what is to come

    def _cut(self, now: float, rate: float) -> None:
        self._doubled = _UNSURE if self.a_second == math.inf else 0
        self._cut_at, self._calm_calls = now, 0
        # A server that counts by the minute takes nothing for a while: that is not its rate.
        self.a_second = min(self.a_second, max(rate, self._taken.a_second(now)))

    def _judge(self, now: float) -> None:
        share = self._refused / self._calls
        self._quiet = share < _SOME or self._refused <= _ONE
        waited = self._waited - max(0.0, self._held - now)
        taken = (self._calls - self._refused) / max(0.1, now - self._since - waited)
        if share > (_AT_FIRST if self.a_second == math.inf else _TOO_MANY):
            fewer = taken if self.a_second == math.inf else self.a_second * (1 - share)
            self._cut(now, fewer)
        elif self.a_second > _IDLE * taken and now - self._cut_at > _IDLE_FOR:
            self.a_second = math.inf

    def _rise(self, now: float) -> None:
        self._calm_calls += 1
        if self._is_given or self.a_second == math.inf or not self._quiet:
            return
        calm = min((now - self._cut_at) / _CALM, self._calm_calls / _CALM_CALLS)
        rise = min(_STEEPEST, _RISE * 2.0 ** min(self._doubled + calm, 10.0))
        self.a_second *= 1 + min(_A_CALL, rise / self.a_second)


class _Average:
    """Events a second, those long ago counting less.

    Args:
        since: When it begins.
    """

    def __init__(self, since: float) -> None:
        self._since = self._at = since
        self._level = 0.0

    def add(self, now: float) -> None:
        """One more."""
        self._level = self._level * math.exp((self._at - now) / _MEMORY) + 1
        self._at = now

    def a_second(self, now: float) -> float:
        """How many a second."""
        seen = -_MEMORY * math.expm1(-max(1.0, now - self._since) / _MEMORY)
        return self._level * math.exp((self._at - now) / _MEMORY) / seen
