"""The pilot: a few answers of a model that costs money, looked at before the rest is paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.records import Call, Item, Request, Response
from quaver.errors import ModelError
from quaver.study.analysis.annotation_frame import annotator_of
from quaver.study.analysis.field_source import fields_of
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
    return (
        stored < PILOT and sum(study.calls_of(at) for at, one in conditions if one.model == model) >= _WORTH
    )


def first_of_longest(requests: Iterator[Request], items: Sequence[Item]) -> list[Request]:
    """The first request about each of the longest texts, a call each."""
    lengths = [sum(len(str(value)) for value in item.fields.values()) for item in items]
    wanted = set(sorted(range(len(items)), key=lambda index: -lengths[index])[:PILOT])
    found: list[Request] = []
    for request in requests:
        if request.calls[0].item in wanted:
            wanted.discard(request.calls[0].item)
            found.append(request.part(request.calls[:1]))
        if not wanted:
            break
    return found


def check_pilot(study: StudyFile, store: Store, model: str, calls: Sequence[Call]) -> None:
    """See that a pilot's answers are of use.

    Raises:
        ModelError: More than a tenth of them are cut off, filtered, refused or without a label.
    """
    found = store.answered([call.key for call in calls])
    answered = [call for call in calls if call.key in found]
    if not answered:  # the model was given up
        return
    responses = [found[call.key] for call in answered]
    kinds = Counter(map(_fault, _statuses(study, answered, responses), responses))
    wrong = len(responses) - kinds.pop("", 0)
    if wrong > len(responses) / 10:
        counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        said = next((response.error for response in responses if response.error), "")
        raise ModelError(
            f"{wrong} of the first {len(responses)} answers of {model} are of no use",
            where=study.where,
            expected="a label in nine of ten answers, before the rest is paid for",
            found=f"{counted}: {said[:_LONGEST]}" if said else counted,
            fix="read them with `quaver export`, and change prompt, labels or `max_tokens`; to go on as it "
            "is, run again: nothing is asked twice",
        )


def _statuses(study: StudyFile, calls: Sequence[Call], responses: Sequence[Response]) -> list[str]:
    """The status of each answer by the first evaluator; where a task has several fields, that of the best.

    An answer that gives one field is of use: the verdict judges the others by themselves.
    """
    result = [""] * len(calls)
    places = zip(calls, responses, strict=True)
    rows = [(call.condition, call.item, call.repeat, response, None) for call, response in places]
    for field in fields_of(study, answered=False).values():
        frame = annotator_of(field, field.plugins.evaluators()).frame(rows)
        first = frame.filter(pl.col("evaluator") == frame["evaluator"].first())
        for index, status in enumerate(first["status"].cast(pl.String).to_list()[: len(rows)]):
            result[index] = "valid" if "valid" in (status, result[index]) else status
    return result


def _fault(status: str, response: Response) -> str:
    """Why an answer is of no use; empty if it has a label."""
    if status == "valid":
        return ""
    kinds = {"length": "cut off", "content_filter": "filtered", "error": "with an error"}
    return kinds.get(response.finish, "without a label")
