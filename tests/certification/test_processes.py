"""Processes do jobs until the time is up, and leave the environment as it was."""

import os

from tools.certifying.processes import in_processes

THREADS = "POLARS_MAX_THREADS"


def test_every_job_is_done_by_a_process_with_one_thread(monkeypatch):
    monkeypatch.delenv(THREADS, raising=False)
    before = dict(os.environ)
    found = list(in_processes(os.getenv, iter([THREADS, "no such name", THREADS]), processes=1))
    assert sorted(found, key=str) == ["1", "1", None]
    assert dict(os.environ) == before


def test_nothing_is_begun_when_the_time_is_up():
    jobs = iter([-1, -2])
    assert list(in_processes(abs, jobs, processes=1, deadline=0.0)) == []
    assert list(jobs) == [-1, -2]
