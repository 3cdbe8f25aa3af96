"""Two studies, or two conditions of one, on the same items: what differs, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from quaver.comparison.alignment import (
    ANSWERED,
    Changes,
    Sides,
    by_one_gold,
    changed_items,
    flips_of,
    in_common,
    known_on_both,
    labels_in_common,
    made_alike,
    occurring_on_both,
    strings_of,
)
from quaver.comparison.bounds import (
    CONCLUDED,
    LOSS,
    Bound,
    family_of,
    judged,
    lost_classes,
    of_family,
    of_first_evaluator,
    read_bounds,
)
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_verdict import MARGIN, Verdict, verdict_on
from quaver.core.annotations import FIELD
from quaver.core.arguments import guarded
from quaver.core.column_names import column_among
from quaver.core.label_values import single_labels
from quaver.core.records import Estimate, LabelSet
from quaver.core.rows import measure_of
from quaver.errors import MeasureError, QuaverError, UnknownName
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.declaration import Measure
from quaver.estimation.estimands import ORIGINAL
from quaver.estimation.intervals import adjusted
from quaver.estimation.jackknife import Resampling
from quaver.estimation.paired_differences import paired_differences
from quaver.study.analysis.study_measures import measurements
from quaver.study.collection.study_status import answered_calls
from quaver.study.session import Study
from quaver.study.sources.conclusion_measures import CONCLUSIONS
from quaver.study.sources.study_plugins import Measurement

_RESAMPLES = 2000


@guarded
def compare(
    before: Study,
    after: Study | None = None,
    *,
    by: str | None = None,
    reference: str | None = None,
    measures: Sequence[str] | None = None,
    fail_if: Sequence[str] = (),
    fail_unless: Sequence[str] = (),
    confidence_level: float = 0.95,
    resamples: int = _RESAMPLES,
    margin: float = MARGIN,
) -> Comparison:
    """Compare two studies on the items that both have, or the conditions of one study with each other.

    Models, variants, decodings and evaluators of the same name are compared; single ones, whatever their
    names. Items are the same where their ids are, and what is known of them. A task's fields are compared one
    by one and judged together; their name is in the differences' cells.

    Args:
        before: One side.
        after: The other; without it, the conditions of one study are compared.
        by: The column whose levels in ``before`` are compared, if no other study is; by default its prompts.
        reference: The level to compare the others with; by default the original, else the first.
        measures: Their names; those of the studies' files by default. Their differences hold for the
            prompts that were asked, whatever a study's own intervals hold for: items alone are resampled.
        fail_if: Bounds that fail where a difference's whole interval is beyond them: ``accuracy < -0.02``.
            Together they fail by chance at most as often as one interval of this confidence errs.
        fail_unless: Bounds that fail where it is not.
        confidence_level: Level of the intervals.
        resamples: Random draws behind the measures, where these need them.
        margin: The largest loss that you take for none, in the measure's own unit: 0.03 is three points.

    Raises:
        MeasureError: There are no items, or no cells, that both have; or a bound cannot be judged.
        UnknownName: No such column, level or measure.
    """
    bounds = read_bounds(fail_if, fail_unless)
    resampling = Resampling(confidence_level, resamples)
    if after is None:

        def levels_of(one: Study, _: Study, place: Mapping[str, str]) -> Task:
            return levels_of_one(one, by or "variant", reference, measures, bounds, place)

        return compared(by_field(before, before, levels_of), bounds, resampling, margin)
    if by is not None or reference is not None:
        raise both_asked(called(before, after), called(after, before), by)

    def both(one: Study, other: Study, place: Mapping[str, str]) -> Task:
        return two_studies(one, other, measures, bounds, place)

    return compared(by_field(before, after, both), bounds, resampling, margin)


def both_asked(before: str, after: str, by: str | None) -> QuaverError:
    """The error where two studies are named and a column to compare."""
    return QuaverError(
        "compare two studies, or the levels of one column in one study; not both",
        where="--reference" if by is None else "--by",
        found=f"{before} and {after}, and a column to compare",
        fix="leave out the second study, or the column",
    )


def compared(
    task: Task, bounds: Sequence[Bound], resampling: Resampling, margin: float = MARGIN
) -> Comparison:
    """What differs between the two sides of each pair, and whether the bounds hold."""

    def differences(resampling: Resampling) -> list[Estimate]:
        estimates = []
        for pair in task.pairs:
            estimates += _differences(pair, pair.sides, pair.asked, resampling)
        return estimates

    estimates, lost, gone = differences(resampling), list[Estimate](), list[Verdict]()
    for pair in task.pairs:
        lost += of_family(_differences(pair, pair.judged, pair.family, resampling), pair.sides)
        gone += lost_classes(pair.judged, pair.classes, pair.place, resampling.tail / len(task.pairs))
    lost = adjusted(lost)
    return Comparison(
        task.before,
        task.after,
        differences=estimates,
        flips=pl.concat([_flips(pair) for pair in task.pairs], how="diagonal"),
        items=task.items,
        left_out=tuple(dict.fromkeys(task.left_out)),
        notes=tuple(dict.fromkeys(task.notes)),
        judgements=judged(bounds, [*estimates, *lost], differences, resampling),
        verdicts=[verdict_on(estimate, margin) for estimate in estimates],
        losses=[*gone, *(verdict_on(estimate, margin) for estimate in lost)],
    )


def _flips(pair: Pair) -> pl.DataFrame:
    frame = flips_of(pair.sides)
    expressions = [pl.lit(value).alias(name) for name, value in pair.place.items()]
    return frame.select("item", *expressions, pl.exclude("item")) if expressions else frame


def _differences(
    pair: Pair, sides: Sides, measurements: Sequence[Measurement], resampling: Resampling
) -> list[Estimate]:
    estimates = []
    first, second, changes = Gathered(sides.before), Gathered(sides.after), Changes(sides)
    for measurement in measurements:
        by = tuple(dict.fromkeys((*measurement.options["by"], *sides.compared)))
        by = tuple(name for name in by if name in sides.before.columns and name in sides.after.columns)
        how: dict[str, Any] = {
            "by": by,
            "resamples": resampling.resamples,
            "confidence_level": resampling.confidence_level,
            "keep_draws": True,
        }
        if isinstance(measurement.plugin, Measure):
            # A difference between two sides is one for the prompts that both have.
            how["estimand"] = "fixed"
            measurement = measurement._replace(
                named={name: v for name, v in measurement.named.items() if name != "estimand"}
            )
        seeded = replace(resampling, seed=measurement.options["seed"])
        before, after = measurement.of(first, **how), measurement.of(second, **how)
        estimates += adjusted(paired_differences(before, after, seeded, changes.within(by)))
    return (
        [replace(estimate, cell={**pair.place, **estimate.cell}) for estimate in estimates]
        if pair.place
        else estimates
    )


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
    if shared is None:
        known_on_both(sides, before.experiment.labels, after.experiment.labels)
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
