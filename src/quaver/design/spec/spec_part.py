"""The base of every part of the study file, its usual types, and errors that know their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from quaver.core.registry import Kind

Text = Annotated[str, Field(min_length=1)]


Name = Annotated[str, Field(min_length=1, max_length=200)]


def _levels(given: Any) -> Any:
    """``{factor: level}`` as ``{factor: [level]}``."""
    if not isinstance(given, dict):
        return given
    return {name: one if isinstance(one, list | tuple) else [one] for name, one in given.items()}


Only = Annotated[
    dict[Name, Annotated[tuple[Name, ...], Field(min_length=1)]],
    BeforeValidator(_levels),
    Field(json_schema_extra={"additionalProperties": {"type": ["string", "array"]}}),
]
"""Levels by factor; a single level needs no brackets."""


def with_group(given: Any) -> Any:
    """``group`` among ``groups``: the groups that are resampled are a column like the others."""
    if not isinstance(given, dict) or not isinstance(given.get("group"), str):
        return given
    known = given.get("groups") or ()
    if not isinstance(known, list | tuple) or given["group"] in known:
        return given
    return {**given, "groups": [*known, given["group"]]}


class PlacedError(ValueError):
    """A mistake in a part of the study file, and its place inside that part."""

    def __init__(
        self,
        problem: str,
        *loc: str | int,
        expected: str | None = None,
        found: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.loc, self.expected, self.found, self.fix = loc, expected, found, fix


class Part(BaseModel):
    """A part of the study file: unknown keys are errors, and nothing changes after reading."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        coerce_numbers_to_str=True,  # digits are frequent codes: 1 is the text "1"
        allow_inf_nan=False,
    )
    bare: ClassVar[bool] = False
    """Whether a bare name may replace the whole part."""
    bare_types: ClassVar[tuple[str, ...]] = ("string", "number")
    """What such a name is in JSON."""
    names: ClassVar[Mapping[str, Kind]] = {}
    """The keys that name a plug-in, with its kind."""

    @model_validator(mode="before")
    @classmethod
    def _from_nothing(cls, given: Any) -> Any:
        return {} if given is None else given  # a key followed by nothing but comments


class PluginSpec(Part):
    """A plug-in by name, with its options beside the name. A bare string is the name."""

    bare = True

    model_config = ConfigDict(extra="allow")

    use: Name = Field(description="The registered name.")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, given: Any) -> Any:
        return {"use": given} if isinstance(given, str) else given

    @property
    def options(self) -> dict[str, Any]:
        """The options beside the name."""
        return dict(self.__pydantic_extra__ or {})
