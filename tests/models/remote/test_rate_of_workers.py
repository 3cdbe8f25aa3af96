"""Ray workers keep a server's rate together, as they come and go."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.models.remote.thread_ray import ThreadRay
from tests.models.serving import serving
from tests.models.test_served_faults import check, study

from quaver.models.remote import ray_cluster
from quaver.models.remote.ray_cluster import RateShares
from quaver.models.served.pace import Pace

FREE = {"input": 0, "output": 0}
RATE = 40.0
JITTER = 0.75 * RATE
"""Calls that a busy machine may deliver later than they were sent, and so nearer to the next."""


def most_above(moments: Sequence[float], rate: float) -> float:
    """The most calls in any stretch of time beyond those that the rate allows in it."""
    above = most = 0.0
    for before, now in pairwise(moments):
        above = max(0.0, above + 1 - (now - before) * rate)
        most = max(most, above)
    return most


@pytest.mark.long
@pytest.mark.parametrize("workers", [2, 3])
def test_the_rate_holds_for_all_workers_together(tmp_path: Path, workers: int) -> None:
    ray = ThreadRay(workers)
    with ray.entered(), serving(latency=0.02) as (url, server):
        study(tmp_path, url, items=50, requests_per_minute=60 * RATE, price=FREE).run(where={"on": "ray"})
        moments = sorted(server.good)[1:]  # the probe's
    check(tmp_path, 100)
    assert len(ray.actors) == workers
    assert most_above(moments, RATE) <= workers + JITTER  # each may catch up a little
    assert (len(moments) - 1) / (moments[-1] - moments[0]) >= 0.4 * RATE


@pytest.mark.long
def test_it_holds_while_workers_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster.Cluster, "every", 0.2)
    ray = ThreadRay(2)
    lost: list[int] = []

    def change(watched: Any) -> None:
        if watched.done > 20:
            ray.processors = 4
        if watched.done > 40 * (len(lost) + 1) and len(lost) < 2:
            lost.append(len(lost))
            ray.actors[lost[-1]].lose()

    with ray.entered(), serving(faults=0.1, latency=0.02) as (url, server):
        how: dict[str, Any] = {"requests_per_minute": 60 * RATE, "retries": 12, "timeout": 2, "price": FREE}
        asked = study(tmp_path, url, items=70, **how)
        asked.run(where={"on": "ray"}, watch=change)
        moments = sorted(server.good)[1:]
    check(tmp_path, 140)
    assert len(lost) == 2
    assert len(ray.actors) >= 5
    assert most_above(moments, RATE) <= 6 + JITTER


@pytest.mark.parametrize("seed", range(20))
def test_shares_in_force_never_exceed_the_whole(seed: int) -> None:
    chance, shares = random.Random(seed), RateShares()
    in_force: dict[int, float] = {}
    told: dict[int, float] = {}
    for number in range(300):
        what = chance.random()
        if what < 0.1 or not in_force:
            shares.join(number)
            in_force[number] = 0.0
        elif what < 0.15:
            gone = chance.choice(list(in_force))
            shares.leave(gone)
            in_force.pop(gone), told.pop(gone, None)
        elif told:
            worker = chance.choice(list(told))
            in_force[worker] = told.pop(worker)
            if chance.random() < 0.5:
                told[worker] = in_force[worker]  # it is in force before the driver knows
            else:
                shares.confirm(worker)
        for worker, share, _ in shares.due():
            assert isinstance(worker, int)
            told[worker] = share
        assert sum(in_force.values()) <= 1 + 1e-9
    while told:
        for worker, share in list(told.items()):
            in_force[worker] = share
            shares.confirm(worker)
        told = {worker: share for worker, share, _ in shares.due()}  # type: ignore[misc]
    assert set(in_force.values()) == {1 / len(in_force)}


def test_a_share_changes_what_a_pace_allows() -> None:
    now = [100.0]
    pace = Pace(concurrency=10, requests_per_minute=600, tokens_per_minute=6000, clock=lambda: now[0])
    pace.limit(requests_per_minute=60, tokens_per_minute=600, begin=0.5)
    assert pace.wait() == pytest.approx(0.5)
    now[0] += 0.5
    pace.sent(5)
    assert pace.wait() == pytest.approx(1.0)
    now[0] += 1.0
    pace.sent(50)
    assert pace.wait() == pytest.approx(4.0)  # 10 tokens a second, of which 40 are owed
