"""The study file: every key it may have, with its default.

``StudySpec`` is the model of the file; ``quaver schema`` prints it as JSON Schema, and ``quaver init`` writes
it with its defaults. ``read_study`` reads a file and reports a mistake as one ``SpecError`` that names the
line.
"""

from __future__ import annotations

from quaver.design.spec.collection_spec import BudgetSpec, RunSpec, UntilSpec
from quaver.design.spec.items_spec import GoldSpec, ItemsSpec
from quaver.design.spec.measures_spec import ConclusionSpec, EvaluatorSpec, FollowUpSpec, MeasureSpec
from quaver.design.spec.models_spec import DecodingSpec, ModelSpec, PriceSpec
from quaver.design.spec.prompt_spec import TEXT_FACTOR, FamilySpec, MeaningSpec, PromptSpec, SampleSpec
from quaver.design.spec.spec_part import PlacedError, PluginSpec
from quaver.design.spec.study_spec import StudySpec
from quaver.design.spec.task_spec import IMPORTED, NOT_ASKED, AnnotationsSpec, LabelSpec, TaskSpec

__all__ = [
    "IMPORTED",
    "NOT_ASKED",
    "TEXT_FACTOR",
    "AnnotationsSpec",
    "BudgetSpec",
    "ConclusionSpec",
    "DecodingSpec",
    "EvaluatorSpec",
    "FamilySpec",
    "FollowUpSpec",
    "GoldSpec",
    "ItemsSpec",
    "LabelSpec",
    "MeaningSpec",
    "MeasureSpec",
    "ModelSpec",
    "PlacedError",
    "PluginSpec",
    "PriceSpec",
    "PromptSpec",
    "RunSpec",
    "SampleSpec",
    "StudySpec",
    "TaskSpec",
    "UntilSpec",
]
