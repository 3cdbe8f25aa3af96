"""The measures of a study, made ready to be taken of its annotations or of any frame of their shape."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from quaver.core.records import Numbers
from quaver.core.seeds import derive
from quaver.design.spec import MeasureSpec, StudySpec
from quaver.design.spec.study_file import Positions, read_part
from quaver.errors import QuaverError
from quaver.estimation.declaration import Measure, registered
from quaver.gold.returned_labels import ratings
from quaver.measures.corrected.gold_cells import designed
from quaver.study.analysis.annotation_frame import annotations_of
from quaver.study.analysis.hidden_clusters import Prompts, with_estimand
from quaver.study.sources.conclusion_measures import CONCLUSIONS
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

_CONDITION = ("model", "decoding")


def audited(frame: pl.DataFrame, factors: Sequence[str], stated: Collection[str]) -> list[MeasureSpec]:
    """The measures of an audit: compliance, evaluators compared, and parse rates.

    Returns:
        Compliance by variant and by each factor that varies; of several evaluators, what they read
        differently and the shares of gaps recovered; the calibration of stated confidence, for its parse
        rates.
    """
    if frame.is_empty():
        return []
    evaluators = frame["evaluator"].unique(maintain_order=True).cast(pl.String).to_list()
    variants = frame["variant"].n_unique()  # what tells nearly every variant apart says no more than these
    there = [name for name in factors if name in frame.columns]
    varying = [name for name in there if 1 < frame[name].n_unique() <= variants / 2]
    specs = [MeasureSpec(use="compliance")]
    specs += [MeasureSpec(use="compliance", by=(*_CONDITION, name)) for name in varying]
    others = [name for name in evaluators[1:] if name not in stated]  # those read by another's rule
    for measure in ("evaluator_flips", "recovered_share"):
        specs += [MeasureSpec.model_validate({"use": measure, "second": name}) for name in others]
    for name in stated:
        if name in evaluators:
            specs.append(MeasureSpec(use="verbal_calibration", evaluator=name))
    return specs


MEASURES_OF_CODERS: Final = {"coder_agreement": 1, "alternative_annotator": 3}
"""The measures of coders, and how many coders each needs."""
_POOLED: Final = ("model", "decoding")


def coder_measures(study: StudySource, frame: pl.DataFrame, asked: Collection[str]) -> list[MeasureSpec]:
    """The measures that a study with coders has beside those that its file asks for: over all prompts."""
    table = gold_coders(study, frame)
    count = len(study.spec.items.coders) + (0 if table is None else table.width - 1)
    return [
        MeasureSpec(use=name, by=_POOLED)
        for name, fewest in MEASURES_OF_CODERS.items()
        if count >= fewest and name not in asked
    ]


def gold_coders(study: StudySource, frame: pl.DataFrame) -> pl.DataFrame | None:
    """The labels of the gold sample's coders who share an item with another one; None of fewer than two."""
    table = ratings(study.gold_files.state().coded)
    if table.width < 3:
        return None
    several = table.filter(pl.sum_horizontal(pl.exclude("item").is_not_null()) > 1)
    own = [name for name in table.columns[1:] if several[name].is_not_null().any()]
    columns = [pl.col(name).alias(f"coder {name}" if name in frame.columns else name) for name in own]
    return table.select("item", *columns) if len(own) > 1 else None


def audited_coders(spec: StudySpec) -> list[MeasureSpec]:
    """What a report shows of coders and each prompt."""
    return [MeasureSpec(use="coder_agreement")] if len(spec.items.coders) > 1 else []


def with_coders(
    study: StudySource, frame: pl.DataFrame, measure: str, options: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A measure's options; one of coders is of the study's and of its gold sample's where it names none."""
    if measure not in MEASURES_OF_CODERS or "coders" in options:
        return options
    table = gold_coders(study, frame)
    coders = (*study.spec.items.coder_columns, *(() if table is None else table.columns[1:]))
    return {"coders": coders, **options} if coders else options


SCORE: Final = "corrected_score"
"""Taken unasked where the labels are numbers: of all items, and by each column that groups them."""

CORRECTED: Final = ("corrected_share", "corrected_accuracy", SCORE)
"""They are taken wherever there is a designed gold sample, by default unless the study's file says how."""


def corrected_measurements(
    study: StudySource, frame: pl.DataFrame, known: Collection[str], names: Collection[str] | None
) -> list[Measurement]:
    """The measures that the study's gold sample corrects; none where no gold label was drawn by design."""
    if not designed(frame):
        return []
    labels, group = study.experiment.labels, study.spec.group
    scored = labels.level == "interval" or isinstance(labels, Numbers)
    wanted = [name for name in CORRECTED if name != SCORE or scored]
    asked = [name for name in (wanted if names is None else names) if name in CORRECTED and name not in known]
    columns = [one for one in getattr(study.spec.items, "groups", ()) if one in frame.columns]
    return [
        Measurement(
            name,
            registered(name),
            None,
            {"labels": labels, "by": by, "seed": derive(study.spec.seed, "bootstrap", name), "group": group},
        )
        for name in asked
        for by in ((), *((column,) for column in columns if name == SCORE))
    ]


_FEWEST = 3
"""Fewest paraphrases from which a report speaks of others: two leave anything open."""


def measurement(
    study: StudySource, spec: MeasureSpec, frame: pl.DataFrame, loc: Sequence[str | int] = ("measures",)
) -> Measurement:
    """One measure of a study."""
    spec = spec.among(frame.columns)
    plugin, options = study.plugins.measure(spec, loc)
    evaluators = frame["evaluator"].unique().cast(pl.String).to_list()
    study.plugins.check_names(spec, frame.columns, evaluators, loc)
    compared = plugin.compared(options)
    spec, options = with_estimand(spec, plugin, options, Prompts.of(study.experiment.variants))
    apart = ("evaluator",) if "evaluator" not in (*compared, *(spec.by or ())) else ()
    by = (*apart, *spec.columns(study.factors, compared))
    if "evaluator" in compared and "first" in plugin.options and not frame.is_empty():
        first = spec.evaluator or str(frame["evaluator"][0])
        options = options if options.get("second") == first else {"first": first, **options}
    only = _repairing(study, plugin, options, spec, evaluators)
    seed = derive(study.spec.seed, "bootstrap", spec.use)
    shared = {"labels": study.experiment.labels, "by": by, "seed": seed, "group": study.spec.group}
    options = {**shared, **with_coders(study, frame, spec.use, options)}
    if plugin.takes_factors and (varied := _varied(study, frame, by)):
        options = {"factors": varied, **options}
    return Measurement(spec.use, plugin, spec.evaluator, options, only)


def _repairing(
    study: StudySource, plugin: Measure, options: Mapping[str, Any], spec: MeasureSpec, known: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    """The annotations that take part: where evaluators are set side by side, none of stated confidence.

    Such an evaluator has the label of another one, and repairs nothing. One that is named is compared.
    """
    if not plugin.pairs_evaluators or options.get("second") is not None:
        return spec.only
    stated = stated_evaluators(study)
    left = [name for name in known if name not in stated or name == options.get("first")]
    return (
        spec.only if "evaluator" in spec.only or len(left) == len(known) else {**spec.only, "evaluator": left}
    )


def stated_evaluators(study: StudySource) -> list[str]:
    """The evaluators that read how sure a model says it is; the label beside that is another's reading."""
    evaluators = study.plugins.evaluators().items()
    return [name for name, evaluator in evaluators if getattr(evaluator, "reads", "") == "pair"]


def measures_of(spec: StudySpec, name: str, options: Mapping[str, Any]) -> list[MeasureSpec]:
    """A measure as a study file names it, each time that it does, some options in place of the file's."""
    own = [one.model_dump(exclude_unset=True) for one in spec.measures if one.use == name] or [{}]
    merged = [{**one, **options, "use": name} for one in own]
    specs = [read_part(MeasureSpec, one, Positions(None, {}), ("measure",)) for one in merged]
    return [one for index, one in enumerate(specs) if one not in specs[:index]]


def _varied(study: StudySource, frame: pl.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    """The factors of the variants that have several levels, without what was measured of a variant.

    Whether a paraphrase is the original, or is flagged, goes with the paraphrase: as factors of their own
    they would be the same comparisons once more.
    """
    levels: dict[str, set[str]] = {}
    for variant in study.experiment.variants:
        for factor, level in variant.factors.items():
            levels.setdefault(factor, set()).add(level)
    return tuple(
        name for name, some in levels.items() if len(some) > 1 and name in frame.columns and name not in by
    )


def measurements(study: StudySource, names: Sequence[str] | None, frame: pl.DataFrame) -> list[Measurement]:
    """The study's measures, its conclusions among them."""
    asked: list[tuple[tuple[str | int, ...], MeasureSpec]] = [
        (("measures", index), spec) for index, spec in enumerate(study.spec.measures)
    ]
    concluded = study.conclusions.measurements(names)
    known = {spec.use for _, spec in asked}
    corrected = corrected_measurements(study, frame, known, names)
    if names is not None:
        apart = {*(one.measure for one in corrected), *((CONCLUSIONS,) if concluded else ())}
        names = [one for one in names if one not in apart]
        asked = [(loc, spec) for loc, spec in asked if spec.use in names]
        for name in names:
            registered(name, where="the measure asked for")
        asked += [(("measures",), MeasureSpec(use=name)) for name in names if name not in known]
    else:
        asked += [(("items", "coders"), spec) for spec in coder_measures(study, frame, known)]
    return [*told_apart([_or_failed(study, spec, frame, loc) for loc, spec in asked]), *corrected, *concluded]


def told_apart(found: list[Measurement]) -> list[Measurement]:
    """The measurements; those of one measure that differ in its treatment say in their cells in which.

    Else two conventions of one measure were two numbers of one name and one cell.
    """
    apart = []
    for one in found:
        alike = [other for other in found if (other.measure, other.evaluator) == (one.measure, one.evaluator)]
        plugin = one.plugin
        defaults = plugin.defaults(plugin.treatments) if isinstance(plugin, Measure) else {}
        named = {
            name: str(one.options.get(name, default))
            for name, default in defaults.items()
            if len({other.options.get(name, default) for other in alike}) > 1
        }
        apart.append(one._replace(named={name: value for name, value in named.items() if value != "None"}))
    return apart


def _or_failed(
    study: StudySource, spec: MeasureSpec, frame: pl.DataFrame, loc: Sequence[str | int]
) -> Measurement:
    """A measure, also one that cannot be taken: the others still can."""
    try:
        return measurement(study, spec, frame, loc)
    except QuaverError as error:
        plugin = registered(spec.use, where=study.positions.where(*loc))
        return Measurement(spec.use, plugin, spec.evaluator, spec.options, failed=error)


def audit(study: StudySource, frame: pl.DataFrame) -> list[Measurement]:
    """The measures of how the answers were read (see `quaver.study.analysis.study_measures`)."""
    stated = stated_evaluators(study)
    specs = [*audited(frame, study.factors, stated), *_of_prompts_like_these(study)]
    specs += [] if frame.is_empty() else audited_coders(study.spec)
    return told_apart([measurement(study, spec, frame) for spec in specs])


def _of_prompts_like_these(study: StudySource) -> Iterator[MeasureSpec]:
    """Accuracy over all paraphrases, where the study's file asks for that of each.

    What a report says of accuracy is then said of prompts like these.
    """
    if Prompts.of(study.experiment.variants).paraphrases < _FEWEST:
        return
    for spec in study.spec.measures:
        if spec.use == "accuracy" and spec.by is None and spec.estimand is None:
            yield spec.model_copy(update={"estimand": "population"})


def measurable(study: StudySource, frame: pl.DataFrame | None = None) -> pl.DataFrame:
    """The annotations, the study's own by default, less those of evaluators that had nothing to read."""
    frame = annotations_of(study) if frame is None else frame
    if not study.has_answers:
        return frame
    blind = [name for name, one in study.experiment.decodings.items() if not one.logprobs]
    elsewhere = study.plugins.follow_ups()
    readers = [
        name
        for name, one in study.plugins.evaluators().items()
        if getattr(one, "reads", "") == "tokens" and name not in elsewhere
    ]
    evaluator, decoding = pl.col("evaluator").cast(pl.String), pl.col("decoding").cast(pl.String)
    return frame.filter(~(evaluator.is_in(readers) & decoding.is_in(blind)))
