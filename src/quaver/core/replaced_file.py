"""Files that are replaced whole, and locks: readers find the old content or the new."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from quaver._secrets import Keys
from quaver.core.input_budget import parsed_json, read_file
from quaver.errors import StoreError

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a disk that has no room."""

_SUM = re.compile(rb'\{\n "checksum": "([0-9a-f]{8})",\n')


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Translate the operating system's errors when a folder cannot be written."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            "the study's folder cannot be written",
            where=str(folder),
            found=error.strerror or str(error),
            fix=room_for(error),
        ) from error


def room_for(error: OSError) -> str:
    """What to do where a file cannot be written."""
    return "free some space" if error.errno in FULL else "check the folder's owner and permissions"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for a while, among the system's temporary ones.

    Raises:
        StoreError: There is no room, or it may not be written.
    """
    # SQLite may still be putting its journal away when the folder goes: that changes nothing.
    try:
        with tempfile.TemporaryDirectory(prefix="quaver-", ignore_cleanup_errors=True) as made:
            yield Path(made)
    except OSError as error:
        if error.errno not in (*FULL, errno.EROFS):  # of another file, or no fault of writing
            raise
        raise StoreError(
            "a temporary folder cannot be written",
            where=tempfile.gettempdir(),
            found=error.strerror or str(error),
            fix=f"{room_for(error)}, or set TMPDIR to a folder on another disk",
        ) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write, which then takes the place of ``path`` in one step and is on the disk."""
    part = path.with_name(path.name + ".part")
    with writing(path.parent):
        try:
            yield part
            put_in_place(part, path)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()


def put_in_place(part: Path, path: Path) -> None:
    """Have a file that is written take the place of another, both on the disk."""
    file = os.open(part, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    part.replace(path)
    sync_folder(path.parent)


def replace_bytes(path: Path, content: bytes) -> None:
    """Replace a file by some bytes."""
    with replacing(path) as part:
        part.write_bytes(content)


def replace_text(path: Path, text: str) -> None:
    """Replace a file by a text; what UTF-8 cannot say is escaped."""
    replace_bytes(path, text.encode("utf-8", "backslashreplace"))


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system can."""
    with suppress(OSError):  # Windows opens no folders, and some network drives sync none
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def replace_document(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a file by a JSON object, without the value of any key; its first member is a checksum."""
    replace_bytes(path, document_bytes(document))


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """What is in such a file."""
    text = Keys().out_of(json.dumps(document, indent=1, ensure_ascii=False, default=str)) + "\n"
    content = text.encode("utf-8", "backslashreplace")
    if document:
        rest = content.removeprefix(b"{\n")
        content = b'{\n "checksum": "%08x",\n%b' % (zlib.crc32(rest), rest)
    return content


def document_in(path: Path) -> Any:
    """The document of such a file; without a checksum, as somebody wrote it who removed that line."""
    content = read_file(path)
    match = _SUM.match(content)
    if match and int(match[1], 16) != zlib.crc32(content[match.end() :]):
        raise ValueError("its content has changed; if you changed it on purpose, remove the line `checksum`")
    document = parsed_json(content)
    if isinstance(document, dict):
        document.pop("checksum", None)
    return document


@contextmanager
def locked(path: Path, wait: float = 0.0) -> Iterator[bool]:
    """Lock a file; False where another process holds the lock."""
    # A lock file without a system lock would outlive a killed process.
    from filelock import FileLock, Timeout  # a second's tenth that `quaver --help` need not wait

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


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file; that it once did says nothing."""
    if sys.platform == "win32":
        with locked(path) as free:
            return not free
    import fcntl

    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a drive without locks, where nobody collects
        return False
    finally:
        os.close(file)
    return False


def _check_refusal(path: Path) -> None:
    """Raise where the system refuses every lock, which looks like another process that holds it."""
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
