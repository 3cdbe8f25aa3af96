"""Jobs done by some processes, each with one thread, until the time is up."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from time import monotonic
from typing import Any, TypeVar

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
