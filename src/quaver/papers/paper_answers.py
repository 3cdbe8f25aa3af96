"""What a paper's tables are made of: the stored answers of one study, or of each study of a collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from quaver import measures
from quaver.core.records import Estimate, LabelSet, Variant
from quaver.core.rows import Estimates
from quaver.errors import QuaverError, StoreError
from quaver.estimation.left_out_prompts import ORIGINAL, in_every_group
from quaver.estimation.signature import OUTPUT
from quaver.study.analysis.call_export import raw_answers
from quaver.study.analysis.report_evidence import StoredBehind

if TYPE_CHECKING:
    from quaver.many_studies.collection import Collection
    from quaver.report.page.evidence import Cost, PartCost
    from quaver.study.session import Study


@dataclass(frozen=True)
class StoredAnswers:
    """The answers of one study: one data set, one task.

    Attributes:
        name: What the tables call the data set: the study's name in its collection, or its own.
        study: The study.
        frame: Its annotations by its first evaluator.
        every: Its annotations by every evaluator.
    """

    name: str
    study: Study
    frame: pl.DataFrame
    every: pl.DataFrame

    @property
    def labels(self) -> LabelSet:
        """The task's label set."""
        return self.study.experiment.labels

    @property
    def unlabelled(self) -> str:
        """What an answer without a label is in the papers: one more label; on a scale, left out."""
        return "category" if self.labels.level == "nominal" else "drop"

    @property
    def models(self) -> list[str]:
        """The models that answered, in the study's order."""
        answered = set(self.frame["model"].cast(pl.String).unique())
        return [model.name for model in self.study.spec.models if model.name in answered]

    @property
    def items(self) -> int:
        """How many items have answers."""
        return self.frame["item"].n_unique()

    @property
    def variants(self) -> Sequence[Variant]:
        """The prompts, in the study's order."""
        return self.study.experiment.variants

    def levels(self, column: str) -> list[str]:
        """The levels of a factor, in the study's order."""
        return list(dict.fromkeys(one.factors[column] for one in self.variants if column in one.factors))

    def take(self, measure: str, frame: pl.DataFrame | None = None, **options: Any) -> Estimates:
        """A registered measure of the first evaluator's annotations, or of a part of them.

        The original prompt counts in every group that it is compared with, as it does in the study's own
        estimates. A measure that these annotations do not allow gives one estimate with the reason.
        """
        taken: Callable[..., Estimates] = getattr(measures, measure)
        some = self.frame if frame is None else frame
        if some.is_empty():
            return Estimates([Estimate(measure, None, reason="no annotations")])
        by = options.setdefault("by", ["model"])
        options.setdefault("seed", self.study.spec.seed)
        try:
            return taken(in_every_group(some, by), labels=self.labels, **options)
        except QuaverError as error:
            return Estimates([Estimate(measure, None, reason=str(error.problem))])

    def one(self, measure: str, model: str, frame: pl.DataFrame | None = None, **options: Any) -> Estimate:
        """A measure of one model's annotations, as one estimate."""
        return self.take(measure, self.of(model, frame), by=[], **options)[0]

    def of(self, model: str, frame: pl.DataFrame | None = None) -> pl.DataFrame:
        """One model's annotations: of the first evaluator, or of a part of them."""
        some = self.frame if frame is None else frame
        return some.filter(pl.col("model").cast(pl.String) == model)

    def bare(self, measure: str, frame: pl.DataFrame) -> Estimate:
        """A measure of texts that are no labels of the task."""
        try:
            found: Estimates = getattr(measures, measure)(frame, by=[], seed=self.study.spec.seed)
        except QuaverError as error:
            return Estimate(measure, None, reason=str(error.problem))
        return found[0]

    @cached_property
    def again(self) -> pl.DataFrame:
        """The annotations of one prompt asked again and again.

        Those of the decodings that ask a single prompt, if there are any; else those of the original prompt.
        """
        lone = self._decodings(several=False)
        if lone:
            return self.frame.filter(pl.col("decoding").cast(pl.String).is_in(lone))
        if ORIGINAL in self.frame.columns and self.frame[ORIGINAL].dtype == pl.Boolean:
            return self.frame.filter(pl.col(ORIGINAL).fill_null(value=False))
        return self.frame

    @cached_property
    def reworded(self) -> pl.DataFrame:
        """The annotations of several prompts under one decoding."""
        return self.frame.filter(pl.col("decoding").cast(pl.String).is_in(self._decodings(several=True)))

    def _decodings(self, *, several: bool) -> list[str]:
        prompts = self.frame.group_by(pl.col("decoding").cast(pl.String)).agg(pl.col("variant").n_unique())
        return [name for name, count in prompts.sort("decoding").iter_rows() if (count > 1) == several]

    @cached_property
    def raw(self) -> pl.DataFrame:
        """The annotations, each with the answer as it was written, in ``output``; none where none is kept."""
        answers = raw_answers(self.study.source)
        if answers.is_empty():
            return self.frame.clear().with_columns(pl.lit(None, pl.String).alias(OUTPUT))
        keys = [name for name in answers.columns if name != OUTPUT]
        answers = answers.with_columns(pl.col(name).cast(self.frame.schema[name]) for name in keys)
        return self.frame.join(answers, on=keys, how="left", maintain_order="left")

    def costs(self) -> Sequence[Cost]:
        """What each model's answers cost."""
        with ExitStack() as opened:
            return self._behind(opened).costs()

    def part_costs(self) -> Sequence[PartCost]:
        """What each level of each factor costs."""
        with ExitStack() as opened:
            return self._behind(opened).part_costs()

    def _behind(self, opened: ExitStack) -> StoredBehind:
        source = self.study.source
        store = opened.enter_context(source.answers()) if source.files.responses.exists() else None
        return StoredBehind(source.experiment, store, source.prices, source.spent_on_paraphrases())


def answers_of(stored: Study | Collection) -> list[StoredAnswers]:
    """The stored answers of a study, or of each study of a collection that has any.

    Raises:
        StoreError: Nothing is stored yet.
    """
    studies: dict[str, Study] = getattr(stored, "studies", None) or {stored.spec.name: stored}
    found = []
    missing: StoreError | None = None
    for name, study in studies.items():
        try:
            every = study.annotations()
        except StoreError as error:
            missing = error
            continue
        first = study.spec.evaluators[0].title
        frame = every.filter(pl.col("evaluator").cast(pl.String) == first)
        found.append(StoredAnswers(name, study, every if frame.is_empty() else frame, every))
    if not found and missing is not None:
        raise missing
    return found
