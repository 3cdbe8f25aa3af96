"""A lock on a folder, which the operating system releases when the process ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def locked(path: Path, wait: float = 0.0) -> Iterator[bool]:
    """Lock a file; False where another process holds the lock.

    Args:
        path: The file, which is made and stays.
        wait: Seconds to wait for another process.

    Raises:
        OSError: The system locks no files here.
    """
    # A lock file without a system lock would outlive a killed process.
    lock = FileLock(path, fallback_to_soft=False)
    try:
        lock.acquire(blocking=wait > 0, timeout=wait)
    except Timeout:
        _check_refusal(path)
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _check_refusal(path: Path) -> None:
    """Raise where the system refuses every lock, which looks like another process that holds it.

    Raises:
        OSError: It does.
    """
    if sys.platform == "win32":
        return
    import fcntl

    file = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pass
    finally:
        os.close(file)
