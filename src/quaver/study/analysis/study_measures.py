"""The measures of a study, made ready to be taken of its annotations or of any frame of their shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import polars as pl

from quaver.collect.run.ledger import idle_in
from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.column_names import column_of
from quaver.core.records import Decoding, Estimate
from quaver.core.seeds import derive
from quaver.design.calls.experiment import Experiment
from quaver.design.spec import MeasureSpec, StudySpec
from quaver.design.spec.study_file import Positions, read_part
from quaver.design.spec.task_spec import IMPORTED
from quaver.errors import QuaverError
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.declaration import Measure, registered
from quaver.gold.returned_labels import ratings
from quaver.measures.corrected.gold_cells import designed
from quaver.study.analysis.annotation_frame import annotations_of
from quaver.study.sources.conclusion_measures import CONCLUSIONS
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

_POOLED: Final = ("model", "decoding")

_OF_CODERS: Final = {"coder_agreement": 1, "alternative_annotator": 3}
"""The measures of coders, taken unasked where there are as many as each needs."""

_SCORE: Final = "corrected_score"
"""Taken unasked where the labels are numbers: of all items, and by each column that groups them."""

CORRECTED: Final = ("corrected_share", "corrected_accuracy", _SCORE)
"""They are taken wherever there is a designed gold sample, by default unless the study's file says how."""

_FAMILIES: Final = frozenset({"paraphrases", "instructions"})
_NAMES: Final = frozenset({"paraphrase", "variant", "prompt_id", "prompt"})
"""Columns of imported labels that tell paraphrases apart; nothing is known there of how prompts were made."""

_FEWEST: Final = 3
"""Fewest paraphrases from which a report speaks of others: two leave anything open."""

Asked = tuple[tuple[str | int, ...], MeasureSpec]
"""A measure, and where the study's file asks for it."""


# ------------------------------------------------------------------------------- the annotations


def measurable(study: StudySource, frame: pl.DataFrame | None = None) -> pl.DataFrame:
    """The annotations, the study's own by default, less those of evaluators that had nothing to read.

    The labels of the gold sample's coders stand in columns, as those of the items' coders do.
    """
    frame = annotations_of(study) if frame is None else frame
    if study.has_answers:
        elsewhere = study.plugins.follow_ups()
        readers = [
            name
            for name, evaluator in study.plugins.evaluators().items()
            if getattr(evaluator, "reads", "") == "tokens" and name not in elsewhere
        ]
        if readers:
            blind = [name for name, decoding in study.experiment.decodings.items() if not decoding.logprobs]
            evaluator, decoding = pl.col("evaluator").cast(pl.String), pl.col("decoding").cast(pl.String)
            frame = frame.filter(~(evaluator.is_in(readers) & decoding.is_in(blind)))
        frame = _pooled(study, frame)
    coders = gold_coders(study)
    if coders.width == 1 or "item" not in frame.columns:
        return frame
    labels = coders.with_columns(pl.col("item").cast(frame.schema["item"]))
    return frame.join(labels, on="item", how="left", maintain_order="left")


def _pooled(study: StudySource, frame: pl.DataFrame) -> pl.DataFrame:
    """Annotations whose decodings differ in more than a knob that made no difference: others are repeats."""
    if not study.files.responses.exists():
        return frame
    with study.files.store() if study.can_ask else study.answers() as store:  # which has been checked
        idle = idle_in(store)
    for model, knob, _ in idle:
        alike: dict[Decoding, list[str]] = defaultdict(list)
        for name, settings in study.experiment.decodings.items():
            if hasattr(settings, knob):
                alike[replace(settings, name="", grid=(), **{knob: getattr(Decoding(""), knob)})].append(name)
        own = pl.col("model").cast(pl.String) == model
        if knob in frame.columns:
            frame = frame.with_columns(pl.when(~own).then(knob))
        for names in alike.values():
            decoding = pl.col("decoding").cast(pl.String)
            place = decoding.replace_strict(names, range(len(names)), default=None, return_dtype=pl.Int32)
            pooled = own & place.is_not_null()
            repeat = pl.col("repeat") + place * (pl.col("repeat").max() + 1)
            frame = frame.with_columns(
                repeat=pl.when(pooled).then(repeat).otherwise("repeat"),
                decoding=pl.when(pooled).then(pl.lit(names[0])).otherwise(decoding).cast(pl.Categorical),
            )
    return frame


def gold_coders(study: StudySource) -> pl.DataFrame:
    """The labels of the gold sample's coders who share an item with another one, a column each.

    A coder whose name is that of another column is ``coder NAME``.
    """
    coded = study.gold_sample.coded
    table = ratings(coded.with_columns(label=pl.Series(study.labels_of(coded["label"]), dtype=pl.String)))
    if table.width < 3:
        return table.select("item")
    several = table.filter(pl.sum_horizontal(pl.exclude("item").is_not_null()) > 1)
    taken = {*ANNOTATION_COLUMNS, *study.factors, *study.experiment.groups, *study.spec.coder_columns}
    own = [name for name in table.columns[1:] if several[name].is_not_null().any()]
    columns = [pl.col(name).alias(f"coder {name}" if name in taken else name) for name in own]
    return table.select("item", *columns)


def coders_of(study: StudySource) -> tuple[str, ...]:
    """The columns of the annotations that hold coders' labels."""
    return (*study.spec.coder_columns, *gold_coders(study).columns[1:])


# ------------------------------------------------------------------------------ prompts and estimands


def sampled_factors(experiment: Experiment) -> list[str]:
    """The factors with several levels that are a sample: paraphrases. The others are designed."""
    families: dict[str, set[str]] = defaultdict(set)
    for variant in experiment.variants:
        for factor, origin in variant.origin.items():
            families[factor].add(str((origin or {}).get("family", "")))
    named = {column_of("factor", name) for name in _NAMES}
    sampled = []
    for factor, levels in experiment.levels.items():
        known = families[factor] - {"", IMPORTED}
        is_sample = bool(known & _FAMILIES) if known else factor in named
        if len(levels) > 1 and is_sample:
            sampled.append(factor)
    return sampled


def with_estimand(
    spec: MeasureSpec, measure: Measure, options: Mapping[str, Any], experiment: Experiment
) -> tuple[MeasureSpec, dict[str, Any]]:
    """A measure as a study asks for it, with what its intervals are to hold for.

    By default a measure that would speak of prompts in general speaks of these alone where none are a sample.
    Where paraphrases are crossed with other factors, they are the prompts. A measure that is taken of every
    prompt is taken of all of them together, where it is to speak of others; what is no sample stays apart.
    """
    settled, sampled = dict(options), sampled_factors(experiment)
    wanted = spec.estimand or measure.estimands[0]
    if spec.estimand is None and wanted != "fixed" and not sampled:
        wanted = settled["estimand"] = "fixed"
    elif spec.estimand is not None:
        settled["estimand"] = spec.estimand
    if wanted == "fixed":
        return spec, settled
    apart: list[str] = []
    if sampled:
        levels = experiment.levels
        apart = [name for name, some in levels.items() if len(some) > 1 and name not in sampled]
    if apart:
        settled["columns"] = {"prompt": sampled, **(settled.get("columns") or {})}
    if spec.by is None and "variant" not in measure.compared(options):
        by = [name for name in spec.columns((), ("variant",)) if name != "variant"]
        spec = spec.model_copy(update={"by": (*by, *apart)})
    return spec, settled


# ----------------------------------------------------------------------------------- one measure


def measurement(
    study: StudySource, spec: MeasureSpec, frame: pl.DataFrame, loc: Sequence[str | int] = ("measures",)
) -> Measurement:
    """One measure of a study."""
    spec = spec.among(frame.columns)
    plugin, options = study.plugins.measure(spec, loc)
    evaluators = _evaluators(frame)
    study.plugins.check_names(spec, frame.columns, evaluators, loc)
    compared = plugin.compared(options)
    spec, options = with_estimand(spec, plugin, options, study.experiment)
    by = spec.columns(study.factors, compared)
    if "evaluator" not in (*compared, *(spec.by or ())):
        by = ("evaluator", *by)
    elif "evaluator" in compared and "first" in plugin.options and evaluators:
        first = spec.evaluator or evaluators[0]
        options = options if options.get("second") == first else {"first": first, **options}
    if spec.use in _OF_CODERS and (coders := coders_of(study)):
        options = {"coders": coders, **options}
    varied = _varied(study, frame, by) if plugin.takes_factors else ()
    if varied:
        options = {"factors": varied, **options}
    only = dict(spec.only)
    if plugin.pairs_evaluators and options.get("second") is None and "evaluator" not in only:
        # An evaluator of stated confidence has the label of another one, and repairs nothing.
        others = {*stated_evaluators(study)} - {options.get("first")}
        if others & {*evaluators}:
            only["evaluator"] = tuple(name for name in evaluators if name not in others)
    seed = derive(study.spec.seed, "bootstrap", spec.use)
    shared = {"labels": study.experiment.labels, "by": by, "seed": seed, "group": study.spec.group}
    return Measurement(spec.use, plugin, spec.evaluator, {**shared, **options}, only)


def _evaluators(frame: pl.DataFrame) -> list[str]:
    return frame["evaluator"].unique(maintain_order=True).cast(pl.String).to_list()


def stated_evaluators(study: StudySource) -> list[str]:
    """The evaluators that read how sure a model says it is; the label beside that is another's reading."""
    evaluators = study.plugins.evaluators().items()
    return [name for name, evaluator in evaluators if getattr(evaluator, "reads", "") == "pair"]


def _varied(study: StudySource, frame: pl.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    """The factors of the variants that have several levels, without what was measured of a variant.

    Whether a paraphrase is the original, or is flagged, goes with the paraphrase: as factors of their own
    they would be the same comparisons once more.
    """
    there = set(frame.columns) - set(by)
    levels = study.experiment.levels
    return tuple(name for name, some in levels.items() if len(some) > 1 and name in there)


def _or_failed(
    study: StudySource, spec: MeasureSpec, frame: pl.DataFrame, loc: Sequence[str | int]
) -> Measurement:
    """A measure, also one that cannot be taken: the others still can."""
    try:
        return measurement(study, spec, frame, loc)
    except QuaverError as error:
        plugin = registered(spec.use, where=study.positions.where(*loc))
        return Measurement(spec.use, plugin, spec.evaluator, spec.options, failed=error)


def told_apart(measurements: list[Measurement]) -> list[Measurement]:
    """The measurements; where one measure is taken under several treatments, cells name the treatment.

    Else two conventions of one measure were two numbers of one name and one cell.
    """
    apart = []
    for measurement in measurements:
        alike = [
            other
            for other in measurements
            if (other.measure, other.evaluator) == (measurement.measure, measurement.evaluator)
        ]
        plugin, named = measurement.plugin, dict[str, str]()
        defaults = plugin.defaults(plugin.treatments) if isinstance(plugin, Measure) else {}
        for name, default in defaults.items():
            own = measurement.options.get(name, default)
            differ = any(other.options.get(name, default) != own for other in alike)
            if differ and own is not None:
                named[name] = str(own)
        apart.append(measurement._replace(named=named))
    return apart


# --------------------------------------------------------------------------------- all that is measured


def measures_of(spec: StudySpec, name: str, options: Mapping[str, Any]) -> list[MeasureSpec]:
    """A measure as a study file names it, each time that it does, some options in place of the file's."""
    own = [measure.model_dump(exclude_unset=True) for measure in spec.measures if measure.use == name] or [{}]
    specs: list[MeasureSpec] = []
    for options_of_one in own:
        read = read_part(
            MeasureSpec, {**options_of_one, **options, "use": name}, Positions(None, {}), ("measure",)
        )
        if read not in specs:
            specs.append(read)
    return specs


def measurements(study: StudySource, names: Sequence[str] | None, frame: pl.DataFrame) -> list[Measurement]:
    """The study's measures, its conclusions among them; those of some names alone, if any are given."""
    known = {spec.use for spec in study.spec.measures}
    concluded = study.conclusions.measurements(names)
    corrected = _corrected(study, frame, known, names)
    asked: list[Asked] = [(("measures", index), spec) for index, spec in enumerate(study.spec.measures)]
    if names is None:
        coders = len(coders_of(study))
        for name, fewest in _OF_CODERS.items():
            if coders >= fewest and name not in known:
                asked.append((("items", "coders"), MeasureSpec(use=name, by=_POOLED)))
    else:
        asked = [(loc, spec) for loc, spec in asked if spec.use in names]
        apart = {
            *known,
            *(measurement.measure for measurement in corrected),
            *([CONCLUSIONS] if concluded else ()),
        }
        for name in names:
            if name not in apart:
                registered(name, where="the measure asked for")
                asked.append((("measures",), MeasureSpec(use=name)))
    return [*told_apart([_or_failed(study, spec, frame, loc) for loc, spec in asked]), *corrected, *concluded]


def _corrected(
    study: StudySource, frame: pl.DataFrame, known: Collection[str], names: Collection[str] | None
) -> list[Measurement]:
    """The measures that the study's gold sample corrects; none where no gold label was drawn by design."""
    if not designed(frame):
        return []
    labels, columns = study.experiment.labels, getattr(study.spec.items, "groups", ())
    scored = labels.level == "interval" or labels.are_numbers
    wanted = [name for name in CORRECTED if name != _SCORE or scored] if names is None else names
    measurements = []
    for name in wanted:
        if name not in CORRECTED or name in known:
            continue
        seed = derive(study.spec.seed, "bootstrap", name)
        shared = {"labels": labels, "seed": seed, "group": study.spec.group}
        groups = [(column,) for column in columns if name == _SCORE and column in frame.columns]
        for by in ((), *groups):
            measurements.append(Measurement(name, registered(name), None, {**shared, "by": by}))
    return measurements


def audit(study: StudySource, frame: pl.DataFrame) -> list[Measurement]:
    """The measures of how the answers were read, and of how accurate prompts like these are."""
    if frame.is_empty():
        return []
    specs = [*_audited(study, frame), *_of_prompts_like_these(study)]
    if len(study.spec.items.coders) > 1:
        specs.append(MeasureSpec(use="coder_agreement"))
    return told_apart([measurement(study, spec, frame) for spec in specs])


def _audited(study: StudySource, frame: pl.DataFrame) -> Iterator[MeasureSpec]:
    """Compliance by variant and by each factor that varies; evaluators compared; stated confidence."""
    evaluators, stated = _evaluators(frame), stated_evaluators(study)
    variants = frame["variant"].n_unique()  # what tells nearly every variant apart says no more than these
    yield MeasureSpec(use="compliance")
    for name in study.factors:
        if name in frame.columns and 1 < frame[name].n_unique() <= variants / 2:
            yield MeasureSpec(use="compliance", by=(*_POOLED, name))
    for name in evaluators[1:]:
        if name not in stated:  # its label is read by another's rule
            yield MeasureSpec.model_validate({"use": "evaluator_flips", "second": name})
    for name in stated:
        if name in evaluators:
            yield MeasureSpec(use="verbal_calibration", evaluator=name)


def _of_prompts_like_these(study: StudySource) -> Iterator[MeasureSpec]:
    """Accuracy over all paraphrases, where the study's file asks for that of each.

    What a report says of accuracy is then said of prompts like these.
    """
    sampled = sampled_factors(study.experiment)
    prompts = {tuple(map(variant.factors.get, sampled)) for variant in study.experiment.variants}
    if len(prompts) < _FEWEST:
        return
    for spec in study.spec.measures:
        if spec.use == "accuracy" and spec.by is None and spec.estimand is None:
            yield spec.model_copy(update={"estimand": "population"})


def pictured(measurements: Sequence[Measurement], whole: Gathered) -> list[Estimate]:
    """The calibration error of each model and evaluator over all else, for reliability diagrams."""
    estimates: list[Estimate] = []
    for measured in measurements if whole.height else ():
        by = tuple(measured.options.get("by", ()))
        kept = tuple(column for column in by if column in ("model", "evaluator"))
        if measured.measure == "ece" and kept and kept != by:
            with suppress(QuaverError):  # what the file asks for says why it is not measured
                estimates += measured.of(whole, by=kept)
    return estimates
