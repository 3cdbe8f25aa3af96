"""What each part of a prompt does (Atreja et al. 2025): levels, differences, shifts, lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

import polars as pl

from quaver.core.column_names import in_words
from quaver.core.records import Estimate
from quaver.core.rows import grouped
from quaver.design.prompts.rendering import PromptWriter, messages_of
from quaver.estimation.cells import OUTPUT
from quaver.papers.paper_answers import (
    KEYS,
    LONGEST,
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    average,
    p_of,
    per_model,
)
from quaver.papers.published_table import Value
from quaver.report.page_words import beginning

_OUTCOMES = (
    ("compliance", "wrong"),
    ("accuracy", "drop"),
    ("f1", "drop"),
    ("accuracy", "wrong"),
    ("f1", "wrong"),
)
"""The outcomes, each with how answers without a label count in it."""
Rows = Iterator[Sequence[Value]]


def _effects(answers: StoredAnswers, model: str) -> dict[tuple[str, str, str, str], Estimate]:
    """Factor effects by measure, how missing labels count, factor and level."""
    first = {name: levels[0] for name, levels in answers.varied.items()}
    mine, effects = answers.of(model), {}
    for missing in ("drop", "wrong"):
        options = {"factors": list(first), "reference": first, "missing": missing}
        for estimate in answers.take("factor_effects", mine, by=[], **options):
            measure = estimate.measure.removeprefix("factor_effects_")
            place = estimate.cell.get("factor", ""), estimate.cell.get("level", "")
            effects[measure, missing, *place] = estimate
    return effects


@per_model
def factor_levels(study: StoredAnswers, model: str) -> Rows:
    """Compliance, accuracy and macro-F1 at each level of each factor."""
    effects = _effects(study, model)
    for factor, levels in study.varied.items():
        for level in levels:
            prompts = sum(variant.factors.get(factor) == level for variant in study.variants)
            estimates = (effects.get((*outcome, factor, level), UNKNOWN) for outcome in _OUTCOMES)
            yield in_words(factor), level, prompts, *estimates


@per_model
def label_shift(study: StoredAnswers, model: str) -> Rows:
    """The share of each class at each level, and how far the distribution moves."""
    mine = study.of(model)
    for factor, (first, *_) in study.varied.items():
        estimates = study.take("distribution_shift", mine, by=[], between=factor, reference=first)
        for estimate in estimates:
            if estimate.measure != "distribution_shift_tv" or factor not in estimate.cell:
                continue
            head = (in_words(factor), first, estimate.cell[factor])
            for label in study.labels.labels:
                yield *head, label.name, *_class(estimate, label.code), estimate, p_of(estimate)


def _class(estimate: Estimate, code: str) -> tuple[Value, ...]:
    """A class's share before and after, and its change in points and in per cent."""
    before, after = (estimate.details.get(name, {}).get(code) for name in ("reference_shares", "shares"))
    if before is None or after is None:
        return (None,) * 4
    return before, after, 100 * (after - before), after / before - 1 if before else None


def lengths(answers: Answers) -> Rows:
    """Prompt and answer length at each level, their change in per cent, and the money for 1,000 calls."""
    changes: list[tuple[str, str, float]] = []
    for answer in answers:
        # The words of each prompt beside the item's text, as the paper counts them
        item = answer.study.experiment.items[0]
        fixed = {}
        for variant in answer.variants:
            shown = sum(len(message.content.split()) for message in messages_of(variant, answer.labels, item))
            fixed[variant.id] = shown - len(PromptWriter(variant, answer.labels).text(item).split())
        calls = _per_call(answer.part_costs())
        for factor, levels in answer.varied.items():
            firsts: tuple[float | None, ...] = ()
            for level in levels:
                there = (one.id for one in answer.variants if one.factors.get(factor) == level)
                lengths = average(map(fixed.__getitem__, there)), *calls.get((factor, level), (None,) * 3)
                firsts = firsts or lengths
                row: list[Value] = [answer.name, in_words(factor), level]
                for value, first in zip(lengths, firsts, strict=True):
                    row += [value, None if value is None or not first else value / first - 1]
                yield row
                if isinstance(row[4], float):
                    changes.append((in_words(factor), level, row[4]))
    if len(answers) > 1:
        for head, some in grouped(changes, itemgetter(0, 1)).items():
            yield "mean", *head, None, sum(change for *_, change in some) / len(some), *(None,) * 6


def _per_call(parts: pl.DataFrame) -> dict[tuple[str, str], tuple[float | None, ...]]:
    """By factor and level: tokens read and written for a call, and dollars for a thousand."""
    read, written, money = (
        pl.col(name) / pl.col("calls") for name in ("prompt_tokens", "completion_tokens", "money")
    )
    counted = [pl.when(tokens > 0).then(tokens) for tokens in (read, written)]
    rows = parts.select("factor", "level", *counted, money * 1000).rows()
    return {(factor, level): tuple(amounts) for factor, level, *amounts in rows}


def data_sets(answers: Answers) -> Rows:
    """How many texts, prompts, models and answers each data set has, and of which classes the texts are."""
    for answer in answers:
        name = f"{answer.name} ({len(answer.labels.codes)})"
        texts = answer.study.experiment.items
        counts = (answer.frame["variant"].n_unique(), len(answer.models), answer.frame.height)
        yield name, "all", len(texts), *counts
        gold = [item.gold for item in texts if item.gold]
        for label in answer.labels.labels if gold else ():
            yield name, label.name, gold.count(label.code), None, None, None
    yield "all", "all", None, None, None, sum(answer.frame.height for answer in answers)


def raw_outputs(answers: Answers, items: Sequence[str] = ()) -> Rows:
    """Answers as they were written, and whether they comply: the paper's table 8 and figure 3."""
    for answer in answers:
        factors = list(answer.varied)
        frame = answer.raw.with_columns(pl.col("status", "reason", *KEYS[:4]).cast(pl.String))
        if items:
            frame = frame.filter(pl.col("item").is_in(list(items)))
        else:
            failed = frame.filter(pl.col("status") != "valid")
            frame = failed.unique(["model", "status", "reason"], keep="first", maintain_order=True)
        levels = {}
        for variant in answer.variants:
            levels[variant.id] = ", ".join(variant.factors.get(name, NOTHING) for name in factors)
        for row in frame.iter_rows(named=True):
            status = "valid" if row["status"] == "valid" else row["reason"] or row["status"]
            place = (answer.name, row["model"], row["item"], levels.get(row["variant"], ""))
            yield *place, beginning(row[OUTPUT] or "", LONGEST), status


def prompt_texts(answers: Answers) -> Rows:
    """Every prompt in full, with a mark where the text goes: the paper's table 10."""
    for answer in answers:
        item = answer.study.experiment.items[0]
        for variant in answer.variants:
            text = "\n".join(message.content for message in messages_of(variant, answer.labels, item))
            own = PromptWriter(variant, answer.labels).text(item)
            yield answer.name, " ".join(variant.factors.values()) or variant.id, text.replace(own, "⟨text⟩")
