"""Treatments and temperature in multiple choice: accuracy beside stability, by configuration, by question."""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from quaver.core.records import Estimate
from quaver.papers.pivots import TEMPERATURE, cells_of, configuration, temperatures_of
from quaver.papers.published_table import (
    UNKNOWN,
    Answers,
    TableRows,
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
        estimates = one.take("factor_effects", mine, by=[], factors=[TEMPERATURE], reference=reference)
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
    rows, found = [], []
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
            for estimate in one.take("mixed_effects", mine, by=[], formula=asked):
                found.append((f"{model}, {estimate.cell.get('term', '')}", estimate))
                numbers = (estimate.details.get(name) for name in ("se", "odds_ratio", "adjusted_se", "p"))
                rows.append((one.name, model, kind, _term(estimate), estimate.value, *numbers))
    return TableRows(rows, found)


def _term(estimate: Estimate) -> str:
    if estimate.measure == "mixed_effects_interactions":
        return "interactions (χ²)"
    term = estimate.cell.get("term", "")
    return f"sd of {term}" if estimate.measure == "mixed_effects_sd" else term
