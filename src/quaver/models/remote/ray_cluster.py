"""Where Ray workers run: the connection to a cluster, how many workers fit, and how they are lost."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from quaver.errors import ModelError, QuaverError, Unavailable
from quaver.models.local.extras import require

_PATIENCE = 600.0
"""Seconds that a worker is waited for, where none is there."""

_STEP = 0.5
"""Seconds that an answer is waited for before the cluster is looked at again."""


class Cluster:
    """A Ray cluster, joined when it is first needed.

    Args:
        address: Of a running cluster, or ``auto``; ``RAY_ADDRESS`` by default, else this machine is one.
        workers: How many workers; as many as there are processors or GPUs for, if left out.
        gpus_per_worker: GPUs that each worker has for itself; may be a fraction.
        free: Whether asking the same twice costs no money.
        carries: A function that workers call and whose module the nodes may lack.

    Attributes:
        losses: The exceptions that mean that a worker or its node is gone.
        every: Seconds between two looks at what fits.
        kind: What a worker is, in errors.
        spare: Ends the workers of its model, if it asks nothing now.
        beside: The clusters of the run's models, itself among them, which need room in the same place.
    """

    every = 10.0
    kind = "Ray worker"
    beside: Sequence[Cluster] = ()

    def __init__(
        self,
        address: str | None,
        workers: int | None,
        gpus_per_worker: float,
        *,
        free: bool = False,
        carries: Callable[..., Any] | None = None,
    ) -> None:
        require("ray", "ray")
        import ray

        self._ray: Any = ray
        self._workers, self._gpus, self.free = workers, gpus_per_worker, free
        self._processors = 0 if workers else 1
        self.spare: Callable[[], None] = lambda: None
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

    def start(self, kind: type, *arguments: Any) -> Any:
        """Start a worker, on whatever node has room; it may have to wait for one."""
        options: dict[str, Any] = {
            "num_cpus": self._processors,
            "num_gpus": self._gpus,
            "max_restarts": 0,
        }
        made = self._ray.remote(kind).options(
            **options, max_concurrency=8, scheduling_strategy="SPREAD", max_task_retries=0
        )
        return made.remote(*arguments)

    def room(self, worker: Any) -> int | None:
        """How many requests a worker should have at a time; None where their number follows its pace."""
        return None

    def allow(self, room: bool) -> None:
        """Whether the budget has room for a call that was billed to be sent again: workers do not hear it."""

    def end(self, worker: Any) -> None:
        """End a worker, if it has not ended by itself."""
        with suppress(Exception):  # Ray has many ways to say that it is gone
            self._ray.kill(worker, no_restart=True)

    def make_room(self) -> None:
        """Have the workers of models that ask nothing now end, since there is no room for one of its own."""
        for one in self.beside:
            if one is not self:
                one.spare()

    def check_patience(self, seconds: float) -> None:
        """Give up where no worker has started for long, and none ever will.

        Raises:
            Unavailable: The cluster has no room for one, even if nothing else runs on it.
        """
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

    def arrived(self, refs: Sequence[Any]) -> list[Any]:
        """The groups that have ended, after a moment's wait."""
        if not refs:
            time.sleep(_STEP)
            return []
        first, rest = self._ray.wait(list(refs), num_returns=1, timeout=_STEP)
        if not first:
            return []
        return [*first, *(self._ray.wait(rest, num_returns=len(rest), timeout=0)[0] if rest else ())]

    def got(self, ref: Any) -> Any:
        """What a worker returned.

        Raises:
            QuaverError: The worker raised one, which is raised as it was.
            ModelError: It raised something else.
        """
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
