"""Ray workers from end to end, on a Ray of threads: models are kept busy, and what they answered is kept."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.collect.fakes import Fake, request
from tests.models.remote.thread_ray import ThreadRay
from tests.models.serving import serving
from tests.models.test_served_faults import study

from quaver.core.model import Answered
from quaver.core.records import Request, Response
from quaver.errors import ModelError
from quaver.models.remote.ray_cluster import Cluster
from quaver.models.remote.remote_model import RemoteModel
from quaver.models.remote.remote_worker import Setup


class Batching(Fake):
    """Takes a moment for up to 32 requests together, like an engine that batches; notes how many it had."""

    def __init__(self) -> None:
        super().__init__(lambda request, call: Response(f"{call.item}"))
        self.at_once: list[int] = []

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        source, batch = iter(requests), list[tuple[int, Request]]()
        for step in range(10**9):
            batch += [(step + 10, one) for one in islice(source, 32 - len(batch))]
            if not batch:
                return
            self.at_once.append(len(batch))
            time.sleep(0.005)
            for due, one in list(batch):
                if due <= step:
                    batch.remove((due, one))
                    yield one, [Response(f"{one.calls[0].item}")]


@pytest.mark.long
def test_a_model_that_batches_is_not_emptied_between_groups() -> None:
    models: list[Batching] = []

    def make() -> Batching:
        models.append(Batching())
        return models[-1]

    with ThreadRay(1).entered():
        asked = RemoteModel(make(), Setup(make), Cluster(None, 1, 0))
        found = list(asked.answer(request(item) for item in range(1500)))
        asked.close()
    assert sorted(int(responses[0].text) for _, responses in found) == list(range(1500))
    steps = models[1].at_once
    steady = steps[len(steps) // 3 : -12]  # without the time in which the driver learns how many it works on
    assert sum(steady) >= 0.9 * 32 * len(steady)


def test_what_was_answered_is_kept_when_the_server_rejects_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "sk-right-0123456789")
    with ThreadRay(3).entered(), serving(key="sk-right-0123456789", latency=0.02) as (url, server):
        asked = study(tmp_path, url, items=300, key="OTHER_API_KEY")

        def revoke(watched: Any) -> None:
            if watched.done:
                server.key = "sk-other-0123456789"

        with pytest.raises(ModelError, match="the server rejects the key"):
            asked.run(where={"on": "ray"}, watch=revoke)
        known = len(server.good)
    with sqlite3.connect(tmp_path / "study" / "responses.db") as db:
        stored = db.execute("SELECT count(*) FROM responses").fetchone()[0]
    assert known > 10
    assert stored >= known - 1  # but the probe's
