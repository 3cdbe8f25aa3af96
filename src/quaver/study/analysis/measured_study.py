"""What is measured of a study: what its file asks for, the audit, and what report and verdict rest on.

A study has fields, each with labels of its own; one of a single label set has one, which no cell names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from quaver.core.annotations import few_items, rows_with
from quaver.core.estimate_frame import Deviations
from quaver.core.records import Estimate, LabelSet
from quaver.core.rows import defined
from quaver.design.calls.experiment import Experiment
from quaver.design.items.item_table import NEAR_DUPLICATES
from quaver.design.spec import ConclusionSpec
from quaver.design.spec.study_file import Positions, read_part
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.declaration import Measure
from quaver.measures.evidence.verdict_evidence import answer_quality, evidence_of_groups, verdict_evidence
from quaver.measures.variation.label_movement import deviation_shares, deviations, label_movement
from quaver.report.findings.decision import ELSEWHERE, wrong_groups
from quaver.report.findings.judged_model import EXCEPTED
from quaver.study.analysis.annotation_frame import first_evaluator
from quaver.study.analysis.answer_readings import read_by_several
from quaver.study.analysis.explained_errors import explaining_columns, hand_labelled, item_table
from quaver.study.analysis.hidden_clusters import (
    IN_PASSING,
    clustered,
    doubted,
    hidden_clusters,
    widened,
    with_column,
)
from quaver.study.analysis.study_measures import (
    CORRECTED,
    audit,
    measurable,
    measurement,
    measurements,
    measures_of,
    pictured,
    told_apart,
)
from quaver.study.sources.conclusion_measures import Conclusions
from quaver.study.sources.kept_results import kept_estimates, mark_of
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

_COLUMNS = 5
"""Of so many columns that may group the items, each group is looked at by itself."""
_OF_GOLD = (
    "wrong_labels",
    "gold_agreement",
    "gold_bias",
    "gold_total",
    "correct_answers",
    "class_found",
    "group_wrong",
    "group_class_found",
    "group_agreement",
    "label_right",
    "others_wrong",
    "prompt_worse",
    *("prompt_right", "prompt_agreement"),
    "broken_prompts",
    *("rest_agreement", "rest_unlabelled", "rest_wrong", "rest_gold_agreement"),
    *("best_prompt_wrong", "best_prompt_gold_agreement", "best_prompt_better"),
)
"""What a verdict rests on that compares labels with gold labels."""

_MOST_NUMBERS = 300
"""So many different numbers a verdict tells apart."""


class MeasuredStudy:
    """The annotations of one field of a study, with what is measured of them.

    The report's charts and the verdict rest on the labels of the first of the study's evaluators.

    Args:
        study: The field, or a study of one label set.
        frame: Annotations in place of the study's own, less those of evaluators that had nothing to read.
        group: The column whose groups of items are resampled; that of the study's measures if left out.
        whole: Whether the frame holds all of the study's annotations, so that its answers can be read anew.

    Attributes:
        mark: The mark of the study as it was when it began to be measured; None of another frame.

    Raises:
        SpecError: The study has several fields, and none is named.
    """

    def __init__(
        self,
        study: StudySource,
        frame: pl.DataFrame | None = None,
        group: str | None = None,
        *,
        whole: bool = False,
    ) -> None:
        self.study, self.seed, self._given = study, study.spec.seed, frame
        self.mark = mark_of(study) if frame is None else None  # before anything is read
        self._is_whole = whole or frame is None
        if group is not None:
            self.group = group

    @cached_property
    def experiment(self) -> Experiment:
        """The study's design, of one label set: of several fields, one was named."""
        _ = self.study.experiment.labels.codes
        return self.study.experiment

    @cached_property
    def every(self) -> Gathered:
        """The annotations, with those of the items that were added for their gold labels."""
        return Gathered(measurable(self.study) if self._given is None else self._given)

    @cached_property
    def beside(self) -> list[str]:
        """The items that were added for their gold labels."""
        if not self.study.spec.items.more_gold:
            return []
        return [item.id for item in self.experiment.items if item.beside]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The annotations of the items that figures about all items count: none added for a gold label."""
        frame = self.every.frame
        return frame.filter(~pl.col("item").cast(pl.String).is_in(self.beside)) if self.beside else frame

    @cached_property
    def whole(self) -> Gathered:
        """The gathered frame that all measures share."""
        return Gathered(self.frame) if self.beside else self.every

    def _of(self, measurement: Measurement) -> Gathered:
        """The annotations that a measure is taken of; measures of correctness count all gold labels."""
        section = measurement.plugin.presentation.section if isinstance(measurement.plugin, Measure) else ""
        return self.every if section == "accuracy" and measurement.measure not in CORRECTED else self.whole

    # ---------------------------------------------------------------- what the study says of them

    @cached_property
    def asked(self) -> list[Measurement]:
        """The measures that the study's file asks for."""
        return measurements(self.study, None, self.frame)

    @cached_property
    def group(self) -> str | None:
        """The column that groups the items: the study's, else the one that its measures name."""
        if self.study.spec.group:
            return self.study.spec.group
        asked = [measure.options.get("group") for measure in self.study.spec.measures]
        named = {str(group) for group in asked if group}
        return next(iter(named)) if len(named) == 1 and named <= set(self.frame.columns) else None

    @cached_property
    def first(self) -> pl.DataFrame:
        """The annotations of the first of the study's evaluators that there are any of."""
        return self._first_of(self.frame)

    def _first_of(self, frame: pl.DataFrame) -> pl.DataFrame:
        return rows_with(frame, "evaluator", first_evaluator(self.study, frame))

    @cached_property
    def several(self) -> dict[str, list[str]]:
        """The levels of each factor that has several, decoding and model among them."""
        models = dict.fromkeys(condition.model for condition in self.experiment.conditions)
        levels = dict(self.experiment.levels)
        for name, known in (("decoding", self.experiment.decodings), ("model", models)):
            seen = set(self.first[name].cast(pl.String).unique())
            levels[name] = [level for level in known if level in seen]
        return {name: some for name, some in levels.items() if len(some) > 1 and name in self.first.columns}

    @cached_property
    def _factors(self) -> list[str]:
        """The factors that have several levels, and the decoding, if it has."""
        return [name for name in self.several if name != "model"]

    @cached_property
    def clusters(self) -> list[Estimate]:
        """Whether items come in groups that the study does not declare (see `hidden_clusters`)."""
        if len(self.experiment.items) <= IN_PASSING:
            return self.seen_clusters
        return hidden_clusters(self.study, self.first, self.group)

    @cached_property
    def seen_clusters(self) -> list[Estimate]:
        """The clusters of items that were found, without the texts of many items."""
        return hidden_clusters(self.study, self.first, self.group, in_passing=True)

    # ---------------------------------------------------------------------------- what it measures

    @kept_estimates
    def measure(self, name: str, options: Mapping[str, Any]) -> list[Estimate]:
        """One measure, with some options (``by``, ``evaluator``, its own) in place of the study file's."""
        if name == "conclusion" and "formula" in options:
            conclusion = read_part(ConclusionSpec, options, Positions(None, {}), ("conclusion",))
            spec = self.study.spec.model_copy(update={"conclusions": (conclusion,)})
            (concluding,) = Conclusions(spec, Positions(None, {}), self.experiment).measurements()
            return self._doubted(concluding.of(self.frame))
        specs = measures_of(self.study.spec, name, options)
        asked = told_apart([measurement(self.study, spec, self.frame) for spec in specs])
        return self._doubted(
            [estimate for measurement in asked for estimate in measurement.of(self._of(measurement).frame)]
        )

    @kept_estimates
    def estimates(self, names: Sequence[str] | None = None) -> list[Estimate]:
        """The estimates of the measures that the study file names, or of the measures given by name."""
        asked = self.asked if names is None else measurements(self.study, names, self.frame)
        return self._doubted(self._taken(asked))

    def _taken(self, asked: Sequence[Measurement]) -> list[Estimate]:
        """What measures give; one that cannot be taken says why."""
        return [estimate for measurement in asked for estimate in measurement.or_why(self._of(measurement))]

    def _doubted(self, estimates: list[Estimate]) -> list[Estimate]:
        """The estimates, with a warning where their items come in groups that the study does not declare."""
        if self.frame.is_empty() or all(estimate.low is None for estimate in estimates):
            return estimates
        return doubted(estimates, self.seen_clusters)

    @kept_estimates
    def audit(self) -> list[Estimate]:
        """How the answers were read, whatever the study's file asks for; and undeclared groups of items."""
        estimates = self._taken(audit(self.study, self.frame))
        return estimates if self.frame.is_empty() else [*estimates, *self.clusters]

    @kept_estimates
    def quality(self) -> list[Estimate]:
        """The gate before every number: the quality of the answers, and whether items come in groups."""
        return [] if self.frame.is_empty() else [*self._quality, *self.seen_clusters]

    @cached_property
    def _quality(self) -> list[Estimate]:
        return answer_quality(self.first, self._factors, group=self.group)

    def charts(self) -> list[Estimate]:
        """What the report's charts show beyond what the file asks for."""
        return [*self._pictured(), *self._rested_on]

    @kept_estimates
    def _pictured(self) -> list[Estimate]:
        return [*pictured(self.asked, self.whole), *self.moved()]

    def moved(self) -> list[Estimate]:
        """How far each factor with several levels moves the labels, decoding and model among them.

        With it, how often answers deviate from their item's modal label, by variant (of all models, and of
        each), model and class.
        """
        if self.frame.is_empty():
            return []
        shares = self._deviating(self.first)
        models = self.first["model"].unique().cast(pl.String).sort() if "model" in self.several else ()
        for model in models:
            for estimate in self._deviating(rows_with(self.first, "model", model)):
                if "variant" in estimate.cell:
                    shares.append(replace(estimate, cell={"model": model, **estimate.cell}))
        labels = self.experiment.labels
        if not labels.are_numbers:  # no label's share moves
            shares += label_movement(
                self.first, self.several, labels=labels, group=self.group, seed=self.seed
            )
        return shares

    def _deviating(self, frame: pl.DataFrame) -> list[Estimate]:
        deviating = deviations(frame, group=self.group)
        return [] if deviating is None else deviation_shares(deviating)

    def deviations(self) -> Deviations | None:
        """The answers that deviate from their item's modal label; None without any."""
        return None if self.frame.is_empty() else deviations(self.first)

    # ------------------------------------------------------------------- what the verdict rests on

    def judged(self) -> list[Estimate]:
        """What verdict and recommendation rest on: the answers' quality, how labels flip, with which prompt.

        Beside the choice of a prompt stands what may be vouched for, of all prompts and of each that may be
        chosen. See `findings.rules`.
        """
        if self.frame.is_empty():
            return []
        own = self._judged()
        if not self._is_whole:
            return own

        def of_others(frame: pl.DataFrame) -> list[Estimate]:
            return MeasuredStudy(self.study, frame, self.group)._judged()

        return [*own, *read_by_several(self.study, own, of_others)]

    def _judged(self) -> list[Estimate]:
        known = few_items(self.first, self.seed)
        estimates = self._evidence(known)
        if self.beside:  # gold labels count, of whichever items
            known = few_items(self._first_of(self.every.frame), self.seed)
            estimates = [estimate for estimate in estimates if estimate.measure not in _OF_GOLD]
            estimates += [estimate for estimate in self._evidence(known) if estimate.measure in _OF_GOLD]
        gold = self.study.gold_spec
        return [*estimates, *hand_labelled(known, self.items, gold.drawn if gold else None)]

    def _evidence(self, frame: pl.DataFrame) -> list[Estimate]:
        """What is known of the labels of some annotations."""
        coders = self.study.spec.items.coders
        labels, told_apart = self._told_apart(frame)
        compared = [*self.experiment.groups, *self._explaining.columns[1:]]
        return verdict_evidence(
            self._explained(told_apart),
            self._factors,
            labels=labels,
            compared=[name for name in compared if name not in coders],
            coders=coders,
            group=self.group,
            seed=self.seed,
            quality=self._quality,
        )

    def _told_apart(self, frame: pl.DataFrame) -> tuple[LabelSet, pl.DataFrame]:
        """The labels that a verdict tells apart, and annotations with them.

        Of many different numbers, neighbours count as the same, since each two that differ are compared.
        """
        labels = self.experiment.labels
        if not labels.are_numbers or len(labels.codes) <= _MOST_NUMBERS:
            return labels, frame
        middles, stands = [], dict[str, str]()
        for neighbours in np.array_split(np.array(labels.labels, object), _MOST_NUMBERS):
            middle = neighbours[len(neighbours) // 2]
            middles.append(middle)
            stands |= dict.fromkeys((neighbour.code for neighbour in neighbours), middle.code)
        kept = [name for name in ("label", "gold") if name in frame.columns]
        texts = pl.col(kept).cast(pl.String).replace(stands).cast(pl.Categorical)
        return replace(labels, labels=tuple(middles)), frame.with_columns(texts)

    @cached_property
    def items(self) -> pl.DataFrame:
        """What the study's table knows of each item (`explained_errors.item_table`)."""
        return item_table(self.study)

    @cached_property
    def _explaining(self) -> pl.DataFrame:
        """The columns of items, beside those that the study compares, that surely explain wrong labels."""
        of_numbers = self.experiment.labels.are_numbers
        table = self.items.select("item") if of_numbers else self.items
        return explaining_columns(self.first, table, {self.group or "", *self.experiment.groups})

    def _explained(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Annotations with the columns that explain wrong labels, and how many words each text has."""
        more = self._explaining.join(self.items.select("item", pl.col("^text_words$")), on="item")
        keyed = frame.drop(more.columns[1:], strict=False).with_columns(pl.col("item").cast(pl.String))
        return keyed.join(more, on="item", how="left", maintain_order="left")

    def verdict(self) -> list[Estimate]:
        """What the verdict and the recommendation rest on, and nothing more."""
        return [*self._rested_on, *self._readiness()]

    @kept_estimates
    def _readiness(self) -> list[Estimate]:
        named = [spec.use for spec in self.study.spec.measures if spec.use == "readiness"]
        return self._taken(measurements(self.study, named, self.frame))

    @cached_property
    @kept_estimates
    def _rested_on(self) -> list[Estimate]:
        """What the verdict rests on: measured once for it and for the report's charts."""
        return self._as_judged(self.judged())

    def _as_judged(self, estimates: list[Estimate]) -> list[Estimate]:
        """What a verdict rests on, with intervals of clustered items.

        Items that come in groups which the study does not declare tell less than as many independent ones. So
        each interval becomes one that holds these groups together too, if that is wider; ``grouped`` in the
        details names the column, and ``groups`` says how many there are.
        """
        if self.frame.is_empty():
            return estimates
        known = {NEAR_DUPLICATES, self.group, *self.experiment.groups, *self._explaining.columns}
        estimates = self._allowing_for_clusters(estimates)
        of_groups = sorted(defined(self.seen_clusters), key=lambda estimate: estimate.details["p"])
        for estimate in of_groups[:_COLUMNS]:
            column = estimate.cell["column"]
            if column not in known:
                frame = with_column(self.study, self.first, column)
                estimates += evidence_of_groups(frame, column, labels=self.experiment.labels, seed=self.seed)
        return [*estimates, *self._elsewhere(estimates)]

    def _allowing_for_clusters(self, estimates: list[Estimate]) -> list[Estimate]:
        """What a verdict rests on, with intervals that hold hidden groups of items together."""
        for estimate in clustered(self.seen_clusters):
            column = estimate.cell["column"]
            joined = MeasuredStudy(self.study, with_column(self.study, self.every.frame, column), column)
            estimates = widened(estimates, joined.judged(), column, int(estimate.details["groups"]))
        return estimates

    def _elsewhere(self, estimates: Sequence[Estimate]) -> list[Estimate]:
        """What a verdict on texts outside the groups that go wrong rests on, where these have few texts."""
        wrong = wrong_groups(estimates)
        if not wrong:
            return []
        model = pl.col("model").cast(pl.String)
        whole = rest = self._explained(self.every.frame).filter(
            model.is_in({estimate.cell["model"] for estimate in wrong})
        )
        for estimate in wrong:
            column = estimate.cell["group"]
            rest = rest if column in rest.columns else with_column(self.study, rest, column)
            inside = pl.col(column).cast(pl.String) == estimate.cell["level"]
            rest = rest.filter(~((model == estimate.cell["model"]) & inside).fill_null(value=False))
        if rest.height < (1 - EXCEPTED) * whole.height:
            return []
        others = MeasuredStudy(self.study, rest, self.group)
        again = others._allowing_for_clusters(others.judged())
        return [replace(estimate, measure=f"{ELSEWHERE}{estimate.measure}") for estimate in again]
