"""A lock, so that one process at a time collects for a study."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from quaver.collect.store.disk_faults import what_to_do
from quaver.core.file_lock import locked
from quaver.core.replaced_file import replace_text, writing
from quaver.errors import StoreError


@contextmanager
def sole_writer(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Lock a study's folder; the operating system releases it when the process ends.

    Args:
        folder: The folder.
        wait: Seconds to wait for another process.

    Raises:
        StoreError: Another process holds the lock, or the folder cannot be locked.
    """
    with sole_writer_if_free(folder, wait) as free:
        if not free:
            pid = folder / ".run.pid"
            holder = pid.read_text().strip() if pid.exists() else "unknown"
            raise StoreError(
                "another process is collecting for this study",
                where=str(folder),
                found=f"process {holder}",
                fix="wait for it, or stop it; the answers that it has collected are stored",
            )
        yield


@contextmanager
def sole_writer_if_free(folder: Path, wait: float = 0.0) -> Iterator[bool]:
    """Lock a study's folder; False where another process holds the lock.

    Raises:
        StoreError: The folder cannot be locked.
    """
    pid = folder / ".run.pid"
    with ExitStack() as held:
        try:
            free = held.enter_context(locked(folder / ".run.lock", wait))
        except OSError as error:
            raise StoreError(
                "the study's folder cannot be locked for this run",
                where=str(folder),
                found=error.strerror or str(error),
                fix=what_to_do(error) or "check the folder's owner and permissions",
            ) from error
        if not free:
            yield False
            return
        try:
            with writing(folder):
                replace_text(pid, str(os.getpid()))
            yield True
        finally:
            with suppress(OSError):
                pid.unlink(missing_ok=True)


def who_collects(folder: Path) -> int | None:
    """The process that is collecting for a study, or None."""
    try:
        process = int((folder / ".run.pid").read_text())
        os.kill(process, 0)
    except PermissionError:  # another user's process, which is alive
        return process
    except (OSError, ValueError):
        return None
    return process
