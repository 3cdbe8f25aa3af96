"""How the answers were read: by the study's evaluator beside others, before the model is judged.

An evaluator is an instrument with an error of its own. The stored answers are read with several, which costs
no call; where they disagree so far that the verdict would be another one, that stands in place of a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from quaver.core import registry
from quaver.core.label_values import fields_in
from quaver.core.records import Estimate
from quaver.report.findings.decision import recommendations
from quaver.score.annotation import annotate, reads_of
from quaver.score.parsing.evaluator import reads_fields
from quaver.study.analysis.annotation_frame import annotator_of, joined, with_gold_of
from quaver.study.analysis.call_export import KEYS, raw_answers
from quaver.study.sources.study_source import StudySource

MEASURE: Final = "reader_disagreement"
MARKED: Final = "marked_label"
_OTHERS: Final = ("first_label", "answer_markers")
_READERS: Final = (MARKED, *_OTHERS, "label_match", "exact")
_OWN: Final = "own"
_NOT_READ: Final = ("error", "empty", "refused")
_MISREAD: Final = 0.1
"""Where so many answers are read as another label than they mark, the labels are not the model's."""
_UNMARKED: Final = 0.05
"""Where so many answers name several labels and mark none, other evaluators are tried for the verdict."""
_SHOWN, _PART = 10, 150
"""Answers that are shown, and characters of their beginning and of their end."""

Kinds = Mapping[str, str]
Judge = Callable[[pl.DataFrame], list[Estimate]]


def read_by_several(study: StudySource, own: list[Estimate], judged: Judge) -> list[Estimate]:
    """How far evaluators disagree on the answers of each model, and whether that decides the verdict.

    Args:
        study: The study.
        own: What its verdict rests on.
        judged: What a verdict on other annotations rests on.

    Returns:
        ``reader_disagreement`` for each model: the share of the answers with text on which ``marked_label``,
        ``first_label``, ``answer_markers`` and the study's first evaluator do not read the same. In the
        details: ``alone`` and ``several``, how many answers are a label alone and name several;
        ``evaluators``, what the verdict would be by each where this differs, and ``examples`` of answers that
        are read differently. Nothing for answers that are no single label (records, scores, probabilities).
    """
    if not _names_labels(study):
        return []
    title = study.spec.evaluators[0].title
    readers = {name: registry.load("evaluators", name)() for name in _READERS}
    evaluators = {_OWN: study.plugins.evaluators()[title], **readers}
    with study.answers() as store:
        frame = annotate(store.read(), annotator_of(study, evaluators)).collect()
    if frame.is_empty():
        return []
    readings = {str(name): part for (name,), part in frame.group_by("evaluator", maintain_order=True)}
    answers = _beside(readings).filter("read")
    verdicts = _verdicts(study, readings, answers, own, judged)
    estimates = []
    for (model,), some in answers.group_by("model", maintain_order=True):
        details = some.select(pl.col("alone", "several", "misread", "unmarked").sum()).row(0, named=True)
        details["evaluator"] = title
        kinds = {name: of_models[model] for name, of_models in verdicts.items() if model in of_models}
        if len(set(kinds.values())) > 1 or details["misread"] > _MISREAD * some.height:
            details["evaluators"] = kinds
            details["marked"] = MARKED if MARKED in kinds else ""
            details["examples"] = _examples(study, some.filter(pl.col("misread") | pl.col("unmarked")))
        share = float(some["differ"].sum()) / some.height
        cell = {"model": str(model)}
        estimates.append(Estimate(MEASURE, share, n=some.height, unit="answer", cell=cell, details=details))
    return estimates


def _names_labels(study: StudySource) -> bool:
    """Whether a study's first evaluator finds one label in the text of an answer."""
    if not study.has_answers or not study.files.responses.exists() or fields_in(study.experiment.labels):
        return False
    title = study.spec.evaluators[0].title
    evaluator = study.plugins.evaluators()[title]
    is_text = reads_of(evaluator) == "text" and not reads_fields(evaluator)
    variants = study.experiment.variants
    labels = all(variant.output == "label" and not variant.label_field for variant in variants)
    return is_text and labels and title not in study.plugins.follow_ups()


def _beside(readings: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """A row an answer: what each evaluator reads, and how they differ."""
    texts = {
        name: part.select(pl.col("label", "status").cast(pl.String)).with_columns(
            pl.col("label").fill_null("")
        )
        for name, part in readings.items()
    }
    own = readings[_OWN].select(pl.col(KEYS).cast(pl.String))
    labels = own.with_columns(part["label"].alias(name) for name, part in texts.items())
    misread = (pl.col(_OWN) != pl.col(MARKED)) & (pl.col(MARKED) != "")
    unmarked = texts[MARKED]["status"] == "ambiguous"
    others = [pl.col(name) != pl.col(_OWN) for name in _OTHERS]
    return labels.with_columns(
        ~texts[_OWN]["status"].is_in(_NOT_READ).alias("read"),
        (texts["label_match"]["status"] == "ambiguous").alias("several"),
        unmarked.alias("unmarked"),
        alone=pl.col("exact") != "",
        misread=misread,
        differ=pl.any_horizontal(misread, unmarked, *others),
    )


def _verdicts(
    study: StudySource,
    readings: Mapping[str, pl.DataFrame],
    answers: pl.DataFrame,
    own: list[Estimate],
    judged: Judge,
) -> dict[str, Kinds]:
    """By evaluator what the verdict on each model would be; empty where no other one need be tried."""
    others: Sequence[str] = ()
    unmarked = answers.group_by("model").agg(pl.col("unmarked").mean())["unmarked"]
    if answers["misread"].any():
        others = [MARKED]
    elif (unmarked >= _UNMARKED).any():
        others = _OTHERS
    if not others:
        return {}
    kinds = {study.spec.evaluators[0].title: _kinds(own)}
    for name in others:
        texts = joined(study, readings[name].lazy()).collect()
        kinds[name] = _kinds(judged(with_gold_of(study, texts)))
    return kinds


def _kinds(estimates: Sequence[Estimate]) -> Kinds:
    return {recommendation.model: recommendation.kind for recommendation in recommendations(estimates)}


def _examples(study: StudySource, answers: pl.DataFrame) -> list[dict[str, Any]]:
    """Answers that are read differently, one an item: how they begin and end, and what was read."""
    some = answers.unique("item", keep="first", maintain_order=True).head(_SHOWN)
    texts = raw_answers(study, some["item"].to_list()).with_columns(pl.col("repeat").cast(pl.String))
    shown = some.join(texts, on=KEYS, how="left", maintain_order="left")
    examples = []
    for row in shown.iter_rows(named=True):
        read = {"read": row[_OWN] or None, "marked": row[MARKED] or None}
        line = " ".join((row["output"] or "").split())
        examples.append(
            {
                "item": row["item"],
                "text": (line if len(line) <= 2 * _PART else f"{line[:_PART]} … {line[-_PART:]}"),
                **read,
            }
        )
    return examples
