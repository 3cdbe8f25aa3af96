"""Files that are replaced whole: readers find the old content or the new one, also after a power failure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quaver.errors import StoreError


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Translate the operating system's errors when a folder cannot be written.

    Raises:
        StoreError: The disk is full, or the folder may not be written.
    """
    try:
        yield
    except OSError as error:
        raise StoreError(
            "the study's folder cannot be written",
            where=str(folder),
            found=error.strerror or str(error),
            fix="free some space, or check the folder's owner and permissions",
        ) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write, which then takes the place of ``path`` in one step and is on the disk.

    Raises:
        StoreError: It cannot be written; what stood there stays.
    """
    part = path.with_name(path.name + ".part")
    with writing(path.parent):
        try:
            yield part
            put_in_place(part, path)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()


def put_in_place(part: Path, path: Path) -> None:
    """Have a file that is written take the place of another, both on the disk.

    Raises:
        OSError: It cannot; what stood there stays.
    """
    file = os.open(part, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    part.replace(path)
    sync_folder(path.parent)


def replace_bytes(path: Path, content: bytes) -> None:
    """Replace a file by some bytes.

    Raises:
        StoreError: It cannot be written; what stood there stays.
    """
    with replacing(path) as part:
        part.write_bytes(content)


def replace_text(path: Path, text: str) -> None:
    """Replace a file by a text; what UTF-8 cannot say is escaped.

    Raises:
        StoreError: It cannot be written; what stood there stays.
    """
    replace_bytes(path, text.encode("utf-8", "backslashreplace"))


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system can."""
    with suppress(OSError):  # Windows opens no folders, and some network drives sync none
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
