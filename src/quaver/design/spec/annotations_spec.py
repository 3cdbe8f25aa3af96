"""Labels or raw answers that already exist, instead of a study that asks models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from quaver.design.spec.items_spec import GoldSpec
from quaver.design.spec.spec_part import Name, Part, PlacedError, Text, with_group

IMPORTED = "imported"
"""Evaluator, decoding and model of annotations that Quaver did not collect, if the table names none."""


NOT_ASKED = (
    "items",
    "prompt",
    "variants",
    "models",
    "decoding",
    "repeats",
    "evaluators",
    "budget",
    "reuse",
    "until",
)
"""Keys that a study of imported labels cannot have: it asks nothing and parses nothing.

A study of imported raw answers can have evaluators."""


class AnnotationsSpec(Part):
    """Labels or raw answers that already exist, instead of items, prompt and models."""

    source: Text = Field(
        description="A .csv, .tsv, .xlsx, .ods, .jsonl or .parquet file, beside the study file or absolute."
    )
    encoding: str = Field("utf-8", description="The encoding of a text file, as Python names it.")
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="What separates the cells of a CSV file; a comma (in TSV a tab) if left out."
    )
    sheet: Name | None = Field(
        None, description="The sheet of a spreadsheet; needed only where several hold something."
    )
    item: Name | None = Field(
        None, description="The column of the items' ids; if left out, each row is an item."
    )
    label: Name | None = Field(
        None, description="The column of labels, in a table with a row for each annotation."
    )
    coders: tuple[Name, ...] = Field(
        (), description="Instead of `label`: one column for each coder, with that coder's labels."
    )
    raw: Name | None = Field(
        None, description="Instead of `label`: the column of raw answers, which the study's evaluators parse."
    )
    thinking: Name | None = Field(
        None, description="The column of a model's thinking, where it is apart from the raw answer."
    )
    coder: Name | None = Field(None, description="The column of who labelled: a person or a model.")
    variant: tuple[Name, ...] = Field((), description="The columns of the prompt variants; each is a factor.")
    prompt: Name | None = Field(None, description="The column of the prompts' texts, one for each variant.")
    original: Name | None = Field(
        None, description="The column that marks the original prompt: true, yes or 1."
    )
    decoding: Name | None = Field(None, description="The column of the decoding.")
    repeat: Name | None = Field(None, description="The column of the repeat.")
    repeats_in_order: bool = Field(
        False, description="Rows that differ in nothing else are repeats, in the file's order."
    )
    text: Name | None = Field(None, description="The column of the items' texts.")
    gold: GoldSpec | None = Field(None, description="The column of true labels, or column and map.")
    groups: tuple[Name, ...] = Field((), description="Columns that group the items (author, party).")
    group: Name | None = Field(
        None,
        description="The column of the groups in which the items were drawn (author, thread): every interval "
        "resamples these groups instead of items.",
    )
    map: dict[str, str] = Field({}, description="Texts in the columns of labels, each with its label's code.")
    unlabelled: tuple[str, ...] = Field((), description="Texts that stand for a missing label: N/A, none.")

    @model_validator(mode="before")
    @classmethod
    def _group_among_groups(cls, given: Any) -> Any:
        return with_group(given)

    @model_validator(mode="after")
    def _one_shape(self) -> AnnotationsSpec:
        if sum((self.label is not None, bool(self.coders), self.raw is not None)) != 1:
            raise ValueError(
                "name the column of labels (`label`), one column for each coder (`coders`), or the column of "
                "raw answers (`raw`)"
            )
        if self.thinking is not None and self.raw is None:
            raise PlacedError("`thinking` needs raw answers: `raw`", "thinking")
        if not self.coders and self.item is None:
            raise PlacedError("a table with a row for each annotation needs its column of items: `item`")
        if self.gold and self.gold.column is None:
            raise PlacedError("existing gold labels need a column: `gold: NAME`", "gold")
        if self.coders and self.coder:
            raise PlacedError("with `coders`, each coder has a column: leave `coder` out", "coder")
        return self
