"""A model in the workers of a Ray cluster (``run: {on: ray}``): a local engine or a function, once in each.

The process that runs the study decides, budgets and stores: to its driver this is one model. Requests go to
workers in groups, in the order of work, so that prompts that share a prefix stay together. What a worker had
that is lost, with its node or without, is asked again elsewhere.
"""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from itertools import chain
from typing import Any

from quaver.collect.run.model_answers import taken_in_groups
from quaver.core.calls import Message, Request, Response
from quaver.core.meter import little_garbage
from quaver.core.model import Answered, Model
from quaver.core.response_validation import error_response
from quaver.errors import ModelError, QuaverError, Unavailable
from quaver.models.local.extras import require

_QUAVER = version("quaver")
_SECONDS, _MOST, _QUEUED = 1.0, 512, 2
"""Seconds that a group should take, the most requests in one, and the groups that a worker has at a time."""
_STEP, _PATIENCE = 0.5, 600.0
"""Seconds between two looks at the cluster, and for which a worker is waited for where none is there."""
_ALONE, _TRIES, _DEATHS = 2, 6, 30
"""Workers that are lost with a request before it is sent alone, and before it is taken for the cause; workers
lost in a row, without an answer in between, after which the model is given up."""


_LOSSES = ("RayActorError", "NodeDiedError", "ObjectLostError", "WorkerCrashedError", "OutOfMemoryError")
"""Ray's errors that mean that a worker or its node is gone."""


class Worker:
    """What runs in a worker: one model, asked one group of requests after the other.

    Args:
        make: Makes the model.
        identity: What must be served; empty where another process cannot find it out.
        quaver: The driver's Quaver.
    """

    def __init__(self, make: Callable[[], Model], identity: str, quaver: str) -> None:
        self._make, self._identity, self._quaver = make, identity, quaver

    def ready(self, repeats: int) -> None:
        """Make the model, which can be asked then."""
        self._check("version of Quaver", self._quaver, _QUAVER, "install the same version on every node")
        self._model = self._make()
        if self._identity:
            fix = "put the same weights and the same versions on every node"
            self._check("model", self._identity, self._model.identity(), fix)
        self._model.prepare(repeats)

    def _check(self, what: str, expected: str, found: str, fix: str) -> None:
        if found != expected:
            problem = f"a Ray worker has another {what} than the driver"
            raise ModelError(problem, where="run.on: ray", expected=expected, found=found, fix=fix)

    def answer(self, requests: Sequence[Request]) -> tuple[dict[bytes, Response], QuaverError | None]:
        """The responses by their calls' keys, and why the model cannot be asked any more, if it cannot."""
        answers: dict[bytes, Response] = {}
        source = iter(requests)
        try:
            with little_garbage():
                for first in source:  # again, where the model stopped before it had drawn all
                    for group in taken_in_groups(self._model, chain([first], source)):
                        for request, responses in group:
                            answers.update(zip((call.key for call in request.calls), responses, strict=True))
        except QuaverError as error:
            return answers, error
        return answers, None


class _Actor:
    """What the driver knows of a worker: Ray's handle, what it was asked, and how much it takes at a time."""

    def __init__(self, handle: Any) -> None:
        self.handle, self.is_ready = handle, False
        self.out: dict[Any, list[Request]] = {}
        self.size, self.since = 1, 0.0

    def send(self, group: list[Request]) -> None:
        if not self.out:
            self.since = time.monotonic()
        self.out[self.handle.answer.remote(group)] = group

    def learn(self, answered: int) -> None:
        now = time.monotonic()
        fitting = int(answered * _SECONDS / max(1e-3, now - self.since))
        self.size, self.since = max(1, min(fitting, 4 * self.size, _MOST)), now


class RayWorkers:
    """A model whose requests are answered by Ray workers.

    Args:
        model: The same model in this process, which is never asked anything.
        make: Makes it in a worker.
        function: The function that it calls, whose module the nodes may lack.
        address: Of a running cluster, or ``auto``; ``RAY_ADDRESS`` by default, else this machine is one.
        workers: How many workers; as many as there are processors or GPUs for, if left out.
        gpus: GPUs that each worker has for itself; may be a fraction.
        beside: The models of the run, itself among them, which need room in the same place.
    """

    every = 10.0
    """Seconds between two looks at what fits."""

    def __init__(
        self,
        model: Model,
        make: Callable[[], Model],
        function: Callable[..., Any] | None = None,
        *,
        address: str | None = None,
        workers: int | None = None,
        gpus: float = 0.0,
        beside: Sequence[RayWorkers] = (),
    ) -> None:
        self._ray = _joined(address or os.environ.get("RAY_ADDRESS"), is_named=address is not None)
        if function is not None and (module := inspect.getmodule(function)) is not None:
            self._ray.cloudpickle.register_pickle_by_value(module)
        self._model, self._workers, self._gpus, self._beside = model, workers, gpus, beside
        self._setup = (make, "" if function is not None else model.identity(), _QUAVER)
        self.abilities, self._repeats = model.abilities, 1
        self._losses = tuple(getattr(self._ray.exceptions, name) for name in _LOSSES)
        self._actors: list[_Actor] = []
        self._source: Iterator[Request] = iter(())
        self._lost: deque[Request] = deque()
        self._tries: Counter[bytes] = Counter()
        self._deaths = 0
        self._asking = threading.Lock()

    def identity(self) -> str:
        """The model's own: where it runs changes no answer."""
        return self._model.identity()

    def provenance(self) -> Mapping[str, Any]:
        """The model's provenance, and that Ray ran it."""
        return {**self._model.provenance(), "on": f"ray {self._ray.__version__}"}

    def prepare(self, repeats: int) -> None:
        """Have workers get ready for requests of up to ``repeats`` calls."""
        self._repeats = repeats

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """As the model counts them in this process."""
        return self._model.count_tokens(prompts)

    def close(self) -> None:
        """End the workers."""
        self._end_all()
        self._model.close()

    # ---------------------------------------------------------------------------------- asking

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer requests in whatever worker is free."""
        source = iter(requests)
        if (first := next(source, None)) is None:
            return
        self._source = chain([first], source)
        with self._asking:
            try:
                yield from self._answers()
            finally:
                if any(actor.is_ready and actor.out for actor in self._actors):  # whoever asked went away
                    self._end_all()
                self._lost.clear()
                self._tries.clear()

    def _answers(self) -> Iterator[Answered]:
        failed: QuaverError | None = None
        looked, begun, is_drained = 0.0, time.monotonic(), False
        while not is_drained or self._lost or any(actor.is_ready and actor.out for actor in self._actors):
            if time.monotonic() - looked > self.every:
                self._match_the_cluster()
                looked = time.monotonic()
            is_drained = failed is not None or self._fill(is_drained)
            for actor, ref in self._arrived():
                if actor not in self._actors:  # it was lost meanwhile, and all that it had is asked again
                    continue
                try:
                    answers, error = self._value(ref) or ({}, None)
                except self._losses as gone:
                    self._lose(actor, gone)
                    continue
                except QuaverError as broken:  # its model cannot be made
                    failed = failed or broken
                    self._end(actor)
                    continue
                group, is_first = actor.out.pop(ref), not actor.is_ready
                actor.is_ready, failed = True, failed or error
                if not is_first:
                    self._deaths = 0
                    actor.learn(len(group))
                    yield from _answered(group, answers)
            for request in [request for request in self._lost if self._tries[request.calls[0].key] >= _TRIES]:
                self._lost.remove(request)
                why = f"the Ray worker that was to answer this died {_TRIES} times"
                yield request, [error_response(why)] * len(request.calls)
            if failed is not None:
                self._lost.clear()
            begun = time.monotonic() if any(actor.is_ready for actor in self._actors) else begun
            self._check_patience(time.monotonic() - begun)
        if failed is not None:
            raise failed

    def _fill(self, is_drained: bool) -> bool:
        """Send groups until every worker has enough; whether there is nothing more to draw."""
        for depth in range(_QUEUED):
            for actor in self._actors:
                if not actor.is_ready or len(actor.out) > depth:
                    continue
                group: list[Request] = []
                while len(group) < actor.size and (self._lost or not is_drained):
                    request = self._lost.popleft() if self._lost else next(self._source, None)
                    if request is None:
                        is_drained = True
                        break
                    group.append(request)
                    if self._tries[request.calls[0].key] >= _ALONE:
                        break
                if group:
                    actor.send(group)
        return is_drained

    def _arrived(self) -> list[tuple[_Actor, Any]]:
        """What has come for whom, after a moment's wait."""
        refs = {ref: actor for actor in self._actors for ref in actor.out}
        if not refs:
            time.sleep(_STEP)
            return []
        arrived, rest = self._ray.wait([*refs], num_returns=1, timeout=_STEP)
        if rest and arrived:
            arrived = [*arrived, *self._ray.wait(rest, num_returns=len(rest), timeout=0)[0]]
        return [(refs[ref], ref) for ref in arrived]

    def _value(self, ref: Any) -> Any:
        """What Ray has for a reference."""
        try:
            return self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, QuaverError):
                raise error.cause from error
            words = str(error.cause or error).strip().splitlines()[0][:300]
            raise ModelError("a Ray worker failed", found=words) from error

    def _lose(self, actor: _Actor, error: BaseException) -> None:
        """A worker is gone: what it had is asked elsewhere, and another takes its place."""
        self._end(actor)
        for request in chain.from_iterable(actor.out.values()):
            self._lost.append(request)
            self._tries[request.calls[0].key] += 1
        self._deaths += 1
        if self._deaths >= _DEATHS:
            raise ModelError(
                f"{self._deaths} workers died in a row",
                where=self.identity(),
                found=str(error).strip().splitlines()[0][:300],
                fix="look at Ray's logs (`ray logs`); if memory is short, start fewer of them",
            )
        self._match_the_cluster()

    # ---------------------------------------------------------------------------------- workers

    def _match_the_cluster(self) -> None:
        """Start as many workers as are wanted and fit; more where nodes have joined."""
        if self._actors and not any(actor.is_ready for actor in self._actors):
            for model in self._beside:
                if model is not self:
                    model.spare()
        for _ in range(self._wanted() - len(self._actors)):
            options: dict[str, Any] = {"num_cpus": 0 if self._workers else 1, "num_gpus": self._gpus}
            options |= {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
            actor = _Actor(self._ray.remote(Worker).options(**options).remote(*self._setup))
            actor.out[actor.handle.ready.remote(self._repeats)] = []
            self._actors.append(actor)

    def _wanted(self) -> int:
        if self._workers is not None:
            return self._workers
        have = self._ray.cluster_resources()
        return max(1, int(have.get("GPU", 0) / self._gpus if self._gpus else have.get("CPU", 1)))

    def spare(self) -> None:
        """Give the workers' room to another model; they start again when there is something to ask."""
        if self._asking.acquire(blocking=False):
            self._end_all()
            self._asking.release()

    def _end_all(self) -> None:
        for actor in list(self._actors):
            self._end(actor)

    def _end(self, actor: _Actor) -> None:
        self._actors.remove(actor)
        with suppress(Exception):  # Ray has many ways to say that it is gone
            self._ray.kill(actor.handle, no_restart=True)

    def _check_patience(self, seconds: float) -> None:
        """Give up where no worker has started for long, and none ever will."""
        if seconds < _PATIENCE:
            return
        have = {name: self._ray.cluster_resources().get(name, 0) for name in ("CPU", "GPU")}
        if have["GPU"] < self._gpus or have["CPU"] < (0 if self._workers else 1):
            raise Unavailable(
                "no Ray worker has started",
                where="run.on: ray",
                expected=f"a node with room for a worker of {self._gpus:g} GPUs",
                found=", ".join(f"{count:g} {name}s" for name, count in have.items()),
                fix="start nodes with GPUs, or lower run.gpus_per_worker",
            )


def _joined(address: str | None, *, is_named: bool) -> Any:
    """Ray, connected to a cluster."""
    require("ray", "ray")
    import ray

    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
        except Exception as error:  # ConnectionError and whatever else Ray raises
            raise Unavailable(
                "the Ray cluster cannot be joined",
                where="run.address" if is_named else "run.on: ray",
                found=f"{address or 'this machine'}: {str(error).strip().splitlines()[0][:300]}",
                fix="start it with `ray start --head`, or name another address",
            ) from error
    return ray


def _answered(group: Sequence[Request], answers: Mapping[bytes, Response]) -> Iterator[Answered]:
    """The requests of a group that have answers; of one that was answered in part, that part."""
    for request in group:
        calls = tuple(call for call in request.calls if call.key in answers)
        if calls:
            part = request if len(calls) == len(request.calls) else request.part(calls)
            yield part, [answers[call.key] for call in calls]
