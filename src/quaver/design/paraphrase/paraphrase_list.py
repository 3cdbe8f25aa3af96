"""``file``: paraphrases that a person wrote, from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quaver.core.line_file import lines_of
from quaver.design.factors.prompt_edits import ORIGINAL
from quaver.design.items.table_files import FORMATS, read_rows
from quaver.design.items.table_row import Row
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, PromptContext, Work
from quaver.design.paraphrase.paraphraser import TEMPERATURE
from quaver.errors import SpecError, UnknownName

_PLAIN = (".txt", ".md")


class File:
    """Paraphrases from a file.

    Args:
        path: A CSV, TSV, XLSX, ODS, JSONL or Parquet file with one paraphrase a row, or a text file
            (``.txt``) with one a line; relative to the study file, or absolute.
        column: The column of paraphrases.
        name: The column of names; without it, they are ``w1``, ``w2``, …
        temperature: The column of the temperatures at which they were made, if there is one.
        encoding: The file's encoding.
        sheet: The sheet of a spreadsheet, where several hold something.
    """

    factor = "paraphrase"
    part = "instruction"
    exact = True
    kept = False

    def __init__(
        self,
        *,
        path: str,
        column: str = "paraphrase",
        name: str = "name",
        temperature: str = "temperature",
        encoding: str = "utf-8",
        sheet: str | None = None,
    ) -> None:
        self._path, self._column, self._name = path, column, name
        self._temperature, self._encoding, self._sheet = temperature, encoding, sheet

    def asked(self) -> Mapping[str, Any]:
        """The file."""
        return {"path": self._path}

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """The file's paraphrases in order, without the original.

        Raises:
            SpecError: The file is missing or empty, or a paraphrase is empty or occurs twice.
            UnknownName: It has no such column.
        """
        path = context.home / self._path
        if not os.path.isfile(path):
            raise SpecError(
                "there is no such file of paraphrases",
                where=str(path),
                fix="paths are relative to the study file",
            )
        rows = self._lines(path) if path.suffix.lower() in _PLAIN else self._rows(path)
        for number, row in enumerate(rows, start=1):
            text = str(row[self._column] or "").strip()
            if text == draft.original.strip():
                continue
            name = str(row.get(self._name) or f"w{number}")
            made = self._temperature_of(row)
            if not draft.offer(text, lambda _, name=name: name, "", made, {"path": self._path}):  # type: ignore[misc]
                raise SpecError(
                    "a paraphrase is empty or occurs twice",
                    where=f"{row.where}: {self._column}",
                    expected="a different paraphrase in every row",
                    found=text[:120] or "nothing",
                )
            if name == ORIGINAL:
                raise SpecError(
                    f"a paraphrase has the name {ORIGINAL!r} of the study file's own instruction",
                    where=f"{row.where}: {self._name}",
                    fix="give it another name",
                )
        if not draft.paraphrases:
            raise SpecError(
                "the file has no paraphrase other than the original",
                where=str(path),
                expected=f"paraphrases in {self._column!r}",
                found=f"{len(rows):,} rows",
            )
        return draft.paraphrases

    def _lines(self, path: Path) -> list[Row]:
        try:
            lines = lines_of(path.read_bytes().decode(self._encoding).removeprefix("\ufeff"))
        except (UnicodeError, LookupError) as error:
            raise SpecError(
                f"the file of paraphrases is not {self._encoding}", where=str(path), found=str(error)[:120]
            ) from None
        return [
            Row([(self._column, line)], path.name, number)
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]

    def _rows(self, path: Path) -> list[Row]:
        if path.suffix.lower() not in FORMATS:
            raise SpecError(
                f"files that end in {path.suffix!r} are not read",
                where=str(path),
                expected=f"one of {', '.join([*FORMATS, *_PLAIN])}",
            )
        rows = read_rows(path, self._encoding, sheet=self._sheet, hint="`{name}: {value}` beside path")
        for row in rows:
            if self._column not in row:
                raise UnknownName("column", self._column, row, where=row.where, fix="name it: column: …")
        return rows

    def _temperature_of(self, row: Row) -> dict[str, float]:
        value = row.get(self._temperature)
        if value is None or value == "":
            return {}
        try:
            return {TEMPERATURE: float(value)}
        except ValueError:
            raise SpecError(
                "this temperature is not a number",
                where=f"{row.where}: {self._temperature}",
                found=str(value),
            ) from None
