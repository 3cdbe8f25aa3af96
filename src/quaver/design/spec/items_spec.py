"""The texts to label, and their true labels."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from quaver.design.spec.spec_part import Name, Part, Text, with_group


class GoldSpec(Part):
    """The true labels. A bare string is the column."""

    bare = True

    column: Name = Field(description="The column of true labels; an empty cell is unknown.")
    map: dict[str, str] = Field({}, description="Texts in the column, each with its label's code.")

    @model_validator(mode="before")
    @classmethod
    def _from_column(cls, given: Any) -> Any:
        return {"column": given} if isinstance(given, str) else given


class ItemsSpec(Part):
    """The texts to label."""

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
    id: str | None = Field(None, description="The column of unique ids; row numbers if left out.")
    text: dict[str, Text] = Field(
        description="Template of an item's text over its columns. Several, by name, are a factor `text`.",
        examples=["{{ text }}"],
        json_schema_extra={"type": ["string", "object"]},
    )
    gold: GoldSpec | None = Field(None, description="The column of true labels, or column and map.")
    groups: tuple[Name, ...] = Field((), description="Columns that group items (author, party).")
    group: Name | None = Field(
        None,
        description="The column of the groups in which the items were drawn (author, thread): every interval "
        "resamples these groups instead of items.",
    )
    sample: Annotated[int, Field(ge=1)] | None = Field(None, description="Draw this many; all if left out.")
    seed: int | None = Field(None, description="Seed of the draw; derived from the study's if left out.")

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
