"""Where Ray workers run: the connection to a cluster, how many workers fit, and how they are lost."""

from __future__ import annotations

import inspect
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal

from quaver.core.meter import NO_TRAFFIC
from quaver.errors import ModelError, QuaverError, Unavailable
from quaver.models.local.extras import require
from quaver.models.remote.remote_worker import Came, Setup


class Arrivals:
    """Values and errors, each for something that was asked; several may come for the same.

    They are taken in the order in which they came: a worker's error comes after all that it answered.
    """

    def __init__(self) -> None:
        self._came: deque[tuple[object, Any]] = deque()

    def add(self, refs: Iterable[object], value: Any) -> None:
        """Something came for each of these; an exception will be raised."""
        self._came.extend((ref, value) for ref in refs)

    def among(self, refs: Sequence[object]) -> list[object]:
        """Those for which something is here, as often as it is; what nobody waits for is forgotten."""
        known = set(refs)
        self._came = deque(one for one in self._came if one[0] in known)
        return [ref for ref, _ in self._came]

    def got(self, ref: object) -> Any:
        """The first that came for it."""
        index, came = next((index, value) for index, (one, value) in enumerate(self._came) if one == ref)
        del self._came[index]
        if isinstance(came, BaseException):
            raise came
        return came


_PATIENCE = 600.0
"""Seconds that a worker is waited for, where none is there."""

_STEP = 0.5
"""Seconds that an answer is waited for before the cluster is looked at again."""

_HELD, _EACH = 0.1, 0.002
"""Seconds for which a worker gathers answers; at least this long for each worker that there is."""

_LEAST_AHEAD, _MOST_AHEAD = 3, 3072
"""The fewest and the most requests that a worker has beside those that its model works on."""


class Cluster:
    """A Ray cluster, joined when it is first needed.

    Args:
        address: Of a running cluster, or ``auto``; ``RAY_ADDRESS`` by default, else this machine is one.
        workers: How many workers; as many as there are processors or GPUs for, if left out.
        gpus_per_worker: GPUs that each worker has for itself; may be a fraction.
        carries: A function that workers call and whose module the nodes may lack.

    Attributes:
        losses: The exceptions that mean that a worker or its node is gone.
        every: Seconds between two looks at what fits.
        spare: Ends the workers of its model, if it asks nothing now.
        beside: The clusters of the run's models, itself among them, which need room in the same place.
    """

    every = 10.0
    beside: Sequence[Cluster] = ()

    def __init__(
        self,
        address: str | None,
        workers: int | None,
        gpus_per_worker: float,
        *,
        carries: Callable[..., Any] | None = None,
    ) -> None:
        require("ray", "ray")
        import ray

        self._ray: Any = ray
        self._workers, self._gpus = workers, gpus_per_worker
        self._processors = 0 if workers else 1
        self.spare: Callable[[], None] = lambda: None
        self._waited: _Waited = {}
        self._alive: list[_RayWorker] = []
        self._arrivals = Arrivals()
        self._join(address or os.environ.get("RAY_ADDRESS"))
        if carries is not None and (module := inspect.getmodule(carries)) is not None:
            ray.cloudpickle.register_pickle_by_value(module)
        faults = ray.exceptions
        self.losses: tuple[type[BaseException], ...] = (
            faults.RayActorError,
            faults.NodeDiedError,
            faults.ObjectLostError,
            faults.WorkerCrashedError,
            faults.OutOfMemoryError,
        )

    def _join(self, address: str | None) -> None:
        if self._ray.is_initialized():
            return
        try:
            self._ray.init(
                address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False
            )
        except Exception as error:  # ConnectionError and whatever else Ray raises
            raise Unavailable(
                "the Ray cluster cannot be joined",
                where="run.address" if address else "run.on: ray",
                found=f"{address or 'this machine'}: {str(error).strip().splitlines()[0][:300]}",
                fix="start it with `ray start --head`, or name another address",
            ) from error

    def described(self) -> str:
        """For the provenance."""
        return f"ray {self._ray.__version__}"

    def wanted(self) -> int:
        """How many workers there should be now, at least one."""
        if self._workers is not None:
            return self._workers
        have = self._ray.cluster_resources()
        return max(1, int(have.get("GPU", 0) / self._gpus if self._gpus else have.get("CPU", 1)))

    def start(self, kind: type, setup: Setup) -> _RayWorker:
        """Start a worker, on whatever node has room; it may have to wait for one."""
        options: dict[str, Any] = {
            "num_cpus": self._processors,
            "num_gpus": self._gpus,
            "max_restarts": 0,
        }
        made = self._ray.remote(kind).options(
            **options, max_concurrency=8, scheduling_strategy="SPREAD", max_task_retries=0
        )
        worker = _RayWorker(made.remote(setup), self._waited)
        self._alive.append(worker)
        return worker

    def room(self, worker: _RayWorker, ahead: float) -> int:
        """How many requests a worker should have at a time: those its model works on and the next."""
        return worker.held + min(_MOST_AHEAD, max(worker.least, int(ahead)))

    def end(self, worker: _RayWorker) -> None:
        """End a worker, if it has not ended by itself."""
        for ref in [ref for ref, (one, _) in self._waited.items() if one is worker]:
            del self._waited[ref]
        with suppress(Exception):  # Ray has many ways to say that it is gone
            self._ray.kill(worker.actor, no_restart=True)
        self._alive.remove(worker)

    def make_room(self) -> None:
        """Have the workers of models that ask nothing now end, since there is no room for one of its own."""
        for one in self.beside:
            if one is not self:
                one.spare()

    def check_patience(self, seconds: float) -> None:
        """Give up where no worker has started for long, and none ever will."""
        if seconds < _PATIENCE:
            return
        have = {name: self._ray.cluster_resources().get(name, 0) for name in ("CPU", "GPU")}
        if have["GPU"] >= self._gpus and have["CPU"] >= self._processors:
            return
        raise Unavailable(
            "no Ray worker has started",
            where="run.on: ray",
            expected=f"a node with room for a worker of {self._gpus:g} GPUs",
            found=", ".join(f"{count:g} {name}s" for name, count in have.items()),
            fix="start nodes with GPUs, or lower run.gpus_per_worker",
        )

    def arrived(self, refs: Sequence[object]) -> list[object]:
        """What has come for whom, after a moment's wait."""
        if not self._waited:
            time.sleep(_STEP)
            return []
        first, rest = self._ray.wait([*self._waited], num_returns=1, timeout=_STEP)
        for ref in [*first, *(self._ray.wait(rest, num_returns=len(rest), timeout=0)[0] if rest else ())]:
            self._note(ref)
        return self._arrivals.among(refs)

    def got(self, ref: object) -> Any:
        """What a worker returned."""
        return self._arrivals.got(ref)

    def _note(self, ref: Any) -> None:
        """Keep what a worker returned."""
        worker, what = self._waited.pop(ref)
        try:
            came = self._value(ref)
        except Exception as error:
            if not isinstance(error, (QuaverError, *self.losses)):
                raise
            self._arrivals.add(worker.waited_for(), error)
            return
        if what == "ready":
            self._arrivals.add(worker.waited_for(), True)
            worker.is_ready = True
        else:
            self._hand_over(worker, came)

    def _hand_over(self, worker: _RayWorker, came: Came) -> None:
        """Keep what a worker has answered, and wait for more."""
        answers, traffic, worker.held, hungry = came
        worker.least *= 2 if hungry and worker.least < _MOST_AHEAD else 1
        for number, packed, over in answers:
            self._arrivals.add([worker.numbered[number]], (packed, traffic))
            traffic = NO_TRAFFIC
            if over:
                del worker.numbered[number]
        worker.listen(max(_HELD, _EACH * len(self._alive)))

    def _value(self, ref: Any) -> Any:
        """What Ray has for a reference."""
        try:
            return self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, QuaverError):
                raise cause from error
            raise ModelError(
                "a Ray worker failed",
                found=str(cause).strip().splitlines()[0][:300] if cause else str(error)[:300],
            ) from error


class _RayWorker:
    """The driver's side of an actor.

    Args:
        actor: Ray's handle.
        waited: What is waited for, to which it adds.

    Attributes:
        starting: What arrives once it can be asked.
        numbered: What arrives for each group that it has, by the group's number.
        held: How many requests its model works on at a time, as it last said.
        least: How many it should have beside these, whatever its pace.
    """

    def __init__(self, actor: Any, waited: _Waited) -> None:
        self.actor, self._waited = actor, waited
        self.starting, self.is_ready = object(), False
        self.numbered: dict[int, object] = {}
        self.held, self.least = 0, _LEAST_AHEAD
        self._next = 0
        waited[actor.ready.remote()] = self, "ready"
        self._listens = False

    def ask(self, packed: bytes) -> object:
        """Send it a group; returns what its answers come for."""
        ref = self.numbered[self._next] = object()
        self.actor.take.remote(self._next, packed)
        self._next += 1
        if not self._listens:
            self.listen()
        return ref

    def listen(self, held: float = 0.0) -> None:
        """Wait for what it answers next, if it owes anything."""
        self._listens = bool(self.numbered)
        if self._listens:
            self._waited[self.actor.collect.remote(held)] = self, "collect"

    def waited_for(self) -> list[object]:
        """What it still owes."""
        return [*self.numbered.values()] if self.is_ready else [self.starting]


_Waited = dict[Any, tuple[_RayWorker, Literal["ready", "collect"]]]
"""What Ray's references will bring, and from whom."""
