"""The jobs of a certificate, done by some processes until the time is up."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import chain, count, islice
from time import monotonic

from quaver.certification.certificate import Certificate, Job, StudyWork, certificate
from quaver.certification.replications import Said

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
    """Replicate a study, and say how its measures behave.

    Args:
        worker: What does the jobs.
        seconds: Begin nothing more after so long; None for no limit.
        replications: How many studies; None for as many as there is time for.
        processes: How many work at once; 1 for this one alone.
    """
    deadline = None if seconds is None else monotonic() + seconds
    studies = (Job("study", at) for at in islice(count(), replications or _MOST))
    jobs = chain(worker.jobs(), studies)
    found: dict[Job, dict[str, Said]] = {}
    for job, said in (
        _alone(worker, jobs, deadline) if processes < 2 else _shared(worker, jobs, deadline, processes)
    ):
        found[job] = said
    return certificate(worker, found)


def _alone(
    worker: StudyWork, jobs: Iterator[Job], deadline: float | None
) -> Iterator[tuple[Job, dict[str, Said]]]:
    for job in jobs:
        yield job, worker.done(job)
        if deadline is not None and monotonic() > deadline:
            return


def _shared(
    worker: StudyWork, jobs: Iterator[Job], deadline: float | None, processes: int
) -> Iterator[tuple[Job, dict[str, Said]]]:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ.setdefault(name, "1")
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawn, initializer=_begin, initargs=(worker,)) as pool:
        running: set[Future[tuple[Job, dict[str, Said], dict[str, str]]]] = set()
        while True:
            while len(running) < 2 * processes and (deadline is None or monotonic() < deadline):
                if (job := next(jobs, None)) is None:
                    break
                running.add(pool.submit(_do, job))
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                job, said, failed = future.result()
                worker.failed.update(failed)
                yield job, said


def _begin(worker: StudyWork) -> None:
    global _worker
    _worker = worker


def _do(job: Job) -> tuple[Job, dict[str, Said], dict[str, str]]:
    assert _worker is not None
    return job, _worker.done(job), _worker.failed
