"""Disk space set aside beside a store and released when the disk is full, so that answers still fit."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

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
        """Set space aside for a run.

        Raises:
            OSError: There is no room for it.
        """
        self.spent = False
        self.cover(_LEAST)

    def cover(self, wanted: int) -> None:
        """Set aside at least this many bytes.

        Raises:
            OSError: There is no room for them; the present reserve stays.
        """
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
