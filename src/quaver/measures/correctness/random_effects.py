"""The random effects of a mixed model: the largest structure that formula and answers allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints, combine, encode
from quaver.measures.correctness._laplace_fit import Component

SINGULAR: Final = 0.01
"""A smaller standard deviation, in log odds, is zero: answers differ as much as without the effect."""


@dataclass(frozen=True, slots=True)
class RandomEffect:
    """A random effect of a fitted model.

    Attributes:
        name: As lme4 writes it: ``"1 | item"`` (items differ in difficulty), ``"1 | item:treatment"`` (the
            treatment's effect differs between items), ``"temperature | item"`` (a slope does).
        sd: Its standard deviation, in log odds.
        groups: How many groups have a value of it each.
    """

    name: str
    sd: float
    groups: int


class Candidate(NamedTuple):
    """A random effect that a model may have.

    Attributes:
        name: The effect's.
        component: What of it each combination has.
        groups: How many groups have a value of it each.
    """

    name: str
    component: Component
    groups: int


def candidates(
    rows: pl.DataFrame, terms: Sequence[Sequence[str]], item: Ints, asked: Floats, group: str
) -> tuple[list[Candidate], dict[str, str]]:
    """The largest structure: for every term of the formula the random effect that tests of it need.

    Beside the items' intercept, a term of text columns has an intercept for each item × combination of levels
    (compound symmetry), a term with numbers a slope on their product, each less its mean. All are
    independent.

    Args:
        rows: A row a combination, with the columns that the formula names.
        terms: The formula's.
        item: Each row's item.
        asked: How many answers each row stands for.
        group: What items are called.

    Returns:
        The effects that the answers can tell apart, the intercept first, and the others with the reason.
    """
    count = np.unique(item).size
    found = [Candidate(f"1 | {group}", Component(np.zeros(item.size, np.int64)), count)]
    lost: dict[str, str] = {}
    for term in terms:
        texts = [name for name in term if not _is_number(rows[name])]
        numbers = [name for name in term if name not in texts]
        part = combine([(name, encode(rows[name], name)) for name in texts], rows.height).codes
        component = Component(part, _slope(rows, numbers, asked))
        within = ":".join([group, *texts])
        name = f"{' × '.join(numbers) or '1'} | {within}"
        groups = component.groups(item)
        if reason := _unidentified(component, groups, item, asked, term, within, found):
            lost[name] = reason
        else:
            found.append(Candidate(name, component, np.unique(groups).size))
    return found, lost


def _is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _slope(rows: pl.DataFrame, names: Sequence[str], asked: Floats) -> Floats | None:
    """The product of numbers, each less its mean: slope and intercept are then independent in the middle."""
    if not names:
        return None
    values = [rows[name].cast(pl.Float64).to_numpy() for name in names]
    return np.asarray(np.prod([one - np.average(one, weights=asked) for one in values], axis=0))


def _unidentified(
    component: Component,
    groups: Ints,
    item: Ints,
    asked: Floats,
    term: Sequence[str],
    within: str,
    known: Sequence[Candidate],
) -> str | None:
    """Why the answers cannot tell an effect from the others; None where they can."""
    if (_distinct(groups, item) > 1).sum() < 2 and component.part.any():
        return f"{' × '.join(term)} does not vary within an item"
    answers = np.bincount(np.unique(groups, return_inverse=True)[1], asked)
    if component.slope is None:
        if (answers > 1).sum() < 2:
            return f"one answer by {within}"
    else:
        values = _distinct(np.unique(component.slope, return_inverse=True)[1], groups)
        if (values > 1).sum() < 2:
            return f"{' × '.join(term)} does not vary within {within}"
        if ((answers > values) | (values > 2)).sum() < 2:
            return f"one answer by {within} and value of {' × '.join(term)}"
    for one in known:
        same = _same(one.component.slope, component.slope)
        if same and one.groups == np.unique(groups).size == _pairs(groups, one.component.groups(item)):
            return f"the same as {one.name}"
    return None


def _distinct(values: Ints, groups: Ints) -> Ints:
    """How many distinct values each group has."""
    owners = np.unique(np.stack([groups, values], 1), axis=0)[:, 0]
    return np.unique(owners, return_counts=True)[1]


def _pairs(first: Ints, second: Ints) -> int:
    return int(np.unique(np.stack([first, second], 1), axis=0).shape[0])


def _same(first: Floats | None, second: Floats | None) -> bool:
    return first is second if first is None or second is None else bool(np.array_equal(first, second))


def described(effects: Mapping[str, object] | Sequence[str]) -> str:
    """Random effects in lme4's words: ``(1 | item) + (1 | item:treatment)``."""
    return " + ".join(f"({name})" for name in effects)
