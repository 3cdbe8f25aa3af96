"""Treatments and temperature in multiple choice: accuracy beside stability, by configuration, by question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from quaver.core.records import Estimate
from quaver.core.rows import of_measures
from quaver.papers.pivots import TEMPERATURE, cells_of, configuration, temperatures_of
from quaver.papers.published_table import (
    UNKNOWN,
    Answers,
    TableRows,
    Value,
    each_model,
    p_of,
)

_OUTCOMES: Mapping[str, Mapping[str, str]] = {
    "accuracy": {"missing": "wrong"},
    "strict_stability": {},
    "mode_frequency": {"missing": "category"},
    "answer_entropy": {"missing": "category"},
}


def temperatures(answers: Answers) -> TableRows:
    """Each temperature as a level of its own: outcomes, and accuracy less that at the lowest."""
    rows = []
    for one, model in each_model(answers):
        levels = temperatures_of(one)
        if not levels:
            continue
        numbers = ({"measure": measure, **options} for measure, options in _OUTCOMES.items())
        each = [cells_of(one, model, [TEMPERATURE], number) for number in numbers]
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
            values = (cells.get((str(level),), UNKNOWN).value for cells in each)
            rows.append((one.name, model, f"{level:g}", *values, less, p_of(less)))
    return TableRows(rows)


_KINDS = {"as a number": pl.Float64, "as a factor": pl.String}


def mixed_model(answers: Answers) -> TableRows:
    """The logistic mixed model: treatment by temperature, the temperature as a number and as a factor."""
    rows, found, alike = [], [], []
    for one, model in each_model(answers):
        factors = [name for name in configuration(one) if name != TEMPERATURE]
        if not factors or not temperatures_of(one):
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
