"""Fixes for the errors that the operating system and SQLite raise about a store."""

from __future__ import annotations

import errno
import sqlite3

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
