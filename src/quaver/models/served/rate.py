"""What a server allows, learnt from what it does: calls in flight and calls a second.

The rate is unlimited until a good share of calls is refused. It then becomes the rate of accepted calls, is
cut by the share of refusals, and rises again, faster the longer it has not been cut. An occasional refusal
changes nothing.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from itertools import cycle
from typing import NamedTuple

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_EPOCH = 10.0**9
"""A larger number of seconds is a point in time; no pause is longer."""


class Limits(NamedTuple):
    """What is left of the limits, and the seconds until they are reset; None if not reported.

    Attributes:
        requests: Remaining requests.
        requests_reset: Seconds until the limit on requests is reset.
        tokens: Remaining tokens.
        tokens_reset: Seconds until the limit on tokens is reset.
    """

    requests: float | None
    requests_reset: float | None
    tokens: float | None
    tokens_reset: float | None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait.

    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after-ms": "250"}), retry_after({})
    (2.0, 0.25, None)
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, _EPOCH)
    given = headers.get("retry-after")
    if not given:
        return None
    seconds = _seconds(given)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except ValueError:
        return None


def read_limits(headers: Mapping[str, str]) -> Limits | None:
    """The limits in a reply's headers, or None.

    >>> read_limits({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"})
    Limits(requests=0.0, requests_reset=90.0, tokens=None, tokens_reset=None)
    """
    requests = _first(headers, "x-ratelimit-remaining-requests", "x-ratelimit-remaining")
    tokens = _first(headers, "x-ratelimit-remaining-tokens")
    if requests is None and tokens is None:
        return None
    return Limits(
        _number(requests),
        _seconds(_first(headers, "x-ratelimit-reset-requests", "x-ratelimit-reset")),
        _number(tokens),
        _seconds(_first(headers, "x-ratelimit-reset-tokens")),
    )


def _first(headers: Mapping[str, str], *names: str) -> str | None:
    return next((headers[name] for name in names if name in headers), None)


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
        number = sum(float(count) * _SECONDS[unit] for count, unit in parts)
        return min(number, _EPOCH) if parts else None
    if number > _EPOCH * 1000:
        number /= 1000
    return min(max(0.0, number - time.time()), _EPOCH) if number > _EPOCH else number


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

    def came_back(self, sent: float, now: float, *, refused: bool) -> None:
        """Record a reply."""
        if refused and sent < self._cut_at:
            return  # it was sent at a former rate
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

    def _rise(self, now: float) -> None:
        self._calm_calls += 1
        if self._is_given or self.a_second == math.inf or not self._quiet:
            return
        calm = min((now - self._cut_at) / _CALM, self._calm_calls / _CALM_CALLS)
        rise = min(_STEEPEST, _RISE * 2.0 ** min(self._doubled + calm, 10.0))
        self.a_second *= 1 + min(_A_CALL, rise / self.a_second)


class _Average:
    """Events per second, exponentially weighted.

    Args:
        since: The start.
    """

    def __init__(self, since: float) -> None:
        self.since = self.at = since
        self.level = 0.0

    def add(self, now: float) -> None:
        """Count an event."""
        self.level = self.level * math.exp((self.at - now) / _MEMORY) + 1.0
        self.at = now

    def a_second(self, now: float) -> float:
        """The rate."""
        seen = -_MEMORY * math.expm1(-max(1.0, now - self.since) / _MEMORY)
        return self.level * math.exp((self.at - now) / _MEMORY) / seen


_FIRST = 4
_MOST = 256
_BETTER = 1.15
"""Factor of throughput by which a larger number must be better while it grows."""

_PROBES = ((1.25, 1.06), (0.8, 0.97))
"""Changes tried later, and the factor of throughput that each must reach."""

_MANY = 60
"""Minimum number of answers for judging a change later."""

_TOO_BUSY, _ENOUGH_CALLS = 0.25, 30
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
        """Record an answer."""
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
        if self._calls >= max(_ENOUGH_CALLS, self.size // 2):
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
