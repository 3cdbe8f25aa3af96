"""The processor's cores: the embedded engine's number of threads, and how they wait for each other.

A step of a model is some three hundred small jobs, and after each its threads wait for the slowest. If they
sleep at once, waking takes longer than the job. If they spin until all are there, as they do by default,
another process on one of the cores makes jobs last a time slice. A short spin, and then sleep, has the best
of both, and makes all cores worth using, for prompts and answers alike.

Measured on two cores (Xeon, 2.6 GHz), alone and beside another process that keeps one core busy. Calls a
second of the demo's study (135 million parameters; a prompt, then one answer of three tokens and six):

======================================  =====  ===========
how threads wait                        alone  beside one
======================================  =====  ===========
sleep at once                           12.3   11.3
spin 2,000 times                        22.1   12.4
spin 5,000 times                        24.0   11.8
the same, one thread writes answers     21.9   12.5
spin 15,000 times                       23.7   10.6
spin 50,000 times                       24.5    9.9
======================================  =====  ===========

Tokens a second of long answers, with 5,000 spins, written by one thread and by two:

=======================  ==========  ==========  ===============  ===============
parameters, size         one, alone  two, alone  one, beside one  two, beside one
=======================  ==========  ==========  ===============  ===============
135 million, 98 MB       47          93          49               34
360 million, 249 MB      21          34          20               15
1.1 billion, 715 MB      7.4         12.8        7.1              6.7
=======================  ==========  ==========  ===============  ===============

On a machine that is always busy, ``threads: 1`` writes long answers of a model as small as the first faster.
"""

from __future__ import annotations

import os
from pathlib import Path

_SPINS = "5000"
"""Number of libgomp's pauses: 0.1 to 0.3 ms, depending on the processor. A time slice is about 3 ms."""


def cores() -> int | None:
    """The physical cores that this process may use; None if unknown.

    ``OMP_NUM_THREADS`` says how many, as it does for other numerical libraries. The engine itself would count
    those of the whole machine.
    """
    if (wanted := os.environ.get("OMP_NUM_THREADS", "")).isdecimal() and int(wanted):
        return int(wanted)
    try:
        places = [Path(f"/sys/devices/system/cpu/cpu{one}/topology") for one in os.sched_getaffinity(0)]
        return len({(place / "thread_siblings_list").read_text() for place in places})
    except (AttributeError, OSError):
        return None


def spin_briefly() -> None:
    """Make waiting threads spin briefly before they sleep, unless the user has configured it.

    libgomp reads this when it is loaded.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)


def waiting() -> str:
    """How threads wait, according to the environment."""
    named = (name for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY") if name in os.environ)
    return ", ".join(f"{name}={os.environ[name]}" for name in named)
