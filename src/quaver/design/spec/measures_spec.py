"""How answers are evaluated and measured, and which conclusions rest on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from quaver.core.column_names import column_among
from quaver.core.records import Estimand
from quaver.core.registry import Kind
from quaver.design.spec.prompt_spec import TEXT_COLUMN
from quaver.design.spec.spec_part import Name, Only, Part, PluginSpec, Text


class FollowUpSpec(PluginSpec):
    """A further call for each call: a question about the answer, or a label to end it."""

    names: ClassVar[Mapping[str, Kind]] = {"use": "follow_ups"}

    name: Name | None = Field(None, description="Its name in this study; the kind's own if left out.")

    @property
    def title(self) -> str:
        """The name by which evaluators refer to it."""
        return self.name or self.use


class EvaluatorSpec(PluginSpec):
    """A rule that turns answers into labels."""

    names: ClassVar[Mapping[str, Kind]] = {"use": "evaluators"}

    name: Name | None = Field(None, description="Its name in this study; the rule's own if left out.")
    of: Name | None = Field(
        None, description="The follow-up that it parses instead of the answer; the rule's own if left out."
    )

    @property
    def title(self) -> str:
        """The name under which its annotations appear."""
        return self.name or self.use


_COLUMNS = frozenset(["between", "factors", "interactions", "reference", "without"])
"""Options of measures that name columns."""


class MeasureSpec(PluginSpec):
    """A measure."""

    names: ClassVar[Mapping[str, Kind]] = {"use": "measures"}

    by: tuple[Name, ...] | None = Field(
        None,
        description="Columns whose combinations are measured separately; if left out, those of model, "
        "decoding and variant that the measure does not compare.",
    )
    evaluator: Name | None = Field(None, description="The evaluator to measure; every one if left out.")
    flagged: Literal["with", "without", "both"] = Field(
        "with", description="Paraphrases with a doubtful meaning: with them, without them, or both."
    )
    only: Only = Field({}, description="Measure only annotations with these values: {decoding: hot}.")
    estimand: Estimand | None = Field(
        None,
        description="What the intervals hold for: these prompts (fixed), the mean over prompts like these "
        "(population), or the next prompt (next). If left out, the measure's own; these prompts where the "
        "study has no paraphrases.",
    )

    def among(self, columns: Collection[str]) -> MeasureSpec:
        """The same measure with the names that the frame has: ``output`` may be its ``factor_output``."""

        def named(given: Any) -> Any:
            if isinstance(given, str):
                return column_among(given, columns)
            if isinstance(given, Mapping):
                return {column_among(name, columns): value for name, value in given.items()}
            return tuple(map(named, given)) if isinstance(given, list | tuple) else given

        names = ("by", "only", *(_COLUMNS & self.options.keys()))
        return self.model_copy(update={name: named(getattr(self, name)) for name in names})

    def columns(self, factors: Collection[str], compared: Collection[str] = ()) -> tuple[str, ...]:
        """The columns whose levels are measured separately.

        Args:
            factors: The factors of the study's variants.
            compared: Columns whose levels the measure compares. A measure that compares variants still
                takes each template of the items' text separately: they show different content.
        """
        if self.by is not None:
            return self.by
        columns = ["model", "decoding", "variant"]
        if "variant" in compared and TEXT_COLUMN in factors:
            columns.append(TEXT_COLUMN)
        return tuple(name for name in columns if name not in compared)


class ConclusionSpec(Part):
    """A conclusion that rests on the labels, to be compared over all prompt variants."""

    name: Name | None = Field(None, description="Its name; formula and effect if left out.")
    formula: Text = Field(
        description="share(LABEL) ~ a + b, or label ~ a + b where labels are numbers; a and b are columns "
        "of the items.",
        examples=["share(positive) ~ group"],
    )
    effect: Text = Field(
        description="The claim: educ > 0, party[Rep] < party[Dem].", examples=["group[b] > group[a]"]
    )
    regression: Literal["linear", "logistic", "multinomial"] = Field(
        "linear",
        description="The coefficients of logistic (for share) are log-odds, those of multinomial (for label) "
        "log-odds against the first label: Rep:educ > 0.",
    )
    weights: Name | None = Field(
        None, description="A column of the items: what each counts for; 1 if left out."
    )
    missing: Literal["drop", "category"] = Field(
        "drop",
        description="What an answer without a label is: left out, or (category) a label other than LABEL.",
    )
    group: Name | None = Field(
        None, description="The group of items that is resampled; the study's if left out."
    )
