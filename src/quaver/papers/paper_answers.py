"""The answers of a study as the papers' tables take them: by model, by prompt, and as they were written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from quaver import measures
from quaver.core.annotations import rows_with
from quaver.core.records import Estimate, LabelSet, Variant
from quaver.core.rows import Estimates
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import StoreError, UnknownName
from quaver.estimation.cells import OUTPUT
from quaver.estimation.coded_columns import Unmeasurable
from quaver.estimation.estimands import ORIGINAL, in_every_group
from quaver.report.page_words import beginning
from quaver.study.analysis.call_export import raw_answers
from quaver.study.analysis.report_evidence import evidence_of

if TYPE_CHECKING:
    from quaver.study.session import Study

NOTHING = "—"
"""A cell without a value."""
UNKNOWN = Estimate("", None)
"""An estimate that is not there: neither a value nor an interval."""
KEYS = ("model", "variant", "decoding", "item", "repeat")
"""The columns that name an answer."""
LONGEST = 200
"""Characters of a text that a cell shows."""


@dataclass(frozen=True)
class StoredAnswers:
    """The answers of one study: one data set, one task.

    Attributes:
        name: What the tables call the data set: the study's name in its collection, or its own.
        study: The study.
        frame: Its annotations by its first evaluator.
        every: Its annotations by every evaluator.
        intervals: Whether what is taken of them has intervals, which take most of the time.
        coded: Whether what stands as a label is one of the task's, and not an answer as it was written.
    """

    name: str
    study: Study
    frame: pl.DataFrame
    every: pl.DataFrame
    intervals: bool = True
    coded: bool = True

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

    @cached_property
    def items_in_order(self) -> list[str]:
        """The items' ids, in the study's order."""
        return [item.id for item in self.study.experiment.items]

    @cached_property
    def prompts_in_order(self) -> list[str]:
        """The prompts' ids, in the study's order."""
        return [variant.id for variant in self.variants]

    @property
    def variants(self) -> Sequence[Variant]:
        """The prompts, in the study's order."""
        return self.study.experiment.variants

    @cached_property
    def texts(self) -> dict[str, str]:
        """The items' texts by id, in a line each."""
        writer = PromptWriter(self.variants[0], self.labels)
        return {item.id: beginning(writer.shown(item), LONGEST) for item in self.study.experiment.items}

    @property
    def factors(self) -> dict[str, list[str]]:
        """The levels of each factor of the prompts, in the study's order."""
        return self.study.experiment.levels

    @property
    def varied(self) -> dict[str, list[str]]:
        """The levels of the factors that have several, the first of them the reference."""
        return {name: levels for name, levels in self.factors.items() if len(levels) > 1}

    def take(self, measure: str, frame: pl.DataFrame | None = None, **options: Any) -> Estimates:
        """A registered measure of the first evaluator's annotations, or of a part of them.

        The original prompt counts in every group that it is compared with, as it does in the study's own
        estimates. A measure that needs what these annotations do not have gives one estimate with the reason;
        every other error is one of the table's own options.
        """
        taken: Callable[..., Estimates] = getattr(measures, measure)
        some = self.frame if frame is None else frame
        if some.is_empty():
            return Estimates([Estimate(measure, None, reason="no annotations")])
        by = options.setdefault("by", ["model"])
        options.setdefault("seed", self.study.spec.seed)
        if not self.intervals:
            options["resamples"] = 0
        try:
            return taken(in_every_group(some, by), labels=self.labels if self.coded else None, **options)
        except Unmeasurable as error:
            if error.where in options:
                raise
            return Estimates([Estimate(measure, None, reason=str(error.problem))])

    def points(self, measure: str, frame: pl.DataFrame | None = None, **options: Any) -> Estimates:
        """`take` without intervals, in a fraction of its time."""
        return self.take(measure, frame, resamples=0, **options)

    def one(self, measure: str, model: str, frame: pl.DataFrame | None = None, **options: Any) -> Estimate:
        """A measure of one model's annotations, as one estimate."""
        return self.take(measure, self.of(model, frame), by=[], **options)[0]

    def of(self, model: str, frame: pl.DataFrame | None = None) -> pl.DataFrame:
        """One model's annotations: of the first evaluator, or of a part of them."""
        return rows_with(self.frame if frame is None else frame, "model", model)

    @cached_property
    def again(self) -> pl.DataFrame:
        """The annotations of one prompt asked again and again.

        Those of the decodings that ask a single prompt, if there are any; else those of the original prompt.
        """
        lone = self._decodings(several=False)
        if lone:
            return rows_with(self.frame, "decoding", lone)
        if ORIGINAL in self.frame.columns and self.frame[ORIGINAL].dtype == pl.Boolean:
            return self.frame.filter(pl.col(ORIGINAL).fill_null(value=False))
        return self.frame

    @cached_property
    def reworded(self) -> pl.DataFrame:
        """The annotations of several prompts under one decoding."""
        return rows_with(self.frame, "decoding", self._decodings(several=True))

    def _decodings(self, *, several: bool) -> list[str]:
        prompts = self.every.group_by(pl.col("decoding").cast(pl.String)).agg(pl.col("variant").n_unique())
        kept = prompts.filter((pl.col("variant") > 1) == several)
        return kept["decoding"].sort().to_list()

    @cached_property
    def written(self) -> StoredAnswers:
        """The answers with the written text as the label; where only labels are kept, those labels.

        On a scale, texts have no place, and the exact codes alone are left.
        """
        return self.exact if self.labels.level != "nominal" else replace(self, frame=self._texts, coded=False)

    @cached_property
    def exact(self) -> StoredAnswers:
        """The answers that are exactly a label's code (or its name); 1.0 is the code 1."""
        codes = pl.Series("code", self.labels.codes, dtype=pl.String)
        names = {label.name: label.code for label in self.labels.labels}
        names |= zip(codes, codes, strict=True)
        numbers = dict(zip(codes.cast(pl.Float64, strict=False), codes, strict=True))
        numbers.pop(None, None)
        text = pl.col("label").str.strip_chars()
        code = text.replace_strict(names, default=None, return_dtype=pl.String)
        if numbers:
            value = text.cast(pl.Float64, strict=False)
            code = pl.coalesce(code, value.replace_strict(numbers, default=None, return_dtype=pl.String))
        return replace(self, frame=self._texts.with_columns(label=code).drop_nulls("label"))

    @cached_property
    def _texts(self) -> pl.DataFrame:
        own = self.frame.with_columns(pl.col("label").cast(pl.String).fill_null(""))
        frame = own if self.raw.is_empty() else self.raw.drop("label").rename({OUTPUT: "label"})
        return frame.drop("status", strict=False)

    @cached_property
    def raw(self) -> pl.DataFrame:
        """The annotations, each with the answer as it was written, in ``output``; none where none is kept.

        None either where texts were cut, whose labels are of several answers.
        """
        answers, experiment = raw_answers(self.study.source), self.study.experiment
        if answers.is_empty() or experiment.in_parts is not experiment:
            return self.frame.clear().with_columns(pl.lit(None, pl.String).alias(OUTPUT))
        keys = [name for name in answers.columns if name != OUTPUT]
        answers = answers.with_columns(pl.col(name).cast(self.frame.schema[name]) for name in keys)
        return self.frame.join(answers, on=keys, how="left", maintain_order="left")

    def costs(self) -> pl.DataFrame:
        """What each model's answers cost, in the study's order of models."""
        order = [model.name for model in self.study.spec.models]
        with evidence_of(self.study.source) as behind:
            costs = behind.costs()
        place = pl.col("model").replace_strict(order, range(len(order)), default=len(order))
        return costs.sort(place, "paraphrases", maintain_order=True)

    def part_costs(self) -> pl.DataFrame:
        """What each level of each factor costs."""
        with evidence_of(self.study.source) as behind:
            return behind.part_costs()


Answers = Sequence[StoredAnswers]


def answers_of(
    studies: Mapping[str, Study], *, intervals: bool = True, only: Mapping[str, Sequence[str]] | None = None
) -> list[StoredAnswers]:
    """The stored answers of each study that has any.

    All of them, or those of some models, strategies or items, or to items of some ``class`` alone.
    """
    frames: dict[str, pl.DataFrame] = {}
    for name, study in studies.items():
        with suppress(StoreError):
            frames[name] = study.annotations()
    if not frames:
        next(iter(studies.values())).annotations()  # says what is missing
    for column, values in (only or {}).items():
        frames = _limited(studies, frames, column, values)
    answers = []
    for name, every in frames.items():
        study = studies[name]
        frame = rows_with(every, "evaluator", study.spec.evaluators[0].title)
        answers.append(StoredAnswers(name, study, every if frame.is_empty() else frame, every, intervals))
    return answers


def _limited(
    studies: Mapping[str, Study], frames: Mapping[str, pl.DataFrame], column: str, values: Sequence[str]
) -> dict[str, pl.DataFrame]:
    """The annotations with some values of a column, of the studies that have any."""
    known, kept = set[str](), {}
    for name, frame in frames.items():
        stored: dict[str, str] = {}
        if column == "class":
            for label in studies[name].experiment.labels.labels:
                stored |= {label.name: label.code, label.code: label.code}
        elif column in frame.columns:
            levels = frame[column].cast(pl.String).drop_nulls().unique()
            stored = dict(zip(levels, levels, strict=True))
        known |= stored.keys()
        if chosen := [stored[value] for value in values if value in stored]:
            kept[name] = rows_with(frame, "gold" if column == "class" else column, chosen)
    for value in values:
        if value not in known:
            raise UnknownName(column, value, sorted(known), where=column)
    return {name: frame for name, frame in kept.items() if frame.height}


def each_model(answers: Answers) -> Iterator[tuple[StoredAnswers, str]]:
    """Data sets, and the models of each."""
    for answer in answers:
        for model in answer.models:
            yield answer, model


def per_model(rows: Callable[[StoredAnswers, str], Iterator[Sequence[Any]]]) -> Callable[[Answers], Any]:
    """A table of each model of each data set, made by what makes the rows of one."""

    @wraps(rows)
    def table(answers: Answers) -> Iterator[Sequence[Any]]:
        for study, model in each_model(answers):
            for row in rows(study, model):
                yield study.name, model, *row

    return table


def p_of(estimate: Estimate) -> float | None:
    """An estimate's p value, adjusted for several tests where it is."""
    result: float | None = estimate.details.get("p_holm", estimate.details.get("p"))
    return result


def average(values: Iterable[float | None]) -> float | None:
    """The mean of the values that there are."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
