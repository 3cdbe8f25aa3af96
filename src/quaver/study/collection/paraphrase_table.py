"""A table of the texts that the variants bring, for a person to edit, and the edits read back from it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from quaver.core.replaced_file import replacing
from quaver.core.spreadsheet import safe_cell
from quaver.design.factors.prompt_edits import Edit, Editable
from quaver.design.items.table_files import read_rows
from quaver.design.items.table_row import Row
from quaver.errors import SpecError, UnknownName

COLUMNS = ("id", "part", "text", "original", "remarks")
"""The level, which part of the prompt it changes, its text (the one column to edit), the study file's own
text, and why the paraphrase is flagged where it is."""


def write_texts(path: Path, texts: Sequence[Editable]) -> int:
    """Write a row for each text, safe to open in a spreadsheet.

    Returns:
        How many there are.

    Raises:
        StoreError: The file cannot be written.
    """
    with (
        replacing(path) as part,
        part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for one in texts:
            cells = (one.id, one.part, one.text, one.original, one.remarks)
            writer.writerow(safe_cell(cell) for cell in cells)
    return len(texts)


def read_edits(path: Path, texts: Sequence[Editable]) -> list[Edit]:
    """Compare an edited table with the texts as they stand.

    Raises:
        SpecError: The file is missing, or a row is, or is there twice, or has no text.
        UnknownName: A row names a text that the study does not have.
    """
    if not path.is_file():
        raise SpecError(
            "there is no such table", where=str(path), fix="`quaver variants STUDY --export FILE` writes one"
        )
    known = {(one.id, one.part): one for one in texts}
    found = _by_text(read_rows(path, hint="save the table in a file with one sheet"), known)
    for key, one in known.items():
        if key not in found:
            raise SpecError(
                f"the row of {one.id} ({one.part}) is missing",
                where=path.name,
                expected=f"{len(known)} rows, one for each text",
                found=f"{len(found)} rows",
                fix="put it back; to leave out a paraphrase, change the study file, not the table",
            )
    return [
        Edit(one.factor, one.level, one.part, one.text, after)
        for key, one in known.items()
        if (after := _text(found[key], one)) != one.text
    ]


def _by_text(rows: Sequence[Row], known: dict[tuple[str, str], Editable]) -> dict[tuple[str, str], Row]:
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        for column in COLUMNS[:3]:
            if column not in row:
                raise UnknownName("column", column, row, where=row.where, fix=f"keep the column {column!r}")
        key = (_plain(row["id"]), str(row["part"]))
        if key not in known:
            raise UnknownName(
                "text", " ".join(key), [" ".join(one) for one in known], where=f"{row.where}: id"
            )
        if key in found:
            raise SpecError(
                f"{key[0]} ({key[1]}) is there twice", where=row.where, fix="remove one of the rows"
            )
        found[key] = row
    return found


def _text(row: Row, one: Editable) -> str:
    """The text of a row; line ends and the apostrophe before what would be a formula are the table's."""
    text = _plain(row["text"]).replace("\r\n", "\n")
    if not text.strip():
        raise SpecError(
            f"the text of {one.id} is empty",
            where=f"{row.where}: text",
            expected="the text of the prompt",
            found="nothing",
        )
    return one.text if text == one.text.replace("\r\n", "\n") else text


def _plain(cell: object) -> str:
    text = str(cell or "")
    return text[1:] if text.startswith("'") and safe_cell(text[1:]) == text else text
