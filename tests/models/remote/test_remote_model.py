"""The driver's side of Ray workers, on a cluster that is made of chance: workers are slow, and die."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.collect.fakes import Fake, fake, request
from tests.studies import written

from quaver.collect.run.model_answers import taken
from quaver.core.meter import NO_TRAFFIC
from quaver.core.model import Abilities, Answered
from quaver.core.records import Request, Response
from quaver.errors import ModelError, SpecError, Unavailable
from quaver.models.remote import remote_model
from quaver.models.remote.remote_model import RemoteModel
from quaver.models.remote.remote_worker import (
    RemoteWorker,
    Setup,
    packed_answers,
    packed_requests,
    unpacked_answers,
    unpacked_requests,
)
from quaver.study.session import Study


class Lost(Exception):
    """A worker is gone."""


class _Handle:
    def __init__(self, cluster: ChanceCluster, number: int) -> None:
        self.cluster, self.number = cluster, number
        self.starting = self._asked("ready")

    def ask(self, packed: bytes) -> object:
        return self._asked("ask", packed)

    def _asked(self, name: str, *arguments: Any) -> object:
        ref = object()
        self.cluster.tasks[ref] = (self, name, arguments)
        return ref


class ChanceCluster:
    """Stands in for Ray: what arrives, and which worker dies, is drawn."""

    losses = (Lost,)
    every = 0.0

    def __init__(self, workers: int, seed: int, *, deaths: int = 0, slow: int = -1) -> None:
        self.tasks: dict[object, tuple[_Handle, str, tuple[Any, ...]]] = {}
        self.asked: list[tuple[int, Request]] = []
        self.deaths, self._workers, self._slow = deaths, workers, slow
        self._chance, self._made = random.Random(seed), 0
        self._dead: set[int] = set()

    def described(self) -> str:
        return "chance"

    def wanted(self) -> int:
        return self._workers

    def room(self, worker: _Handle, ahead: float) -> int:
        return max(3, min(40, int(ahead)))

    def start(self, kind: type, *arguments: Any) -> _Handle:
        assert kind is RemoteWorker
        self._made += 1
        return _Handle(self, self._made - 1)

    def end(self, worker: _Handle) -> None:
        self._dead.add(worker.number)

    def check_patience(self, seconds: float) -> None: ...

    def make_room(self) -> None: ...

    def arrived(self, refs: list[object]) -> list[object]:
        if self.deaths and self._chance.random() < 0.2:
            alive = [n for n in range(self._made) if n not in self._dead]
            self._dead.add(self._chance.choice(alive))
            self.deaths -= 1
        able = [ref for ref in refs if self.tasks[ref][0].number != self._slow or self._is_dead(ref)]
        return self._chance.sample(able, min(len(able), self._chance.randint(1, 3)))

    def _is_dead(self, ref: object) -> bool:
        return self.tasks[ref][0].number in self._dead

    def got(self, ref: object) -> Any:
        handle, name, arguments = self.tasks.pop(ref)
        if handle.number in self._dead:
            raise Lost("the node died")
        if name == "ready":
            return True
        group = unpacked_requests(arguments[0])
        self.asked += [(handle.number, one) for one in group]
        answers = [(at, [Response(f"{c.item}.{c.repeat}") for c in r.calls]) for at, r in enumerate(group)]
        self._chance.shuffle(answers)
        return packed_answers(answers), NO_TRAFFIC


def spread(cluster: ChanceCluster) -> RemoteModel:
    return RemoteModel(fake(), Setup(fake), cluster)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_every_request_has_one_answer_however_workers_die(seed: int) -> None:
    cluster = ChanceCluster(3, seed, deaths=6)
    asked = [request(item, range(2)) for item in range(60)]
    found = list(spread(cluster).answer(iter(asked)))
    assert Counter(one.calls[0].key for one, _ in found) == Counter(one.calls[0].key for one in asked)
    for one, responses in found:
        assert [r.text for r in responses] == [f"{call.item}.{call.repeat}" for call in one.calls]


def test_nodes_that_join_get_workers() -> None:
    cluster = ChanceCluster(1, 8)
    answers = spread(cluster).answer(request(item) for item in range(120))
    next(answers)
    cluster._workers = 4
    for _ in range(40):
        next(answers)
    assert cluster._made == 4
    assert len(list(answers)) == 120 - 41


def test_without_a_death_nothing_is_asked_twice() -> None:
    cluster = ChanceCluster(4, 1)
    list(spread(cluster).answer(request(item) for item in range(200)))
    assert len(cluster.asked) == 200


def test_a_request_that_kills_every_worker_becomes_an_error() -> None:
    class Poisoned(ChanceCluster):
        def got(self, ref: object) -> Any:
            _, name, arguments = self.tasks[ref]
            if name == "ask" and any(one.calls[0].item == 7 for one in unpacked_requests(arguments[0])):
                self._dead.add(self.tasks[ref][0].number)
            return super().got(ref)

    found = dict(_by_item(spread(Poisoned(3, 4)).answer(request(item) for item in range(20))))
    assert len(found) == 20
    assert [item for item, response in found.items() if response.finish == "error"] == [7]


def _by_item(found: Iterable[Answered]) -> Iterator[tuple[int, Response]]:
    for one, responses in found:
        yield one.calls[0].item, responses[0]


def test_what_was_out_when_the_cluster_failed_is_not_waited_for() -> None:
    class Failing(ChanceCluster):
        looks = 0

        def arrived(self, refs: list[object]) -> list[object]:
            self.looks += 1
            if self.looks == 5:
                raise RuntimeError("the connection to the cluster broke")
            return super().arrived(refs)

    asked = [request(item) for item in range(60)]
    found = list(taken(spread(Failing(2, 7)), asked))
    assert Counter(one.calls[0].key for one, _ in found) == Counter(one.calls[0].key for one in asked)
    failed = [responses[0].error for _, responses in found if responses[0].finish == "error"]
    assert failed
    assert all("broke" in str(one) for one in failed)


def test_workers_that_only_die_give_the_model_up() -> None:
    cluster = ChanceCluster(2, 5)
    cluster.end = lambda worker: None  # type: ignore[method-assign]
    cluster._dead = set(range(10_000))
    with pytest.raises(ModelError, match="died"):
        list(spread(cluster).answer([request(0)]))


def test_answers_that_arrive_together_are_no_sign_of_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [50.0]
    monkeypatch.setattr(remote_model.time, "monotonic", lambda: now[0])
    worker = remote_model._Worker(None)
    worker.since = now[0]
    for wait in (0.1, 0.002, 0.098, 0.2) * 20:  # twenty answers a second, some of them late
        now[0] += wait
        worker.learn({0.1: 2, 0.002: 1, 0.098: 1, 0.2: 4}[wait])
        assert 15 <= worker.rate <= 25


def test_a_worker_that_waits_for_work_is_not_taken_for_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [50.0]
    monkeypatch.setattr(remote_model.time, "monotonic", lambda: now[0])
    cluster = ChanceCluster(1, 0)
    handle = cluster.start(RemoteWorker, Setup(fake))
    asked, worker = spread(cluster), remote_model._Worker(handle)
    for item in range(1000):  # each answer but the first takes 10 ms, and the next request comes 90 ms later
        now[0] += 0.09
        asked._send(worker, [request(item)])
        now[0] += 0.01 if item else 1.0
        worker.groups.clear()
        worker.idle = now[0]
        worker.learn(1)
    assert 80 <= worker.rate <= 120


def test_no_more_is_drawn_than_workers_have_room_for() -> None:
    cluster = ChanceCluster(2, 6)
    drawn: list[int] = []

    def some() -> Iterator[Request]:
        for item in range(10_000):
            drawn.append(item)
            yield request(item)

    answers = spread(cluster).answer(some())
    for _ in range(5):
        next(answers)
    assert len(drawn) < 5 + 2 * 40


def collected(worker: RemoteWorker, count: int) -> dict[tuple[int, Any], str]:
    """What a worker answers, by the group's number and the place in it, until so much has come."""
    found: dict[tuple[int, Any], str] = {}
    while len(found) < count:
        for number, packed, _ in worker.collect(0.05).answers:
            found |= {(number, at): responses[0].text for at, responses in unpacked_answers(packed)}
    return found


def test_a_worker_asks_its_model_what_several_groups_bring() -> None:
    worker = RemoteWorker(Setup(fake, "fake"))
    worker.ready()
    for number in range(2):
        worker.take(number, packed_requests([request(item) for item in range(5)]))
    assert collected(worker, 10) == {(group, n): f"{n}.0" for group in range(2) for n in range(5)}


def test_what_a_model_left_of_a_group_it_is_asked_again() -> None:
    class Leaving(Fake):
        def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
            for one in islice(requests, 2):
                yield one, [Response(f"{one.calls[0].item}.0")]

    worker = RemoteWorker(Setup(lambda: Leaving(lambda r, c: Response(""))))
    worker.ready()
    for number in range(2):
        worker.take(number, packed_requests([request(item) for item in range(5)]))
    assert collected(worker, 10) == {(group, n): f"{n}.0" for group in range(2) for n in range(5)}


class Batching(Fake):
    """Works on up to eight requests at a time, and notes how many it has."""

    def __init__(self) -> None:
        super().__init__(lambda request, call: Response(f"{call.item}"))
        self.at_once: list[int] = []

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        source, batch = iter(requests), list[Request]()
        while True:
            batch += islice(source, 8 - len(batch))
            if not batch:
                return
            self.at_once.append(len(batch))
            time.sleep(0.002)
            one = batch.pop(0)
            yield one, [Response(f"{one.calls[0].item}")]


def test_a_model_that_works_on_many_is_fed_while_it_works() -> None:
    model = Batching()
    worker = RemoteWorker(Setup(lambda: model))
    worker.ready()
    asked, found = 0, 0
    for number in range(2):
        worker.take(number, packed_requests([request(item) for item in range(4)]))
        asked += 4
    while found < 200:
        came = worker.collect(0.05)
        found += sum(len(unpacked_answers(packed)) for _, packed, _ in came.answers)
        while asked < 200 and asked - found < came.held + 8:
            number += 1
            worker.take(number, packed_requests([request(asked + item) for item in range(4)]))
            asked += 4
    steady = model.at_once[8:-8]
    assert sum(one == 8 for one in steady) > 0.9 * len(steady)  # it was not emptied between groups


def test_a_model_that_would_take_more_says_so() -> None:
    worker = RemoteWorker(Setup(Batching))
    worker.ready()
    worker.take(0, packed_requests([request(item) for item in range(3)]))
    came = [worker.collect(0.05) for _ in range(2)]
    assert any(one.hungry for one in came)
    assert max(one.held for one in came) == 3


def test_what_was_answered_before_the_model_failed_is_handed_over_first() -> None:
    class Failing(Fake):
        def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
            source = iter(requests)
            whole = next(source)
            yield whole, [Response("yes")] * 2
            half = next(source)
            yield half.part(half.calls[:1]), [Response("no")]
            raise ModelError("no memory")

    worker = RemoteWorker(Setup(lambda: Failing(lambda r, c: Response(""))))
    worker.ready()
    worker.take(4, packed_requests([request(item, range(2)) for item in range(3)]))
    assert collected(worker, 2) == {(4, 0): "yes", (4, (1, 0, 1)): "no"}
    with pytest.raises(ModelError, match="no memory"):
        worker.collect(0.05)


def test_another_model_than_the_drivers_is_an_error() -> None:
    with pytest.raises(ModelError, match="another model"):
        RemoteWorker(Setup(fake, "another")).ready()


def test_another_quaver_than_the_drivers_is_an_error() -> None:
    with pytest.raises(ModelError, match="another version of Quaver"):
        RemoteWorker(Setup(fake, "fake")._replace(version="0.0.1")).ready()


def test_a_model_that_cannot_go_on_says_so_to_who_waits() -> None:
    class Broken(Fake):
        abilities = Abilities()

        def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
            next(iter(requests))
            raise ModelError("no memory")

    worker = RemoteWorker(Setup(lambda: Broken(lambda r, c: Response(""))))
    worker.ready()
    worker.take(0, packed_requests([request(0)]))
    with pytest.raises(ModelError, match="no memory"):
        worker.collect(0.05)


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_with_ray_missing_the_one_error_says_how_to_get_it(tmp_path: Path) -> None:
    study = Study.open(written(tmp_path), functions={"fake": lambda text, prompt: "positive"})
    with pytest.raises(Unavailable, match="ray is not installed") as found:
        study.run(where={"on": "ray"})
    assert "quaver[ray]" in str(found.value.fix)


def test_where_models_are_asked_is_checked_like_the_study_file(tmp_path: Path) -> None:
    study = Study.open(written(tmp_path), functions={"fake": lambda text, prompt: "positive"})
    with pytest.raises(SpecError, match="on"):
        study.run(where={"on": "mars"})


def test_nothing_of_ray_is_imported_without_being_asked_for() -> None:
    look = (
        "import sys, quaver, quaver.cli.main, quaver.study.collection.study_run; print('ray' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
