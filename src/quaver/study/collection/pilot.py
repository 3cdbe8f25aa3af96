"""The pilot: a few answers of a model that costs money, looked at before the rest is paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.annotations import Row, rows_with
from quaver.core.records import Call
from quaver.errors import ModelError
from quaver.study.analysis.annotation_frame import annotator_of, first_evaluator
from quaver.study.analysis.call_export import KEYS
from quaver.study.sources.study_file_source import StudyFile

PILOT: Final = 10
"""Answers that are looked at."""

_WORTH = 60
"""Calls of a model from which on a pilot saves something."""

_LONGEST = 300
"""Characters of what a model said that are shown."""

STORED_BY_MODEL: Final = """SELECT c.model, count(*) FROM calls a
    JOIN conditions c ON c.position = a.condition GROUP BY c.model"""


def is_worth_a_pilot(study: StudyFile, model: str, stored: int) -> bool:
    """Whether a model has hardly been asked, and is to be asked much."""
    conditions = enumerate(study.experiment.conditions)
    calls = sum(study.calls_of(at) for at, condition in conditions if condition.model == model)
    return stored < PILOT and calls >= _WORTH


def check_pilot(study: StudyFile, store: Store, model: str, calls: Sequence[Call]) -> None:
    """See that a pilot's answers are of use.

    Raises:
        ModelError: More than a tenth of them are cut off, filtered, refused or without a label.
    """
    found = store.answered([call.key for call in calls])
    rows = [(one.condition, one.item, one.repeat, found[one.key], None) for one in calls if one.key in found]
    if not rows:  # the model was given up
        return
    responses = [response for *_, response, _ in rows]
    faults = Counter(
        _FAULTS.get(response.finish, "without a label")
        for response, is_valid in zip(responses, _are_valid(study, rows), strict=True)
        if not is_valid
    )
    if (wrong := faults.total()) > len(rows) / 10:
        counted = ", ".join(f"{count} {kind}" for kind, count in faults.most_common())
        said = next((response.error for response in responses if response.error), "")
        raise ModelError(
            f"{wrong} of the first {len(rows)} answers of {model} are of no use",
            where=study.where,
            expected="a label in nine of ten answers, before the rest is paid for",
            found=f"{counted}: {said[:_LONGEST]}" if said else counted,
            fix="read them with `quaver export`, and change prompt, labels or `max_tokens`; to go on as it "
            "is, run again: nothing is asked twice",
        )


_FAULTS: Final = {"length": "cut off", "content_filter": "filtered", "error": "with an error"}
"""Why an answer is of no use, by how it finished."""


def _are_valid(study: StudyFile, rows: Sequence[Row]) -> list[bool]:
    """Whether the first evaluator finds a label in each answer; of several fields, in one of them.

    An answer that gives one field is of use: the verdict judges the others by themselves.
    """
    frame = annotator_of(study, study.plugins.evaluators()).frame(rows)
    first = rows_with(frame, "evaluator", first_evaluator(study, frame))
    is_valid = (pl.col("status").cast(pl.String) == "valid").any()
    return first.group_by(KEYS, maintain_order=True).agg(is_valid)["status"].to_list()
