"""Labels that exist already, instead of what a study asks for."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from quaver.design.spec.items_spec import GoldSpec
from quaver.design.spec.spec_part import Name, Part, PlacedError, Text

__all__ = ["IMPORTED", "NOT_ASKED", "AnnotationsSpec"]

IMPORTED = "imported"
"""The evaluator, decoding and model of annotations that Quaver did not collect, where these say none."""


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
"""What a study of imported labels cannot have: it asks nothing, and reads nothing.

One of raw answers can have evaluators."""


class AnnotationsSpec(Part):
    """Labels that exist already, instead of items, prompt and models. Which column says what."""

    source: Text = Field(
        description="A .csv, .tsv, .jsonl or .parquet file, beside the study file or absolute."
    )
    encoding: str = Field("utf-8", description="Of a text file, as Python names it.")
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="Between the cells of a CSV file; a comma (in TSV a tab) if left out."
    )
    item: Name | None = Field(None, description="Of the items; if left out, each row is an item.")
    label: Name | None = Field(None, description="Of the labels, a row an annotation.")
    coders: tuple[Name, ...] = Field(
        (), description="Instead of `label`: a column a coder, each with that coder's labels."
    )
    raw: Name | None = Field(
        None, description="Instead of `label`: of raw answers, which the study's evaluators read."
    )
    thinking: Name | None = Field(
        None, description="Of what a model thought, where that stands apart from its raw answer."
    )
    coder: Name | None = Field(None, description="Of who labelled: a person, a model.")
    variant: tuple[Name, ...] = Field((), description="Of the prompts; each column is a factor.")
    prompt: Name | None = Field(None, description="Of the prompts' texts, one for each variant.")
    original: Name | None = Field(
        None, description="Of what marks the original among the prompts: true, yes or 1."
    )
    decoding: Name | None = Field(None, description="Of how the answer was drawn.")
    repeat: Name | None = Field(None, description="Of which asking it was.")
    repeats_in_order: bool = Field(
        False, description="Rows that nothing else tells apart are repeats, in the file's order."
    )
    text: Name | None = Field(None, description="Of the items' texts.")
    gold: GoldSpec | None = Field(None, description="Of the true labels, or column and map.")
    groups: tuple[Name, ...] = Field((), description="That group the items (author, party).")
    map: dict[str, str] = Field({}, description="From what the labels' columns hold to label codes.")
    unlabelled: tuple[str, ...] = Field((), description="What stands where there is no label: N/A, none.")

    @model_validator(mode="after")
    def _one_shape(self) -> AnnotationsSpec:
        if sum((self.label is not None, bool(self.coders), self.raw is not None)) != 1:
            raise ValueError(
                "give the column of labels with `label`, or a column a coder with `coders`, or the column "
                "of raw answers with `raw`"
            )
        if self.thinking is not None and self.raw is None:
            raise PlacedError("`thinking` belongs to raw answers: `raw`", "thinking")
        if not self.coders and self.item is None:
            raise PlacedError("a table with a row an annotation needs its column of items: `item`")
        if self.coders and self.coder:
            raise PlacedError("`coders` are columns already; there can be no column of them", "coder")
        return self
