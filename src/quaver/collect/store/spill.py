"""Answers that are not yet in the database, in a file that grows by a line at once.

The database is written in groups, because waiting for the disk after every answer would cost more than
asking. Answers are therefore first appended to ``responses.spill``, as their model gives them, with one
system call, and survive if the process is killed. The file is emptied once its answers are in the database.
If a run is killed, the next one stores what it left in the spill.

A line is JSON behind its checksum (``receipt.line_of``), so that a cut line is recognised; it has the answers
that were given together. The first line
names the study and the engines that the other lines refer to.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from quaver.collect.store.disk_reserve import Reserve, is_full
from quaver.collect.store.receipt import Receipt, document_of, line_of, receipts_of, text_of
from quaver.collect.store.response_tables import COLUMNS
from quaver.core.line_file import write_whole
from quaver.core.replaced_file import put_in_place
from quaver.errors import StoreError

_FORM = "quaver spill 2"

_SHORT = 2**16
"""Longest line, in bytes, that is written without releasing Python's lock."""

_LONG = 2**20
"""Size in bytes from which the file is rewritten without its stored lines."""


class Spill:
    """Keeps answers until the database has them; ``add`` is thread-safe.

    Args:
        path: The file; everything in it must already be in the database.
        reserve: Released when the disk is full.
        facts: The content of the first line.

    Attributes:
        largest: Length of the longest line so far, in bytes.
    """

    def __init__(self, path: Path, reserve: Reserve, facts: Mapping[str, Any]) -> None:
        self._path, self._reserve = path, reserve
        self._head = line_of({"form": _FORM, "columns": COLUMNS.split(", "), **facts})
        self._adding = threading.Lock()
        self._lines: dict[bytes, bytes] = {}
        self._bytes = self._calls = self.largest = 0
        self._file, self._size = _opened(path), 0

    @property
    def weight(self) -> float:
        """Average bytes per call."""
        return self._bytes / self._calls if self._calls else 0.0

    def add(self, group: Sequence[Receipt]) -> int:
        """Keep answers that have arrived together; without any room on the disk, in memory alone.

        Returns:
            Their size in bytes.
        """
        line = line_of(document_of(group))
        with self._adding:
            self._lines[group[0].key] = line
            self._bytes += len(line)
            self._calls += sum(len(one.calls) for one in group)
            self.largest = max(self.largest, len(line))
            self._write(line if self._size else self._head + line)
        return len(line)

    def _write(self, lines: bytes, *, again: bool = True) -> None:
        try:
            write_whole(self._file, lines, self._size, _write)
            self._size += len(lines)
        except OSError as error:
            if again and is_full(error, self._path.parent):
                self._reserve.give_up()  # unless the database's writer just did
                self._write(lines, again=False)

    def forget(self, stored: Iterable[Sequence[Receipt]]) -> None:
        """Drop groups of answers that are in the database now."""
        with self._adding:
            for group in stored:
                self._lines.pop(group[0].key, None)
            with suppress(OSError):  # a line too many is harmless: it is not stored twice
                if not self._lines:
                    os.ftruncate(self._file, 0)
                    self._size = 0
                elif self._size > _LONG:
                    self._rewrite()

    def _rewrite(self) -> None:
        """Rewrite the file with the lines that are still needed; at any moment one file has them all."""
        part = self._path.with_name(self._path.name + ".part")
        lines = self._head + b"".join(self._lines.values())
        file = _opened(part)
        try:
            write_whole(file, lines, 0)
            put_in_place(part, self._path)
        except OSError:
            os.close(file)
            part.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file, self._size = file, len(lines)

    def close(self) -> None:
        """Close the file; remove it if the database has everything, otherwise sync it to the disk."""
        with self._adding:
            with suppress(OSError):
                if self._lines:
                    os.fsync(self._file)
                else:
                    self._path.unlink(missing_ok=True)
            os.close(self._file)


def _writing_at_once() -> Callable[[int, bytes], int]:
    """``os.write`` without releasing Python's lock.

    A worker that answers thousands of calls a second would otherwise wait for the lock after every line, and
    ask a third fewer calls.
    """
    if sys.platform == "win32":
        return os.write
    write = ctypes.PyDLL(None, use_errno=True).write
    write.argtypes, write.restype = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t], ctypes.c_ssize_t

    def at_once(file: int, text: bytes) -> int:
        if len(text) > _SHORT:
            return os.write(file, text)
        written: int = write(file, text, len(text))
        if written < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return written

    return at_once


_write = _writing_at_once()


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o666)


class SpillFile:
    """The spill that a killed run left; read only.

    Args:
        path: The file, which may be missing.

    Attributes:
        study: The fingerprint of the study; None if there is nothing to read.
        sources: Model, identity, provenance and reused study, by the number that answers refer to.

    Raises:
        StoreError: The first line is of another version.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.study: str | None = None
        self.sources: dict[int, tuple[str, str, Any, str | None]] = {}
        first = next(self._documents(), None)
        if first is None:
            return
        try:
            if first["form"] != _FORM or first["columns"] != COLUMNS.split(", "):
                raise ValueError(f"the form {first['form']!r}")
            self.study = first["study"]
            self.sources = {n: (m, i, json.loads(facts), of) for n, m, i, facts, of in first["sources"]}
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(
                "the answers that a killed run left here cannot be read",
                where=str(path),
                expected=_FORM,
                found=str(error),
                fix="update Quaver, or move the file away: the next run asks for its answers again",
            ) from error

    def receipts(self) -> Iterator[Receipt]:
        """The answers in order of arrival; incomplete lines are skipped."""
        for document in self._documents():
            try:
                group = receipts_of(document)
            except (ValueError, TypeError, IndexError, KeyError):  # the first line, or not Quaver's
                continue
            yield from (one for one in group if one.source in self.sources)

    def _documents(self) -> Iterator[Any]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for line in file:
                with suppress(ValueError):
                    if (document := text_of(line)) is not None:
                        yield document
