"""Calls a second from one process and from several (``processes: 2``), where the server has cores to spare.

    python benchmarks/client_processes.py [CALLS [ROUNDS [PROCESSES]]]

The server of ``server.py`` answers after 50 ms, over enough connections that Quaver is what limits. Start-up
is left out: rates and processor time are those after the first quarter of the calls.

A machine with few cores cannot show what more processes bring, since they, the one that stores and the server
share these. So both are said:

- *computed*: a call takes `d` seconds of processor time in the process that runs the study, `c` in whichever
  client process sends it, and `u` in a process that does everything itself. With a core for each of these
  and N client processes, min(1/d, N/c) calls a second are possible, and 1/u with one process.
- *measured*, where this program may make control groups (Linux, root): each process of Quaver gets a fifth
  of a core, so that a machine of two cores has enough for all, and the server what it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from machine import machine
from server import started_server, study_of

CONNECTIONS, STARTED, SHARE = 400, 0.25, 0.2
GROUPS, PERIOD = Path("/sys/fs/cgroup"), 10_000


def asked(url: str, calls: int, folder: Path, processes: int, share: float) -> dict[str, float]:
    """The rate and the processor time of a call, after the first quarter of them."""
    seen: list[tuple[float, int, float, float]] = []
    study = study_of(url, calls, folder, CONNECTIONS, processes)
    with limited(share) as limit:

        def watch(progress: Any) -> None:
            children = children_of(os.getpid()) if processes > 1 else []
            for one in (os.getpid(), *children):
                limit(one)
            seen.append(
                (time.perf_counter(), progress.done, time.process_time(), sum(map(used_by, children)))
            )

        study.run(watch=watch)
    assert study.status().answered == calls
    begin, before, here, there = next(one for one in seen if one[1] >= calls * STARTED)
    # the last look may find a process gone
    end, after, now_here, now_there = max(seen, key=lambda one: (one[3], one[1]))
    done = after - before
    return {
        "rate": done / (end - begin),
        "used": (now_here - here) / done,
        "client": (now_there - there) / done,
    }


def children_of(process: int) -> list[int]:
    """The processes that a process started; each is listed with the thread that did."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # the thread has just ended
            found += map(int, task.read_text().split())
    return found


def used_by(process: int) -> float:
    """Processor seconds of a process so far; 0 where the operating system does not say."""
    with suppress(OSError):
        return time.clock_gettime(~process << 3 | 2)  # what clock_getcpuclockid gives for it
    return 0.0


@contextmanager
def limited(share: float) -> Iterator[Any]:
    """Gives processes a share of a core each; a share of 0 leaves them alone."""
    made: dict[int, Path] = {}
    old = (GROUPS / "cpu").is_dir()

    def limit(process: int) -> None:
        if not share or process in made:
            return
        group = made[process] = (GROUPS / "cpu" if old else GROUPS) / f"quaver-{process}"
        group.mkdir()
        if old:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(int(share * PERIOD)))
        else:
            (group / "cpu.max").write_text(f"{int(share * PERIOD)} {PERIOD}")
        with suppress(ProcessLookupError):  # it has just ended
            (group / "cgroup.procs").write_text(str(process))

    try:
        yield limit
    finally:
        for process, group in made.items():
            with suppress(OSError):  # a process that has ended is in no group
                (group.parent / "cgroup.procs").write_text(str(process))
            with suppress(OSError):
                group.rmdir()


def can_limit() -> bool:
    """Whether control groups can be made here."""
    try:
        with limited(1.0) as limit, subprocess.Popen(["sleep", "0.1"]) as one:
            limit(one.pid)
            one.wait()
    except OSError:
        return False
    return True


def measured(url: str, calls: int, processes: int, share: float) -> dict[str, float]:
    """One run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--only", url, str(calls), folder, str(processes), str(share)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    if sys.argv[1:2] == ["--only"]:
        url, calls, folder, processes, share = sys.argv[2:]
        print(json.dumps(asked(url, int(calls), Path(folder), int(processes), float(share))))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("calls", type=int, nargs="?", default=20_000)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    parser.add_argument("processes", type=int, nargs="?", default=2)
    given = parser.parse_args()
    print(f"A server that answers after 50 ms, {CONNECTIONS} connections, on {machine()}", flush=True)
    server, url = started_server()
    shares = [0.0, SHARE] if can_limit() else [0.0]
    runs: dict[tuple[int, float], list[dict[str, float]]] = {}
    try:
        for _ in range(given.rounds):
            for share in shares:
                for processes in (1, given.processes):
                    before = used_by(server.pid)
                    one = measured(url, given.calls, processes, share)
                    one["server"] = (used_by(server.pid) - before) / given.calls
                    runs.setdefault((processes, share), []).append(one)
    finally:
        server.kill()
    report(runs, given.processes)


def report(runs: dict[tuple[int, float], list[dict[str, float]]], processes: int) -> None:
    """Print the medians, and what follows from them."""

    def middle(name: str, of: int, share: float = 0.0) -> float:
        return statistics.median(one[name] for one in runs[of, share])

    def times(share: float) -> float:
        pairs = zip(runs[processes, share], runs[1, share], strict=True)
        return statistics.median(several["rate"] / one["rate"] for several, one in pairs)

    u, d, c = middle("used", 1), middle("used", processes), middle("client", processes)
    print(
        f"  one process        {middle('rate', 1):8,.0f} calls/s; a call takes {u * 1e6:.0f} µs of processor "
        f"time here, {middle('server', 1) * 1e6:.0f} µs in the server"
    )
    print(
        f"  processes: {processes}       {middle('rate', processes):8,.0f} calls/s, {times(0.0):.2f} times "
        f"one, with all on {os.cpu_count()} cores; a call takes {d * 1e6:.0f} µs in the process that stores, "
        f"{c * 1e6:.0f} µs in a client process, {middle('server', processes) * 1e6:.0f} µs in the server"
    )
    most = min(1 / d, processes / c)
    print(
        f"    computed, a core for each: min(1/{d * 1e6:.0f} µs, {processes}/{c * 1e6:.0f} µs) = {most:,.0f} "
        f"calls/s, {most * u:.2f} times one process (at least 1.70 with two)"
    )
    if (1, SHARE) not in runs:
        print("    not measured: control groups cannot be made here")
        return
    one, several = middle("rate", 1, SHARE), middle("rate", processes, SHARE)
    print(
        f"    measured, {SHARE} of a core for each: {one:,.0f} and {several:,.0f} calls/s, "
        f"{times(SHARE):.2f} times one process (at least 1.70 with two)"
    )


if __name__ == "__main__":
    main()
