"""Tables that are pivots of estimates, as ``papers.toml`` declares them, and two of temperature."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from quaver.core.records import Estimate
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
_Key = tuple[str, ...]
_OWN = frozenset({"take", "measure", "interval", "needed"})
"""What a number has beside its measure's options."""


def configuration(answers: StoredAnswers) -> list[str]:
    """What makes a configuration: the factors of the prompt, and the temperature where it varies."""
    factors = dict.fromkeys(name for variant in answers.variants for name in variant.factors)
    several = [name for name in factors if len(answers.levels(name)) > 1]
    return [*several, *([TEMPERATURE] if temperatures_of(answers) else [])]


def temperatures_of(answers: StoredAnswers) -> list[float]:
    """The temperatures of decoding, if there are several."""
    if TEMPERATURE not in answers.frame.columns:
        return []
    each = sorted(answers.frame[TEMPERATURE].drop_nulls().unique())
    return each if len(each) > 1 else []


def pivot(answers: Answers, declared: Mapping[str, Any]) -> TableRows:
    """The rows of a pivot.

    Args:
        answers: The stored answers.
        declared: ``by``: what the cells of each data set and model are (``*``: the configuration).
            ``numbers``: the measures with their options; ``take`` names an estimate that has another name, a
            number with ``interval`` has its interval beside it, one that is not ``needed`` may lack.
            ``count``: whether the row says how many units the first number rests on.
    """
    by, numbers = declared.get("by", []), declared["numbers"]
    several = list(dict.fromkeys(name for one in answers for name in configuration(one)))
    spread = "*" in by or "variant" in by
    rows = []
    for one, model in each_model(answers):
        own = [name for part in by for name in (configuration(one) if part == "*" else [part])]
        each = [cells_of(one, model, own, number) for number in numbers]
        needed = [cells for cells, number in zip(each, numbers, strict=True) if number.get("needed", True)]
        keys = set.intersection(*map(set, needed))
        for key in sorted(keys, key=lambda key: _place(one, own, key)):
            row = [*_head(one, dict(zip(own, key, strict=True)), several if spread else [])]
            shown = [cells.get(key, UNKNOWN) for cells in each]
            row += [shown[0].n] if declared.get("count") else []
            row += [
                e if number.get("interval") else e.value for e, number in zip(shown, numbers, strict=True)
            ]
            rows.append((one.name, model, *row))
    return TableRows(rows, columns=several)


def cells_of(
    answers: StoredAnswers, model: str, by: Sequence[str], number: Mapping[str, Any]
) -> dict[_Key, Estimate]:
    """A measure of one model's annotations, by cell."""
    options = {
        name: value for name, value in number.items() if name not in ("take", "measure", "interval", "needed")
    }
    options |= {} if number.get("interval") else {"resamples": 0}
    estimates = answers.take(number["measure"], answers.of(model), by=[*by], **options)
    wanted = number.get("take", number["measure"])
    return {tuple(one.cell.get(name, "") for name in by): one for one in estimates if one.measure == wanted}


def _head(answers: StoredAnswers, cell: Mapping[str, str], columns: Sequence[str]) -> list[Value]:
    """What a row is about: its item and gold label, and its levels."""
    head: list[Value] = []
    if "item" in cell:
        gold = {item.id: item.gold for item in answers.study.experiment.items}
        head += [cell["item"], gold.get(cell["item"]) or NOTHING]
    prompts = {variant.id: variant.factors for variant in answers.variants}
    levels = {**prompts.get(cell.get("variant", ""), {}), **cell}
    return [*head, *(levels.get(name, NOTHING) for name in columns)]


def _place(answers: StoredAnswers, names: Sequence[str], key: _Key) -> tuple[float, ...]:
    """Where a cell stands: items, prompts and levels in the study's order, temperatures by their number."""
    known = {
        "item": [item.id for item in answers.study.experiment.items],
        "variant": [variant.id for variant in answers.variants],
    }
    place = []
    for name, level in zip(names, key, strict=True):
        order = known.get(name) or answers.levels(name)
        place.append(
            float(level) if name == TEMPERATURE else float(order.index(level)) if level in order else -1.0
        )
    return tuple(place)


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
