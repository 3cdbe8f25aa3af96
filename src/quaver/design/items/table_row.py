"""A row of a table that was read from a file, with its place in the file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quaver.core.number_format import text_of


class Row(dict[str, Any]):
    """A row's cells by column, and its place: ``items.csv:12``."""

    __slots__ = ("_file", "_place")

    def __init__(self, cells: Iterable[tuple[str, Any]], file: str, place: int | str) -> None:
        super().__init__(cells)
        self._file, self._place = file, place

    @property
    def where(self) -> str:
        """The file and the line, or the number of the row."""
        return f"{self._file}:{self._place}"

    def text(self, column: str | None) -> str:
        """A cell's text without white space around it; empty for an empty cell.

        Raises:
            ItemError: The cell holds several values, or something that is neither text nor number.
        """
        return "" if column is None else text_of(self.get(column), f"{self.where}: {column}")
