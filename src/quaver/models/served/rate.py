"""How many calls per second a server accepts: adapted, unless the study gives it.

The rate is unlimited until a good share of calls is refused. It then becomes the rate of accepted calls, is
cut by the share of refusals, and rises again, faster the longer it has not been cut. An occasional refusal
changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

_TOO_MANY, _AT_FIRST = 0.05, 0.1
"""Share of refusals above which the rate is too high; the same while no limit is known."""

_SOME, _ONE = 0.03, 1
"""Share of refusals above which the rate does not rise, unless there is a single one."""

_ENOUGH, _LONG = 30, 1.0
"""Minimum number of calls and of seconds for such a share."""

_RISE, _STEEPEST, _A_CALL = 0.02, 0.25, 0.02
"""Growth per second soon after a cut; the largest growth per second, and per call."""

_CALM, _CALM_CALLS, _UNSURE = 5.0, 20, 4
"""Seconds and calls without a cut (whichever takes longer) after which growth doubles; and how often it is
doubled
from the start after the first cut, which may have been far too deep."""

_KEPT, _KEPT_AGAIN, _SOON = 0.95, 0.7, 3.0
"""Factor of the rate when the server asks for a pause; the same if the last cut was less than this many
seconds
ago."""

_IDLE, _IDLE_FOR = 2.0, 30.0
"""A rate this many times above what is sent, and not cut for this many seconds, is forgotten."""

_MEMORY = 60.0
"""Seconds over which accepted calls are averaged."""

_CATCH_UP, _AT_ONCE = 0.05, 4
"""Seconds, and calls, by which delays may be caught up."""


_CHANGING = (
    "a_second", "_next", "_held", "_quiet", "_cut_at", "_calm_calls", "_doubled", "_since", "_calls",
    "_refused", "_waited",
)  # fmt: skip
_CHANGING_OF = attrgetter(*_CHANGING)


class Rate:
    """The maximum number of calls per second.

    Args:
        given: The study's value; None to adapt.
        now: The time on a monotonic clock, as everywhere here.

    Attributes:
        a_second: The rate; infinite until the server shows a limit.
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
        """Record that a call was sent."""
        if self.a_second < math.inf:
            late = min(_CATCH_UP, _AT_ONCE / self.a_second)
            self._next = max(self._next, now - late) + 1 / self.a_second

    def hold(self, until: float, now: float) -> None:
        """Send nothing until a time."""
        if until > max(self._held, now):
            begins = now >= self._held
            self._waited += until - max(self._held, now)
            self._held = until
            self._next = max(self._next, until)
            if begins and not self._is_given and self.a_second < math.inf:
                kept = _KEPT_AGAIN if now - self._cut_at < _SOON else _KEPT
                self._cut(now, kept * self.a_second)
                self._begin(until)

    def came_back(self, sent: float, now: float, *, refused: bool, calls: int = 1) -> None:
        """Record a reply, or several that came at about the same time."""
        if refused and sent < self._cut_at:
            return  # it was sent at a former rate
        self._calls += calls
        self._refused += refused
        if not refused:
            self._taken.add(now, calls)
            self._rise(now, calls)
        if self._calls >= _ENOUGH and now - self._since >= _LONG:
            if not self._is_given:
                self._judge(now)
            self._begin(now)

    def state(self) -> tuple[float, ...]:
        """All that changes, as plain numbers."""
        taken = self._taken
        return (*_CHANGING_OF(self), taken.since, taken.at, taken.level)

    def restore(self, state: Sequence[float]) -> None:
        """Take up what ``state`` gave."""
        *own, self._taken.since, self._taken.at, self._taken.level = state
        for name, value in zip(_CHANGING, own, strict=True):
            setattr(self, name, value)

    # ------------------------------------------------------------------ inside

    def _begin(self, now: float) -> None:
        self._since, self._calls, self._refused = now, 0, 0
        self._waited = max(0.0, self._held - now)  # in this period

    def _cut(self, now: float, rate: float) -> None:
        self._doubled = _UNSURE if self.a_second == math.inf else 0
        self._cut_at, self._calm_calls = now, 0
        # A server that counts by the minute may accept nothing for a while; that is not its rate.
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

    def _rise(self, now: float, calls: int) -> None:
        self._calm_calls += calls
        if self._is_given or self.a_second == math.inf or not self._quiet:
            return
        calm = min((now - self._cut_at) / _CALM, self._calm_calls / _CALM_CALLS)
        rise = min(_STEEPEST, _RISE * 2.0 ** min(self._doubled + calm, 10.0))
        self.a_second *= 1 + calls * min(_A_CALL, rise / self.a_second)


class _Average:
    """Events per second, exponentially weighted.

    Args:
        since: The start.
    """

    def __init__(self, since: float) -> None:
        self.since = self.at = since
        self.level = 0.0

    def add(self, now: float, events: int) -> None:
        """Count events."""
        self.level = self.level * math.exp((self.at - now) / _MEMORY) + events
        self.at = now

    def a_second(self, now: float) -> float:
        """The rate."""
        seen = -_MEMORY * math.expm1(-max(1.0, now - self.since) / _MEMORY)
        return self.level * math.exp((self.at - now) / _MEMORY) / seen
