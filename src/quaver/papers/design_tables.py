"""What each part of a prompt does (Atreja et al. 2025): levels, differences, shifts, lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from quaver.core.column_names import in_words
from quaver.core.records import Estimate
from quaver.design.prompts.rendering import PromptWriter, messages_of
from quaver.estimation.cells import OUTPUT
from quaver.papers.published_table import (
    KEYS,
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    TableRows,
    Value,
    each_model,
    p_of,
    shortened,
)
from quaver.report.tables.study_tables import PartCost

_WAYS = (("labelled", "drop"), ("all", "wrong"))


def _factors(answers: StoredAnswers) -> dict[str, list[str]]:
    """The factors with two levels or more, the first of them the reference."""
    names = dict.fromkeys(name for variant in answers.variants for name in variant.factors)
    return {name: levels for name in names if len(levels := answers.levels(name)) > 1}


def _effects(answers: StoredAnswers, model: str) -> dict[str, Mapping[tuple[str, str, str], Estimate]]:
    """Factor effects by the way that missing labels count: by measure, factor and level."""
    factors = _factors(answers)
    mine = answers.of(model)
    first = {name: levels[0] for name, levels in factors.items()}
    result: dict[str, Mapping[tuple[str, str, str], Estimate]] = {}
    for way, missing in _WAYS:
        estimates = answers.take(
            "factor_effects",
            mine,
            by=[],
            factors=list(factors),
            reference=first,
            missing=missing,
        )
        result[way] = {
            (e.measure.removeprefix("factor_effects_"), e.cell.get("factor", ""), e.cell.get("level", "")): e
            for e in estimates
        }
    return result


def factor_levels(answers: Answers) -> TableRows:
    """Compliance, accuracy and macro-F1 at each level of each factor."""
    rows, found = [], []
    for one, model in each_model(answers):
        effects = _effects(one, model)
        for factor, levels in _factors(one).items():
            for level in levels:
                prompts = sum(variant.factors.get(factor) == level for variant in one.variants)
                head = (one.name, model, in_words(factor), level)
                estimates = [
                    effects[way].get((outcome, factor, level), UNKNOWN) for outcome, way in _OUTCOMES
                ]
                found += [(", ".join(head), e) for e in estimates]
                rows.append((*head, prompts, *(e.value for e in estimates)))
    return TableRows(rows, found)


_OUTCOMES = (
    ("compliance", "all"),
    ("accuracy", "labelled"),
    ("f1", "labelled"),
    ("accuracy", "all"),
    ("f1", "all"),
)


def factor_differences(answers: Answers) -> TableRows:
    """Each level less the first level, with intervals and p values."""
    rows = []
    for one, model in each_model(answers):
        effects = _effects(one, model)
        for factor, (first, *others) in _factors(one).items():
            for level in others:
                row: list[Value] = [one.name, model, in_words(factor), first, level]
                for outcome, way in _OUTCOMES:
                    estimate = effects[way].get((f"{outcome}_difference", factor, level), UNKNOWN)
                    row += [estimate, p_of(estimate)]
                rows.append(row)
    return TableRows(rows)


def label_shift(answers: Answers) -> TableRows:
    """The share of each class at each level, and how far the distribution moves."""
    rows = []
    for one, model in each_model(answers):
        mine = one.of(model)
        for factor, (first, *_) in _factors(one).items():
            estimates = one.take("distribution_shift", mine, by=[], between=factor, reference=first)
            for estimate in estimates:
                if estimate.measure != "distribution_shift_tv" or factor not in estimate.cell:
                    continue
                head = (one.name, model, in_words(factor), first, estimate.cell[factor])
                for label in one.labels.labels:
                    rows.append((*head, label.name, *_class(estimate, label.code), estimate, p_of(estimate)))
    return TableRows(rows)


def _class(estimate: Estimate, code: str) -> tuple[Value, ...]:
    before, after = (estimate.details.get(name, {}).get(code) for name in ("reference_shares", "shares"))
    if before is None or after is None:
        return (None,) * 4
    return before, after, 100 * (after - before), after / before - 1 if before else None


def lengths(answers: Answers) -> TableRows:
    """Prompt and answer length at each level, their change in per cent, and the money for 1,000 calls."""
    rows: list[Sequence[Value]] = []
    changes: dict[tuple[str, str], list[float]] = {}
    for one in answers:
        fixed = _fixed_lengths(one)
        parts = {(part.factor, part.level): part for part in one.part_costs()}
        for factor, levels in _factors(one).items():
            each = [(_mean(fixed, one, factor, at), *_measured(parts.get((factor, at)))) for at in levels]
            for level, now in zip(levels, each, strict=True):
                row: list[Value] = [one.name, in_words(factor), level]
                for value, first in zip(now, each[0], strict=True):
                    row += [value, None if value is None or not first else value / first - 1]
                rows.append(row)
                if now[0] is not None and each[0][0]:
                    changes.setdefault((in_words(factor), level), []).append(now[0] / each[0][0] - 1)
    if len(answers) > 1:
        for head, some in changes.items():
            rows.append((MEAN, *head, None, sum(some) / len(some), *(None,) * 6))
    return TableRows(rows)


MEAN = "mean"
"""What the rows over all data sets are called."""


def _fixed_lengths(answers: StoredAnswers) -> dict[str, int]:
    """The words of each prompt beside the item's text, as the paper counts them."""
    item = answers.study.experiment.items[0]
    result = {}
    for variant in answers.variants:
        shown = sum(len(message.content.split()) for message in messages_of(variant, answers.labels, item))
        result[variant.id] = shown - len(PromptWriter(variant, answers.labels).text(item).split())
    return result


def _mean(fixed: Mapping[str, int], answers: StoredAnswers, factor: str, level: str) -> float | None:
    some = [fixed[variant.id] for variant in answers.variants if variant.factors.get(factor) == level]
    return sum(some) / len(some) if some else None


def _measured(part: PartCost | None) -> tuple[float | None, float | None, float | None]:
    """Tokens read and written for a call, and dollars for a thousand."""
    if part is None or not part.calls:
        return None, None, None
    read, written = part.prompt_tokens / part.calls, part.completion_tokens / part.calls
    return read or None, written or None, None if part.money is None else 1000 * part.money / part.calls


def data_sets(answers: Answers) -> TableRows:
    """How many texts, prompts, models and answers each data set has, and of which classes the texts are."""
    rows: list[Sequence[Value]] = []
    for one in answers:
        name = f"{one.name} ({len(one.labels.codes)})"
        texts = one.study.experiment.items
        counts = (one.frame["variant"].n_unique(), len(one.models), one.frame.height)
        rows.append((name, "all", len(texts), *counts))
        gold = [item.gold for item in texts if item.gold]
        for label in one.labels.labels if gold else ():
            rows.append((name, label.name, gold.count(label.code), None, None, None))
    total = sum(one.frame.height for one in answers)
    rows.append(("all", "all", None, None, None, total))
    return TableRows(rows)


def raw_outputs(answers: Answers, items: Sequence[str] = ()) -> TableRows:
    """Answers as they were written, and whether they comply: the paper's table 8 and figure 3."""
    rows = []
    for one in answers:
        factors = list(_factors(one))
        written = one.raw.with_columns(pl.col("status", "reason", *KEYS[:4]).cast(pl.String))
        if items:
            frame = written.filter(pl.col("item").is_in(list(items)))
        else:
            failed = written.filter(pl.col("status") != "valid")
            frame = failed.unique(["model", "status", "reason"], keep="first", maintain_order=True)
        levels = {v.id: ", ".join(v.factors.get(name, NOTHING) for name in factors) for v in one.variants}
        for row in frame.iter_rows(named=True):
            status = "valid" if row["status"] == "valid" else row["reason"] or row["status"]
            place = (one.name, row["model"], row["item"], levels.get(row["variant"], ""))
            rows.append((*place, shortened(row[OUTPUT]), status))
    few = "One for each model and way of not complying; --item ID shows all of an item."
    return TableRows(rows, notes=[] if items else [few])


def prompt_texts(answers: Answers) -> TableRows:
    """Every prompt in full, with a mark where the text goes: the paper's table 10."""
    rows = []
    for one in answers:
        item = one.study.experiment.items[0]
        for variant in one.variants:
            text = "\n".join(message.content for message in messages_of(variant, one.labels, item))
            own = PromptWriter(variant, one.labels).text(item)
            rows.append(
                (one.name, " ".join(variant.factors.values()) or variant.id, text.replace(own, "⟨text⟩"))
            )
    return TableRows(rows)
