"""A simulated Ray: nodes come and go, workers die, are slow, or live on where they are believed dead.

It stands where the module ``ray`` is, so that all of Quaver's own code runs: what joins a cluster, what hands
out requests, and what answers them in a worker. Each worker's threads take turns with the driver's.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tests.ray_module import Gone, Raised, ray_module
from tests.simulation.schedule import Killed, Schedule

from quaver.core.records import Request
from quaver.errors import ModelError
from quaver.models.remote.remote_worker import Came, unpacked_answers, unpacked_requests

__all__ = ["SimulatedRay", "Worker"]

_HANGS = 1200.0
"""Seconds without any news after which a run will not end by itself."""
_SETTLED = 15.0
"""Seconds after which workers fit the nodes that are there."""
_MOST_NODES = 4
_MISHAPS = ("worker dies", "node dies", "node is cut off", "worker is slow", "node joins", "node joins")


@dataclass(eq=False)
class _Node:
    """A machine with room for workers."""

    room: dict[str, float]
    cut_off: bool = False


@dataclass(eq=False)
class Worker:
    """A process on a node, or one that waits for room.

    Attributes:
        lost: From when on the driver believes it dead.
        cut_off: It lives on, but nobody hears of it.
    """

    kind: type
    arguments: tuple[Any, ...]
    needs: dict[str, float]
    node: _Node | None = None
    made: Any = None
    lost: float = math.inf
    cut_off: bool = False
    ended: bool = False
    slow: float = 0.0
    waiting: list[_Task] = field(default_factory=list)


@dataclass(eq=False)
class _Task:
    """A method that a worker was asked to run, and what became of it."""

    worker: Worker
    name: str
    arguments: tuple[Any, ...]
    done: float = math.inf
    value: Any = None
    raised: Raised | None = None


class SimulatedRay:
    """A cluster that obeys a schedule.

    Args:
        draw: Decides what happens.
        schedule: Whose turn it is, and what time.

    Attributes:
        rate: How likely something happens whenever the driver waits.
        told: What happened.
        wrong: What must not happen and did.
        most_out: The most requests that workers held at a time.
    """

    def __init__(self, draw: random.Random, schedule: Schedule) -> None:
        self._draw, self._schedule = draw, schedule
        self.rate = draw.choice((0.0, 0.02, 0.1, 0.2))
        self.nodes = [_Node({"CPU": 2.0, "GPU": 1.0}), *(self._node() for _ in range(draw.randint(0, 2)))]
        self.workers: list[Worker] = []
        self.told: list[str] = []
        self.wrong: list[str] = []
        self.most_out = 0
        self._out: dict[tuple[Worker, int], list[Request]] = {}
        self._answered: dict[bytes, Worker] = {}
        self._news = self._changed = schedule.now

    def _node(self) -> _Node:  # beside the first one, which stays
        return _Node({"CPU": float(self._draw.randint(1, 3)), "GPU": float(self._draw.randint(0, 2))})

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Stand where Ray is; all workers end with the driver."""
        self._news = self._changed = self._schedule.now
        self.workers = []
        self._out.clear()
        with ray_module(
            cluster_resources=self._resources,
            cloudpickle=SimpleNamespace(register_pickle_by_value=lambda module: None),
            remote=lambda kind: _Kind(self, kind),
            kill=self._kill,
            wait=self._wait,
            get=self._get,
        ):
            yield

    # ------------------------------------------------------------------ what the driver does

    def started(self, worker: Worker) -> None:
        """A worker is wanted; it runs as soon as a node has room."""
        self.workers.append(worker)
        self._place()

    def asked(self, task: _Task) -> None:
        """A worker is to run a method."""
        if task.name == "take":
            number, packed = task.arguments
            self._out[task.worker, number] = unpacked_requests(packed)
            self.most_out = max(self.most_out, sum(map(len, self._out.values())))
        if task.worker.node is None:
            task.worker.waiting.append(task)
        else:
            self._run(task)

    def _kill(self, handle: _Handle, no_restart: bool) -> None:
        assert no_restart
        worker = handle.worker
        worker.lost = min(worker.lost, self._schedule.now)
        self._forget(worker)
        if not worker.cut_off:  # what is cut off hears of nothing
            self._end(worker)
        self._place()

    def _wait(
        self, refs: Sequence[_Task], num_returns: int, timeout: float
    ) -> tuple[list[_Task], list[_Task]]:
        if self._schedule.now - self._news > _HANGS:
            self.wrong.append("the run hangs")
            raise ModelError("the run hangs")
        if self._draw.random() < self.rate:
            self._happens(self._draw.choice(_MISHAPS))
        self._check_growth()
        self._schedule.wait(lambda: any(self._is_over(ref) for ref in refs), timeout)
        over = [ref for ref in refs if self._is_over(ref)]
        found = self._draw.sample(over, min(num_returns, len(over)))
        return found, [ref for ref in refs if ref not in found]

    def _is_over(self, task: _Task) -> bool:
        return min(task.done, task.worker.lost) <= self._schedule.now

    def _get(self, task: _Task) -> Any:
        if task.worker.lost <= self._schedule.now:
            self._forget(task.worker)
            raise Gone("the worker died")
        self._news = self._schedule.now
        if task.raised is not None:
            raise task.raised
        if isinstance(task.value, Came):
            self._note(task.worker, task.value)
        return task.value

    def _forget(self, worker: Worker) -> None:
        """What a worker had is out no more."""
        self._out = {asked: some for asked, some in self._out.items() if asked[0] is not worker}

    def _note(self, worker: Worker, came: Came) -> None:
        """Keep in mind who answered what."""
        for number, packed, over in came.answers:
            asked = self._out[worker, number]
            places = [place for place, _ in unpacked_answers(packed) if isinstance(place, int)]
            self._answered |= {call.key: worker for place in places for call in asked[place].calls}
            if over:
                del self._out[worker, number]

    def _resources(self) -> dict[str, float]:
        return {name: sum(node.room[name] for node in self.nodes) for name in ("CPU", "GPU")}

    # ------------------------------------------------------------------ what workers do

    def _place(self) -> None:
        """Start the workers that wait for room where there is some."""
        for worker in self.workers:
            if worker.node is None and not worker.ended:
                fit = [node for node in self.nodes if self._fits(worker, node)]
                if fit:
                    worker.node = self._draw.choice(fit)
                    worker.made = worker.kind(*worker.arguments)
                    waiting, worker.waiting = worker.waiting, []
                    for task in waiting:
                        self._run(task)

    def _fits(self, worker: Worker, node: _Node) -> bool:
        used = [one.needs for one in self.workers if one.node is node and not one.ended]
        return all(
            sum(one.get(name, 0.0) for one in used) + need <= node.room[name]
            for name, need in worker.needs.items()
        )

    def _run(self, task: _Task) -> None:
        starting = self._draw.uniform(0.0, 20.0) if task.name == "ready" else 0.0

        def running() -> None:
            self._schedule.sleep(starting + self._draw.choice((0.0, 0.0, task.worker.slow)))
            try:
                task.value = getattr(task.worker.made, task.name)(*task.arguments)
            except Killed:
                raise
            except BaseException as error:
                task.raised = Raised(error)
            if task.worker.ended:
                raise Killed
            task.done = self._schedule.now + self._draw.choice((0.0, 0.0, 0.01, task.worker.slow))

        thread = threading.Thread(target=running, name=f"worker {task.name}", daemon=True)
        self._schedule.start(thread, process=task.worker)

    # ------------------------------------------------------------------ what happens to them

    def _happens(self, what: str) -> None:
        alive = [one for one in self.workers if one.node is not None and one.lost == math.inf]
        if what == "node joins" or (len(self.nodes) == 1 and what.startswith("node")):
            if len(self.nodes) == _MOST_NODES:
                return
            self.nodes.append(self._node())
            what = "node joins"
        elif not alive:
            return
        elif what.startswith("node"):
            node = self._draw.choice(self.nodes[1:])
            self.nodes.remove(node)
            for one in alive:
                if one.node is node:
                    self._lose(one, cut_off="cut" in what)
        else:
            one = self._draw.choice(alive)
            if what == "worker is slow":
                one.slow = self._draw.uniform(1.0, 60.0)
            else:
                self._lose(one, cut_off=False)
        self.told.append(what)
        self._changed = self._schedule.now
        self._place()

    def _lose(self, worker: Worker, cut_off: bool) -> None:
        worker.lost = self._schedule.now + self._draw.choice((0.0, 1.0, 20.0))
        worker.cut_off = cut_off
        if not cut_off:
            self._end(worker)

    def _end(self, worker: Worker) -> None:
        worker.ended = True
        self._schedule.end(worker)

    def _check_growth(self) -> None:
        """Where no number of workers is given, there are soon as many as there is room for."""
        counted = [one for one in self.workers if one.needs.get("CPU") and one.lost == math.inf]
        if not counted or self._schedule.now - self._changed < _SETTLED:
            return
        room = self._resources()["GPU" if "GPU" in counted[0].needs else "CPU"]
        if len(counted) < room:
            self.wrong.append(f"{len(counted)} workers where {room:g} have room")


class _Kind:
    """What ``ray.remote`` makes of a class."""

    def __init__(self, cluster: SimulatedRay, kind: type) -> None:
        self._cluster, self._kind, self._needs = cluster, kind, dict[str, float]()

    def options(self, *, num_cpus: float, num_gpus: float, **_: Any) -> _Kind:
        """What a worker needs of its node."""
        wanted = {"CPU": float(num_cpus), "GPU": float(num_gpus)}
        self._needs = {name: need for name, need in wanted.items() if need}
        return self

    def remote(self, *arguments: Any) -> _Handle:
        """Start one."""
        worker = Worker(self._kind, arguments, self._needs)
        self._cluster.started(worker)
        return _Handle(self._cluster, worker)


class _Handle:
    """The driver's view of a worker."""

    def __init__(self, cluster: SimulatedRay, worker: Worker) -> None:
        self.cluster, self.worker = cluster, worker

    def __getattr__(self, name: str) -> Any:
        def remote(*arguments: Any) -> _Task:
            task = _Task(self.worker, name, arguments)
            self.cluster.asked(task)
            return task

        return SimpleNamespace(remote=remote)
