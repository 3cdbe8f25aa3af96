"""One simulated history of a study whose models run in the workers of a cluster.

All that may happen to a study happens to the driver: kills at any line, full disks, Ctrl-C, edits, faulty
servers. Beside that, nodes and workers die, are slow, come, and are believed dead while they go on asking.
"""

from __future__ import annotations

import random
from bisect import insort
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.simulation.cluster import SimulatedRay, Worker
from tests.simulation.history import Broken, History, good_calls
from tests.simulation.server import Attempt

from quaver.collect.run.writer import Kept, Writer
from quaver.core.model import Answered
from quaver.errors import ModelError
from quaver.study.session import Study

__all__ = ["WorkerHistory"]

_TOO_MANY = 3.5
"""Calls above a model's rate that are wrong."""


class WorkerHistory(History):
    """What happens to a study on a cluster, all of it decided by a seed.

    Args:
        seed: Decides everything.
        home: An empty folder.

    Attributes:
        cluster: Where its models run.
        where: The key ``run`` of its study file.
    """

    traced = (*History.traced, "/quaver/models/remote/")
    lines = (300, 3000, 10_000, 30_000)

    def __init__(self, seed: int, home: Path) -> None:
        super().__init__(seed, home)
        chance = random.Random(seed + 4)
        self.cluster = SimulatedRay(chance, self.world.schedule)
        self._free = chance.random() < 0.4
        workers, gpus = chance.choice((None, 1, 2, 4)), chance.choice((0, 0, 0, 1))
        self.where = {"on": "ray", "workers": workers, "gpus_per_worker": gpus}
        self._rate = random.Random(seed + 5).choice((None, None, 60, 600))
        self._sent: dict[str, list[float]] = {}
        self._arrived: set[bytes] = set()
        self._by: dict[int, Worker | None] = {}
        self.server.attempts = _Attempts(self._attempted)
        self._say("cluster", rate=self.cluster.rate, free=self._free, a_minute=self._rate, **self.where)

    def _opened(self) -> Study:
        if self.folder.name == "undisturbed":
            return super()._opened()
        price = {"input": 0, "output": 0} if self._free else {"input": 1, "output": 1}
        rate = {"requests_per_minute": self._rate} if self._rate else {}
        models = [{**one, "price": price, **rate} for one in self.spec["models"]]
        return Study.open({**self.spec, "models": models, "run": self.where}, folder=self.folder)

    @contextmanager
    def _alive(self, power: bool = False) -> Iterator[None]:
        self._arrived, self._sent = set(), {}
        with self.cluster.entered(), super()._alive(power):
            yield
        self.told += [f"    {what}" for what in self.cluster.told]
        self.cluster.told.clear()
        if self.cluster.wrong:
            raise Broken("; ".join(self.cluster.wrong))

    @contextmanager
    def _taken_down(self, power: bool) -> Iterator[None]:
        with super()._taken_down(power):
            keep = Writer.keep

            def kept(writer: Writer, model: str, group: Sequence[Answered]) -> Kept:
                done = keep(writer, model, group)
                self._arrived |= {key for one in done.receipts for key in good_calls(one)}
                return done

            with patch.object(Writer, "keep", kept):
                yield

    def _check(
        self, attempts: list[Attempt], owed: set[bytes], retry: bool, ended: object, *, killed: bool
    ) -> None:
        if isinstance(ended, ModelError) and "contract" in str(ended):
            raise Broken(str(ended))
        super()._check(attempts, owed, retry, ended, killed=killed)

    def _attempted(self, attempt: Attempt) -> None:
        """A prompt has reached the server: no answer to it may have arrived."""
        worker: Any = self.world.schedule.process
        self._by[id(attempt)] = worker
        is_cut_off = worker is not None and worker.cut_off
        if not is_cut_off and self._arrived & set(attempt.keys):
            self.cluster.wrong.append(f"asked although its answer had arrived: {attempt.meant}")
        if worker is not None and not worker.cut_off and self._rate:
            self._check_rate(worker.arguments[0].identity, attempt.sent, self._rate / 60)

    def _check_rate(self, model: str, sent: float, rate: float) -> None:
        """All workers of a model keep its rate, but for a call or two."""
        times = self._sent.setdefault(model, [])
        insort(times, sent)  # one that was sent earlier may arrive later
        above, before = 0.0, times[0]
        for at in times:
            above, before = max(0.0, above - (at - before) * rate) + 1, at
            if above > _TOO_MANY:
                self.cluster.wrong.append(f"{above:.1f} calls above a rate of {60 * rate:g} a minute")
                break

    def _is_known(self, attempt: Attempt) -> bool:
        """What a lost worker had asked is lost with it."""
        worker = self._by[id(attempt)]
        return worker is None or worker.lost > self.world.schedule.now

    def _at_once(self) -> int:
        return max(super()._at_once(), self.cluster.most_out)


class _Attempts(list[Attempt]):
    """Says so when one is added."""

    def __init__(self, added: Any) -> None:
        super().__init__()
        self._added = added

    def append(self, one: Attempt) -> None:
        """Add one."""
        self._added(one)
        super().append(one)
