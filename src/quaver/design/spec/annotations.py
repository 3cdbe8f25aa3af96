"""Labels that exist already, instead of what a study asks for."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from quaver.design.spec.items import GoldSpec
from quaver.design.spec.part import Name, Part, PlacedError, Text

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
"""What a study of imported annotations cannot have: it asks nothing."""


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
    coder: Name | None = Field(None, description="Of who labelled: a person, a model.")
    variant: tuple[Name, ...] = Field((), description="Of the prompts; each column is a factor.")
    decoding: Name | None = Field(None, description="Of how the answer was drawn.")
    repeat: Name | None = Field(None, description="Of which asking it was.")
    text: Name | None = Field(None, description="Of the items' texts.")
    gold: GoldSpec | None = Field(None, description="Of the true labels, or column and map.")
    groups: tuple[Name, ...] = Field((), description="That group the items (author, party).")
    map: dict[str, str] = Field({}, description="From what the labels' columns hold to label codes.")
    unlabelled: tuple[str, ...] = Field((), description="What stands where there is no label: N/A, none.")

    @model_validator(mode="after")
    def _one_shape(self) -> AnnotationsSpec:
        if (self.label is None) == (not self.coders):
            raise ValueError("give the column of labels with `label`, or a column a coder with `coders`")
        if self.label is not None and self.item is None:
            raise PlacedError("a table with a row an annotation needs its column of items: `item`")
        if self.coders and self.coder:
            raise PlacedError("`coders` are columns already; there can be no column of them", "coder")
        return self
