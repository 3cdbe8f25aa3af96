"""The estimates of a study: what its file asks for, the audit, and what the report's charts rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from quaver.core.records import Estimate
from quaver.design.items.near_duplicates import NEAR_DUPLICATES
from quaver.estimation.gathered import Gathered
from quaver.study.analysis.annotation_frame import annotations_of
from quaver.study.analysis.hidden_clusters import (
    clustered,
    doubted,
    hidden_clusters,
    widened,
    with_column,
    with_wider,
)
from quaver.study.analysis.study_measures import (
    audit,
    coder_measures_of_gold,
    measurement,
    measurements,
    measures_of,
    seen_by,
    taken,
    told_apart,
    with_gold_coders,
    with_something_to_read,
)
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

_COLUMNS = 5
"""Of so many columns that may group the items, each group is looked at by itself."""


def measurable(study: StudySource) -> pl.DataFrame:
    """The annotations, less those of evaluators that had nothing to read in a decoding."""
    return measurable_of(study, annotations_of(study))


def measurable_of(study: StudySource, frame: pl.DataFrame) -> pl.DataFrame:
    """Annotations, less those of evaluators that had nothing to read in a decoding."""
    return with_something_to_read(study, frame) if study.has_answers else frame


def own_measurements(
    study: StudySource, names: Sequence[str] | None = None, frame: pl.DataFrame | None = None
) -> list[Measurement]:
    """The study's measures with their options, to be taken of any frame of its shape."""
    return measurements(study, names, measurable(study) if frame is None else frame)


def evaluators_of(study: StudySource) -> list[str]:
    """The study's evaluators, by the names that they have in the annotations."""
    return [one.title for one in study.spec.evaluators]


def measured(study: StudySource, name: str, options: Mapping[str, Any]) -> list[Estimate]:
    """One measure, with some options (``by``, ``evaluator``, its own) in place of the study file's."""
    frame = measurable(study)
    asked = [measurement(study, one, frame) for one in measures_of(study.spec, name, options)]
    seen = [with_gold_coders(study, one, seen_by(study, one, frame)) for one in told_apart(asked)]
    made = [found for one, own in seen for found in one.of(own)]
    return _doubted(study, made, frame)


def estimates_of_study(
    study: StudySource, names: Sequence[str] | None = None, frame: pl.DataFrame | None = None
) -> list[Estimate]:
    """The measures that the study's file asks for."""
    frame = measurable(study) if frame is None else frame
    asked = measurements(study, names, frame)
    if names is None:
        known = {one.measure for one in asked}
        more = coder_measures_of_gold(study, known)
        asked += [measurement(study, one, frame, ("items", "coders")) for one in more]
    whole = Gathered(frame)
    made = [found for one in asked for found in taken(study, one, whole)]
    return _doubted(study, made, frame)


def _doubted(study: StudySource, made: list[Estimate], frame: pl.DataFrame) -> list[Estimate]:
    """The estimates, with a warning where their items come in groups that the study does not declare."""
    if frame.is_empty() or all(one.low is None for one in made):
        return made
    return doubted(made, clusters_of(study, frame, in_passing=True), _group_of(study, frame))


def _group_of(study: StudySource, frame: pl.DataFrame) -> str | None:
    """The column whose groups are resampled."""
    from quaver.study.analysis.chart_estimates import group_of  # loads the measures behind it

    return study.spec.group or group_of(measurements(study, None, frame), frame)


def clusters_of(study: StudySource, frame: pl.DataFrame, *, in_passing: bool = False) -> list[Estimate]:
    """Whether items come in groups that the study does not declare (see `hidden_clusters`)."""
    from quaver.study.analysis.chart_estimates import of_first  # as above

    own = of_first(evaluators_of(study), frame)
    return hidden_clusters(study, own, _group_of(study, frame), in_passing=in_passing)


def estimates_of_audit(study: StudySource, frame: pl.DataFrame | None = None) -> list[Estimate]:
    """How the answers were read, whatever the study's file asks for (see `audit_measures`)."""
    frame = measurable(study) if frame is None else frame
    whole = Gathered(frame)
    found = [made for one in audit(study, frame) for made in one.or_why(whole)]
    return [*found, *_clusters(study, frame)]


def _clusters(study: StudySource, frame: pl.DataFrame) -> list[Estimate]:
    """Whether items come in groups that the study does not declare, and what its intervals would be then."""
    from quaver.study.analysis.chart_estimates import of_first  # as above

    if frame.is_empty():
        return []
    asked, own = measurements(study, None, frame), of_first(evaluators_of(study), frame)
    return with_wider(study, clusters_of(study, frame), asked, own)


def estimates_of_charts(study: StudySource, frame: pl.DataFrame | None = None) -> list[Estimate]:
    """What the report's charts show beyond what the file asks for (see `chart_estimates`)."""
    from quaver.study.analysis.chart_estimates import moved, pictured  # loads measures

    frame = measurable(study) if frame is None else frame
    seed, asked = study.spec.seed, measurements(study, None, frame)
    found = pictured(asked, frame, seed)
    group = _group_of(study, frame)
    rests = moved(study.experiment, evaluators_of(study), frame, seed, group, study.spec.items.coders)
    return [*found, *_as_judged(study, rests, frame, group)]


def estimates_of_quality(study: StudySource) -> list[Estimate]:
    """The gate before every number: the quality of the answers, and whether items come in groups."""
    from quaver.study.analysis.chart_estimates import answered  # as above

    frame = measurable(study)
    seed = study.spec.seed
    found = answered(study.experiment, evaluators_of(study), frame, seed, _group_of(study, frame))
    return found if frame.is_empty() else [*found, *clusters_of(study, frame, in_passing=True)]


def estimates_of_verdict(study: StudySource, frame: pl.DataFrame | None = None) -> list[Estimate]:
    """What the verdict and the recommendation rest on, and nothing more (see `chart_estimates.judged`)."""
    from quaver.study.analysis.chart_estimates import judged  # as above

    frame = measurable(study) if frame is None else frame
    asked = measurements(study, None, frame)
    group = _group_of(study, frame)
    coders = study.spec.items.coders
    found = judged(study.experiment, evaluators_of(study), frame, study.spec.seed, group, coders)
    found = _as_judged(study, found, frame, group)
    profiles = [one for one in asked if one.measure == "readiness"]
    return [*found, *(own for one in profiles for own in taken(study, one, Gathered(frame)))]


def _as_judged(
    study: StudySource, found: list[Estimate], frame: pl.DataFrame, group: str | None
) -> list[Estimate]:
    """What a verdict rests on, with the intervals of clustered items, and whether other fields are filled.

    Items that come in groups which the study does not declare tell less than as many independent ones. So
    each interval becomes one that holds these groups together too, if that is wider; ``grouped`` in the
    details names the column, and ``groups`` says how many there are.
    """
    from quaver.measures.stability.vouched_parts import vouched_parts
    from quaver.study.analysis.chart_estimates import answered, compared_in, of_first  # as above

    if frame.is_empty():
        return found
    evaluators, seed = evaluators_of(study), study.spec.seed
    declared = {NEAR_DUPLICATES, group, *compared_in(study.experiment)}
    hidden = clusters_of(study, frame, in_passing=True)
    found = _allowing_for(study, found, frame, hidden)
    of_groups = sorted((one for one in hidden if one.value is not None), key=lambda one: one.details["p"])
    for one in of_groups[:_COLUMNS]:
        column = one.cell["column"]
        if column not in declared:
            own = with_column(study, of_first(evaluators, frame), column)
            each = vouched_parts(own, labels=study.experiment.labels, compared=[column], seed=seed)
            parts = [part for part in each if part.cell.get("group") == column]
            found += [replace(part, details={**part.details, "undeclared": True}) for part in parts]
    found += _elsewhere(study, found, frame, group)
    for name in _other_fields(study):
        own = frame.filter(pl.col("evaluator").cast(pl.String) == name)
        quality = answered(study.experiment, [name], own, seed, group)
        found += [
            replace(
                one,
                measure="unfilled_field",
                cell={**one.cell, "field": name},
                details={**one.details, "first": evaluators[0]},
            )
            for one in quality
            if one.measure == "unlabelled_answers"
        ]
    return found


def _allowing_for(
    study: StudySource, found: list[Estimate], frame: pl.DataFrame, hidden: Sequence[Estimate]
) -> list[Estimate]:
    """What a verdict rests on, with intervals that hold hidden groups of items together."""
    from quaver.study.analysis.chart_estimates import judged  # as above

    for one in clustered(hidden):
        column, coders = one.cell["column"], study.spec.items.coders
        joined = with_column(study, frame, column)
        again = judged(study.experiment, evaluators_of(study), joined, study.spec.seed, column, coders)
        found = widened(found, again, column, int(one.details["groups"]))
    return found


def _elsewhere(
    study: StudySource, found: Sequence[Estimate], frame: pl.DataFrame, group: str | None
) -> list[Estimate]:
    """What a verdict on the texts outside the groups that go wrong rests on, where these have few texts."""
    from quaver.report.findings.decision import ELSEWHERE, EXCEPTED, wrong_groups
    from quaver.study.analysis.chart_estimates import judged  # as above

    wrong = wrong_groups(found)
    models = {one.cell["model"] for one in wrong}
    known = pl.col("model").cast(pl.String)
    whole = rest = frame.filter(known.is_in(models))
    for one in wrong:
        inside = pl.col(one.cell["group"]).cast(pl.String) == one.cell["level"]
        rest = rest.filter(~((known == one.cell["model"]) & inside).fill_null(value=False))
    if not wrong or rest.height < (1 - EXCEPTED) * whole.height:
        return []
    coders = study.spec.items.coders
    again = judged(study.experiment, evaluators_of(study), rest, study.spec.seed, group, coders)
    again = _allowing_for(study, again, rest, clusters_of(study, rest, in_passing=True))
    return [replace(one, measure=f"{ELSEWHERE}{one.measure}") for one in again]


def _other_fields(study: StudySource) -> list[str]:
    """The evaluators that read another field of the answer than the first one does."""
    read = {one.title: one.options.get("field") for one in study.spec.evaluators if one.use == "json_field"}
    titles = evaluators_of(study)
    return [name for name in titles[1:] if name in read and read[name] != read.get(titles[0], read[name])]
