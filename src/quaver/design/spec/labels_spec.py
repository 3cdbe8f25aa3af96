"""Labels as a study file gives them: of a task, or of one of its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from copy import deepcopy
from datetime import date
from typing import Any

from pydantic import Field, field_validator, model_validator

from quaver.core.labels import cleaned
from quaver.core.number_format import composed
from quaver.core.records import NO_LABEL, Label, Level
from quaver.design.spec.yaml_file import Name, Part, PlacedError, as_yaml_reads

_FEWEST = 2
"""Labels that a set must have."""


def with_labels_alike(document: Any) -> Any:
    """A study's document in which every mention of a label is spelt as in the label set.

    An é may be one character or an e followed by an accent, and an editor does not show which.

    >>> study = {"task": {"labels": ["\u00e9"]}, "prompt": {"answers": {"e\u0301": "E"}}}
    >>> with_labels_alike(study)["prompt"]["answers"] == {"\u00e9": "E"}
    True
    """
    task = document.get("task") if isinstance(document, Mapping) else None
    given = task.get("labels") if isinstance(task, Mapping) else None
    listed = given if isinstance(given, list | tuple) else ()
    codes = [one.get("code") if isinstance(one, Mapping) else one for one in listed]
    written = {composed(code): code for code in codes if isinstance(code, str) and not code.isascii()}
    if not written:
        return document
    document = deepcopy(document)
    parts = {name: part for name, part in document.items() if name != "task"}
    _rewrite(parts, lambda text: written.get(composed(text), text))
    return document


def _rewrite(part: Any, spell: Callable[[str], str]) -> None:
    """Spell every text in a part, keys included, in place."""
    keys = list(part) if isinstance(part, Mapping) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        value = part[key]
        if isinstance(value, str) and spell(value) != value:
            part[key] = spell(value)
        else:
            _rewrite(value, spell)
        if isinstance(key, str) and spell(key) != key and isinstance(part, MutableMapping):
            _rename(part, key, spell(key))


def _rename(part: MutableMapping[str, Any], old: str, new: str) -> None:
    """Spell a key differently, in the same place."""
    items = [(new if key == old else key, value) for key, value in part.items()]
    marks = getattr(part, "lc", None)
    if marks is not None and old in (marks.data or {}):
        marks.data[new] = marks.data[old]
    part.clear()
    for key, value in items:
        part[key] = value


class LabelSpec(Part):
    """A category. A bare string is its code and its name."""

    bare = "code"

    code: Name = Field(description="Short name in data; gold labels and annotations hold it.")
    name: str = Field("", description="Its name in the prompt; the code if left out.")
    definition: str = Field("", description="What falls under it; templates may use it.")
    synonyms: tuple[str, ...] = Field((), description="Other names that an answer may use.")
    value: float | None = Field(None, description="Its number, where the level is interval or ratio.")

    @model_validator(mode="before")
    @classmethod
    def _from_code(cls, given: Any) -> Any:
        return {"code": given} if isinstance(given, int) else given

    def label(self) -> Label:
        """The record that the stages use."""
        name = cleaned(self.name or self.code)  # a line break would end the sentence that lists it
        return Label(self.code, name, self.definition, self.synonyms, self.value)


class LabelledSpec(Part):
    """What has a label set: a task, or one of its fields."""

    level: Level = Field(
        "nominal", description="nominal, ordinal, interval or ratio; jaccard or masi for sets, as in a;b."
    )
    labels: tuple[LabelSpec, ...] = Field(
        description="The label set, in order.",
        examples=[["positive", "negative", {"code": "neither", "definition": "Neither or both."}]],
        json_schema_extra={"minItems": _FEWEST},
    )

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

    @property
    def needs_labels(self) -> bool:
        """Whether there is nothing without labels."""
        return True

    @model_validator(mode="after")
    def _enough(self) -> LabelledSpec:
        if len(self.labels) < _FEWEST and self.needs_labels:
            raise PlacedError(
                "this value does not fit",
                "labels",
                expected=f"{_FEWEST} or more of them",
                found=", ".join(label.code for label in self.labels) or "none",
                fix="write, for example, `labels: [positive, negative]`",
            )
        return self
