"""Rows from lines of text: the whole line, or the columns that a pattern finds in it."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter
from typing import Any

from quaver.core.number_format import text_of
from quaver.errors import ItemError, SpecError


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


def rows_of_lines(file: Iterable[str], name: str, line: str | None) -> list[Row]:
    """The rows of a text file; empty lines are skipped."""
    first, columns = _columns_of_line(line or "{text}")
    rows = []
    for number, whole in enumerate(file, start=1):
        rest, cells = whole.rstrip("\r\n"), []
        if not rest.strip():
            continue
        fits, rest = rest.startswith(first), rest.removeprefix(first)
        for column, ends in columns:
            cell, found, rest = rest.partition(ends) if ends else (rest, "", "")
            cells.append((column, cell))
            fits = fits and found == ends
        if not fits or rest:
            raise ItemError(
                "this line does not fit the pattern",
                where=f"{name}:{number}",
                expected=line,
                found=whole.strip()[:120],
                fix="give the pattern of a line under items: line: …",
            )
        rows.append(Row(cells, name, number))
    return rows


def _columns_of_line(line: str) -> tuple[str, list[tuple[str, str]]]:
    """The beginning of a line; then each column with the text that ends it, empty at the end of the line."""
    names: list[str] = []
    between = [""]
    is_valid = True
    try:
        for text, name, form, how in Formatter().parse(line):
            between[-1] += text
            if name is not None:
                is_valid = is_valid and bool(name) and not form and not how
                names.append(name)
                between.append("")
    except ValueError:
        is_valid = False
    if not is_valid or not names or len(set(names)) < len(names) or not all(between[1:-1]):
        raise SpecError(
            "this is not the pattern of a line",
            where="items.line",
            expected="columns in braces, each with its own name, and text between them: {label}: {text}",
            found=line,
        )
    return between[0], list(zip(names, between[1:], strict=True))
