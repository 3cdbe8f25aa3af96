"""The cells of a grid as files of small numbers: items in rows, columns of the design beside each other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np


class PlaneWriter:
    """The planes of an index, made when something is first put into them.

    Args:
        folder: The index.
        rows: How many items there are.
        width: How many columns.
    """

    def __init__(self, folder: Path, rows: int, width: int) -> None:
        self._folder, self._size = folder, rows * width
        self._open: dict[str, Any] = {}

    def put(self, name: str, kind: str, cells: Any, values: Any) -> None:
        """Put values into cells, given by their place when all rows stand one behind the other."""
        if self._size:
            self._plane(name, kind)[cells] = values

    def make(self, name: str, kind: str) -> None:
        """Make a plane of zeros where there is none."""
        if self._size:
            self._plane(name, kind)

    def _plane(self, name: str, kind: str) -> Any:
        if name not in self._open:
            path, size = self._folder / f"{name}.plane", self._size * np.dtype(kind).itemsize
            with path.open("ab") as file:  # zeros take no room on the disk before something is put there
                if file.tell() < size:
                    file.truncate(size)
            self._open[name] = np.memmap(path, dtype=kind, mode="r+", shape=(self._size,))
        return self._open[name]

    def flush(self) -> None:
        """Let other processes see what was put."""
        for plane in self._open.values():
            plane.flush()


class Plane:
    """A plane that is read in pieces, so that no more of it than a piece is in memory.

    Args:
        path: The file; where it is missing, all cells are zero.
        kind: NumPy's name of what a cell takes.
        width: How many columns it has.
    """

    def __init__(self, path: Path, kind: str, width: int) -> None:
        self._path, self._kind, self.width = path, np.dtype(kind), width
        self._file: int | None = None

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)

    @property
    def exists(self) -> bool:
        """Whether anything was put into it; the file then stays open."""
        if self._file is None:
            try:
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return False
        return True

    def _read(self, count: int, start: int) -> Any:
        """Some cells, given by their place when all rows stand one behind the other."""
        size = self._kind.itemsize
        return np.frombuffer(os.pread(self._file or 0, count * size, start * size), self._kind)

    def rows(self, start: int, stop: int) -> Any:
        """Consecutive rows."""
        if not self.exists or not self.width:
            return np.zeros((stop - start, self.width), self._kind)
        cells = self._read((stop - start) * self.width, start * self.width)
        return cells.reshape(stop - start, self.width)

    def some(self, rows: Any) -> Any:
        """Rows by their numbers, in that order."""
        found = np.zeros((len(rows), self.width), self._kind)
        if not self.exists or not self.width:
            return found
        for place, row in enumerate(rows):
            found[place] = self._read(self.width, int(row) * self.width)
        return found

    def cell(self, row: int, column: int) -> int:
        """One cell."""
        return int(self._read(1, row * self.width + column)[0]) if self.exists else 0
