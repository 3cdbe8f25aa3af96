"""A row of a table, and the rows of a file of lines."""

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

    @property
    def number(self) -> int:
        """The number of its row or line in the file, from 1; of a record of several lines, of its last."""
        return int(str(self._place).removeprefix(" row "))

    def text(self, column: str | None) -> str:
        """A cell's text without white space around it; empty for an empty cell."""
        cell = None if column is None else self.get(column)
        if isinstance(cell, str) and cell.isascii():  # nearly every cell, and a table may have millions
            return cell.strip()
        return text_of(cell, f"{self.where}: {column}")


def column_texts(rows: Iterable[Row], column: str) -> list[str]:
    """A column's cells as `Row.text` gives them; what many rows hold is read once."""
    known: dict[Any, str] = {}
    texts = []
    for row in rows:
        cell = row.get(column)
        text = known.get(cell) if isinstance(cell, str) else None
        if text is None:
            text = row.text(column)
            if isinstance(cell, str):
                known[cell] = text
        texts.append(text)
    return texts


def rows_of_lines(file: Iterable[str], name: str) -> list[Row]:
    """The rows of a text file: each line is the column ``text``; empty lines are skipped."""
    lines = ((number, whole.rstrip("\r\n")) for number, whole in enumerate(file, start=1))
    return [Row([("text", line)], name, number) for number, line in lines if line.strip()]
