"""Jobs done by some processes, each with one thread, until the time is up."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import chain, count, islice
from time import monotonic
from typing import Any, TypeVar

from quaver.certification.certificate import Certificate, Job, StudyWork, certificate
from quaver.certification.coverage import KeptEstimate

Task = TypeVar("Task")
Found = TypeVar("Found")

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")


def in_processes(
    do: Callable[[Task], Found],
    jobs: Iterator[Task],
    *,
    processes: int,
    deadline: float | None = None,
    begin: Callable[..., None] | None = None,
    given: tuple[Any, ...] = (),
) -> Iterator[Found]:
    """What jobs give, as it comes."""
    spawn = multiprocessing.get_context("spawn")
    with _one_thread_each(), ProcessPoolExecutor(processes, spawn, begin, given) as pool:
        running: set[Future[Found]] = set()
        while True:
            while len(running) < 2 * processes and (deadline is None or monotonic() < deadline):
                some = list(islice(jobs, 1))
                if not some:
                    break
                running.add(pool.submit(do, some[0]))
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that begin here use one thread, unless the environment says how many."""
    silent = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(silent, "1"))
    try:
        yield
    finally:
        for name in silent:
            os.environ.pop(name, None)


_MOST = 1000
"""So many replications are enough for any clock."""

_worker: StudyWork | None = None


def certify(
    worker: StudyWork,
    *,
    seconds: float | None = None,
    replications: int | None = None,
    processes: int = 1,
) -> Certificate:
    """Replicate a study, and say how its measures behave."""
    deadline = None if seconds is None else monotonic() + seconds
    studies = (Job("study", index) for index in islice(count(), replications or _MOST))
    jobs = chain(worker.jobs(replications), studies)
    found: dict[Job, dict[str, KeptEstimate]] = {}
    for job, said in (
        _alone(worker, jobs, deadline) if processes < 2 else _shared(worker, jobs, deadline, processes)
    ):
        found[job] = said
    return certificate(worker, found)


def _alone(
    worker: StudyWork, jobs: Iterator[Job], deadline: float | None
) -> Iterator[tuple[Job, dict[str, KeptEstimate]]]:
    for job in jobs:
        yield job, worker.done(job)
        if deadline is not None and monotonic() > deadline:
            return


def _shared(
    worker: StudyWork, jobs: Iterator[Job], deadline: float | None, processes: int
) -> Iterator[tuple[Job, dict[str, KeptEstimate]]]:
    done = in_processes(_do, jobs, processes=processes, deadline=deadline, begin=_begin, given=(worker,))
    for job, said, failed in done:
        worker.failed.update(failed)
        yield job, said


def _begin(worker: StudyWork) -> None:
    global _worker
    _worker = worker


def _do(job: Job) -> tuple[Job, dict[str, KeptEstimate], dict[str, str]]:
    assert _worker is not None
    return job, _worker.done(job), _worker.failed
