"""The pace, against servers simulated in no time: it finds their limits and keeps to what they say."""

import heapq
import math
import random
from collections import Counter
from functools import partial

import pytest

from quaver.models.served.pace import Pace


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def simulated(pace, clock, seconds, *, latency, slots=10**6, room=lambda now: True, faults=0.0):
    """When a server with so many slots took calls that it had room for; and how many were under way at most.

    Faults come at once, but for one in fifteen, which is a time-out after two seconds.
    """
    draw = random.Random(0)
    landing = []
    free = [0.0] * slots if slots < 10**6 else []
    taken, most = [], 0
    while clock.now < seconds:
        wait = pace.wait()
        if wait == 0:
            sent = pace.sent()
            most = max(most, pace.in_flight)
            if not room(clock.now):
                heapq.heappush(landing, (clock.now + 0.001, sent, "refused"))
                continue
            taken.append(clock.now)
            if draw.random() < faults:
                fault = draw.choice(("429", "busy", "late", *["lost"] * 12))
                heapq.heappush(landing, (clock.now + (2.0 if fault == "late" else 0.002), sent, fault))
                continue
            start = clock.now
            if free:
                start = max(start, heapq.heappop(free))
                heapq.heappush(free, start + latency)
            heapq.heappush(landing, (start + latency, sent, "good"))
            continue
        if landing and landing[0][0] <= clock.now + wait:
            clock.now, sent, what = heapq.heappop(landing)
            if what == "good":
                pace.answered(sent)
            elif what in ("refused", "429"):
                pace.refused(sent, 1.0 if what == "refused" else 0.0)
            else:
                pace.failed(sent, busy=what in ("busy", "late"))
        else:
            clock.now += max(wait, 1e-6)
    return taken, most


def bucket(rate):
    """A server that takes so many calls a second, and ten at once beyond that."""
    level, at = 10.0, 0.0

    def room(now):
        nonlocal level, at
        level, at = min(10.0, level + (now - at) * rate), now
        has = level >= 1
        level -= has
        return has

    return room


def counted(rate, every):
    """A server that counts anew every so many seconds."""
    calls = Counter()

    def room(now):
        calls[int(now // every)] += 1
        return calls[int(now // every)] <= rate * every

    return room


@pytest.mark.parametrize("faults", [0.0, 0.3])
@pytest.mark.parametrize("limit", [bucket, partial(counted, every=1.0), partial(counted, every=60.0)])
@pytest.mark.parametrize("rate", [5.0, 50.0, 400.0])
def test_at_least_half_of_a_rate_limit_is_used_and_little_more(rate, limit, faults):
    clock = Clock()
    taken, _ = simulated(Pace(clock=clock), clock, 120, latency=0.05, room=limit(rate), faults=faults)
    late = [at for at in taken if at >= 60]
    assert 0.5 * rate <= len(late) / 60 <= 1.2 * rate


def test_a_server_with_few_slots_is_not_flooded_and_kept_busy():
    clock = Clock()
    taken, most = simulated(Pace(clock=clock), clock, 60, latency=0.5, slots=4)
    assert len(taken) >= 0.9 * 60 * 4 / 0.5
    assert most <= 32


def test_a_given_number_of_calls_at_once_is_kept():
    clock = Clock()
    _, most = simulated(Pace(concurrency=7, clock=clock), clock, 5, latency=0.1)
    assert most == 7


def test_a_given_rate_is_kept():
    clock = Clock()
    taken, _ = simulated(Pace(requests_per_minute=120, clock=clock), clock, 60, latency=0.1)
    assert 0.9 * 120 <= len(taken) <= 120 + 3


def test_a_refusal_now_and_then_changes_nothing():
    clock = Clock()
    pace = Pace(concurrency=10, clock=clock)
    for number in range(1000):
        sent = pace.sent()
        clock.now += 0.01
        if number % 20:
            pace.answered(sent)
        else:
            pace.refused(sent, 5.0)
    assert pace.rate == math.inf
    assert pace.wait() == 0


def test_a_busy_server_is_asked_less_at_once_and_more_again_later():
    clock = Clock()
    pace = Pace(clock=clock)
    simulated(pace, clock, 10, latency=0.5, slots=64)
    before = pace.window
    pace.in_flight = 0
    for sent in [pace.sent() for _ in range(before)]:
        pace.failed(sent, busy=True)
    assert pace.window <= before / 2 + 1


def refused_often(pace, clock, wait=None):
    """A server refuses every other call for three seconds."""
    for number in range(120):
        sent = pace.sent()
        clock.now += 0.025
        if number % 2:
            pace.answered(sent)
        else:
            pace.refused(sent, wait)


def test_refusals_of_what_was_sent_before_a_cut_do_not_cut_again():
    clock = Clock()
    pace = Pace(concurrency=100, clock=clock)
    late = [pace.sent() for _ in range(80)]
    refused_often(pace, clock)
    assert (before := pace.rate) < math.inf
    for sent in late:
        clock.now += 0.025
        pace.refused(sent, None)
    assert pace.rate >= before


def test_a_rate_that_the_study_gives_is_kept_whatever_is_refused():
    clock = Clock()
    pace = Pace(requests_per_minute=600, clock=clock)
    refused_often(pace, clock)
    assert pace.rate == 10


def test_calls_that_stall_do_not_make_fewer_at_once_look_better():
    clock = Clock()
    pace = Pace(clock=clock)
    taken, most = simulated(pace, clock, 60, latency=0.1, slots=64, faults=0.2)
    late = sum(at > 30 for at in taken) / 30
    assert most >= 50
    assert late >= 0.75 * 64 / 0.1
