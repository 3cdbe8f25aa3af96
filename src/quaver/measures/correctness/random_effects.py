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


class Units(NamedTuple):
    """What may differ at random: the items, or the groups that they are in.

    Attributes:
        name: What they are called.
        codes: Each row's unit.
        part: Which of its block each row's unit is, from 0; the block is the unit of the widest kind.
    """

    name: str
    codes: Ints
    part: Ints


def nested(names: Sequence[str], codes: Sequence[Ints]) -> list[Units]:
    """Units of several kinds, the widest first, each within those before it."""
    blocks = codes[0]
    units = [Units(names[0], blocks, np.zeros(blocks.size, np.int64))]
    for name, one in zip(names[1:], codes[1:], strict=True):
        pairs, whole = np.unique(np.stack([blocks, one], 1), axis=0, return_inverse=True)
        first = np.searchsorted(pairs[:, 0], pairs[:, 0])
        units.append(Units(name, whole.ravel(), (np.arange(len(pairs)) - first)[whole.ravel()]))
    return units


def candidates(
    rows: pl.DataFrame, terms: Sequence[Sequence[str]], units: Sequence[Units], asked: Floats
) -> tuple[list[Candidate], dict[str, str]]:
    """The largest structure: for every term of the formula the random effect that tests of it need.

    Beside the intercept of every unit, a term of text columns has an intercept for each unit × combination of
    levels (compound symmetry), a term with numbers a slope on their product, each less its mean. All are
    independent.

    Returns:
        The effects that the answers can tell apart, the widest units' intercept first, and the others with
        the reason.
    """
    found: list[Candidate] = []
    lost: dict[str, str] = {}
    for term in ((), *terms):
        texts = [name for name in term if not _is_number(rows[name])]
        numbers = [name for name in term if name not in texts]
        levels = combine([(name, encode(rows[name], name)) for name in texts], rows.height).codes
        slope = _slope(rows, numbers, asked)
        for unit in units:
            component = Component(unit.part * (int(levels.max()) + 1) + levels, slope)
            within = ":".join([unit.name, *texts])
            name = f"{' × '.join(numbers) or '1'} | {within}"
            candidate = Candidate(name, component, np.unique(component.groups(units[0].codes)).size)
            if (
                reason := _unidentified(candidate, unit, units[0].codes, asked, term, found)
                if found
                else None
            ):
                lost[name] = reason
            else:
                found.append(candidate)
    return found, lost


def _is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _slope(rows: pl.DataFrame, names: Sequence[str], asked: Floats) -> Floats | None:
    """The product of numbers, each less its mean: slope and intercept are then independent in the middle."""
    if not names:
        return None
    values = [rows[name].cast(pl.Float64).to_numpy() for name in names]
    return np.asarray(np.prod([value - np.average(value, weights=asked) for value in values], axis=0))


def _unidentified(
    candidate: Candidate,
    unit: Units,
    blocks: Ints,
    asked: Floats,
    term: Sequence[str],
    known: Sequence[Candidate],
) -> str | None:
    """Why the answers cannot tell an effect from those that are known; None where they can."""
    slope, groups, within = (
        candidate.component.slope,
        candidate.component.groups(blocks),
        candidate.name.partition(" | ")[2],
    )
    if within != unit.name and (_distinct(groups, unit.codes) > 1).sum() < 2:
        return f"{' × '.join(term)} does not vary within {unit.name}"
    answers = np.bincount(np.unique(groups, return_inverse=True)[1], asked)
    if slope is None:
        if (answers > 1).sum() < 2:
            return f"one answer by {within}"
    else:
        values = _distinct(np.unique(slope, return_inverse=True)[1], groups)
        if (values > 1).sum() < 2:
            return f"{' × '.join(term)} does not vary within {within}"
        if ((answers > values) | (values > 2)).sum() < 2:
            return f"one answer by {within} and value of {' × '.join(term)}"
    for other in known:
        alike = _same(other.component.slope, slope) and other.groups == candidate.groups
        if alike and _pairs(groups, other.component.groups(blocks)) == candidate.groups:
            return f"the same as {other.name}"
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
