"""Files to which lines are only added: each line is there whole, or not at all.

A line ends with a line feed and with nothing else: texts may hold every other separator of Unicode. What a
process that was killed left of a line was never acknowledged, and the next writer removes it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from quaver._secrets import Keys
from quaver.core.input_budget import read_file
from quaver.core.replaced_file import sync_folder, writing
from quaver.errors import StoreError

if sys.platform != "win32":
    import fcntl

_SUM = re.compile(rb', "checksum": "([0-9a-f]{8})"\}')
_TAIL = 2**16
"""How many bytes are read at a time in search of the last line's beginning."""


def lines_of(text: str) -> list[str]:
    r"""The lines of a text: a line feed ends one, also behind a carriage return, and nothing else does.

    >>> lines_of("Is this good\u2028or bad?\r\nBad?\n")
    ['Is this good\u2028or bad?', 'Bad?']
    """
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def write_whole(file: int, content: bytes, size: int) -> None:
    """Append to a file that is ``size`` bytes long; it stays as long as it was if not all of it fits."""
    written = 0
    try:
        while written < len(content):
            written += os.write(file, content[written:] if written else content)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(file, size)
        raise


def append_line(path: Path, line: str) -> None:
    """Add a line to a log that people read: whole, but not at once on the disk."""
    with _appending(path) as file:
        write_whole(file, (line + "\n").encode("utf-8", "backslashreplace"), os.fstat(file).st_size)


class LineFile:
    """A file of JSON objects, a line each, that is only added to.

    The last member of each line is a checksum of what stands before it. A line without one, which somebody
    added by hand, is read as it is.

    Args:
        path: The file; made with the first line, and its folder too.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Add documents without the value of any key, all or none; they are on the disk when this returns."""
        keys = Keys()
        content = b"".join(line_of(document, keys) for document in documents)
        with writing(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            with _appending(self.path) as file:
                size = _without_torn_line(file)
                whole = not size or _read(file, 1, size - 1) == b"\n"
                write_whole(file, content if whole else b"\n" + content, size)
                try:
                    os.fsync(file)
                except OSError:
                    os.ftruncate(file, size)
                    raise
            if is_new:
                sync_folder(self.path.parent)

    def documents(self) -> list[dict[str, Any]]:
        """Every document, in order."""
        try:
            content = read_file(self.path)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(
                "this file cannot be read", where=str(self.path), found=error.strerror or str(error)
            ) from error
        *lines, last = content.split(b"\n")
        if not _is_torn(last):
            lines.append(last)
        result = []
        for number, line in enumerate(lines, start=1):
            if line.strip():
                result.append(self._document(line, number))
        return result

    def _document(self, line: bytes, number: int) -> dict[str, Any]:
        document = document_of(line)
        if document is None:
            raise StoreError(
                "a line of this file has changed since it was written",
                where=f"{self.path}, line {number}",
                expected="a JSON object and its checksum",
                found=line[:80].decode(errors="replace"),
                fix="put back a copy of the file, or remove the line: what it said is lost",
            )
        return document


def line_of(document: Mapping[str, Any], keys: Keys | None = None) -> bytes:
    r"""A document as a line, with a checksum as its last member.

    >>> line_of({"item": "a", "mark": "agree"})
    b'{"item": "a", "mark": "agree", "checksum": "03c71ed4"}\n'
    """
    text = json.dumps(document, ensure_ascii=False)
    body = (keys.out_of(text) if keys else text).encode("utf-8", "backslashreplace")[:-1]
    return b'%b, "checksum": "%08x"}\n' % (body, zlib.crc32(body))


def document_of(line: bytes) -> dict[str, Any] | None:
    """The document in a line; None if it has changed since it was written."""
    line = line.strip(b" \t\r\n")
    match = _SUM.search(line, len(line) - 26 if len(line) > 26 else 0)
    if match and (match.end() != len(line) or int(match[1], 16) != zlib.crc32(line[: match.start()])):
        return None
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    if match:
        del document["checksum"]
    return document


def _is_torn(last: bytes) -> bool:
    """Whether what stands behind the last line feed is the beginning of a line, or nothing."""
    return _SUM.search(last) is None and document_of(last) is None


def _without_torn_line(file: int) -> int:
    """Remove the beginning of a line that was never acknowledged; returns the file's size."""
    size = os.fstat(file).st_size
    start, last = size, b""
    while start and b"\n" not in last:
        step = min(start, _TAIL)
        start -= step
        last = _read(file, step, start) + last
    last = last.rpartition(b"\n")[2]
    if last and _is_torn(last):
        size -= len(last)
        os.ftruncate(file, size)
    return size


def _read(file: int, size: int, start: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    return os.read(file, size)


@contextmanager
def _appending(path: Path) -> Iterator[int]:
    """A file that nobody else appends to meanwhile."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    try:
        if sys.platform != "win32":
            with suppress(OSError):  # a drive without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)
