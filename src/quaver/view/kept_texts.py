"""Many texts in two files, read one at a time and searched as a stream, whatever their number and length."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

_END = b"\xff"
"""Ends each text; no byte of UTF-8."""

_PIECE = 4 << 20
_FEW = 4096
"""A piece with more places than this is searched for all of them at once."""


def folded(text: str) -> str:
    """A text as it is searched: without the difference between capital and small letters."""
    return text.lower() if text.isascii() else text.casefold()


class TextWriter:
    """Appends texts to ``NAME.bin`` and the places where they end to ``NAME.ends``.

    Args:
        path: The two files, without an ending.
        size: How many texts there are already; what a killed process wrote beyond them is cut off.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        ends = path.with_suffix(".ends")
        self._texts = path.with_suffix(".bin").open("ab")
        self._ends = ends.open("ab")
        self._ends.truncate(8 * size)
        self._end = int(np.fromfile(ends, np.int64, 1, offset=8 * (size - 1))[0]) if size else 0
        self._texts.truncate(self._end)
        self.size = size

    def add(self, texts: Iterable[str]) -> None:
        """Append some texts."""
        written = [text.encode("utf-8", "surrogatepass") + _END for text in texts]
        ends = self._end + np.cumsum([len(one) for one in written], dtype=np.int64)
        self._texts.write(b"".join(written))
        self._ends.write(ends.tobytes())
        if written:
            self._end = int(ends[-1])
        self.size += len(written)

    def flush(self) -> None:
        """Hand what was added to the operating system."""
        self._texts.flush()
        self._ends.flush()

    def close(self) -> None:
        """Close both files."""
        self._texts.close()
        self._ends.close()


class KeptTexts:
    """Texts that a `TextWriter` wrote, or is writing.

    Args:
        path: The two files, without an ending.
    """

    def __init__(self, path: Path) -> None:
        self._texts, self._ends = path.with_suffix(".bin"), path.with_suffix(".ends")
        self._open: dict[Path, int] = {}

    def __del__(self) -> None:
        for file in self._open.values():
            os.close(file)

    def _read(self, path: Path, size: int, start: int) -> bytes:
        """A piece of a file, which stays open."""
        if path not in self._open:
            self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(self._open[path], size, start)

    def __len__(self) -> int:
        return self._ends.stat().st_size // 8 if self._ends.exists() else 0

    def __getitem__(self, at: int) -> str:
        start, end = self._place(at)
        return self._read(self._texts, end - start - 1, start).decode("utf-8", "surrogatepass")

    def begin(self, at: int, length: int) -> str:
        """The first characters of a text."""
        start, end = self._place(at)
        some = self._read(self._texts, min(end - start - 1, 4 * length), start)
        return some.decode("utf-8", "ignore")[:length]

    def _place(self, at: int) -> tuple[int, int]:
        if at == 0:
            return 0, int.from_bytes(self._read(self._ends, 8, 0), sys.byteorder)
        both = self._read(self._ends, 16, 8 * (at - 1))
        return int.from_bytes(both[:8], sys.byteorder), int.from_bytes(both[8:], sys.byteorder)

    def search(self, wanted: str) -> TextSearch:
        """A search for a text, whatever its case, not yet begun."""
        return TextSearch(self._texts, self._ends, folded(wanted).encode("utf-8", "surrogatepass"))


@dataclass
class TextSearch:
    """A search that goes on in the background, so that nobody has to wait for its end.

    Attributes:
        found: Which texts hold what is sought, as far as they have been read.
        complete: Whether all has been read.
    """

    texts: Path
    ends: Path
    wanted: bytes
    found: Any = field(default_factory=lambda: np.zeros(0, bool))
    complete: bool = False
    _thread: threading.Thread | None = None

    def wait(self, seconds: float) -> TextSearch:
        """Search for some time, or go on with a search that has begun."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._thread.join(seconds)
        return self

    def _run(self) -> None:
        ends = np.fromfile(self.ends, np.int64) if self.ends.exists() else np.zeros(0, np.int64)
        self.found = np.zeros(len(ends), bool)
        try:
            last = int(ends[-1]) if len(ends) else 0
            overlap = max(0, len(self.wanted) - 1)
            with self.texts.open("rb") if last else open(os.devnull, "rb") as file:
                for start in range(0, last, _PIECE):
                    piece = os.pread(file.fileno(), min(_PIECE + overlap, last - start), start)
                    self._note(piece, start, ends)
        finally:
            self.complete = True

    def _note(self, piece: bytes, start: int, ends: Any) -> None:
        """Mark the texts that a piece of the file shows to hold what is sought."""
        places = _places(piece, self.wanted)
        if len(places):
            self.found[np.searchsorted(ends, start + places, side="right")] = True


def _places(piece: bytes, wanted: bytes) -> Any:
    """Where a piece holds something."""
    if not wanted:
        return np.zeros(0, np.int64)
    if piece.count(wanted) <= _FEW:
        found, at = [], piece.find(wanted)
        while at >= 0:
            found.append(at)
            at = piece.find(wanted, at + 1)
        return np.array(found, np.int64)
    here = np.frombuffer(piece, np.uint8)
    places = np.flatnonzero(here[: len(here) - len(wanted) + 1] == wanted[0])
    for offset, byte in enumerate(wanted[1:], start=1):
        places = places[here[places + offset] == byte]
    return places


class KeptNames:
    """Unique names, such as items' ids, found by name without all of them in memory."""

    def __init__(self, path: Path) -> None:
        self._names = KeptTexts(path)
        self._hashes = np.load(path.with_suffix(".hashes.npy"))
        self._order = np.load(path.with_suffix(".order.npy"))

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, at: int) -> str:
        return self._names[at]

    def find(self, name: str) -> int | None:
        """The number of a name; None where there is no such name."""
        wanted = _hash(name)
        at = int(np.searchsorted(self._hashes, np.uint64(wanted)))
        while at < len(self._hashes) and int(self._hashes[at]) == wanted:
            if self._names[found := int(self._order[at])] == name:
                return found
            at += 1
        return None

    def places_in(self, other: KeptNames) -> Any:
        """For each of these names its number among others; -1 where it is not there."""
        found = np.full(len(self), -1, np.int64)
        if len(other):
            at = np.minimum(np.searchsorted(other._hashes, self._hashes), len(other) - 1)
            same = other._hashes[at] == self._hashes
            found[self._order[same]] = other._order[at[same]]
        return found

    def search(self, wanted: str) -> TextSearch:
        """A search for a part of names; only exact case is found."""
        return TextSearch(self._names._texts, self._names._ends, wanted.encode("utf-8", "surrogatepass"))


def write_names(path: Path, names: Iterable[str]) -> None:
    """Write names for `KeptNames`."""
    kept = list(names)
    writer = TextWriter(path)
    writer.add(kept)
    writer.close()
    hashes = np.array([_hash(name) for name in kept], np.uint64)
    order = np.argsort(hashes, kind="stable").astype(np.uint32)
    np.save(path.with_suffix(".hashes.npy"), hashes[order])
    np.save(path.with_suffix(".order.npy"), order)


def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
