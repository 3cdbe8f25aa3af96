"""Tables that are pivots of estimates: a row a cell, a column a measure, as ``papers.toml`` declares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quaver.core.records import Estimate
from quaver.papers.published_table import (
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    TableRows,
    Value,
    each_model,
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
