"""The study file: what may stand in it, with every default, in one place.

``StudySpec`` is the file's shape; ``quaver schema`` prints it as JSON Schema, ``quaver init``
writes it out with its defaults. ``read_study`` reads a file and turns what is wrong in it into one
``SpecError`` that names the line.
"""

from __future__ import annotations

from quaver.design.spec.annotations import IMPORTED, NOT_ASKED, AnnotationsSpec
from quaver.design.spec.collection import BudgetSpec, UntilSpec
from quaver.design.spec.decoding import DecodingSpec
from quaver.design.spec.items import GoldSpec, ItemsSpec
from quaver.design.spec.models import ModelSpec, PriceSpec
from quaver.design.spec.part import PlacedError, PluginSpec
from quaver.design.spec.prompt import TEXT_FACTOR, FamilySpec, MeaningSpec, PromptSpec, SampleSpec
from quaver.design.spec.reading import ConclusionSpec, EvaluatorSpec, FollowUpSpec, MeasureSpec
from quaver.design.spec.study import StudySpec
from quaver.design.spec.task import LabelSpec, TaskSpec

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
    "SampleSpec",
    "StudySpec",
    "TaskSpec",
    "UntilSpec",
]
