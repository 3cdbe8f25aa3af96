"""One process at a time collects for a study."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from quaver.collect.store.disk_faults import what_to_do
from quaver.errors import StoreError

__all__ = ["sole_writer", "who_collects", "writing"]


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Hold a study's folder; the operating system lets go of it when the process dies.

    Raises:
        StoreError: Another process holds it; its pid is named.
    """
    # A file in the place of a real lock would outlive a killed process.
    lock = FileLock(folder / ".run.lock", fallback_to_soft=False)
    pid = folder / ".run.pid"
    try:
        lock.acquire(blocking=False)
    except Timeout:
        holder = pid.read_text().strip() if pid.exists() else "unknown"
        raise StoreError(
            "another process is collecting for this study",
            where=str(folder),
            found=f"process {holder}",
            fix="wait for it, or end it; what it collected is stored",
        ) from None
    except OSError as error:
        raise StoreError(
            "the study's folder cannot be held for this run alone",
            where=str(folder),
            found=error.strerror or str(error),
            fix=what_to_do(error) or "see whether the folder may be written, and whose it is",
        ) from error
    try:
        with writing(folder):
            pid.write_text(str(os.getpid()))
        yield
    finally:
        with suppress(OSError):
            pid.unlink(missing_ok=True)
        lock.release()


def who_collects(folder: Path) -> int | None:
    """The process that collects for a study now; None where none does."""
    try:
        process = int((folder / ".run.pid").read_text())
        os.kill(process, 0)
    except PermissionError:  # somebody else's process, and so one that lives
        return process
    except (OSError, ValueError):
        return None
    return process


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Translate what the operating system says when something cannot be written there.

    Raises:
        StoreError: The disk is full, or the folder is somebody else's.
    """
    try:
        yield
    except OSError as error:
        raise StoreError(
            "the study's folder cannot be written",
            where=str(folder),
            found=error.strerror or str(error),
            fix="free some space, or see whose folder it is",
        ) from error
