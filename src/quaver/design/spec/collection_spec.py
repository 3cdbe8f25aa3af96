"""Where models are asked, and when collecting stops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from quaver.core.registry import Kind
from quaver.design.spec.spec_part import Name, Part, PlacedError, Text


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


class RunSpec(Part):
    """Where models are asked."""

    on: Literal["here", "ray"] = Field(
        "here", description="In this process, or in the workers of a Ray cluster (quaver[ray])."
    )
    address: Text | None = Field(
        None, description="The cluster's address; `RAY_ADDRESS` or a cluster on this machine if left out."
    )
    workers: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="Workers a model; as many as there are processors, or GPUs, for if left out."
    )
    gpus_per_worker: Annotated[float, Field(ge=0, le=64)] = Field(
        0.0, description="GPUs that a worker has for itself; may be a fraction."
    )


class UntilSpec(Part):
    """Collect in rounds until an interval is narrow, or clear of a value; the study's design is the limit."""

    names: ClassVar[Mapping[str, Kind]] = {"measure": "measures"}

    measure: Name = Field(description="The measure whose interval decides.", examples=["intra_pss"])
    width: Annotated[float, Field(gt=0)] | None = Field(
        None, description="The width to reach, for the widest interval among its cells.", examples=[0.1]
    )
    clear_of: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        None,
        description="Instead of a width: a value that every cell's interval must lie wholly above or below.",
        examples=[0.8],
    )
    anytime: bool | None = Field(
        None,
        description="Whether the intervals of all rounds together hold as often as one interval would, "
        "whichever round is the last; `true` with `clear_of`. Rounds then only add items.",
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

    @property
    def holds_anytime(self) -> bool:
        """Whether intervals hold whichever round is the last."""
        return self.clear_of is not None or bool(self.anytime)

    @model_validator(mode="after")
    def _one_rule(self) -> UntilSpec:
        if (self.width is None) == (self.clear_of is None):
            raise PlacedError(
                "name either the width to reach or the value that the interval is to be clear of",
                "width",
                fix="`width: 0.1`, or `clear_of: 0.8` without a width",
            )
        if self.clear_of is not None and self.anytime is False:
            raise PlacedError("an interval that decides when to stop must hold at any time", "anytime")
        for name in ("variants", "repeats"):
            if self.holds_anytime and getattr(self, name) is not None:
                problem = "rounds whose intervals hold at any time only add items: leave this out"
                raise PlacedError(problem, name)
        return self
