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
from pathlib import Path
from typing import Any, Final, Literal, Protocol, runtime_checkable

from quaver.core.input_budget import read_file
from quaver.core.line_file import lines_of
from quaver.design.factors.prompt_edits import ORIGINAL
from quaver.design.items.table_files import FORMATS, read_rows
from quaver.design.items.text_lines import Row
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, PromptContext, ToAsk, Work
from quaver.errors import ModelError, SpecError, UnknownName

MOST = 1000
"""The most paraphrases at one temperature or strength."""

TEMPERATURE = "paraphrase_temperature"
"""The covariate for the temperature at which a paraphrase was made (``temperature`` is a decoding's)."""

CUT_OFF: Final = "cut_off"
"""The covariate of a paraphrase whose end is missing, where such paraphrases are kept."""

REPHRASER: Final = "rephraser"
"""The covariate of a paraphrase that one of the study's models made for itself: that model's name."""

CutOff = Literal["drop", "keep"]
"""What becomes of a paraphrase that a model did not end within its limit."""


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


def stand_ins(original: str, temperatures: Sequence[float], k: int) -> list[Paraphrase]:
    """Stand-ins for ``k`` paraphrases at each temperature; no two of them begin alike."""
    groups = [(temperature, f"{temperature:g}") for temperature in temperatures]
    return [
        Paraphrase(f"t{group}-{n}", f"{group} {n} {original}", group, {TEMPERATURE: one})
        for one, group in groups
        for n in range(1, k + 1)
    ]


def check_count(name: str, value: int) -> None:
    """Check a number of paraphrases.

    Raises:
        SpecError: It is too low or too high.
    """
    if not 1 <= value <= MOST:
        raise SpecError(
            "this number of paraphrases is out of range",
            where=name,
            expected=f"1 to {MOST:,}",
            found=f"{value:,}",
        )


def too_few(draft: Draft, group: str, wanted: int, what: str, fix: str) -> ModelError:
    """The error of a model that gave too few paraphrases."""
    came, reasons = len(draft.of(group)), draft.dropped.get(group, {})
    dropped = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
    return ModelError(
        f"the model gave {came} of {wanted} paraphrases at {what}",
        expected=f"{wanted} that differ from the original and from each other",
        found=f"{draft.asked.get(group, 0)} answers" + (f", of which {dropped}" if dropped else ""),
        fix=fix,
    )


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
            lines = lines_of(read_file(path).decode(self._encoding).removeprefix("\ufeff"))
        except OSError as error:
            raise SpecError(
                "the file of paraphrases cannot be read", where=str(path), found=str(error)
            ) from None
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
