"""How answers are read, measured and concluded from."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from pydantic import Field, model_validator

from quaver.design.spec.former_names import renamed_measure
from quaver.design.spec.prompt_spec import TEXT_FACTOR
from quaver.design.spec.spec_part import Name, Only, Part, PluginSpec, Text

__all__ = ["ConclusionSpec", "EvaluatorSpec", "FollowUpSpec", "MeasureSpec"]


class FollowUpSpec(PluginSpec):
    """A call beside each call: a question about the answer, or a label to end it with."""

    name: Name | None = Field(None, description="Its name in this study; the kind's own if left out.")

    @property
    def title(self) -> str:
        """The name under which evaluators know it."""
        return self.name or self.use


class EvaluatorSpec(PluginSpec):
    """A rule that reads the answers."""

    name: Name | None = Field(None, description="Its name in this study; the rule's own if left out.")
    of: Name | None = Field(
        None, description="The follow-up that it reads instead of the answer; the rule's own if left out."
    )

    @property
    def title(self) -> str:
        """The name under which its readings appear."""
        return self.name or self.use


class MeasureSpec(PluginSpec):
    """A measure."""

    by: tuple[Name, ...] | None = Field(
        None,
        description="Columns whose combinations are measured apart; if left out, those of model, decoding "
        "and variant that the measure does not compare.",
    )
    evaluator: Name | None = Field(None, description="Whose readings; every evaluator's if left out.")
    flagged: Literal["with", "without", "both"] = Field(
        "with", description="Paraphrases whose meaning is doubtful: with them, without them, or one of each."
    )
    only: Only = Field({}, description="Measure only annotations with these values: {decoding: hot}.")

    @model_validator(mode="before")
    @classmethod
    def _of_today(cls, given: Any) -> Any:
        return renamed_measure(given)

    def columns(self, factors: Collection[str], compared: Collection[str] = ()) -> tuple[str, ...]:
        """The columns to measure apart.

        Args:
            factors: Of the study's variants.
            compared: Columns whose levels the measure compares. One that compares variants is still
                taken for each template of the items' text apart: these show different things.
        """
        if self.by is not None:
            return self.by
        columns = ["model", "decoding", "variant"]
        if "variant" in compared and TEXT_FACTOR in factors:
            columns.append(TEXT_FACTOR)
        return tuple(name for name in columns if name not in compared)


class ConclusionSpec(Part):
    """What is to be concluded from the labels, and so compared over all ways of asking."""

    name: Name | None = Field(None, description="What it is called; formula and effect if left out.")
    formula: Text = Field(
        description="share(LABEL) ~ a + b, or label ~ a + b where labels are numbers; a and b are columns "
        "of the items.",
        examples=["share(positive) ~ group"],
    )
    effect: Text = Field(
        description="What is claimed: educ > 0, party[Rep] < party[Dem].", examples=["group[b] > group[a]"]
    )
    regression: Literal["linear", "logistic"] = Field(
        "linear", description="logistic (for share) has log-odds as its coefficients."
    )
    missing: Literal["drop", "category"] = Field(
        "drop", description="An answer without a label: left out, or (category) one that is not LABEL."
    )
    group: Name | None = Field(None, description="The group of items that is resampled; items if left out.")
