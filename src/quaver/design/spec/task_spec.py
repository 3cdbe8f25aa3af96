"""The task: the label set and its level of measurement."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from quaver.core.records import NO_LABEL, Label, LabelSet, Level
from quaver.core.table_text import composed
from quaver.design.spec.spec_part import Name, Part, PlacedError
from quaver.design.spec.yaml_values import as_yaml_reads


class LabelSpec(Part):
    """A category. A bare string is its code and its name."""

    bare = True

    code: Name = Field(description="Short name in data; gold labels and annotations hold it.")
    name: str = Field("", description="Its name in the prompt; the code if left out.")
    definition: str = Field("", description="What falls under it; templates may use it.")
    synonyms: tuple[str, ...] = Field((), description="Other names that an answer may use.")
    value: float | None = Field(None, description="Its number, where the level is interval or ratio.")

    @model_validator(mode="before")
    @classmethod
    def _from_code(cls, given: Any) -> Any:
        return {"code": given} if isinstance(given, str | int) else given

    def label(self) -> Label:
        """The record that the stages use."""
        return Label(self.code, self.name or self.code, self.definition, self.synonyms, self.value)


class TaskSpec(Part):
    """The task: what the labels distinguish."""

    name: Name = Field("label", description="What the label says of a text, for the report.")
    level: Level = Field("nominal", description="nominal, ordinal, interval or ratio.")
    labels: Annotated[tuple[LabelSpec, ...], Field(min_length=2)] = Field(
        description="The label set, in order.",
        examples=[["positive", "negative", {"code": "neither", "definition": "Neither or both."}]],
    )

    options: tuple[Name, ...] = Field(
        (),
        description="Multiple choice: the columns of an item's own options, in the labels' order; one for "
        "each label, or one that holds a list. Templates write them with {{ options }}.",
        json_schema_extra={"type": ["string", "array"]},
    )

    @field_validator("options", mode="before")
    @classmethod
    def _one_column(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    @field_validator("labels", mode="before")
    @classmethod
    def _texts(cls, given: Any) -> Any:
        """Refuse what YAML did not read as a text, before it is taken for a label's keys."""
        for index, one in enumerate(given if isinstance(given, list | tuple) else ()):
            if one is None or isinstance(one, bool | float | date):
                found = "null" if one is None else str(one).lower()
                raise PlacedError(
                    "this label is not a text", index, expected="a text", found=found, fix=as_yaml_reads(one)
                )
        return given

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: tuple[LabelSpec, ...]) -> tuple[LabelSpec, ...]:
        seen: dict[str, str] = {}
        for index, label in enumerate(labels):
            if NO_LABEL in (label.code.casefold(), label.name.casefold()):
                raise PlacedError(
                    f"{NO_LABEL!r} is the name of answers without a label; give the label another name",
                    index,
                )
            other = seen.setdefault(composed(label.code), label.code)
            if other != label.code:
                raise PlacedError(
                    f"the label code {label.code!r} is given twice, with its accents encoded differently",
                    index,
                )
            if label.code in [one.code for one in labels[:index]]:
                raise PlacedError(
                    f"the label code {label.code!r} is given twice", index, fix="remove one of them"
                )
        return labels

    def label_set(self) -> LabelSet:
        """The record that the stages use."""
        return LabelSet(tuple(label.label() for label in self.labels), self.level, self.options)

    @model_validator(mode="after")
    def _options_fit(self) -> TaskSpec:
        if len(self.options) > 1 and len(self.options) != len(self.labels):
            raise PlacedError(
                f"there are {len(self.options)} columns of options and {len(self.labels)} labels; "
                "give a column for each label, or one that holds a list",
                "options",
            )
        return self
