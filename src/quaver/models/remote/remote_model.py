"""A model asked in other processes: the workers of a Ray cluster (``run: {on: ray}``).

The process that runs the study decides, budgets and stores: to its runner this is one model.
Requests go to workers in groups, in the order of work, so that prompts that share a prefix stay together. A
group of a worker that is lost, with its node or without, is asked again elsewhere.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from quaver.core.batch import Batched
from quaver.core.meter import Metered
from quaver.core.model import Answered, Keyed, Model, Needs, Placed, Probed, Spread
from quaver.core.records import Condition, Message, Request, Response
from quaver.core.response_validation import error_response
from quaver.errors import ModelError, QuaverError
from quaver.models.remote.ray_cluster import Cluster
from quaver.models.remote.remote_worker import Place, RemoteWorker, Setup, packed_requests, unpacked_answers

_AHEAD, _EACH = 0.4, 0.005
"""Seconds for which a worker has requests ahead of its model, which then always has something to draw; at
least this long for each worker that there is, since each asks for more several times in this time."""
_WINDOW = 0.2
"""Seconds over which a worker's answers are counted."""
_PORTION, _MOST = 4, 512
"""A worker gets a share of the requests that it should have at a time, but no more than these. With short
prompts they are less than 100 kB; Ray keeps what is larger in its object store, which takes twice as long."""
_TRIES, _ALONE = 10, 2
"""Workers that a request may take with it before it is taken for the cause, and before it is sent alone."""
_DEATHS = 30
"""Workers lost in a row, without an answer in between, after which the model is given up."""


@dataclass(eq=False)
class _Group:
    """Requests that were sent to a worker together.

    Attributes:
        requests: They.
        left: How many of them have no answer.
    """

    requests: list[Request]
    left: int = 0

    def __post_init__(self) -> None:
        self.left = len(self.requests)


@dataclass(eq=False)
class _Worker:
    """What the driver knows of a worker.

    Attributes:
        handle: The cluster's handle.
        groups: What it has been asked.
        rate: Answers a second.
        answered: Answers that do not count in it yet.
        since: From when on they came; later by the time in which it had nothing to do.
        idle: Since when it has had nothing to do, if it has not.
        starting: What arrives once it can be asked; None afterwards.
    """

    handle: Any
    groups: dict[Any, _Group] = field(default_factory=dict)
    rate: float = 0.0
    answered: int = 0
    since: float = 0.0
    idle: float = 0.0
    starting: Any = None

    @property
    def out(self) -> int:
        """How many requests it has."""
        return sum(group.left for group in self.groups.values())

    def learn(self, answers: int) -> None:
        """Note that answers have come."""
        now = time.monotonic()
        self.answered += answers
        if not self.rate or now - self.since >= _WINDOW:
            rate = self.answered / max(1e-3, now - self.since)
            self.rate = (self.rate + rate) / 2 if self.rate else rate
            self.answered, self.since = 0, now


class RemoteModel:
    """A model whose requests are answered by Ray workers.

    Args:
        model: The same model in this process, which is never asked anything.
        setup: How a worker makes it.
        cluster: Where workers run.
    """

    def __init__(self, model: Model, setup: Setup, cluster: Cluster) -> None:
        self._model, self._setup, self._cluster = model, setup, cluster
        self.abilities = model.abilities
        self._workers: list[_Worker] = []
        self._lost: deque[Request] = deque()
        self._tries: dict[bytes, int] = {}
        self._open: dict[int, Request] = {}
        self._deaths = 0
        self._failed: QuaverError | None = None
        self._asking = threading.Lock()
        cluster.spare = self._spare
        if isinstance(model, Metered):
            self.meter = model.meter
        if isinstance(model, Probed):
            self.probe = self._probe
        if isinstance(model, Placed):
            self.place = self._place
        if isinstance(model, Batched):
            self.batches = model.batches
        if isinstance(model, Keyed):
            self.check_key = model.check_key

    def identity(self) -> str:
        """The model's own: where it runs changes no answer."""
        return self._model.identity()

    def provenance(self) -> Mapping[str, Any]:
        """The model's own, and that Ray ran it."""
        return {**self._model.provenance(), "on": self._cluster.described()}

    def prepare(self, repeats: int) -> None:
        """Have workers get ready for requests of up to ``repeats`` calls."""
        self._setup = self._setup._replace(repeats=repeats)

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """As the model counts them in this process."""
        return self._model.count_tokens(prompts)

    def close(self) -> None:
        """End the workers."""
        self._end_workers()
        self._model.close()

    def _spare(self) -> None:
        """Give the workers' room to another model; they start again when there is something to ask."""
        if self._asking.acquire(blocking=False):
            self._end_workers()
            self._asking.release()

    def _end_workers(self) -> None:
        """End the workers, with whatever they were asked."""
        for worker in self._workers:
            self._cluster.end(worker.handle)
        for left in (self._workers, self._open, self._lost, self._tries):
            left.clear()

    def _probe(self, needs: Needs) -> None:
        assert isinstance(self._model, Probed)
        self._model.probe(needs)
        found = self._model.found if isinstance(self._model, Spread) else None
        self._setup = self._setup._replace(needs=needs, found=found)

    def _place(self, conditions: Sequence[Condition], items: Sequence[str]) -> None:
        assert isinstance(self._model, Placed)
        self._model.place(conditions, items)
        self._setup = self._setup._replace(place=(tuple(conditions), tuple(items)))

    # ---------------------------------------------------------------------------------- asking

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer requests in whatever worker is free."""
        for group in self.checked_groups(requests):
            yield from group

    def checked_groups(self, requests: Iterable[Request]) -> Iterator[Sequence[Answered]]:
        """The same, as many at a time as arrive together; their worker has checked them."""
        source = iter(requests)
        first = next(source, None)
        if first is None:
            return
        self._failed = None
        with self._asking:
            try:
                yield from self._answers(chain([first], source))
            finally:
                if self._open:  # whoever asked went away
                    self._end_workers()
        if self._failed is not None:
            raise self._failed

    def _answers(self, source: Iterator[Request]) -> Iterator[Sequence[Answered]]:
        drained, looked, begun = False, 0.0, time.monotonic()
        while not drained or self._open:
            if time.monotonic() - looked > self._cluster.every:
                self._match_the_cluster()
                looked = time.monotonic()
            if given_up := [*self._given_up()]:
                yield given_up
            drained = self._failed is not None or self._fill(source, drained)
            yield from self._collect()
            if all(worker.starting is not None for worker in self._workers):
                self._cluster.check_patience(time.monotonic() - begun)
            else:
                begun = time.monotonic()

    def _match_the_cluster(self) -> None:
        """As many workers as are wanted and fit, more where nodes have come."""
        if self._workers and all(worker.starting is not None for worker in self._workers):
            self._cluster.make_room()
        for _ in range(self._wanted() - len(self._workers)):
            handle = self._cluster.start(RemoteWorker, self._setup)
            self._workers.append(_Worker(handle, starting=handle.starting))

    def _wanted(self) -> int:
        """How many workers there should be now; those that keep a rate together are as many as at first."""
        wanted = self._cluster.wanted()
        if isinstance(self._model, Spread) and self._model.is_rated:
            self._setup = self._setup._replace(share=self._setup.share or 1 / wanted)
            return min(wanted, round(1 / self._setup.share))
        return wanted

    def _fill(self, source: Iterator[Request], drained: bool) -> bool:
        """Send groups until every worker has enough; whether there is nothing more to draw."""
        sent = True
        while sent:
            sent = False
            for worker in self._workers:
                if worker.starting is None and (size := self._size_for(worker)):
                    group, drained = self._group_of(size, source, drained)
                    if group:
                        self._send(worker, group)
                        sent = True
        return drained

    def _size_for(self, worker: _Worker) -> int:
        """How many requests a worker may be sent now."""
        seconds = max(_AHEAD, _EACH * len(self._workers))
        room = self._cluster.room(worker.handle, worker.rate * seconds)
        portion = max(1, min(_MOST, room // _PORTION))
        return portion if room - worker.out >= portion else 0

    def _group_of(self, size: int, source: Iterator[Request], drained: bool) -> tuple[list[Request], bool]:
        """The next requests, and whether there is nothing more to draw."""
        group: list[Request] = []
        while len(group) < size and (request := self._kept()) is not None:
            group.append(request)
            if self._tries.get(request.calls[0].key, 0) >= _ALONE:
                return group, drained
        if len(group) < size and not drained:
            requests = list(islice(source, size - len(group)))
            drained = len(requests) < size - len(group)
            self._open.update(zip(map(id, requests), requests, strict=True))
            group += requests
        return group, drained

    def _kept(self) -> Request | None:
        """A request that was lost with a worker."""
        while self._lost:
            request = self._lost.popleft()
            if id(request) in self._open:
                return request
        return None

    def _send(self, worker: _Worker, requests: list[Request]) -> None:
        if not worker.groups:  # a fast one has nothing to do again and again, and is not slow for it
            worker.since += time.monotonic() - worker.idle
        ref = worker.handle.ask(packed_requests(requests))
        worker.groups[ref] = _Group(requests)

    def _collect(self) -> Iterator[Sequence[Answered]]:
        """Wait a moment, and take what has arrived."""
        waiting = {ref: worker for worker in self._workers for ref in worker.groups}
        waiting |= {worker.starting: worker for worker in self._workers if worker.starting is not None}
        count: dict[_Worker, int] = defaultdict(int)
        for ref in self._cluster.arrived(list(waiting)):
            worker = waiting[ref]
            if worker not in self._workers:
                continue
            try:
                returned = self._cluster.got(ref)
            except self._cluster.losses as error:
                self._lose(worker, error)
                continue
            except QuaverError as error:
                self._fail(worker, error)
                continue
            if ref is worker.starting:
                worker.starting = None
                continue
            packed, traffic = returned
            if isinstance(self._model, Metered):
                self._model.meter.count(traffic)
            self._deaths = 0
            answers, group = unpacked_answers(packed), worker.groups[ref]
            yield self._accepted(group, answers)
            if group.left <= 0:
                del worker.groups[ref]
                worker.idle = time.monotonic()
            count[worker] += len(answers)
        for worker, answered in count.items():
            worker.learn(answered)

    def _accepted(self, group: _Group, answers: Sequence[tuple[Place, list[Response]]]) -> list[Answered]:
        """The answers that are the first to their requests."""
        requests, waiting = group.requests, self._open
        whole = [(requests[index], some) for index, some in answers if isinstance(index, int)]
        result = [one for one in whole if waiting.pop(id(one[0]), None) is not None]
        group.left -= len(whole)
        if self._tries:
            for request, _ in result:
                self._tries.pop(request.calls[0].key, None)
        if len(whole) < len(answers):  # the worker's model fails, and gives what it has
            parts = [(*place, some) for place, some in answers if not isinstance(place, int)]
            for position, first, calls, responses in parts:
                request = requests[position]
                if id(request) in waiting:
                    result.append((request.part(request.calls[first : first + calls]), responses))
        return result

    def _lose(self, worker: _Worker, error: BaseException) -> None:
        """A worker is gone: what it had is asked elsewhere, and another takes its place."""
        self._workers.remove(worker)
        self._cluster.end(worker.handle)
        for request in [one for group in worker.groups.values() for one in group.requests]:
            if id(request) in self._open:
                self._lost.append(request)
                key = request.calls[0].key
                self._tries[key] = self._tries.get(key, 0) + 1
        self._deaths += 1
        if self._deaths >= _DEATHS:
            raise ModelError(
                f"{self._deaths} workers died in a row",
                where=self.identity(),
                found=str(error).strip().splitlines()[0][:300],
                fix="look at Ray's logs (`ray logs`); if memory is short, start fewer of them",
            )
        self._match_the_cluster()

    def _fail(self, worker: _Worker, error: QuaverError) -> None:
        """A worker cannot go on, and no other could: nothing more is sent, and what is in flight is taken."""
        self._failed = self._failed or error
        self._workers.remove(worker)
        self._cluster.end(worker.handle)
        for request in [*self._lost, *(one for group in worker.groups.values() for one in group.requests)]:
            self._open.pop(id(request), None)

    def _given_up(self) -> Iterator[Answered]:
        """Error responses to requests that keep taking workers with them."""
        for request in [one for one in self._lost if self._tries.get(one.calls[0].key, 0) >= _TRIES]:
            self._lost.remove(request)
            if self._open.pop(id(request), None) is not None:
                why = f"the Ray worker that was to answer this died {_TRIES} times"
                yield request, [error_response(why)] * len(request.calls)
