"""The lock of a study's folder, who holds it, and what the system's errors about a store mean."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from quaver.core.replaced_file import FULL, is_locked, locked, replace_text, writing
from quaver.errors import StoreError

_NO_ROOM = 2**20
"""If SQLite reports an I/O error and this many bytes do not fit, the disk is full."""


def is_full(error: Exception, folder: Path) -> bool:
    """Whether an error of the system or of SQLite means that the disk is full."""
    if isinstance(error, OSError):
        return error.errno in FULL
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        code = {"full": sqlite3.SQLITE_FULL, "disk I/O": sqlite3.SQLITE_IOERR}.get(
            next((word for word in ("full", "disk I/O") if word in str(error)), ""), 0
        )
    primary = code & 0xFF
    return primary == sqlite3.SQLITE_FULL or (primary == sqlite3.SQLITE_IOERR and not _has_room(folder))


def _has_room(folder: Path) -> bool:
    """Whether a small file fits there; the free space that systems report ignores quotas."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.write(file.fileno(), os.urandom(_NO_ROOM))  # a file system may not store zeros
    except OSError as error:
        return error.errno not in FULL
    return True


_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO)

_COPY = (
    "this drive does not support file locks (common on network drives): move the study's folder to a "
    "local disk, and copy it back after the run"
)
REPAIR = (
    "put back a backup of responses.db; without one, move it into a folder of its own and name that folder "
    "under `reuse:`: the next run takes over every answer that is whole, and asks for the rest"
)
_UNWRITABLE = "make the study's folder writable, or move it to a place that is, and run again"
_BY_ERRNO = dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), _UNWRITABLE)
_NO_STORE = f"move the file away: it holds no responses (if it once did, {REPAIR})"

_BY_CODE = {
    sqlite3.SQLITE_PROTOCOL: _COPY,
    sqlite3.SQLITE_NOLFS: _COPY,
    sqlite3.SQLITE_CORRUPT: REPAIR,
    sqlite3.SQLITE_NOTADB: _NO_STORE,
    sqlite3.SQLITE_READONLY: _UNWRITABLE,
}
_LOCKING = {
    sqlite3.SQLITE_IOERR_LOCK,
    sqlite3.SQLITE_IOERR_UNLOCK,
    sqlite3.SQLITE_IOERR_RDLOCK,
    sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMLOCK,
    sqlite3.SQLITE_IOERR_SHMMAP,
}


def what_to_do(error: Exception) -> str | None:
    """The fix for an error; None where the error says enough."""
    if isinstance(error, OSError):
        return _COPY if error.errno in _NO_LOCKS else _BY_ERRNO.get(error.errno or 0)
    code = getattr(error, "sqlite_errorcode", 0)
    return _COPY if code in _LOCKING else _BY_CODE.get(code & 0xFF)


@contextmanager
def sole_writer(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Lock a study's folder; the operating system releases it when the process ends."""
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
    """Lock a study's folder; False where another process holds the lock."""
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


def collected_since(folder: Path) -> float:
    """When the process that is collecting began, in seconds since 1970; 0 where none is."""
    try:
        return (folder / ".run.pid").stat().st_mtime
    except OSError:
        return 0.0


def who_collects(folder: Path) -> int | None:
    """The process that is collecting for a study, or None: who holds the lock is alive, and nobody else."""
    if not is_locked(folder / ".run.lock"):
        return None
    try:
        return int((folder / ".run.pid").read_text())
    except (OSError, ValueError):  # it has only just begun
        return 0


_STOP = ".run.stop"


def ask_to_stop(folder: Path) -> None:
    """Ask whoever collects for a study to stop as Ctrl-C does."""
    replace_text(folder / _STOP, "stop\n")


@contextmanager
def stopping(folder: Path) -> Iterator[None]:
    """End a run of this process as Ctrl-C does once another process asks for it."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_LOOK):
            if (folder / _STOP).exists():
                (folder / _STOP).unlink(missing_ok=True)
                signal.raise_signal(signal.SIGINT)

    (folder / _STOP).unlink(missing_ok=True)
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


_LOOK = 0.2
"""Seconds between two looks at whether this run is to stop."""
