"""Treatments and temperature in multiple choice: accuracy beside stability, by configuration, by question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from quaver.core.records import Estimate
from quaver.core.rows import of_measures
from quaver.papers.published_table import (
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    TableRows,
    Value,
    each_model,
    p_of,
)

TEMPERATURE = "temperature"
_OUTCOMES: Mapping[str, dict[str, str]] = {
    "accuracy": {"missing": "wrong"},
    "strict_stability": {},
    "mode_frequency": {"missing": "category"},
    "answer_entropy": {"missing": "category"},
}


def _columns(answers: StoredAnswers) -> list[str]:
    """What makes a configuration: the factors of the prompt, and the temperature where it varies."""
    factors = dict.fromkeys(name for variant in answers.variants for name in variant.factors)
    several = [name for name in factors if len(answers.levels(name)) > 1]
    return [*several, *([TEMPERATURE] if _temperatures(answers) else [])]


def _temperatures(answers: StoredAnswers) -> list[float]:
    """The temperatures of decoding, if there are several."""
    if TEMPERATURE not in answers.frame.columns:
        return []
    found = sorted(answers.frame[TEMPERATURE].drop_nulls().unique())
    return found if len(found) > 1 else []


def _outcomes(
    answers: StoredAnswers, model: str, by: list[str], **asked: Any
) -> dict[tuple[str, ...], list[Estimate]]:
    """The four outcomes of each cell, in the order of the columns."""
    mine = answers.of(model)
    found: dict[tuple[str, ...], list[Estimate]] = {}
    for measure, options in _OUTCOMES.items():
        for estimate in answers.take(measure, mine, by=by, **options, **asked):
            found.setdefault(tuple(estimate.cell.get(name, "") for name in by), []).append(estimate)
    return {key: estimates for key, estimates in found.items() if len(estimates) == len(_OUTCOMES)}


def configurations(answers: Answers) -> TableRows:
    """One row a configuration: accuracy, strict stability, mode frequency and entropy beside each other."""
    columns = list(dict.fromkeys(name for one in answers for name in _columns(one)))
    rows = []
    for one, model in each_model(answers):
        mine = _columns(one)
        each = _outcomes(one, model, mine)
        valid = {
            tuple(estimate.cell.get(name, "") for name in mine): estimate.value
            for estimate in one.points("compliance", one.of(model), by=mine)
        }
        for key in sorted(each, key=lambda key: _place(one, mine, key)):
            of = dict(zip(mine, key, strict=True))
            levels = (of.get(name, NOTHING) for name in columns)
            rows.append((one.name, model, *levels, each[key][0].n, *each[key], valid.get(key)))
    return TableRows(rows, columns=columns)


def _place(answers: StoredAnswers, names: Sequence[str], key: Sequence[str]) -> tuple[float, ...]:
    """Where a configuration stands: by the factors in the study's order, then by temperature."""
    return tuple(
        float(level)
        if name == TEMPERATURE
        else answers.levels(name).index(level)
        if level in answers.levels(name)
        else -1
        for name, level in zip(names, key, strict=True)
    )


def questions(answers: Answers) -> TableRows:
    """One row a question, over all configurations: accuracy, strict stability, mode frequency, entropy."""
    rows = []
    for one, model in each_model(answers):
        each = _outcomes(one, model, ["item"], resamples=0)
        for item in one.study.experiment.items:
            if (item.id,) in each:
                values = (estimate.value for estimate in each[item.id,])
                rows.append((one.name, model, item.id, item.gold or NOTHING, *values))
    return TableRows(rows)


def question_configurations(answers: Answers) -> TableRows:
    """One row a question and configuration: the four outcomes over its runs."""
    columns = list(dict.fromkeys(name for one in answers for name in _columns(one)))
    rows = []
    for one, model in each_model(answers):
        mine = _columns(one)
        each = _outcomes(one, model, ["item", *mine], resamples=0)
        gold = {item.id: item.gold or NOTHING for item in one.study.experiment.items}
        places = {item: place for place, item in enumerate(gold)}
        for item, *key in sorted(each, key=lambda key: (places[key[0]], _place(one, mine, key[1:]))):
            of = dict(zip(mine, key, strict=True))
            estimates = each[item, *key]
            levels = (of.get(name, NOTHING) for name in columns)
            rows.append((one.name, model, item, gold[item], *levels, *(e.value for e in estimates)))
    return TableRows(rows, columns=columns)


def temperatures(answers: Answers) -> TableRows:
    """Each temperature as a level of its own: outcomes, and accuracy less that at the lowest."""
    rows = []
    for one, model in each_model(answers):
        levels = _temperatures(one)
        if not levels:
            continue
        each = _outcomes(one, model, [TEMPERATURE], resamples=0)
        mine = one.of(model).with_columns(pl.col(TEMPERATURE).cast(pl.String))
        reference = {TEMPERATURE: str(levels[0])}
        estimates = one.take(
            "factor_effects", mine, by=[], factors=[TEMPERATURE], reference=reference, interactions=[]
        )
        changes = {
            e.cell.get("level"): e for e in estimates if e.measure == "factor_effects_accuracy_difference"
        }
        for level in levels:
            less = changes.get(str(level), UNKNOWN)
            values = (estimate.value for estimate in each[str(level),])
            rows.append((one.name, model, f"{level:g}", *values, less, p_of(less)))
    return TableRows(rows)


_KINDS = {"as a number": pl.Float64, "as a factor": pl.String}


def mixed_model(answers: Answers) -> TableRows:
    """The logistic mixed model: treatment by temperature, the temperature as a number and as a factor."""
    rows, found, alike = [], [], []
    for one, model in each_model(answers):
        factors = [name for name in _columns(one) if name != TEMPERATURE]
        if not factors or not _temperatures(one):
            continue
        named = re.sub(r"\W|^(?=\d)", "_", factors[0])  # a formula takes no few-shot, which is a difference
        asked = f"correct ~ {named} * {TEMPERATURE}"
        for kind, dtype in _KINDS.items():
            mine = one.of(model).with_columns(
                pl.col(factors[0]).alias(named), pl.col(TEMPERATURE).cast(dtype)
            )
            plain = one.take("mixed_effects", mine, by=[], formula=asked, random="intercept")
            full = one.take("mixed_effects", mine, by=[], formula=asked, random="auto")
            alike += _without_slopes(f"{one.name}, {model}, temperature {kind}", full)
            beside = {(estimate.measure, estimate.cell.get("term", "")): estimate for estimate in full}
            for estimate in plain:
                found.append((f"{model}, {estimate.cell.get('term', '')}", estimate))
                other = beside.get((estimate.measure, estimate.cell.get("term", "")), UNKNOWN)
                rows.append((one.name, model, kind, _term(estimate), *_fitted(estimate), *_fitted(other)))
    return TableRows(rows, found, notes=[*alike])


def _without_slopes(where: str, full: Sequence[Estimate]) -> list[str]:
    """What is said of a model whose slopes do not vary, so that it is the model of the intercepts alone."""
    deviations = of_measures(full, "mixed_effects_sd")
    left = [
        f"{estimate.cell['term']} ({estimate.reason})" for estimate in deviations if estimate.value is None
    ]
    if len(deviations) - len(left) > 1 or not left:
        return []
    return [
        f"{where}: the slopes have no variance that the answers show, so both models are one and the same: "
        f"{'; '.join(left)}."
    ]


def _term(estimate: Estimate) -> str:
    if estimate.measure == "mixed_effects_interactions":
        return "interactions (χ²)"
    term = estimate.cell.get("term", "")
    return f"sd of {term}" if estimate.measure == "mixed_effects_sd" else term


def _fitted(estimate: Estimate) -> Sequence[Value]:
    return estimate.value, *(estimate.details.get(name) for name in ("se", "p", "odds_ratio"))
