"""The texts to label: their files, the rows that a study uses, their gold labels and coders' labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from itertools import product
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from quaver.core.column_names import column_of
from quaver.core.number_format import composed
from quaver.design.spec.yaml_file import Count, Name, Natural, Part, PlacedError, Text, check_distinct

_PAGES = re.compile(r"[1-9][0-9]{0,5}(-[1-9][0-9]{0,5})?")

Scalar = bool | int | float | str


def _as_text(given: Any) -> Any:
    """A date as YAML reads it, as the text that tables hold."""
    return given.isoformat() if isinstance(given, date) else given


def _listed(given: Any) -> Any:
    return [given] if not isinstance(given, list | tuple) else list(map(_as_text, given))


def _named(given: Any) -> Any:
    return {"text": given} if isinstance(given, str) else given


def _of_column(given: Any) -> Any:
    return {"column": given} if isinstance(given, str) else given


PdfKey = Literal["column", "as", "pages"]

Value = Annotated[Scalar | None, BeforeValidator(_as_text)]
Limit = Annotated[int | float | str | None, BeforeValidator(_as_text)]
Values = Annotated[tuple[Value, ...], BeforeValidator(_listed)]


class Condition(Part):
    """What the cells of one column must be; a row must meet all that is given.

    Numbers are compared as numbers, everything else as text: ``2024-01-31`` is after ``2023-12-31``. An empty
    cell meets no condition but ``empty: true`` and ``none_of``.
    """

    model_config = ConfigDict(coerce_numbers_to_str=False)
    bare = "one_of"
    bare_types = ("string", "number", "boolean", "array", "null")

    one_of: Values | None = None
    """One of these values; null is an empty cell."""
    none_of: Values | None = None
    """None of these values."""
    at_least: Limit = None
    """This or more."""
    at_most: Limit = None
    """This or less."""
    contains: str | None = None
    """This text somewhere in it, in any case."""
    entries: Natural | None = None
    """A list with this many entries, such as the options of a question."""
    empty: bool | None = None
    """true: only empty cells; false: none."""

    @model_validator(mode="before")
    @classmethod
    def _from_values(cls, given: Any) -> Any:
        return given if isinstance(given, Mapping | Condition) else {"one_of": _listed(given)}

    @model_validator(mode="after")
    def _something(self) -> Condition:
        if not self.model_fields_set or self.one_of == ():
            raise ValueError("this condition is empty")
        return self

    def met(self, text: str) -> bool:
        """Whether a cell meets it.

        Args:
            text: The cell's text without white space around it; with `entries`, how many its list has.

        Raises:
            ValueError: A limit is a number, and the cell holds a text that is none.

        >>> Condition.model_validate("en").met("en"), Condition.model_validate(7).met("7.0")
        (True, True)
        >>> Condition(at_least=2020).met("2019"), Condition(at_most="2020-06").met("2020-12-01")
        (False, False)
        """
        if self.entries is not None and text != str(self.entries):
            return False
        if self.one_of is not None and not any(_same(text, value) for value in self.one_of):
            return False
        if any(_same(text, value) for value in self.none_of or ()):
            return False
        if self.empty is not None and (not text) is not self.empty:
            return False
        if self.contains is not None and composed(self.contains).casefold() not in composed(text).casefold():
            return False
        return _keeps(self.at_least, text, above=True) and _keeps(self.at_most, text, above=False)


def _keeps(limit: int | float | str | None, text: str, *, above: bool) -> bool:
    """Whether a cell keeps to a limit; an empty one keeps to none.

    Raises:
        ValueError: The limit is a number, and the cell holds a text that is none.
    """
    if limit is None:
        return True
    if not text:
        return False
    value: Any = text if isinstance(limit, str) else float(text)
    return bool(value >= limit if above else value <= limit)


Where = dict[Name, Condition]
"""Conditions by column."""


def _same(text: str, value: Scalar | None) -> bool:
    """Whether a cell holds a value: a number as a number, anything else as text."""
    if value is None:
        return not text
    if isinstance(value, bool):
        return text.casefold() == str(value).casefold()
    if isinstance(value, str):
        return composed(text) == composed(value.strip())
    with suppress(ValueError):
        return float(text) == value
    return False


class GoldSpec(Part):
    """The gold labels. A bare string is the column, a bare list several columns."""

    bare = "column"

    column: Name | None = None
    """The column of gold labels; an empty cell is unknown."""
    columns: tuple[Name, ...] | dict[str, Name] | None = None
    """Of a field of which several labels may apply: columns that hold a label each, or for each label's code
    the column that says whether it applies (1 or 0, yes or no, x or nothing)."""
    coders: Literal["majority"] | None = None
    """Instead of a column: the label that most of the `coders` gave; a tie is unknown."""
    drawn: Literal["random", "chosen"] | None = None
    """How the texts with a gold label were picked: at random from all of them, or otherwise; left out, Quaver
    compares them with the others. Those drawn at random correct shares, means and conclusions."""
    probability: Name | None = None
    """The column of each item's probability of getting a gold label, where others drew a sample: above 0, at
    most 1; empty where it could get none. Such labels correct too."""
    source: Text | None = None
    """Of a field with spans a table of its own, instead of a column: a row for each span with the item's id,
    its start, end and label, or its label and quote; of an item without any, a row with the id alone."""
    quote: Name | None = None
    """Of a field with evidence the column of the words that people marked; several with … between."""
    map: dict[str, str | None] = Field({})
    """Texts in the columns of gold and of coders, each with its label's code, or null where it stands for no
    label."""

    @model_validator(mode="before")
    @classmethod
    def _from_columns(cls, given: Any) -> Any:
        return {"columns": given} if isinstance(given, list | tuple) else given

    @model_validator(mode="after")
    def _one_origin(self) -> GoldSpec:
        if self.source and self.column is None:
            object.__setattr__(self, "column", self.source)  # the items' column that its spans become
        if sum((self.column is not None, bool(self.columns), self.coders is not None)) != 1:
            raise ValueError("name the column of gold labels (`column`), or say `coders: majority`")
        if self.probability and self.drawn == "chosen":
            raise ValueError("texts that were chosen had no probability: leave `probability` or `drawn` out")
        return self

    @property
    def is_sample(self) -> bool:
        """Whether it says how the texts with a gold label were drawn."""
        return self.drawn == "random" or self.probability is not None

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that it names."""
        return (*self.sources, self.probability) if self.probability else self.sources

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that hold them."""
        if self.column is not None:
            return (self.column,)
        return tuple(self.columns.values() if isinstance(self.columns, dict) else self.columns or ())


class TableFile(Part):
    """A table in a file, and how the file is read."""

    encoding: str = "utf-8"
    """The encoding of a text file, as Python names it: latin-1, cp1252."""
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """What separates the cells of a CSV file; a comma (in TSV a tab) if left out."""
    sheet: Name | None = None
    """The sheet of a spreadsheet; needed only where several hold a table."""
    quote: Literal["none"] | None = None
    """none: quotation marks in a CSV or TSV file are text, and enclose no cells."""
    gold: GoldSpec | None = None
    """The column of gold labels, or column and map."""

    @model_validator(mode="after")
    def _in_the_table(self) -> Self:
        if self.gold and self.gold.source:
            raise PlacedError("only a field with `spans` has gold labels in a table of its own", "gold")
        return self


class Grouped(Part):
    """What has columns that group the items."""

    groups: tuple[Name, ...] = ()
    """Columns that group the items (author, party)."""
    group: Name | None = None
    """The column of the groups in which the items were drawn (author, thread): every interval resamples these
    groups instead of items."""

    @model_validator(mode="after")
    def _group_among_groups(self) -> Self:
        """The groups that are resampled are a column like the others."""
        if self.group is not None and self.group not in self.groups:
            object.__setattr__(self, "groups", (*self.groups, self.group))
        return self


class TableSpec(TableFile):
    """A table of texts, such as the examples that prompts may show. A bare string is the source."""

    bare = "source"

    source: Text = Field(examples=["items.csv"])
    """A .csv, .tsv, .xlsx, .ods, .jsonl, .parquet or .txt file (beside the study file, or absolute), or a
    built-in such as anes96."""
    options: dict[str, Any] = Field({})
    """Options of the source: split, name, revision of a dataset."""
    where: Where = Field({}, examples=[{"language": "en", "year": {"at_least": 2020}}])
    """Only the rows that meet all of these conditions, by column: a value, a list of values, or {at_least: …,
    at_most: …, contains: …, one_of: …, none_of: …, empty: true}."""
    id: str | None = None
    """The column of unique ids; row numbers if left out."""


WHOLE: Final = "whole_text"
"""The column of the group that the parts of one text are, where they are the items."""


BY_MODEL: Final = "model"
"""The join of a further call, in which the model sees the labels of the parts."""

Boundary = Literal["paragraphs", "sentences"]
Join = str | dict[str, str | dict[str, str]]


class SplitSpec(Part):
    """How texts are cut that are longer than a prompt should show, and how a text's label follows.

    Several values of `tokens`, `by` or `join`, as lists, are splits whose labels are compared: the factor
    `split`.
    """

    tokens: Count | tuple[Count, ...] = Field(examples=[2000, [500, 2000]])
    """The most tokens of a part, of four characters each, as `quaver plan` estimates them."""
    by: Boundary | tuple[Boundary, ...] = "paragraphs"
    """Where texts are cut: between paragraphs, and within one that is too long between sentences; or between
    sentences. A sentence that is too long is cut between words."""
    overlap: Natural = 0
    """Up to this many tokens at the end of a part are the beginning of the next one."""
    join: Join | tuple[Join, ...] = "majority"
    """The label of a text: the one that most of its parts have (`majority`), the highest (`max`), or a named
    one if any part has it (`{any: favor}`); of a field of which several labels may apply, all that any part
    has (`any`). For several fields, one of these for each field. `none`: each part is an item of its own.
    `model`: the one that the model gives when it sees the labels of all parts, in a further call."""
    column: Name | None = None
    """The column that is cut, where the template of the text shows several."""

    @model_validator(mode="after")
    def _room_for_new_text(self) -> SplitSpec:
        least = min(self.tokens) if isinstance(self.tokens, tuple) else self.tokens
        if 2 * self.overlap > least:
            raise PlacedError(
                "parts overlap by more than half",
                "overlap",
                expected=f"at most {least // 2:,}, half of `tokens`",
                found=f"{self.overlap:,}",
            )
        levels = self.levels
        if len(levels) > 1 and any(split.join in ("none", BY_MODEL) for split in levels.values()):
            raise PlacedError(
                "with this join, labels cannot be compared between splits",
                "join",
                expected="a join that gives each text a label and asks nothing, or one split",
                found=str(self.join),
            )
        return self

    @property
    def levels(self) -> dict[str, SplitSpec]:
        """Each split, by what tells it from the others; a single one by no name."""
        given = {name: getattr(self, name) for name in ("tokens", "by", "join")}
        several = {name: values for name, values in given.items() if isinstance(values, tuple)}
        return {
            " / ".join(
                f"{_QUOTING.sub('', str(value))}{' tokens' * (name == 'tokens')}" for name, value in one
            ): (self.model_copy(update=dict(one)))
            for one in (tuple(zip(several, values, strict=True)) for values in product(*several.values()))
        }


_QUOTING: Final = re.compile(r"[{}':]")


class ItemsSpec(TableSpec, Grouped):
    """The texts to label."""

    bare = ""  # texts need a template beside their source

    text: Annotated[dict[str, str], BeforeValidator(_named), Field(min_length=1)] = Field(
        {"text": ""}, examples=["{{ text }}"], json_schema_extra={"type": ["string", "object"]}
    )
    """Template of an item's text over its columns. Several, by name, are a factor `text`. It may be left out,
    and an item's text may be empty, where a picture, a PDF file or a recording stands for it."""
    images: Name | None = None
    """The column of pictures (PNG, JPEG, GIF, WebP) that the model sees before the text: paths inside the
    table's folder or `data:` URIs, several in lines or as a list."""
    audio: Name | None = None
    """The column of recordings (WAV, MP3, FLAC, Ogg), named like pictures."""
    pdf: Annotated[dict[PdfKey, str] | None, BeforeValidator(_of_column)] = Field(
        None, examples=[{"column": "file", "as": "text", "pages": "1-20"}]
    )
    """The column of PDF files, named like pictures. `{{ pdf }}` is then their text; with {column: …, as:
    pictures} models are sent the files themselves. pages: 2-5 reads the text of some pages."""
    coders: tuple[Name, ...] = ()
    """Columns with the labels of human coders, one for each: they are compared with each other and with the
    models."""
    sample: Count | None = None
    """Draw this many; all if left out."""
    more_gold: Count | None = None
    """Beside the sample, take up to this many other items with a gold label: for measures of correctness
    alone."""
    seed: int | None = None
    """Seed of the draw; derived from the study's if left out."""
    examples: TableSpec | None = None
    """Another table, from which the families shots and strategies take examples; if left out, the items
    outside the sample. Its columns are named as the items' are."""
    split: SplitSpec | None = None
    """Cut long texts into parts, which are asked about one by one."""

    @model_validator(mode="after")
    def _columns_fit(self) -> ItemsSpec:
        if self.pdf is not None:
            self._check_pdf(self.pdf)
        if self.reads_pages and "text" not in self.model_fields_set:
            object.__setattr__(self, "text", {"text": "{{ pdf }}"})
        if not (self.media or ("text" in self.model_fields_set and all(self.text.values()))):
            raise PlacedError(
                "'text' is missing",
                expected="a template of an item's text over its columns",
                found="nothing",
                fix='add it: `text: "{{ text }}"`',
            )
        if self.split and self.split.join == "none" and self.group is None:
            object.__setattr__(self, "group", WHOLE)
            object.__setattr__(self, "groups", tuple(dict.fromkeys([*self.groups, WHOLE])))
        check_distinct("group", self.groups, "groups")
        check_distinct("column", [*self.groups, *self.coders], "coders")
        if self.examples and self.examples.gold and self.examples.gold.column is None:
            raise PlacedError("examples have a column of gold labels", "examples", "gold")
        if self.gold and self.gold.columns:
            raise PlacedError("only a field of which several labels may apply has several columns", "gold")
        if self.gold and self.gold.coders and len(self.coders) < 2:
            raise PlacedError(
                "a majority takes the labels of two coders or more",
                "gold",
                expected="their columns: `coders: [anna, ben, cleo]`",
                found=", ".join(self.coders) or "no coders",
            )
        return self

    def _check_pdf(self, given: Mapping[PdfKey, str]) -> None:
        pages = given.get("pages")
        if not given.get("column"):
            raise PlacedError(
                "'column' is missing", "pdf", expected="the column of PDF files", found="nothing"
            )
        if given.get("as", "text") not in ("text", "pictures"):
            raise PlacedError("this value does not fit", "pdf", "as", expected="text or pictures")
        if pages is not None and not (self.reads_pages and _PAGES.fullmatch(pages)):
            expected = "numbers such as 1-20, where `as` is text"
            raise PlacedError("these pages cannot be read", "pdf", "pages", expected=expected, found=pages)

    @property
    def media(self) -> dict[str, str]:
        """The columns of files beside the texts, by their keys."""
        columns = {"images": self.images, "pdf": (self.pdf or {}).get("column"), "audio": self.audio}
        return {kind: column for kind, column in columns.items() if column}

    @property
    def reads_pages(self) -> bool:
        """Whether models are shown the text of PDF files, rather than the files."""
        return self.pdf is not None and self.pdf.get("as", "text") == "text"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the items bring to the annotations."""
        return (*(column_of("group", name) for name in self.groups), *self.coder_columns)

    @property
    def coder_columns(self) -> tuple[str, ...]:
        """Those of them that hold the coders' labels."""
        return tuple(column_of("coder", name) for name in self.coders)
