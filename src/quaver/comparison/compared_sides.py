"""What is compared with what: the sides of two studies, or of two levels of a column, and the measures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from quaver.comparison.alignment import (
    ANSWERED,
    Sides,
    by_one_gold,
    changed_items,
    in_common,
    labels_in_common,
    made_alike,
    occurring_on_both,
    strings_of,
)
from quaver.comparison.bounds import CONCLUDED, LOSS, Bound, family_of, of_first_evaluator
from quaver.core.annotations import FIELD
from quaver.core.column_names import column_among
from quaver.core.label_values import single_labels
from quaver.core.records import LabelSet
from quaver.core.rows import measure_of
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.estimands import ORIGINAL
from quaver.study.analysis.study_measures import measurements
from quaver.study.collection.study_status import answered_calls
from quaver.study.session import Study
from quaver.study.sources.conclusion_measures import CONCLUSIONS
from quaver.study.sources.study_plugins import Measurement


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides, and what is measured on them.

    Attributes:
        sides: The annotations before and after.
        asked: The measures.
        family: What users may lose by the change.
        judged: The annotations in which they may, those of the first evaluator.
        classes: The labels that both sides know, of sets each alone, of numbers none: their label set.
        place: What a difference's cell says besides, such as the study of a collection.
    """

    sides: Sides
    asked: Sequence[Measurement]
    family: Sequence[Measurement]
    judged: Sides
    classes: LabelSet
    place: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """All that one comparison is about.

    Attributes:
        before: What one side is called.
        after: What the other is.
        pairs: The sides to compare.
        items: How many items both have.
        left_out: What only one side has, in words.
        notes: What a reader must know besides.
    """

    before: str
    after: str
    pairs: Sequence[Pair]
    items: int
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()


def two_studies(
    before: Study,
    after: Study,
    measures: Sequence[str] | None,
    bounds: Sequence[Bound],
    place: Mapping[str, str] | None = None,
) -> Task:
    """Two studies of the same items."""
    left_out: list[str] = []
    whole = {study: strings_of(study) for study in dict.fromkeys((before, after))}
    frames = [whole[study] for study in (before, after)]
    labels_in_common(before, after, left_out)
    frames, shared = occurring_on_both(before, after, frames)
    for study, other in ((before, after), (after, before)):
        answered, calls = answered_calls(study.source)
        if 0 < answered < calls:
            left_out.append(f"{calls - answered:,} calls of {called(study, other)} that are not answered yet")
    sides = made_alike(frames[0], frames[1], left_out)
    sides, common = in_common(sides, changed_items(before, after), left_out, "")
    sides, notes = by_one_gold(sides)
    judged = of_first_evaluator(after, sides)
    family = family_of(after, whole[after], judged, left_out)
    asked = _asked(whole, measures, bounds)
    if shared is not None:
        family, asked = _by_labels(family, shared), _by_labels(asked, shared)
    notes += _unlabelled(judged, asked)
    classes = _classes(before.experiment.labels, after.experiment.labels.codes)
    names = called(before, after), called(after, before)
    pair = Pair(sides, asked, family, judged, classes, place or {})
    return Task(*names, [pair], common, left_out, notes)


def _classes(labels: LabelSet, known: Collection[str]) -> LabelSet:
    """The labels that may be lost, those that are known to the other side too."""
    return replace(labels, labels=tuple(one for one in single_labels(labels) if one.code in known))


def _by_labels(measurements: Sequence[Measurement], labels: LabelSet) -> list[Measurement]:
    """Measures with another label set; a measure that takes none as it is."""
    return [
        one._replace(options={**one.options, "labels": labels}) if "labels" in one.options else one
        for one in measurements
    ]


def _unlabelled(sides: Sides, asked: Sequence[Measurement]) -> list[str]:
    """How accuracy takes the answers without a label, where there are any."""
    before, after = (frame["label"].null_count() for frame in (sides.before, sides.after))
    measurement = next((one for one in asked if one.measure == "accuracy"), None)
    if measurement is None or not before + after:
        return []
    how = "leaves them out" if measurement.options.get("missing") == "drop" else "counts them as wrong"
    return [f"{before:,} answers before and {after:,} after have no label: accuracy {how}."]


def levels_of_one(
    study: Study,
    by: str,
    reference: str | None,
    measures: Sequence[str] | None,
    bounds: Sequence[Bound],
    place: Mapping[str, str] | None = None,
) -> Task:
    """The levels of one column in one study, each beside the reference."""
    frame = whole = strings_of(study)
    by = column_among(by, frame.columns)
    factors = study.experiment.variants[0].factors
    if by in factors:  # the variants must not differ in what is compared
        rest = [pl.format("{}={}", pl.lit(name), pl.col(name)) for name in factors if name != by]
        frame = frame.with_columns(
            (pl.concat_str(rest, separator=",") if rest else pl.lit("all")).alias("variant")
        )
    first, others = _levels(study, frame, by, reference)
    asked = _asked({study: whole}, measures, bounds)
    left_out: list[str] = []
    pairs, items = [], set[str]()
    for other in others:
        here = [frame.filter(pl.col(by) == level) for level in (first, other)]
        sides = made_alike(here[0], here[1], left_out, by)
        sides, _ = in_common(sides, frozenset(), left_out, f"{other}: ")
        items.update(sides.before["item"].unique().to_list())
        judged = of_first_evaluator(study, sides)
        family = family_of(study, whole, judged, left_out)
        labels = study.experiment.labels
        classes = _classes(labels, labels.codes)
        pairs.append(Pair(sides, asked, family, judged, classes, place or {}))
    last = f"{by} {others[0]}" if len(others) == 1 else f"{len(others)} others"
    return Task(f"{by} {first}", last, pairs, len(items), left_out)


def _levels(study: Study, frame: pl.DataFrame, by: str, reference: str | None) -> tuple[str, list[str]]:
    """The level that the others are compared with, and these."""
    columns = [
        name for name in frame.columns if frame[name].dtype == pl.String and name not in ("item", *ANSWERED)
    ]
    if by not in columns:
        raise UnknownName("column", by, columns, where="--by")
    levels = _in_design_order(study, frame, by)
    if reference is not None and reference not in levels:
        raise UnknownName(f"level of {by}", reference, levels, where="--reference")
    first = reference or (levels[0] if levels else "")
    others = [level for level in levels if level != first]
    if not others:
        raise MeasureError(
            f"there is only one {by}", where="--by", expected="two levels or more", found=first or "none"
        )
    return first, others


def _in_design_order(study: Study, frame: pl.DataFrame, by: str) -> list[str]:
    """A column's levels: the original first, then as the study names them, not as they were asked."""
    experiment = study.experiment
    named: dict[str, Sequence[str | None]] = {
        "model": [condition.model for condition in experiment.conditions],
        "decoding": [condition.decoding for condition in experiment.conditions],
        "variant": [variant.id for variant in experiment.variants],
        "evaluator": [evaluator.title for evaluator in study.spec.evaluators],
    }
    there = frame[by].drop_nulls().unique(maintain_order=True).to_list()
    known = named.get(by, [variant.factors.get(by) for variant in experiment.variants])
    levels: list[str] = [level for level in dict.fromkeys(known) if level is not None and level in there]
    levels += [level for level in there if level not in levels]
    if ORIGINAL in frame.columns and frame[ORIGINAL].dtype == pl.Boolean:
        alone = frame.group_by(by).agg(pl.col(ORIGINAL).fill_null(value=False).all())
        originals = alone.filter(pl.col(ORIGINAL) & pl.col(by).is_not_null())[by].to_list()
    else:
        originals = [ORIGINAL]
    if len(originals) == 1 and originals[0] in levels:
        levels.sort(key=lambda level: level != originals[0])
    return levels


def called(study: Study, other: Study) -> str:
    """What a side is called: its study's name, or where it is from if both have one name."""
    if study.spec.name != other.spec.name:
        return study.spec.name
    return study.source.title


def _asked(
    whole: Mapping[Study, pl.DataFrame], names: Sequence[str] | None, bounds: Sequence[Bound]
) -> list[Measurement]:
    """The measures that are taken of both sides; of one study, or of two, with their annotations."""
    found: dict[tuple[str, ...], Measurement] = {}
    for study, frame in whole.items():
        for measurement in measurements(study.source, names, frame):
            if measurement.failed is not None:
                if names:
                    raise measurement.failed
                continue  # the study's own report says why it cannot be taken
            found.setdefault(
                (measurement.measure, str(measurement.evaluator), str(measurement.options["by"])), measurement
            )
    asked = list(found.values())
    there = {measurement.measure for measurement in asked}
    concluded = [bound for bound in bounds if bound.measure in CONCLUDED]
    if concluded and CONCLUSIONS not in there:
        drawing = [one for one in whole if one.spec.conclusions]
        if not drawing:
            raise MeasureError(
                "this bound is about a conclusion, but neither study draws one",
                where=f"--fail-{concluded[0].kind} {concluded[0].text!r}",
                fix="name one under conclusions in the study file",
            )
        asked += measurements(drawing[0].source, [CONCLUSIONS], whole[drawing[0]])
    rest = [bound.measure for bound in bounds if bound.measure not in (*CONCLUDED, LOSS)]
    more = dict.fromkeys(measure_of(name) or name for name in rest)
    before, frame = next(iter(whole.items()))
    further = [name for name in more if name not in there]
    return [*asked, *(measurements(before.source, further, frame) if further else ())]


def by_field(before: Study, after: Study, task_of: Callable[[Study, Study, Mapping[str, str]], Task]) -> Task:
    """The comparison of each field that both studies have, as one; of studies of one label set, theirs."""
    own, others = before.fields, after.fields
    if not own and not others:
        return task_of(before, after, {})
    common = [name for name in own if name in others]
    if not common:
        raise MeasureError(
            "the studies have no field in common",
            where=f"{before.source.where} and {after.source.where}",
            expected="fields of the same name",
            found=f"{', '.join(own) or 'none'}; {', '.join(others) or 'none'}",
        )
    tasks = {name: task_of(own[name], others[name], {FIELD: name}) for name in common}
    lone = [name for name in {**own, **others} if name not in common]
    left_out = [f"field {name}, which only one of them has" for name in lone]
    names = None if before is after else (called(before, after), called(after, before))
    return replace(together(tasks, names, left_out), items=max(task.items for task in tasks.values()))


def together(
    tasks: Mapping[str, Task], names: tuple[str, str] | None = None, left_out: Sequence[str] = ()
) -> Task:
    """The comparisons of several studies, or of several fields of one, as one."""
    first = next(iter(tasks.values()))
    same = all((task.before, task.after) == (first.before, first.after) for task in tasks.values())
    before, after = names or ((first.before, first.after) if same else (first.before, "the others"))
    return Task(
        before,
        after,
        [pair for task in tasks.values() for pair in task.pairs],
        sum(task.items for task in tasks.values()),
        [*left_out, *(f"{name}: {line}" for name, task in tasks.items() for line in task.left_out)],
        [f"{name}: {line}" for name, task in tasks.items() for line in task.notes],
    )
