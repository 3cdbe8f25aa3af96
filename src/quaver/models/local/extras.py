"""Checks that an engine's extra is installed, and how many threads it takes."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from quaver.errors import Unavailable


def require(extra: str, *modules: str) -> None:
    """Refuse an engine whose library is not installed, before anything is loaded."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise Unavailable(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            expected=f"the extra {extra!r}",
            fix=f'pip install "quaver[{extra}]"',
        )


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
        places = [Path(f"/sys/devices/system/cpu/cpu{cpu}/topology") for cpu in os.sched_getaffinity(0)]
        return len({(path / "thread_siblings_list").read_text() for path in places})
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
