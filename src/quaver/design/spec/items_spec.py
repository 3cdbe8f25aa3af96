"""The texts to label, their true labels and coders' labels, and the examples that a prompt may show."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from quaver.design.spec.row_filter import Where
from quaver.design.spec.spec_part import Name, Part, PlacedError, Text, with_group


class GoldSpec(Part):
    """The true labels. A bare string is the column."""

    bare = True

    column: Name | None = Field(None, description="The column of true labels; an empty cell is unknown.")
    coders: Literal["majority"] | None = Field(
        None,
        description="Instead of a column: the label that most of the `coders` gave; a tie is unknown.",
    )
    map: dict[str, str | None] = Field(
        {},
        description="Texts in the columns of gold and of coders, each with its label's code, or null where "
        "it stands for no label.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_column(cls, given: Any) -> Any:
        return {"column": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one_origin(self) -> GoldSpec:
        if (self.column is None) is (self.coders is None):
            raise ValueError("name the column of true labels (`column`), or say `coders: majority`")
        return self


class TableSpec(Part):
    """A table of texts."""

    source: Text = Field(
        description="A .csv, .tsv, .xlsx, .ods, .jsonl, .parquet or .txt file (beside the study file, or "
        "absolute), a built-in such as anes96, or hf:OWNER/NAME for a Hugging Face dataset.",
        examples=["items.csv"],
    )
    options: dict[str, Any] = Field(
        {}, description="Options of the source: split, name, revision of a dataset."
    )
    encoding: str = Field(
        "utf-8", description="The encoding of a text file, as Python names it: latin-1, cp1252."
    )
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="What separates the cells of a CSV file; a comma (in TSV a tab) if left out."
    )
    sheet: Name | None = Field(
        None, description="The sheet of a spreadsheet; needed only where several hold something."
    )
    line: Text | None = Field(
        None,
        description="The pattern of a line of a .txt file, such as {label}: {text}; if left out, the whole "
        "line is the column text.",
    )
    where: Where = Field(
        {},
        description="Only the rows that meet all of these conditions, by column: a value, a list of values, "
        "or {at_least: …, at_most: …, above: …, below: …, contains: …, one_of: …, none_of: …, empty: true}.",
        examples=[{"language": "en", "year": {"at_least": 2020}}],
    )
    id: str | None = Field(None, description="The column of unique ids; row numbers if left out.")
    gold: GoldSpec | None = Field(None, description="The column of true labels, or column and map.")


class ExamplesSpec(TableSpec):
    """The examples that prompts may show. A bare string is the source."""

    bare = True

    @model_validator(mode="before")
    @classmethod
    def _from_source(cls, given: Any) -> Any:
        return {"source": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _no_majority(self) -> ExamplesSpec:
        if self.gold and self.gold.column is None:
            raise PlacedError("examples have a column of true labels", "gold")
        return self


class ItemsSpec(TableSpec):
    """The texts to label."""

    text: dict[str, Text] = Field(
        description="Template of an item's text over its columns. Several, by name, are a factor `text`.",
        examples=["{{ text }}"],
        json_schema_extra={"type": ["string", "object"]},
    )
    coders: tuple[Name, ...] = Field(
        (),
        description="Columns with the labels of human coders, one for each: they are compared with each "
        "other and with the models.",
    )
    groups: tuple[Name, ...] = Field((), description="Columns that group items (author, party).")
    group: Name | None = Field(
        None,
        description="The column of the groups in which the items were drawn (author, thread): every interval "
        "resamples these groups instead of items.",
    )
    sample: Annotated[int, Field(ge=1)] | None = Field(None, description="Draw this many; all if left out.")
    seed: int | None = Field(None, description="Seed of the draw; derived from the study's if left out.")
    examples: ExamplesSpec | None = Field(
        None,
        description="Another table, from which the families shots and strategies take examples; if left out, "
        "the items outside the sample. Its columns are named as the items' are.",
    )

    @model_validator(mode="before")
    @classmethod
    def _group_among_groups(cls, given: Any) -> Any:
        return with_group(given)

    @field_validator("text", mode="before")
    @classmethod
    def _one_text(cls, given: Any) -> Any:
        return {"text": given} if isinstance(given, str) else given

    @field_validator("text")
    @classmethod
    def _some_text(cls, texts: dict[str, str]) -> dict[str, str]:
        if not texts:
            raise ValueError("no template is given")
        return texts

    @model_validator(mode="after")
    def _majority_of_coders(self) -> ItemsSpec:
        if self.gold and self.gold.coders and len(self.coders) < 2:
            raise PlacedError(
                "a majority takes the labels of two coders or more",
                "gold",
                expected="their columns: `coders: [anna, ben, cleo]`",
                found=", ".join(self.coders) or "no coders",
            )
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the items bring to the annotations."""
        return (*self.groups, *self.coders)
