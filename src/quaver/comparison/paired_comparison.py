"""Two studies, or two conditions of one, on the same items: what differs, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import polars as pl

from quaver.comparison.alignment import (
    ANSWERED,
    Changes,
    Pair,
    by_one_gold,
    changed_items,
    check_classes,
    flips_of,
    in_common,
    labels_in_common,
    made_alike,
    modal_labels,
    occurring_on_both,
    strings_of,
    with_gold,
)
from quaver.comparison.bounds import (
    CONCLUDED,
    family_of,
    judged,
    lost_classes,
    of_family,
    read_bounds,
)
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_verdict import LOSS, MARGIN, Bound, Verdict, verdict_on
from quaver.core.annotations import FIELD
from quaver.core.arguments import guarded
from quaver.core.column_names import column_among
from quaver.core.label_values import single_labels
from quaver.core.records import Estimate
from quaver.core.rows import measure_of
from quaver.core.seeds import derive
from quaver.errors import MeasureError, QuaverError, UnknownName
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.declaration import Measure
from quaver.estimation.estimands import ORIGINAL
from quaver.estimation.intervals import adjusted
from quaver.estimation.jackknife import Resampling
from quaver.estimation.paired_differences import paired_differences
from quaver.measures.validity.item_clusters import item_clusters
from quaver.report.findings.quality import clusters
from quaver.study.analysis.annotation_frame import first_evaluator
from quaver.study.analysis.hidden_clusters import item_columns
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
    how: dict[str, Any] = {"measures": measures, "bounds": bounds}
    if after is None:
        levels = partial(levels_of_one, by=by or "variant", reference=reference, **how)
        return compared(by_field(before, before, levels), bounds, resampling, margin)
    if by is not None or reference is not None:
        raise both_asked(called(before, after), called(after, before), by)
    return compared(by_field(before, after, partial(two_studies, **how)), bounds, resampling, margin)


def both_asked(before: str, after: str, by: str | None) -> QuaverError:
    """The error where two studies are named and a column to compare."""
    return QuaverError(
        "compare two studies, or the levels of one column in one study; not both",
        where="--reference" if by is None else "--by",
        found=f"{before} and {after}, and a column to compare",
        fix="leave out the second study, or the column",
    )


def compared(
    begun: Begun, bounds: Sequence[Bound], resampling: Resampling, margin: float = MARGIN
) -> Comparison:
    """What differs between the two sides of each pair, and whether the bounds hold."""
    comparison, pairs = begun

    def differences(resampling: Resampling) -> list[Estimate]:
        estimates = list[Estimate]()
        for pair in pairs:
            estimates += _differences(pair, pair.asked, resampling)
        return estimates

    estimates, lost, gone = differences(resampling), list[Estimate](), list[Verdict]()
    for pair in pairs:
        judged_by = pair.judged
        lost += of_family(_differences(judged_by, pair.family, resampling), pair)
        gone += lost_classes(judged_by, resampling.tail / len(pairs))
    lost, verdict = adjusted(lost), partial(verdict_on, margin=margin)
    return replace(
        comparison,
        differences=estimates,
        flips=pl.concat(list(map(flips_of, pairs)), how="diagonal"),
        left_out=tuple(dict.fromkeys(comparison.left_out)),
        notes=tuple(dict.fromkeys(comparison.notes)),
        judgements=judged(bounds, [*estimates, *lost], differences, resampling),
        verdicts=list(map(verdict, estimates)),
        losses=[*gone, *map(verdict, lost)],
    )


def _differences(pair: Pair, measurements: Sequence[Measurement], resampling: Resampling) -> list[Estimate]:
    """The paired differences of some measures; their cells name the pair."""
    estimates = list[Estimate]()
    first, second, changes = Gathered(pair.before), Gathered(pair.after), Changes(pair)
    shared = {*pair.before.columns} & {*pair.after.columns}
    for measurement in measurements:
        columns = dict.fromkeys((*measurement.options["by"], *pair.compared))
        by = tuple(name for name in columns if name in shared)
        how: dict[str, Any] = {
            "by": by,
            "resamples": resampling.resamples,
            "confidence_level": resampling.confidence_level,
            "keep_draws": True,
        }
        if isinstance(measurement.plugin, Measure):
            # A difference between two sides is one for the prompts that both have.
            how["estimand"] = "fixed"
            named = dict(measurement.named)
            named.pop("estimand", None)
            measurement = measurement._replace(named=named)
        seeded = replace(resampling, seed=measurement.options["seed"])
        before, after = measurement.of(first, **how), measurement.of(second, **how)
        estimates += adjusted(paired_differences(before, after, seeded, changes.within(by)))
    return [replace(estimate, cell={**pair.place, **estimate.cell}) for estimate in estimates]


Begun = tuple[Comparison, list[Pair]]
"""A comparison of which it is known what is compared, and the sides to compare."""


def two_studies(
    before: Study,
    after: Study,
    place: Mapping[str, str],
    *,
    measures: Sequence[str] | None,
    bounds: Sequence[Bound],
) -> Begun:
    """Two studies of the same items."""
    left_out: list[str] = []
    whole = {study: strings_of(study) for study in dict.fromkeys((before, after))}
    labels_in_common(before, after, left_out)
    (first, second), shared = occurring_on_both(before, after, [whole[before], whole[after]])
    for study, other in ((before, after), (after, before)):
        answered, calls = answered_calls(study.source)
        if 0 < answered < calls:
            left_out.append(f"{calls - answered:,} calls of {called(study, other)} that are not answered yet")
    pair = made_alike(first, second, left_out)
    pair, common = in_common(pair, left_out, changed_items(before, after))
    pair, notes = by_one_gold(pair)
    if shared is None:
        check_classes(pair, before.experiment.labels, after.experiment.labels)
    pair = _measured(pair, after, whole[after], _asked(whole, measures, bounds), left_out, notes)
    codes = after.experiment.labels.codes
    known = [label for label in single_labels(before.experiment.labels) if label.code in codes]
    pair = replace(pair, classes=replace(before.experiment.labels, labels=tuple(known)), place=place)
    if shared is not None:
        family, asked = (
            _with_option(pair.family, "labels", shared),
            _with_option(pair.asked, "labels", shared),
        )
        pair = replace(pair, family=family, asked=asked)
    notes += _unlabelled(pair)
    names = called(before, after), called(after, before)
    return Comparison(*names, items=common, left_out=left_out, notes=notes), [pair]


def _measured(
    pair: Pair,
    study: Study,
    frame: pl.DataFrame,
    asked: Sequence[Measurement],
    left_out: list[str],
    notes: list[str],
) -> Pair:
    """A pair with what is measured of it."""
    pair = replace(pair, asked=asked, evaluator=first_evaluator(study.source, pair.before))
    pair = replace(pair, family=family_of(study, frame, pair.judged, left_out))
    return in_groups(pair, study, notes)


def _with_option(measurements: Sequence[Measurement], name: str, value: Any) -> list[Measurement]:
    """Measures with another value of an option; a measure that does not take it as it is."""
    changed = []
    for measurement in measurements:
        if name in measurement.options:
            measurement = measurement._replace(options={**measurement.options, name: value})
        changed.append(measurement)
    return changed


def _unlabelled(pair: Pair) -> list[str]:
    """How accuracy takes the answers without a label, where there are any."""
    judged = pair.judged
    before, after = judged.before["label"].null_count(), judged.after["label"].null_count()
    options = {measurement.measure: measurement.options for measurement in reversed(pair.asked)}
    if "accuracy" not in options or not before + after:
        return []
    how = "leaves them out" if options["accuracy"].get("missing") == "drop" else "counts them as wrong"
    return [f"{before:,} answers before and {after:,} after have no label: accuracy {how}."]


def levels_of_one(
    study: Study,
    _: Study,
    place: Mapping[str, str],
    *,
    by: str,
    reference: str | None,
    measures: Sequence[str] | None,
    bounds: Sequence[Bound],
) -> Begun:
    """The levels of one column in one study, each beside the reference."""
    frame = whole = strings_of(study)
    by = column_among(by, frame.columns)
    if by in study.experiment.levels:  # the variants must not differ in what is compared
        parts = [pl.format("{}={}", pl.lit(name), name) for name in study.experiment.levels if name != by]
        frame = frame.with_columns(variant=pl.concat_str(parts, separator=",") if parts else pl.lit("all"))
    first, *others = _levels(study, frame, by, reference)
    asked, labels = _asked({study: whole}, measures, bounds), study.experiment.labels
    classes = replace(labels, labels=single_labels(labels))
    left_out, notes = list[str](), list[str]()
    pairs, items = [], set[str]()
    for other in others:
        reference_side, side = (frame.filter(pl.col(by) == level) for level in (first, other))
        pair = made_alike(reference_side, side, left_out, by)
        pair, _count = in_common(pair, left_out, which=f"{other}: ")
        items.update(pair.before["item"])
        measured = _measured(pair, study, whole, asked, left_out, notes)
        pairs.append(replace(measured, classes=classes, place=place))
    last = f"{by} {others[0]}" if len(others) == 1 else f"{len(others)} others"
    return Comparison(f"{by} {first}", last, items=len(items), left_out=left_out, notes=notes), pairs


def _levels(study: Study, frame: pl.DataFrame, by: str, reference: str | None) -> list[str]:
    """A column's levels, the one that the others are compared with first.

    That is the original; the others stand as the study names them, not as they were asked.
    """
    columns = frame.select(pl.col(pl.String).exclude("item", *ANSWERED)).columns
    if by not in columns:
        raise UnknownName("column", by, columns, where="--by")
    experiment = study.experiment
    named: dict[str, tuple[str, Sequence[Any]]] = {
        "model": ("model", experiment.conditions),
        "decoding": ("decoding", experiment.conditions),
        "variant": ("id", experiment.variants),
        "evaluator": ("title", study.spec.evaluators),
    }
    known: Iterable[str] = experiment.levels.get(by, ())
    if by in named:
        attribute, things = named[by]
        known = map(attrgetter(attribute), things)
    there = frame[by].drop_nulls().unique(maintain_order=True).to_list()
    levels = [level for level in dict.fromkeys((*known, *there)) if level in there]
    if reference is not None and reference not in levels:
        raise UnknownName(f"level of {by}", reference, levels, where="--reference")
    originals = [reference or ORIGINAL]
    if reference is None and ORIGINAL in frame.columns and frame[ORIGINAL].dtype == pl.Boolean:
        alone = frame.group_by(by).agg(pl.col(ORIGINAL).fill_null(value=False).all())
        originals = alone.filter(pl.col(ORIGINAL) & pl.col(by).is_not_null())[by].to_list()
    if len(originals) == 1:
        levels.sort(key=lambda level: level != originals[0])
    if len(levels) < 2:
        only_level = levels[0] if levels else "none"
        expected = "two levels or more"
        raise MeasureError(f"there is only one {by}", where="--by", expected=expected, found=only_level)
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
    measurements_of: dict[tuple[str, ...], Measurement] = {}
    for study, frame in whole.items():
        for measurement in measurements(study.source, names, frame):
            if measurement.failed is None:
                key = (measurement.measure, str(measurement.evaluator), str(measurement.options["by"]))
                measurements_of.setdefault(key, measurement)
            elif names:  # else the study's own report says why it cannot be taken
                raise measurement.failed
    asked = [*measurements_of.values()]
    there, more = {measurement.measure for measurement in asked}, dict[str, None]()
    drawing = next((study for study in whole if study.spec.conclusions), None)
    for bound in bounds:
        if bound.measure in CONCLUDED and CONCLUSIONS not in there:
            if drawing is None:
                raise MeasureError(
                    "this bound is about a conclusion, but neither study draws one",
                    where=f"--fail-{bound.kind} {bound.text!r}",
                    fix="name one under conclusions in the study file",
                )
            asked += measurements(drawing.source, [CONCLUSIONS], whole[drawing])
            there.add(CONCLUSIONS)
        elif bound.measure not in (*CONCLUDED, LOSS):
            more[measure_of(bound.measure) or bound.measure] = None
    names = [name for name in more if name not in there]
    before, frame = next(iter(whole.items()))
    return [*asked, *(measurements(before.source, names, frame) if names else ())]


def by_field(before: Study, after: Study, begin: Callable[[Study, Study, Mapping[str, str]], Begun]) -> Begun:
    """The comparison of each field that both studies have, as one; of studies of one label set, theirs."""
    own, others = before.fields, after.fields
    if not own and not others:
        return begin(before, after, {})
    common = sorted(own.keys() & others.keys(), key=[*own].index)
    if not common:
        raise MeasureError(
            "the studies have no field in common",
            where=f"{before.source.where} and {after.source.where}",
            expected="fields of the same name",
            found=f"{', '.join(own) or 'none'}; {', '.join(others) or 'none'}",
        )
    pairs, items, names = list[Pair](), 0, ("", "")
    left_out, notes = list[str](), list[str]()
    for name in {**own, **others}:
        if name not in common:
            left_out.append(f"field {name}, which only one of them has")
    for name in common:
        comparison, of_field = begin(own[name], others[name], {FIELD: name})
        names = comparison.before, comparison.after
        pairs += of_field
        items = max(items, comparison.items)
        left_out += [f"{name}: {line}" for line in comparison.left_out]
        notes += [f"{name}: {line}" for line in comparison.notes]
    if before is not after:
        names = called(before, after), called(after, before)
    return Comparison(*names, items=items, left_out=left_out, notes=notes), pairs


def in_groups(pair: Pair, study: Study, notes: list[str]) -> Pair:
    """A pair whose intervals resample the groups of items that change together, if there are any.

    Whether an item is lost, gained, changed or the same is screened by `item_clusters`, over the columns of
    the items. What is found goes to ``notes``, in words.
    """
    if study.spec.group is not None or (table := item_columns(study.source)).width == 1:
        return pair
    judged, seed = pair.judged, derive(study.spec.seed, "permutations", "changes")
    widest = next(iter(clusters(item_clusters(_moves(judged), table, seed=seed))), None)
    if widest is None:
        return pair
    column = widest.cell["column"]
    alone = pl.concat_str(pl.lit("of its own: "), "item")
    groups = table.select("item", pl.coalesce(column, alone).alias(column))
    before, after = (
        frame.drop(column, strict=False).join(groups, on="item", how="left", maintain_order="left")
        for frame in (pair.before, pair.after)
    )
    notes.append(
        f"Items of one {column} change together (design effect {widest.details['effect']:.1f}): intervals "
        f"resample its {widest.details['groups']:,} groups, as if the study declared `group: {column}`."
    )
    asked, family = _with_option(pair.asked, "group", column), _with_option(pair.family, "group", column)
    return replace(pair, before=before, after=after, asked=asked, family=family)


def _moves(pair: Pair) -> pl.DataFrame:
    """What became of each item in each cell, as a label."""
    move = (
        pl.when(pl.col("before").eq_missing(pl.col("after")))
        .then(pl.lit("same"))
        .when(pl.col("before") == pl.col("gold"))
        .then(pl.lit("lost"))
        .when(pl.col("after") == pl.col("gold"))
        .then(pl.lit("gained"))
        .otherwise(pl.lit("changed"))
    )
    return with_gold(modal_labels(pair), pair).select("item", move.alias("label"))
