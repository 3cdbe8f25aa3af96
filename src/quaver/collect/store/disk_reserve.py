"""Disk space set aside beside a store and released when the disk is full, so that answers still fit."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from quaver.core.replaced_file import locked, replace_text, writing
from quaver.errors import StoreError

_LEAST = 16 * 2**20
"""Bytes set aside before the size of answers is known."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_ROOM = 2**20
"""If SQLite reports an I/O error and this many bytes do not fit, the disk is full."""


class Reserve:
    """A file that takes up space until it is needed; thread-safe.

    Args:
        path: The store; the reserve lies beside it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_suffix(".reserve")
        self._changing = threading.Lock()
        self._size = 0
        self.spent = False
        """Whether the disk is full: the reserve was released, or could not grow."""

    def begin(self) -> None:
        """Set space aside for a run."""
        self.spent = False
        self.cover(_LEAST)

    def cover(self, wanted: int) -> None:
        """Set aside at least this many bytes."""
        with self._changing:
            if self.spent or wanted <= self._size:
                return
            size = wanted + wanted // 2 if self._size else wanted  # grows rarely
            try:
                with self._path.open("ab") as file:
                    _allocate(file.fileno(), self._size, size - self._size)
            except OSError:
                self.spent = self._size > 0
                with suppress(OSError):
                    os.truncate(self._path, self._size)
                raise
            self._size = size

    def give_up(self) -> bool:
        """Release the space because the disk is full; returns whether there was any."""
        with self._changing:
            self.spent = True
            had, self._size = self._size, 0
            if had:
                self._path.unlink(missing_ok=True)
            return had > 0

    def close(self) -> None:
        """Remove the file if this process created it."""
        with self._changing:
            if self._size:
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)
                self._size = 0


def _allocate(file: int, start: int, length: int) -> None:
    """Allocate disk blocks."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, start, length)
        return
    block = os.urandom(2**20)  # a file system may not store zeros
    for _ in range(0, length, len(block)):
        os.write(file, block)


def is_full(error: Exception, folder: Path) -> bool:
    """Whether an error of the system or of SQLite means that the disk is full."""
    if isinstance(error, OSError):
        return error.errno in _FULL
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
            _allocate(file.fileno(), 0, _NO_ROOM)
    except OSError as error:
        return error.errno not in _FULL
    return True


_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO)

_COPY = (
    "this drive does not support file locks (common on network drives): move the study's folder to a "
    "local disk, and copy it back after the run"
)
REPAIR = "`quaver repair STUDY` recovers what is still intact; the next run asks for the rest"
_NO_STORE = f"move the file away: it holds no responses (if it once did, {REPAIR})"

_BY_CODE = {
    sqlite3.SQLITE_PROTOCOL: _COPY,
    sqlite3.SQLITE_NOLFS: _COPY,
    sqlite3.SQLITE_CORRUPT: REPAIR,
    sqlite3.SQLITE_NOTADB: _NO_STORE,
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
        return _COPY if error.errno in _NO_LOCKS else None
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
    """The process that is collecting for a study, or None."""
    try:
        process = int((folder / ".run.pid").read_text())
        os.kill(process, 0)
    except PermissionError:  # another user's process, which is alive
        return process
    except (OSError, ValueError):
        return None
    return process
