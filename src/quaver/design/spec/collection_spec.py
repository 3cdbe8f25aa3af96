"""When collecting stops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from quaver.core.registry import Kind
from quaver.design.spec.former_names import renamed_measure
from quaver.design.spec.spec_part import Name, Part


class BudgetSpec(Part):
    """When a run stops by itself. Nothing collected is lost; a later run continues."""

    calls: Annotated[int, Field(ge=1, le=10**15)] | None = Field(
        None, description="Calls of all runs together, including those that make paraphrases."
    )
    tokens: Annotated[int, Field(ge=1, le=10**15)] | None = Field(
        None, description="Tokens, read and written, of all runs together."
    )
    money: Annotated[float, Field(gt=0)] | None = Field(None, description="US dollars of all runs together.")
    seconds: Annotated[float, Field(gt=0)] | None = Field(None, description="Time of one run.")


class UntilSpec(Part):
    """Collect in rounds until an interval is narrow enough; the study's design is the upper limit."""

    names: ClassVar[Mapping[str, Kind]] = {"measure": "measures"}

    measure: Name = Field(description="The measure whose interval should be narrow.", examples=["intra_pss"])
    width: Annotated[float, Field(gt=0)] = Field(
        description="The width to reach, for the widest interval among its cells.", examples=[0.1]
    )
    by: tuple[Name, ...] | None = Field(None, description="Columns that define its cells, as for a measure.")
    evaluator: Name | None = Field(None, description="The evaluator to measure; the first one if left out.")
    options: dict[str, Any] = Field({}, description="The measure's own options.")
    items: Annotated[int, Field(ge=2)] = Field(50, description="Items of the first round, drawn at random.")
    variants: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Variants of the first round, in the design's order; all if left out."
    )
    repeats: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="Repeats of the first round; all if left out."
    )
    growth: Annotated[float, Field(gt=1, le=10)] = Field(
        2.0, description="A round makes the design at most this many times as large."
    )
    differing: Annotated[int, Field(ge=0)] = Field(
        15, description="Trust an interval only if at least this many items differ, or none does."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_today(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {
            name: renamed_measure(value) if name in ("measure", "options") else value
            for name, value in given.items()
        }
