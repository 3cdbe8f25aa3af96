"""Ray workers keep a server's rate together, as they come and go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.models.remote.thread_ray import ThreadRay
from tests.models.serving import serving
from tests.models.test_served_faults import check, study

from quaver.models.remote import ray_cluster

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
    assert len(ray.actors) == 4, "two at a time, whatever room there is"
    assert most_above(moments, RATE) <= 4 + JITTER
