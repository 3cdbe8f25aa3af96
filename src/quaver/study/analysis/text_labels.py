"""One label for each text, and the reason for which a person should look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl
from polars.expr.whenthen import ChainedThen, Then

from quaver.acceptance.accepted_labels import Acceptance
from quaver.acceptance.item_scores import mean_confidence, most_frequent
from quaver.core.annotations import FIELD, rows_with
from quaver.core.label_values import SEPARATOR
from quaver.core.records import OF_SETS, Level
from quaver.errors import StoreError, UnknownName
from quaver.gold.gold_draw import SPLIT
from quaver.report.findings.recommendation import Recommendation
from quaver.report.findings.verdict_card import group_in_words
from quaver.study.analysis.annotation_frame import gold_labels, scan
from quaver.study.analysis.explained_errors import items_of
from quaver.study.analysis.field_source import fields_of
from quaver.study.sources.study_source import StudySource

_STATUS_WORDS: Final[Mapping[str, str]] = {
    "error": "the calls failed",
    "refused": "the model refused",
    "ambiguous": "the answer names several labels",
}
"""Why a text has no label, by the most frequent status of its answers."""

PERSON: Final = "a person"
MODEL: Final = "the model"
"""Who labelled a text."""


def text_labels(
    study: StudySource,
    *,
    model: str | None = None,
    variants: Sequence[str] | None = None,
    evaluator: str | None = None,
    recommended: Recommendation | None = None,
    acceptance: Acceptance | None = None,
) -> pl.DataFrame:
    """One label for each text (see `Study.labels`).

    Args:
        study: The study.
        model: Only this model's answers.
        variants: Only these prompts', by their ids.
        evaluator: The evaluator that reads them.
        recommended: A recommendation whose classes and groups are excepted.
        acceptance: Which labels are accepted.
    """
    frame = _chosen(study, model, variants, evaluator)
    labels = study.experiment.labels
    given = frame.select(pl.col("item", "label").cast(pl.String))
    modal = most_frequent(given, labels.codes, numbers=labels.are_numbers)
    sure = mean_confidence(frame, modal, labels.codes)
    items = pl.DataFrame(
        {"item": [item.id for item in study.experiment.items], "person": gold_labels(study)},
        schema={"item": pl.String, "person": pl.String},
    )
    said = frame.group_by(pl.col("item").cast(pl.String)).agg(
        pl.len().alias("answers"),
        pl.col("truncated").mean().alias("cut_off"),
        pl.col("status").cast(pl.String).mode().sort().first(),
    )
    table = items.join(said, on="item", how="left", maintain_order="left")
    table = table.join(modal, on="item", how="left", maintain_order="left")
    table = table.join(sure, on="item", how="left", maintain_order="left")
    if "quote" in frame.columns:
        table = table.join(_quotes(frame), on=["item", "label"], how="left", maintain_order="left")
    shares = pl.when(pl.col("answers") > 1).then(pl.col("times").fill_null(0) / pl.col("answers"))
    table = table.with_columns(shares.alias("agreement"), (shares < SPLIT).alias("split"))
    by_hand = pl.col("person").is_not_null()
    return table.select(
        "item",
        pl.coalesce("person", "label").alias("label"),
        pl.when(by_hand)
        .then(pl.lit(PERSON))
        .when(pl.col("label").is_not_null())
        .then(pl.lit(MODEL))
        .alias("labelled_by"),
        pl.col("label").alias("model_label"),
        "agreement",
        "confidence",
        pl.when(~by_hand).then(_reason(study, recommended, acceptance)).alias("needs_person"),
        *table.select("^quote$").columns,
    )


def labels_by_field(study: StudySource, **chosen: Any) -> pl.DataFrame:
    """The labels of each field, which the column ``field`` names where the task has several."""
    own = {name: text_labels(source, **chosen) for name, source in fields_of(study).items()}
    if "" in own:
        return own[""]
    return pl.concat([table.insert_column(0, pl.lit(name).alias(FIELD)) for name, table in own.items()])


def _chosen(
    study: StudySource, model: str | None, variants: Sequence[str] | None, evaluator: str | None
) -> pl.DataFrame:
    """The annotations that are asked for, of one evaluator."""
    frame = scan(study)
    columns = frame.collect_schema().names()
    kept = ["item", "label", "status", "truncated", "confidence", "probabilities"]
    kept += ["quote", "quote_score", "quote_start"]
    evaluators = [evaluator.title for evaluator in study.spec.evaluators]
    asked: list[tuple[str, Sequence[str], list[str]]] = [
        ("model", [model] if model else (), [spec.name for spec in study.spec.models]),
        ("variant", variants or (), [variant.id for variant in study.experiment.variants]),
        ("evaluator", [evaluator or evaluators[0]], evaluators),
    ]
    for column, wanted, names in asked:
        for name in wanted:
            if name not in names:
                raise UnknownName(column, name, names, where=column)
        if wanted and column in columns:
            frame = rows_with(frame, column, wanted)
    labels = frame.select(name for name in kept if name in columns).collect()
    if labels.is_empty():
        raise StoreError(
            "there are no answers to take labels from",
            where=study.where,
            expected="answers of these prompts and this model",
            found="none",
            fix="collect them first: `quaver run STUDY`",
        )
    return labels


def _quotes(frame: pl.DataFrame) -> pl.DataFrame:
    """For each label of a text, the words that most answers quote for it (of several, the first)."""
    placed = frame.drop_nulls("quote_score").with_columns(pl.col("item", "label").cast(pl.String))
    counted = placed.group_by("item", "label", "quote").agg(pl.len(), pl.col("quote_start").min())
    ordered = counted.sort("len", "quote_start", "quote", descending=[True, False, False])
    return ordered.unique(["item", "label"], keep="first", maintain_order=True).select(
        "item", "label", "quote"
    )


def _has(level: Level, code: str) -> pl.Expr:
    """Whether a text has a label, by itself or in a set."""
    label = pl.col("label")
    if level not in OF_SETS:
        return label == code
    return label.str.split(SEPARATOR).list.eval(pl.element().str.strip_chars()).list.contains(code)


def _reason(study: StudySource, recommended: Recommendation | None, acceptance: Acceptance | None) -> pl.Expr:
    """Why a text needs a person; null where it needs none."""
    status = pl.col("status").replace_strict(_STATUS_WORDS, default="no label", return_dtype=pl.String)
    unasked = pl.when(pl.col("answers").is_null()).then(pl.lit("not asked yet"))
    no_label = unasked.when(pl.col("cut_off") >= 0.5).then(pl.lit("cut off at max_tokens")).otherwise(status)
    reason: Then | ChainedThen = pl.when(pl.col("label").is_null()).then(no_label)
    for code in recommended.classes if recommended else ():
        words = f"labels “{code}” are not vouched for"
        reason = reason.when(_has(study.experiment.labels.level, code)).then(pl.lit(words))
    for column, level in recommended.groups if recommended else ():
        own = items_of(study, column, level)
        words = f"labels of {group_in_words(column, level)} are not vouched for"
        reason = reason.when(pl.col("item").is_in(own)).then(pl.lit(words))
    if acceptance is not None:
        accepted = acceptance.table.filter(pl.col("decision") == "accept")["item"]
        return reason.when(~pl.col("item").is_in(accepted.to_list())).then(
            pl.lit("not sure enough for the promise")
        )
    return reason.when(pl.col("split")).then(pl.lit("answers disagree"))
