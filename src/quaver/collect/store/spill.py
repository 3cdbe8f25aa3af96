"""What was answered and is not in the database yet: a file of lines that is added to at once.

The database is written in groups, since waiting for the disk after every answer would cost more than to
ask. An answer that reaches the process is first added to ``responses.spill``, in one call of the operating
system, which keeps it when the process is killed. When its group is in the database its line is of no use
any more, and the file is emptied. The next run takes in what a run that was killed left there.

A line is JSON behind its checksum (``receipt.line_of``), so that one that was cut off is recognised. The
first one says which study and which engines the others speak of.
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
from quaver.collect.store.receipt import Receipt, line_of, receipt_of, text_of
from quaver.collect.store.response_tables import COLUMNS
from quaver.errors import StoreError

__all__ = ["Spill", "SpillFile"]

_FORM = "quaver spill 1"

_SHORT = 2**16
"""Bytes of a line that is written without letting other threads go on."""

_LONG = 2**20
"""Bytes of a file that is written anew without the lines that are of no use any more."""


class Spill:
    """Keeps answers until the database has them. ``add`` may be called from any thread.

    Args:
        path: The file; it must hold nothing that is not in the database.
        reserve: Given up when the disk is full.
        facts: What the first line says.

    Attributes:
        largest: Bytes of the longest line so far.
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
        """Bytes of a call's answer, on average."""
        return self._bytes / self._calls if self._calls else 0.0

    def add(self, kept: Receipt) -> int:
        """Keep an answer; on a full disk without any room it is in memory alone.

        Returns:
            Its bytes.
        """
        *head, calls, rows = kept  # plain tuples are the fastest to write
        line = line_of((*head, [(*call,) for call in calls], rows))
        with self._adding:
            self._lines[kept.key] = line
            self._bytes += len(line)
            self._calls += len(kept.calls)
            self.largest = max(self.largest, len(line))
            self._write(line if self._size else self._head + line)
        return len(line)

    def _write(self, lines: bytes, *, again: bool = True) -> None:
        try:
            written = _write(self._file, lines)
            if written < len(lines):
                written += os.write(self._file, lines[written:])  # says why
            self._size += written
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            if again and is_full(error, self._path.parent):
                self._reserve.give_up()  # unless whoever writes the database has just done so
                self._write(lines, again=False)

    def forget(self, stored: Iterable[Receipt]) -> None:
        """Answers are in the database now."""
        with self._adding:
            for kept in stored:
                self._lines.pop(kept.key, None)
            with suppress(OSError):  # a line too many does no harm: it is not stored twice
                if not self._lines:
                    os.ftruncate(self._file, 0)
                    self._size = 0
                elif self._size > _LONG:
                    self._rewrite()

    def _rewrite(self) -> None:
        """Write those lines anew that are still of use; at every moment one file holds all of them."""
        part = self._path.with_name(self._path.name + ".part")
        lines = self._head + b"".join(self._lines.values())
        file = _opened(part)
        try:
            if os.write(file, lines) < len(lines):
                raise OSError("the disk is full")
            part.replace(self._path)
        except OSError:
            os.close(file)
            part.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file, self._size = file, len(lines)

    def close(self) -> None:
        """Let go of the file; remove it where all of it is in the database, else see it onto the disk."""
        with self._adding:
            with suppress(OSError):
                if self._lines:
                    os.fsync(self._file)
                else:
                    self._path.unlink(missing_ok=True)
            os.close(self._file)


def _writing_at_once() -> Callable[[int, bytes], int]:
    """``os.write`` that keeps Python's lock.

    A worker that answers thousands of calls a second would wait for the lock after every line, and ask a
    third fewer.
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
    """What a run that was killed left: read, and never written.

    Args:
        path: The file; nothing is left where there is none.

    Attributes:
        study: The fingerprint of the study whose calls they are; None where nothing can be read.
        sources: By the number that answers name: model, identity, provenance, and the study taken from.

    Raises:
        StoreError: Its first line is not this version's.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.study: str | None = None
        self.sources: dict[int, tuple[str, str, Any, str | None]] = {}
        self._columns: Sequence[str] = ()
        first = next(self._documents(), None)
        if first is None:
            return
        try:
            if first["form"] != _FORM:
                raise ValueError(f"the form {first['form']!r}")
            self.study, self._columns = first["study"], first["columns"]
            self.sources = {n: (m, i, json.loads(facts), of) for n, m, i, facts, of in first["sources"]}
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(
                "what a run left here when it was killed cannot be read",
                where=str(path),
                expected=_FORM,
                found=str(error),
                fix="update Quaver, or move the file away: the next run asks for its answers again",
            ) from error

    def receipts(self) -> Iterator[Receipt]:
        """The answers, in the order in which they came; a line that is not whole is left out."""
        places = [
            self._columns.index(name) if name in self._columns else None for name in COLUMNS.split(", ")
        ]
        for document in self._documents():
            try:
                found = receipt_of(document)
                rows = [tuple(None if at is None else row[at] for at in places) for row in found.rows]
            except (ValueError, TypeError, IndexError, KeyError):  # the first line, or none of Quaver's
                continue
            if found.source in self.sources:
                yield found._replace(rows=rows)

    def _documents(self) -> Iterator[Any]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for line in file:
                with suppress(ValueError):
                    if (document := text_of(line)) is not None:
                        yield document
