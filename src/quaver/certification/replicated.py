"""The jobs of a certificate, done by some processes until the time is up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count, islice
from time import monotonic

from quaver.certification.certificate import Certificate, Job, StudyWork, certificate
from quaver.certification.processes import in_processes
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
    """Replicate a study, and say how its measures behave."""
    deadline = None if seconds is None else monotonic() + seconds
    studies = (Job("study", at) for at in islice(count(), replications or _MOST))
    jobs = chain(worker.jobs(replications), studies)
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
    done = in_processes(_do, jobs, processes=processes, deadline=deadline, begin=_begin, given=(worker,))
    for job, said, failed in done:
        worker.failed.update(failed)
        yield job, said


def _begin(worker: StudyWork) -> None:
    global _worker
    _worker = worker


def _do(job: Job) -> tuple[Job, dict[str, Said], dict[str, str]]:
    assert _worker is not None
    return job, _worker.done(job), _worker.failed
