"""How fast a server is asked: its limit is found by asking, unless the study gives one.

Calls at once: from four on, each answer makes room for one more, as long as more calls at once bring
more answers a second; they are cut where a good part of the calls finds the server too busy. Calls a
second: unlimited until a good part of the calls is refused as too many; then as many as were taken, rising
slowly from there. A call that is refused now and then changes nothing: it waits for as long as the
server says. Where several in a row are refused, or the headers say that nothing is left, all calls wait.

Nothing here waits or sends: it says how long to wait, and is told what was sent and what came back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from quaver.models.served.limits import Limits

__all__ = ["Pace"]

_FIRST = 4
_MOST = 256
_BETTER = 1.15
"""Twice as many calls at once must bring this many times the answers, or they are too many."""

_TOO_MANY = 0.1
"""Share of calls refused above which the calls a second are too many."""

_SOME = 0.05
"""Share of calls refused above which the calls a second are not raised."""

_TOO_BUSY = 0.25
"""Share of calls that bring nothing above which the calls at once are too many."""

_ENOUGH = 30
"""Calls from which such a share is told."""

_IN_A_ROW = 3
_LEAST = 0.85
"""What is left of a rate, at least, each time that it is cut."""

_SLOW_RISE, _FAST_RISE, _CALM = 0.02, 0.05, 10.0
"""Share by which the rate rises a second, soon after it was cut and when that is this long ago."""

_KEPT = 0.97
"""What is left of a rate at which several calls in a row were refused."""

_CATCH_UP = 0.05
"""Seconds by which a late call may be made up for."""


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
        self._seeks = concurrency is None
        self._window = float(concurrency or _FIRST)
        self._most = concurrency or _MOST
        self._rate = requests_per_minute / 60 if requests_per_minute else math.inf
        self._rate_is_given = requests_per_minute is not None
        self._token_rate = tokens_per_minute / 60 if tokens_per_minute else math.inf
        self._level, self._level_at = 0.0, clock()
        self._next, self._held = 0.0, 0.0
        self._cut_at = self._risen_at = clock()
        self._in_a_row = 0
        self._refused_share = 0.0
        self.in_flight = 0
        self._trial = _Trial(self._window, clock())
        self._of_window, self._of_rate = _Tally(clock()), _Tally(clock())

    # ------------------------------------------------------------------ what may be sent

    @property
    def window(self) -> int:
        """Calls that may be under way at once."""
        return max(1, int(self._window))

    @property
    def most(self) -> int:
        """Calls that will never be exceeded at once."""
        return self._most

    @property
    def rate(self) -> float:
        """Calls a second that are sent at most; infinite before the server named a limit."""
        return self._rate

    def wait(self) -> float:
        """Seconds until the next call may be sent; infinite where an answer must come in first."""
        if self.in_flight >= self.window:
            return math.inf
        now = self._clock()
        until = self._held
        if self._rate < math.inf:
            self._rise(now)
            until = max(until, self._next)
        if self._token_rate < math.inf:
            self._refill(now)
            until = max(until, now - self._level / self._token_rate)
        return max(0.0, until - now)

    def sent(self, tokens: int) -> None:
        """A call goes out.

        Args:
            tokens: That it may take, prompt and answer.
        """
        now = self._clock()
        self.in_flight += 1
        self._level -= tokens if self._token_rate < math.inf else 0
        if self._rate < math.inf:
            self._next = max(self._next, now - _CATCH_UP) + 1 / self._rate

    def hold(self, seconds: float) -> None:
        """Send nothing for a while."""
        now = self._clock()
        until = max(self._held, now + seconds)
        self._of_rate.held += until - max(self._held, now)
        self._held = until

    # ------------------------------------------------------------------ what came back

    def answered(self, reserved: int, used: int | None, limits: Limits | None) -> None:
        """An answer is in.

        Args:
            reserved: The tokens that ``sent`` was told.
            used: The tokens that it took, where the server says so.
            limits: What is left, as the server says.
        """
        now = self._clock()
        full = self.in_flight >= self.window
        self.in_flight -= 1
        self._in_a_row = 0
        if self._token_rate < math.inf and used is not None:
            self._level += reserved - used
        if limits is not None:
            self._heed(limits, used or reserved)
        if self._seeks:
            self._seek(full, now)
        self._judge(now, good=1)

    def refused(self, wait: float | None) -> None:
        """The server asks to be called less often.

        Args:
            wait: Seconds for which it wants to be left alone.
        """
        self.in_flight -= 1
        self._one_more(wait)
        self._judge(self._clock(), refused=1)

    def failed(self, *, busy: bool, wait: float | None = None) -> None:
        """A call brought nothing.

        Args:
            busy: Whether it looks as if the server had too much to do.
            wait: Seconds for which it wants to be left alone.
        """
        self.in_flight -= 1
        if busy:
            self._one_more(wait)
        self._judge(self._clock(), busy=int(busy), lost=int(not busy))

    # ------------------------------------------------------------------ inside

    def _one_more(self, wait: float | None) -> None:
        """One more call in a row that was turned away; from some number on, all the others wait too."""
        self._in_a_row += 1
        if wait and self._in_a_row >= _IN_A_ROW:
            self.hold(wait)
            if self._in_a_row == _IN_A_ROW and self._rate < math.inf and not self._rate_is_given:
                self._rate *= _KEPT

    def _judge(self, now: float, *, good: int = 0, refused: int = 0, busy: int = 0, lost: int = 0) -> None:
        for tally in (self._of_window, self._of_rate):
            tally.good += good
            tally.refused += refused
            tally.busy += busy
            tally.lost += lost
        enough = max(_ENOUGH, self.window)
        tally = self._of_window
        if tally.calls >= enough or self._in_a_row >= _ENOUGH // 2:
            # What is refused as too many is a matter of the rate, once there is one.
            turned_away = tally.busy + (tally.refused if self._rate == math.inf else 0)
            share = turned_away / tally.calls
            if self._seeks and share > _TOO_BUSY:
                self._window = max(1.0, self._window * max(0.5, 1 - share))
                self._trial = _Trial(self._window, now, settled=True)
            self._of_window = _Tally(now)
        tally = self._of_rate
        if tally.calls >= enough and now - tally.since >= 1.0:
            if tally.refused / tally.calls > _TOO_MANY and not self._rate_is_given:
                # What was taken while nothing had to wait, whatever became of it then.
                taken = (tally.calls - tally.refused) / max(0.2, now - tally.since - tally.held)
                least = _LEAST * self._rate if self._rate < math.inf else 1 / 60
                self._rate = max(min(self._rate, taken), least)
                self._cut_at = self._risen_at = now
            self._refused_share = tally.refused / tally.calls
            self._of_rate = _Tally(now)

    def _rise(self, now: float) -> None:
        if self._rate_is_given or now <= self._risen_at:
            return
        share = _SLOW_RISE if now - self._cut_at < _CALM else _FAST_RISE
        if self._refused_share < _SOME:
            self._rate *= 1 + share * min(now - self._risen_at, 1.0)
        self._risen_at = now

    def _refill(self, now: float) -> None:
        self._level = min(self._token_rate, self._level + (now - self._level_at) * self._token_rate)
        self._level_at = now

    def _heed(self, limits: Limits, tokens: int) -> None:
        if limits.requests is not None and limits.requests < 1 and limits.requests_reset:
            self.hold(limits.requests_reset)
        if limits.tokens is not None and limits.tokens < tokens and limits.tokens_reset:
            self.hold(limits.tokens_reset)

    def _seek(self, full: bool, now: float) -> None:
        trial = self._trial
        if trial.settled:
            if full:
                self._window += 1 / self._window
        elif full:
            self._window += 1
        self._window = min(self._window, float(self._most))
        trial.answers += 1
        if trial.answers >= trial.length and now - trial.since > 0.02:
            self._window = min(trial.judged(self._window, now), float(self._most))


class _Tally:
    """What became of calls since some moment."""

    def __init__(self, since: float) -> None:
        self.since = since
        self.good = self.refused = self.busy = self.lost = 0
        self.held = 0.0

    @property
    def calls(self) -> int:
        return self.good + self.refused + self.busy + self.lost


class _Trial:
    """Whether more calls at once bring more answers a second.

    Args:
        window: Calls at once when it begins.
        now: When it begins.
        settled: Whether the number is near its best, and to be changed little.
    """

    def __init__(self, window: float, now: float, *, settled: bool = False) -> None:
        self.settled = settled
        self.since, self.answers = now, 0
        self.length = max(4, int(window))
        self._best_rate, self._best_window, self._flat = 0.0, window, 0

    def judged(self, window: float, now: float) -> float:
        """The number of calls at once to go on with."""
        rate = self.answers / (now - self.since)
        self.since, self.answers = now, 0
        if rate > self._best_rate * (1.03 if self.settled else _BETTER):
            self._best_rate, self._best_window, self._flat = rate, window, 0
        else:
            self._flat += 1
            self._best_rate *= 0.98 if self.settled else 1.0  # what was best may have been luck
        if self._flat >= (4 if self.settled else 2):
            window, self._flat = max(1.0, self._best_window), 0
            self.settled = True
        self.length = max(40, int(window) * 4) if self.settled else max(4, int(window))
        return window
