"""Tables that are pivots of estimates, as ``papers.toml`` declares them, and two of temperature."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from quaver.core.records import Estimate
from quaver.core.rows import by_level, of_measures
from quaver.papers.paper_answers import NOTHING, UNKNOWN, Answers, StoredAnswers, each_model, p_of, per_model
from quaver.papers.published_table import Value

TEMPERATURE = "temperature"
_OWN = frozenset({"take", "measure", "interval", "needed"})
"""What a number has beside its measure's options."""


def configuration(answers: StoredAnswers) -> list[str]:
    """What makes a configuration: the factors of the prompt, and the temperature where it varies."""
    return [*answers.varied, *([TEMPERATURE] if temperatures_of(answers) else [])]


def temperatures_of(answers: StoredAnswers) -> list[float]:
    """The temperatures of decoding, if there are several."""
    if TEMPERATURE not in answers.frame.columns:
        return []
    each = answers.frame[TEMPERATURE].drop_nulls().unique().sort().to_list()
    return each if len(each) > 1 else []


def pivot(answers: Answers, declared: Mapping[str, Any]) -> Iterator[Sequence[Value]]:
    """The rows of a pivot.

    Args:
        answers: The stored answers.
        declared: ``by``: what the cells of each data set and model are (``*``: the configuration).
            ``numbers``: the measures with their options; ``take`` names an estimate that has another name, a
            number with ``interval`` has its interval beside it, one that is not ``needed`` may lack.
            ``count``: whether the row says how many units the first number rests on.
    """
    by: Sequence[str] = declared.get("by", [])
    numbers = declared["numbers"]
    for study, model in each_model(answers):
        own, each, needed = list[str](), list[dict[tuple[str, ...], Estimate]](), list[set[tuple[str, ...]]]()
        for part in by:
            own += configuration(study) if part == "*" else [part]
        for number in numbers:
            each.append(cells_of(study, model, own, number))
            if number.get("needed", True):
                needed.append({*each[-1]})
        for key in sorted(set.intersection(*needed), key=partial(_place, study, own)):
            shown = [cells.get(key, UNKNOWN) for cells in each]
            count = [shown[0].n] if declared.get("count") else []
            yield study.name, model, *_head(study, dict(zip(own, key, strict=True)), by), *count, *shown


def cells_of(
    answers: StoredAnswers, model: str, by: Sequence[str], number: Mapping[str, Any]
) -> dict[tuple[str, ...], Estimate]:
    """A measure of one model's annotations, by cell."""
    options = {name: value for name, value in number.items() if name not in _OWN}
    if not number.get("interval"):
        options["resamples"] = 0
    estimates = answers.take(number["measure"], answers.of(model), by=[*by], **options)
    wanted = number.get("take", number["measure"])
    cells = {}
    for estimate in of_measures(estimates, wanted):
        cells[tuple(estimate.cell.get(name, "") for name in by)] = estimate
    return cells


def _head(answers: StoredAnswers, cell: Mapping[str, str], by: Sequence[str]) -> Iterator[Value]:
    """What a row is about: its item and gold label, and its levels."""
    if "item" in cell:
        gold = {item.id: item.gold for item in answers.study.experiment.items}
        yield cell["item"]
        yield gold.get(cell["item"]) or NOTHING
    if "variant" in by or "*" in by:
        prompts = {variant.id: variant.factors for variant in answers.variants}
        levels = {**prompts.get(cell.get("variant", ""), {}), **cell}
        yield {name: levels.get(name, NOTHING) for name in configuration(answers)}


def _place(answers: StoredAnswers, names: Sequence[str], key: Sequence[str]) -> tuple[float, ...]:
    """Where a cell stands: items, prompts and levels in the study's order, temperatures by their number."""
    known = {**answers.factors, "item": answers.items_in_order, "variant": answers.prompts_in_order}

    def place(name: str, level: str) -> float:
        return float(level) if name == TEMPERATURE else [*known.get(name, []), level].index(level)

    return tuple(map(place, names, key))


_OUTCOMES: Sequence[Mapping[str, str]] = (
    {"measure": "accuracy", "missing": "wrong"},
    {"measure": "strict_stability"},
    {"measure": "mode_frequency", "missing": "category"},
    {"measure": "answer_entropy", "missing": "category"},
)


@per_model
def temperatures(study: StoredAnswers, model: str) -> Iterator[Sequence[Value]]:
    """Each temperature as a level of its own: outcomes, and accuracy less that at the lowest."""
    levels = temperatures_of(study)
    if not levels:
        return
    each = [cells_of(study, model, [TEMPERATURE], number) for number in _OUTCOMES]
    mine = study.of(model).with_columns(pl.col(TEMPERATURE).cast(pl.String))
    reference = {TEMPERATURE: str(levels[0])}
    effects = study.take("factor_effects", mine, by=[], factors=[TEMPERATURE], reference=reference)
    changes = by_level(of_measures(effects, "factor_effects_accuracy_difference"), "level")
    for level in levels:
        less = changes.get(str(level), UNKNOWN)
        outcomes = (cells.get((str(level),), UNKNOWN) for cells in each)
        yield f"{level:g}", *outcomes, less, p_of(less)


@per_model
def mixed_model(study: StoredAnswers, model: str) -> Iterator[Sequence[Value]]:
    """The logistic mixed model: treatment by temperature, the temperature as a number and as a factor."""
    factors = [name for name in configuration(study) if name != TEMPERATURE]
    if not factors or not temperatures_of(study):
        return
    named = re.sub(r"\W|^(?=\d)", "_", factors[0])  # a formula takes no few-shot, which is a difference
    for kind, dtype in (("as a number", pl.Float64), ("as a factor", pl.String)):
        columns = pl.col(factors[0]).alias(named), pl.col(TEMPERATURE).cast(dtype)
        mine = study.of(model).with_columns(*columns)
        formula = f"correct ~ {named} * {TEMPERATURE}"
        for estimate in study.points("mixed_effects", mine, by=[], formula=formula):
            numbers = map(estimate.details.get, ("se", "odds_ratio", "adjusted_se", "p"))
            yield kind, _term(estimate), estimate, *numbers


def _term(estimate: Estimate) -> str:
    if estimate.measure == "mixed_effects_interactions":
        return "interactions (χ²)"
    term = estimate.cell.get("term", "")
    return f"sd of {term}" if estimate.measure == "mixed_effects_sd" else term
