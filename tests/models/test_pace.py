"""The pace, against servers simulated in no time: it finds their limits and keeps to what they say."""

from __future__ import annotations

import heapq
import math

import pytest

from quaver.models.pace import Pace
from quaver.models.served.limits import Limits


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def simulated(
    pace: Pace, clock: Clock, seconds: float, *, latency: float, slots: int = 10**6, rate: float = math.inf
) -> tuple[list[float], int]:
    """When calls were answered by a server with so many slots and so many calls a second; and how many
    were under way at most."""
    landing: list[tuple[float, bool]] = []
    free = [0.0] * slots if slots < 10**6 else []
    level, at, answered, most = 10.0, 0.0, [], 0
    while clock.now < seconds:
        wait = pace.wait()
        if wait == 0:
            pace.sent(10)
            most = max(most, pace.in_flight)
            level, at = min(10.0, level + (clock.now - at) * min(rate, 1e9)), clock.now
            if level < 1:
                heapq.heappush(landing, (clock.now + 0.001, False))
                continue
            level -= 1 if rate < math.inf else 0
            start = clock.now
            if free:
                start = max(start, heapq.heappop(free))
                heapq.heappush(free, start + latency)
            heapq.heappush(landing, (start + latency, True))
            continue
        if landing and landing[0][0] <= clock.now + wait:
            clock.now, good = heapq.heappop(landing)
            if good:
                pace.answered(10, 10, None)
                answered.append(clock.now)
            else:
                pace.refused(1.0)
        else:
            clock.now += max(wait, 1e-6)
    return answered, most


@pytest.mark.parametrize("rate", [5.0, 50.0, 400.0])
def test_it_settles_within_a_fifth_of_a_rate_limit(rate: float) -> None:
    clock = Clock()
    answered, _ = simulated(Pace(clock=clock), clock, 90, latency=0.05, rate=rate)
    late = [at for at in answered if at > 30]
    assert 0.8 * rate <= len(late) / 60 <= 1.2 * rate


def test_a_server_with_few_slots_is_not_flooded_and_kept_busy() -> None:
    clock = Clock()
    answered, most = simulated(Pace(clock=clock), clock, 60, latency=0.5, slots=4)
    assert len(answered) >= 0.9 * 60 * 4 / 0.5
    assert most <= 32


def test_a_server_with_many_slots_gets_many_calls() -> None:
    clock = Clock()
    answered, most = simulated(Pace(clock=clock), clock, 20, latency=0.5, slots=128)
    assert most >= 100
    assert len([at for at in answered if at > 10]) >= 0.8 * 10 * 128 / 0.5


def test_a_given_number_of_calls_at_once_is_kept() -> None:
    clock = Clock()
    _, most = simulated(Pace(concurrency=7, clock=clock), clock, 5, latency=0.1)
    assert most == 7


@pytest.mark.parametrize(
    ("limit", "calls"), [({"requests_per_minute": 120}, 120), ({"tokens_per_minute": 1200}, 120)]
)
def test_given_rates_are_kept(limit: dict[str, float], calls: int) -> None:
    clock = Clock()
    answered, _ = simulated(Pace(**limit, clock=clock), clock, 60, latency=0.1)  # type: ignore[arg-type]
    assert 0.9 * calls <= len(answered) <= calls + 3


def test_a_refusal_now_and_then_changes_nothing() -> None:
    clock = Clock()
    pace = Pace(concurrency=10, clock=clock)
    for number in range(1000):
        pace.sent(1)
        clock.now += 0.01
        if number % 20:
            pace.answered(1, 1, None)
        else:
            pace.refused(5.0)
    assert pace.rate == math.inf
    assert pace.wait() == 0


def test_several_in_a_row_make_all_wait() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    for _ in range(3):
        pace.sent(1)
        pace.refused(7.0)
    assert pace.wait() == 7.0


def test_headers_that_say_nothing_is_left_are_heeded() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    pace.sent(1)
    pace.answered(1, 1, Limits(0, 12.0, None, None))
    assert pace.wait() == 12.0
    clock.now = 12.0
    pace.sent(1)
    pace.answered(1, 100, Limits(5, 9.0, 50, 3.0))
    assert pace.wait() == 3.0


def test_a_busy_server_is_asked_less_at_once_and_more_again_later() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    simulated(pace, clock, 10, latency=0.5, slots=64)
    before = pace.window
    while pace.in_flight < before:
        pace.sent(1)
    while pace.in_flight:
        pace.failed(busy=True)
    assert pace.window <= before / 2 + 1
