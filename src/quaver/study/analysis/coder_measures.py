"""What is measured of a study's human coders, whether or not its file asks for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import polars as pl

from quaver.design.spec import MeasureSpec, StudySpec
from quaver.gold.returned_labels import ratings
from quaver.study.sources.gold_files import GoldFiles
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

_FEWEST: Final = {"coder_agreement": 1, "alternative_annotator": 3}
"""The measures of coders, and how many coders each needs."""
_POOLED: Final = ("model", "decoding")
_CHANCE: Final = "probability of being drawn"


def coder_measures(spec: StudySpec, asked: Collection[str]) -> list[MeasureSpec]:
    """The measures that a study with coders has beside those that its file asks for: over all prompts.

    Args:
        spec: The study.
        asked: The names of the measures that its file asks for.
    """
    return [
        MeasureSpec(use=name, by=_POOLED)
        for name, fewest in _FEWEST.items()
        if len(spec.items.coders) >= fewest and name not in asked
    ]


def audited_coders(spec: StudySpec) -> list[MeasureSpec]:
    """What a report shows of coders and each prompt."""
    return [MeasureSpec(use="coder_agreement")] if len(spec.items.coders) > 1 else []


def with_coders(spec: StudySpec, measure: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """A measure's options; one of coders is of the study's where it names none."""
    if measure not in _FEWEST or "coders" in options or not spec.items.coders:
        return options
    return {"coders": spec.items.coder_columns, **options}


def coder_measures_of_gold(study: StudySource, asked: Collection[str]) -> list[MeasureSpec]:
    """The measures that a study has because coders labelled the same items of its gold sample.

    Args:
        study: The study.
        asked: The names of the measures that it has already.
    """
    table = _shared_ratings(study)
    coders = 0 if table is None else table.width - 1
    return [
        MeasureSpec(use=name, by=_POOLED)
        for name, fewest in _FEWEST.items()
        if coders >= max(fewest, 2) and name not in asked
    ]


def with_gold_coders(
    study: StudySource, one: Measurement, frame: pl.DataFrame
) -> tuple[Measurement, pl.DataFrame]:
    """A measure of coders, and a frame, with the coders of the gold sample beside those of the items' table.

    A measure that names its coders, and any other measure, stay as they are. If all coders are the sample's,
    each item counts for those that it was drawn from.
    """
    own = study.spec.items.coder_columns
    if one.measure not in _FEWEST or tuple(one.options.get("coders", own)) != tuple(own):
        return one, frame
    table = _shared_ratings(study)
    if table is None:
        return one, frame
    names = {name: name if name not in frame.columns else f"coder {name}" for name in table.columns[1:]}
    columns = table.rename(names).with_columns(pl.col("item").cast(frame.schema["item"]))
    wide = frame.join(columns, on="item", how="left", maintain_order="left")
    options = {**one.options, "coders": (*own, *names.values())}
    if not own and "probability" not in options and "gold_drawn" in wide.columns:
        chance = pl.when("gold_drawn").then("gold_probability").alias(_CHANCE)
        wide, options = wide.with_columns(chance), {**options, "probability": _CHANCE}
    return one._replace(options=options), wide


def _shared_ratings(study: StudySource) -> pl.DataFrame | None:
    """The labels of the gold sample's coders who share an item with another one; None of fewer than two."""
    table = ratings(GoldFiles(study.folder).state().coded)
    if table.width < 3:
        return None
    several = table.filter(pl.sum_horizontal(pl.exclude("item").is_not_null()) > 1)
    own = [name for name in table.columns[1:] if several[name].is_not_null().any()]
    return table.select("item", *own) if len(own) > 1 else None
