"""What a study's measures name is looked for on stand-ins for answers, before anything is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import polars as pl

from quaver.core.annotations import Reading
from quaver.core.records import Item, LabelSet, Response, Variant
from quaver.design.spec import MeasureSpec
from quaver.design.spec.task_spec import TEXT_COLUMN
from quaver.errors import QuaverError, UnknownName
from quaver.estimation.coded_columns import Gathered
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.study.analysis.annotation_frame import annotator_of
from quaver.study.analysis.field_source import fields_of
from quaver.study.analysis.study_measures import measurement
from quaver.study.sources.study_file_source import StudyFile
from quaver.study.sources.study_source import StudySource

_ITEMS, _REPEATS, _MANY = 4, 2, 400
"""Items and repeats that stand in for all of them; of many conditions, fewer."""

_Row = tuple[int, int, int, Response, Response | None]


def rehearse(study: StudyFile, asked: Iterable[tuple[tuple[str | int, ...], MeasureSpec]]) -> None:
    """Find what measures, each with its place in the study file, name and the study does not have."""
    asked = list(asked)
    for name, field in fields_of(study, answered=False).items():
        _rehearse(field, [(loc, spec) for loc, spec in asked if not spec.field or name in spec.field])


def _rehearse(study: StudySource, asked: Iterable[tuple[tuple[str | int, ...], MeasureSpec]]) -> None:
    """The same for one label set."""
    codes = study.experiment.labels.codes
    if not codes:  # of a field of numbers none is known yet
        return
    evaluators = dict.fromkeys(study.plugins.evaluators(), _Said(codes))
    frame = annotator_of(study, evaluators).frame(list(_rows(study, codes)))
    every = Gathered.of(frame)
    for loc, spec in asked:
        one = spec.among(frame.columns)
        for column, values in one.only.items():
            known = _values(study, frame, column)
            for value in values:
                if known and value not in known:
                    raise UnknownName(column, value, known, where=study.positions.where(*loc, "only"))
        ready = measurement(study, one, frame, loc)
        _check_options(study, frame, one, loc)
        if not (one.options or one.only):  # it names nothing more
            continue
        try:
            ready.of(every, resamples=0)
        except QuaverError as error:
            option = str(error.where or "").partition("[")[0]
            if option in one.options or isinstance(error, UnknownName):
                error.where = study.positions.where(*loc, *([option] if option in one.options else []))
                raise
            # Else it is about the stand-ins: what it makes of real answers is for the report to say.
        except Exception:  # of a measure that somebody else wrote
            continue


def _check_options(
    study: StudySource, frame: pl.DataFrame, spec: MeasureSpec, loc: tuple[str | int, ...]
) -> None:
    """Look at the names that a measure takes without looking: it finds nothing under one that is wrong."""
    between, original = spec.options.get("between", ()), spec.options.get("original")
    for column in (between,) if isinstance(between, str) else between:
        if column not in frame.columns and column != TEXT_COLUMN:
            raise UnknownName(
                "column", str(column), frame.columns, where=study.positions.where(*loc, "between")
            )
    variants = [variant.id for variant in study.experiment.variants]
    if original is not None and original not in variants:
        raise UnknownName("variant", str(original), variants, where=study.positions.where(*loc, "original"))


def _values(study: StudySource, frame: pl.DataFrame, column: str) -> Collection[str]:
    """All values that a column can have; none where nobody knows them."""
    experiment = study.experiment
    if column == "item":
        return {item.id for item in experiment.items}
    if column in ("label", "gold"):
        return experiment.labels.codes
    if any(column in item.groups for item in experiment.items):
        return {item.groups[column] for item in experiment.items if column in item.groups}
    if column in ("model", "variant", "decoding", "evaluator") or column in study.factors:
        series = frame[column] if column in frame.columns else pl.Series(dtype=pl.String)
        return set(series.cast(pl.String).drop_nulls())
    return ()


class _Said:
    """An evaluator that takes an answer for its label."""

    def __init__(self, codes: Sequence[str]) -> None:
        self._shares = dict.fromkeys(codes, 1 / len(codes))

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader, the same for all variants."""
        return self._read

    def _read(self, answer: Answer) -> Reading:
        return Reading(answer.text, "valid", None, False, False, self._shares, 0.75, 1.0, 0.9)


def _rows(study: StudySource, codes: Sequence[str]) -> Iterator[_Row]:
    experiment = study.experiment
    few = len(experiment.conditions) > _MANY
    items = _some(experiment.items, 2 if few else _ITEMS)
    for position, condition in enumerate(experiment.conditions):
        if condition.follow_up:
            continue
        for place, index in enumerate(items):
            for repeat in range(min(condition.repeats, 1 if few else _REPEATS)):
                code = codes[(position + place + repeat) % len(codes)]
                yield position, index, repeat, Response(code), None


def _some(items: Sequence[Item], most: int) -> list[int]:
    """The positions of a few items, those with a gold label first."""
    places = sorted(range(len(items)), key=lambda index: items[index].gold is None)
    return sorted(places[:most])
