"""The protocol of a paraphraser: an engine that rewords a prompt.

An engine fills a `Draft` with paraphrases: the draft knows the original, drops echoes and duplicates, and
names what it keeps. Engines that cost nothing (``surface``, ``file``) fill a new draft every
time, and give the same paraphrases on every machine. Engines that ask a model (``llm``, ``pegasus``) get the
draft that the study keeps, and add what is missing.

Engines reword the instruction. The postfix never changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from pydantic import Field

from quaver.core.calls import Prompt, Response
from quaver.core.records import Decoding, Item, LabelSet, Variant
from quaver.design.items.table_files import Row, read_rows
from quaver.errors import SpecError, UnknownName


@dataclass(frozen=True, slots=True)
class PromptContext:
    """The study's own prompt, and all that a family may draw on to vary it.

    Attributes:
        prompt: The prompt of the study file, before any family edits it.
        labels: The task's label set.
        seed: The seed of whatever the family draws at random.
        spare: The items from which examples may be taken: those outside the sample, or of another table.
        home: The folder that relative paths in the study file start from.
        sample: The study's items.
        texts: Every template of an item's text in the study; only the prompt's own if empty.
        keeper: Stores what is expensive to make; None stores nothing.
    """

    prompt: Variant
    labels: LabelSet
    seed: int
    spare: Sequence[Item] = ()
    home: Path = Path()
    sample: Sequence[Item] = ()
    texts: Sequence[str] = ()
    keeper: Keeper | None = None


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """One paraphrase.

    Attributes:
        name: Its level, the same in every run: ``t0.5-3``.
        text: The template that replaces the original.
        group: The temperature or strength at which it was made, as text; empty if there is none.
        covariates: Its columns in the annotations: the temperature, the strength.
        origin: How it was made, for the lock file: seed, kinds of edits, point of the grammar.
    """

    name: str
    text: str
    group: str = ""
    covariates: Mapping[str, str | float | bool] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Draft:
    """The paraphrases of one original, as they arrive.

    Attributes:
        original: The template to reword.
        exact: Whether case, spacing and punctuation distinguish two paraphrases.
        paraphrases: The paraphrases so far.
        asked: The number of answers drawn, by group.
        dropped: The number of answers that were no paraphrase, by group and reason.
    """

    original: str
    exact: bool = False
    paraphrases: list[Paraphrase] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._forms = {self._form(paraphrase.text) for paraphrase in self.paraphrases}

    def of(self, group: str) -> list[Paraphrase]:
        """The paraphrases of a group, in order of arrival."""
        return [paraphrase for paraphrase in self.paraphrases if paraphrase.group == group]

    def offer(
        self,
        text: str,
        name: str,
        group: str = "",
        covariates: Mapping[str, str | float | bool] | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> bool:
        """Keep a paraphrase, unless it is empty, an echo of the original or a duplicate.

        Its name is the one that is given; after a name that ends in a dash, its number in the group follows.

        Returns:
            Whether it was kept.
        """
        form, why = self._form(text), ""
        if not form.strip():
            why = "empty"
        elif form == self._form(self.original):
            why = "echo"
        elif form in self._forms:
            why = "duplicate"
        if why:
            self.drop(group, why)
            return False
        if name.endswith("-"):
            name += str(len(self.of(group)) + 1)
        self.paraphrases.append(Paraphrase(name, text, group, covariates or {}, origin or {}))
        self._forms.add(form)
        return True

    def drop(self, group: str, why: str) -> None:
        """Count an answer that is not a paraphrase."""
        reasons = self.dropped.setdefault(group, {})
        reasons[why] = reasons.get(why, 0) + 1

    def _form(self, text: str) -> str:
        return text if self.exact else re.sub(r"[\W_]+", " ", text).strip().casefold()


class Work(Protocol):
    """The calls that an engine may make: the study provides them, and keeps the draft whatever happens."""

    def begin(self, what: str) -> None:
        """Announce, before anything is spent, what is about to be made."""
        ...

    def ask(
        self, model: str | Mapping[str, Any], prompt: Prompt, decoding: Decoding, seed: int, count: int
    ) -> list[Response]:
        """Ask one of the study's models (by name), or another one, the same thing ``count`` times."""
        ...


ToAsk = tuple[str | Mapping[str, Any], int, int, int]
"""The calls that remain to be made for paraphrases, if every answer is one: the model (one of the study's by
name, or another), the least number of calls, the characters of each prompt, the most tokens of an answer."""


class Keeper(Protocol):
    """Keeps paraphrases that cost something."""

    @property
    def stands_in(self) -> bool:
        """Whether this is only a plan, in which texts of similar length replace paraphrases not made yet."""
        ...

    def foresee(self, left: ToAsk) -> None:
        """Record, for that plan, the calls that making them will take."""
        ...

    def paraphrases(
        self, asked: Mapping[str, Any], blank: Draft, fill: Callable[[Draft, Work], Sequence[Paraphrase]]
    ) -> Sequence[Paraphrase]:
        """The requested paraphrases: those that are kept, and those that ``fill`` adds."""
        ...


class NotMade(SpecError):
    """Paraphrases that cost something have not been made, and may not be made now."""


class NoWork:
    """Refuses all calls; ``refused`` says whether one was attempted."""

    refused = False

    def begin(self, what: str) -> None:
        """Refuse."""
        self.refused = True
        raise NotMade(
            "the model's paraphrases have not been made yet",
            expected=what,
            found="none",
            fix="`quaver variants STUDY` makes them",
        )

    def ask(
        self, model: str | Mapping[str, Any], prompt: Prompt, decoding: Decoding, seed: int, count: int
    ) -> list[Response]:
        """Refuse."""
        self.begin(f"{count} answers of a model")
        return []


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

    One that knows in advance how many paraphrases it will make may also have ``foreseen(original)``: it
    gives stand-ins with their future names, each about as long as the original. Its ``to_ask(draft)`` gives
    the calls that completing a draft will take (`ToAsk`), or None if it takes none. A plan then needs no
    paraphrases.
    """

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
        sheet: The sheet of a spreadsheet, where several hold a table.
    """

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
        column = "text" if path.suffix.lower() == ".txt" else self.column
        rows = read_rows(path, self.encoding, sheet=self.sheet, hint="`{name}: {value}` beside path")
        for number, row in enumerate(rows, start=1):
            if column not in row:
                raise UnknownName("column", column, row, where=row.where, fix="name it: column: …")
            text, name = row.text(column), row.text(self.name) or f"w{number}"
            if text == draft.original.strip():
                continue
            if not draft.offer(text, name, "", self._temperature_of(row), {"path": self.path}):
                raise SpecError(
                    "a paraphrase is empty or occurs twice",
                    where=f"{row.where}: {column}",
                    expected="a different paraphrase in every row",
                    found=text[:120] or "nothing",
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
        value = row.text(self.temperature)
        try:
            return {TEMPERATURE: float(value)} if value else {}
        except ValueError:
            raise SpecError(
                "this temperature is not a number", where=f"{row.where}: {self.temperature}", found=value
            ) from None
