"""The protocol of a paraphraser: an engine that rewords a prompt.

An engine fills a `Draft` with paraphrases: the draft knows the original, drops echoes and duplicates, and
names what it keeps. Engines that cost nothing (``surface``, ``file``) fill a new draft every
time, and give the same paraphrases on every machine. Engines that ask a model (``llm``, ``pegasus``) get the
draft that the study keeps, and add what is missing.

Engines reword the instruction. The postfix never changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol, runtime_checkable

from pydantic import Field

from quaver.design.factors.prompt_edits import ORIGINAL
from quaver.design.items.table_files import read_rows
from quaver.design.items.text_lines import Row
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, PromptContext, ToAsk, Work
from quaver.errors import SpecError, UnknownName

Count = Annotated[int, Field(ge=1, le=1000)]
"""A number of paraphrases at one temperature or strength."""

TEMPERATURE = "paraphrase_temperature"
"""The covariate for the temperature at which a paraphrase was made (``temperature`` is a decoding's)."""

REPHRASER: Final = "rephraser"
"""The covariate of a paraphrase that one of the study's models made for itself: that model's name."""


class Paraphraser(Protocol):
    """Rewords a prompt, registered under ``quaver.paraphrasers``.

    Its constructor takes the options beside its name in the study file, as keyword arguments with annotated
    types; constructing one is cheap.
    """

    factor: str
    """The column of the annotation frame for its paraphrases' names."""

    part: str
    """The part of the prompt that it rewords: ``instruction`` or ``layout``."""

    exact: bool
    """Whether case and spacing distinguish two of its paraphrases."""

    kept: bool
    """Whether its paraphrases cost something and are therefore made once and kept."""

    def asked(self) -> Mapping[str, Any]:
        """Everything but the number that decides its paraphrases; kept paraphrases are reused under it."""
        ...

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """The paraphrases, without the original.

        Args:
            context: The prompt to reword, and the seed.
            draft: The paraphrases so far; the engine adds to it.
            work: The calls that it may make.

        Raises:
            SpecError: The original has too little that this engine can change.
            ModelError: A model gave too few paraphrases; the message says how many.
        """
        ...


@runtime_checkable
class Foreseen(Protocol):
    """A paraphraser that knows in advance how many paraphrases it will make."""

    def foreseen(self, original: str) -> Sequence[Paraphrase]:
        """Stand-ins for its paraphrases, with their future names, each about as long as the original."""
        ...

    def to_ask(self, draft: Draft) -> ToAsk | None:
        """The calls that completing a draft will take; None if it takes none."""
        ...


@dataclass(frozen=True, kw_only=True)
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

    path: str
    column: str = "paraphrase"
    name: str = "name"
    temperature: str = "temperature"
    encoding: str = "utf-8"
    sheet: str | None = None

    def asked(self) -> Mapping[str, Any]:
        """The file."""
        return {"path": self.path}

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """The file's paraphrases in order, without the original.

        Raises:
            SpecError: The file is missing or empty, or a paraphrase is empty or occurs twice.
            UnknownName: It has no such column.
        """
        path = context.home / self.path
        if not os.path.isfile(path):
            raise SpecError(
                "there is no such file of paraphrases",
                where=str(path),
                fix="paths are relative to the study file",
            )
        line = {"line": f"{{{self.column}}}"} if path.suffix.lower() == ".txt" else {}
        hint = "`{name}: {value}` beside path"
        rows = read_rows(path, self.encoding, sheet=self.sheet, hint=hint, **line)
        for number, row in enumerate(rows, start=1):
            if self.column not in row:
                raise UnknownName("column", self.column, row, where=row.where, fix="name it: column: …")
            text = str(row[self.column] or "").strip()
            if text == draft.original.strip():
                continue
            name = str(row.get(self.name) or f"w{number}")
            made = self._temperature_of(row)
            if not draft.offer(text, lambda _, name=name: name, "", made, {"path": self.path}):  # type: ignore[misc]
                raise SpecError(
                    "a paraphrase is empty or occurs twice",
                    where=f"{row.where}: {self.column}",
                    expected="a different paraphrase in every row",
                    found=text[:120] or "nothing",
                )
            if name == ORIGINAL:
                raise SpecError(
                    f"a paraphrase has the name {ORIGINAL!r} of the study file's own instruction",
                    where=f"{row.where}: {self.name}",
                    fix="give it another name",
                )
        if not draft.paraphrases:
            raise SpecError(
                "the file has no paraphrase other than the original",
                where=str(path),
                expected=f"paraphrases in {self.column!r}",
                found=f"{len(rows):,} rows",
            )
        return draft.paraphrases

    def _temperature_of(self, row: Row) -> dict[str, float]:
        value = row.get(self.temperature)
        if value is None or value == "":
            return {}
        try:
            return {TEMPERATURE: float(value)}
        except ValueError:
            raise SpecError(
                "this temperature is not a number",
                where=f"{row.where}: {self.temperature}",
                found=str(value),
            ) from None
