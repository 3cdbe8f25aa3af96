"""Rows from lines of text: the whole line, or the columns that a pattern finds in it."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter

from quaver.design.items.table_row import Row
from quaver.errors import ItemError, SpecError


def rows_of_lines(file: Iterable[str], name: str, line: str | None) -> list[Row]:
    """The rows of a text file; empty lines are skipped.

    Args:
        file: Its lines.
        name: What it is called.
        line: The pattern of a line; without one, the whole line is the column ``text``.

    Raises:
        ItemError: A line does not fit the pattern.
        SpecError: The pattern does not tell its columns apart.
    """
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
