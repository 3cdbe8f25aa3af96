"""Several processes keep to one rate: what one learns holds for all, and none can keep the others out."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quaver.models.served.rate_limits import Limits
from quaver.models.served.shared_pace import SharedLimits, SharedPace


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def paces(folder: Path, clock: Clock, processes: int = 3, **options: Any) -> list[SharedPace]:
    limits = [SharedLimits(folder / "limits") for _ in range(processes)]
    return [SharedPace(one, concurrency=50, clock=clock, **options) for one in limits]


def sent_in(seconds: float, several: list[SharedPace], clock: Clock, tokens: int = 1) -> int:
    """How many calls go out, if whoever may send does, and answers come at once."""
    end, sent = clock.now + seconds, 0
    while clock.now < end:
        for one in several:
            while one.wait() == 0:
                one.answered(one.sent(tokens), tokens, None)
                sent += 1
        clock.now += 0.01
    return sent


def test_the_rate_is_that_of_all_together(tmp_path: Path, clock: Clock) -> None:
    assert sent_in(10, paces(tmp_path, clock, requests_per_minute=600), clock) == pytest.approx(100, abs=4)


def test_tokens_are_counted_together(tmp_path: Path, clock: Clock) -> None:
    sent = sent_in(20, paces(tmp_path, clock, tokens_per_minute=6000), clock, tokens=10)
    assert sent == pytest.approx(200, rel=0.1)


def test_a_pause_holds_for_all(tmp_path: Path, clock: Clock) -> None:
    first, second, third = paces(tmp_path, clock)
    first.hold(5.0)
    assert second.wait() == third.wait() == 5.0
    clock.now += 5.0
    assert second.wait() == 0.0


def test_refusals_lower_the_rate_of_all(tmp_path: Path, clock: Clock) -> None:
    several = paces(tmp_path, clock)
    for turn in range(120):
        one = several[turn % 3]
        sent = one.sent(1)
        clock.now += 0.02
        if turn % 2:
            one.refused(sent, None)
        else:
            one.answered(sent, 1, None)
    clock.now += 1.0
    for one in several:
        one.wait()
    assert several[0].rate == several[1].rate == several[2].rate < 50


def test_answers_to_others_count_where_one_is_refused(tmp_path: Path, clock: Clock) -> None:
    """One call in forty is refused, all of them to the same process: no limit follows from that."""
    first, second, third = paces(tmp_path, clock)
    for turn in range(400):
        one = third if turn % 40 == 0 else (first, second)[turn % 2]
        sent = one.sent(1)
        clock.now += 0.01
        if one is third:
            one.refused(sent, None)
        else:
            one.answered(sent, 1, None)
    assert [one.wait() for one in (first, second, third)] == [0.0, 0.0, 0.0]
    assert third.rate == math.inf


def test_what_a_header_says_is_heeded_by_all(tmp_path: Path, clock: Clock) -> None:
    first, second, third = paces(tmp_path, clock)
    for _ in range(20):
        clock.now += 0.01
        first.answered(first.sent(1), 1, Limits(10.0, 3.0, None, None))
    assert second.wait() == 0.0
    first.answered(first.sent(1), 1, Limits(0.0, 3.0, None, None))
    assert second.wait() == third.wait() == 3.0
    clock.now += 3.0
    assert (first.wait(), second.wait()) == (0.0, 0.0)


def test_calls_in_flight_are_each_ones_own(tmp_path: Path, clock: Clock) -> None:
    first, second, _ = paces(tmp_path, clock)
    first.sent(1)
    assert (first.in_flight, second.in_flight) == (1, 0)


def test_whether_the_budget_has_room_is_known_to_all(tmp_path: Path, clock: Clock) -> None:
    several = paces(tmp_path, clock)
    parent = SharedLimits(tmp_path / "limits")
    assert all(one.has_room for one in several)
    parent.has_room = False
    assert not any(one.has_room for one in several)


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
def test_a_process_that_is_killed_while_it_has_the_lock_does_not_keep_it(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from quaver.models.served.shared_pace import SharedLimits\n"
        "with SharedLimits(Path(sys.argv[1])).alone():\n"
        "    print('locked', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "limits")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        other.send_signal(signal.SIGKILL)
        other.wait()
    with SharedLimits(tmp_path / "limits").alone():
        pass
