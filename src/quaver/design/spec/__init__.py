"""The study file: every key it may have, with its default.

``StudySpec`` is the model of the file; ``quaver schema`` prints it as JSON Schema, and ``quaver init`` writes
it with its defaults. ``read_study`` reads a file and reports a mistake as one ``SpecError`` that names the
line.
"""

from __future__ import annotations

from quaver.design.spec.items_spec import GoldSpec, ItemsSpec
from quaver.design.spec.models_spec import (
    ConclusionSpec,
    DecodingSpec,
    EvaluatorSpec,
    FollowUpSpec,
    MeasureSpec,
    ModelSpec,
    PriceSpec,
)
from quaver.design.spec.study_spec import BudgetSpec, RunSpec, StudySpec
from quaver.design.spec.task_spec import (
    IMPORTED,
    NOT_ASKED,
    TEXT_FACTOR,
    AnnotationsSpec,
    FamilySpec,
    LabelSpec,
    PromptSpec,
    TaskSpec,
)
from quaver.design.spec.yaml_file import PlacedError, PluginSpec

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
    "MeasureSpec",
    "ModelSpec",
    "PlacedError",
    "PluginSpec",
    "PriceSpec",
    "PromptSpec",
    "RunSpec",
    "StudySpec",
    "TaskSpec",
]
