"""The levels of factors: what each does to the prompt, and every combination of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeVar

from quaver.core.column_names import column_of
from quaver.core.records import Variant
from quaver.errors import SpecError, UnknownName

ORIGINAL = "original"
"""The level that leaves the study file's own prompt as it is."""


@dataclass(frozen=True, slots=True)
class LevelOfFactor:
    """One level of a factor.

    Attributes:
        name: Its name, unique within the factor.
        edit: What it does to the prompt; pure.
        origin: Its origin, for the lock file and the report.
        columns: Further columns of the annotations, by name; each is a factor too.
        turn: When it is applied, whatever the order of the factors: turn -1 first (paraphrases, on which
            others build), then turn 0 (layouts, answers), turn 1 (orders, moves), turn 2 (additions), and
            turn 3 for what depends on all others (JSON schemas).
        covariates: Numbers, flags and texts for the annotations that are not levels: a temperature, a
            distance.
    """

    name: str
    edit: Callable[[Variant], Variant]
    origin: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    turn: int = 0
    covariates: Mapping[str, str | float | bool] = field(default_factory=dict)


def level(
    name: str,
    edit: Callable[[Variant], Variant] | Mapping[str, Any] | None = None,
    turn: int = 0,
    covariates: Mapping[str, str | float | bool] | None = None,
    **origin: Any,
) -> LevelOfFactor:
    """A level of a family: what it does to the prompt, the parts that it replaces, or nothing."""
    parts = {} if edit is None or callable(edit) else dict(edit)
    change = edit if callable(edit) else lambda variant: replace(variant, **parts)
    return LevelOfFactor(name, change, {"parent": ORIGINAL, **origin}, turn=turn, covariates=covariates or {})


LevelsT = TypeVar("LevelsT", bound=Callable[..., Sequence[LevelOfFactor]])


def family(factor: str, *, rewords: bool = False) -> Callable[[LevelsT], LevelsT]:
    """Declares a function that gives levels a family of prompt variants.

    Args:
        factor: The column of the annotation frame for its level, unless the study names another; empty if the
            levels' own columns say everything: their names then consist of these.
        rewords: Whether it rewords the instruction: the meaning of its levels is then compared with the
            original's.
    """

    def declared(levels: LevelsT) -> LevelsT:
        levels.factor, levels.rewords = factor, rewords  # type: ignore[attr-defined]
        return levels

    return declared


def check_names(kind: str, names: Iterable[str], known: Collection[str], where: str) -> None:
    """Check that names exist."""
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known, where=where)


def cross(prompt: Variant, factors: Mapping[str, Sequence[LevelOfFactor]]) -> list[Variant]:
    """Every combination of the factors' levels, applied to the prompt turn by turn, from left to right.

    Returns:
        The variants. An id consists of the levels (``paraphrase=plain,format=digits``); it is ``original``
        if nothing varies. The levels' columns are factors too.

    Raises:
        SpecError: A factor has no level; two levels or two combinations have the same name; or two families
            share a column.
    """
    taken: dict[str, str] = {}
    for factor, levels in factors.items():
        where = f"factor {factor}"
        if not levels:
            raise SpecError("this factor has no level", where=where, expected="one or more")
        if twice := _twice(level.name for level in levels):
            expected = "a different name for each level"
            raise SpecError(f"two levels are named {twice!r}", where=where, expected=expected)
        for column in columns_of(factor, levels):
            if taken.setdefault(column, factor) != factor:
                raise SpecError(
                    f"two families fill the column {column!r}",
                    where=f"factor {factor or column}",
                    found=f"{column}, which {taken[column] or 'another family'} fills too",
                    fix="give one of them another name with `factor:`",
                )
    variants: list[Variant] = []
    for combination in product(*factors.values()):
        chosen = dict(zip(factors, combination, strict=True))
        variant = prompt
        for level in sorted(combination, key=lambda level: level.turn):
            variant = level.edit(variant)
        variants.append(
            replace(
                variant,
                id=",".join(_named(factor, level) for factor, level in chosen.items()) or ORIGINAL,
                factors=_factors(chosen),
                covariates={
                    column_of("factor", name): value
                    for level in combination
                    for name, value in level.covariates.items()
                },
                origin={
                    column_of("factor", factor or level.origin.get("family", "")): dict(level.origin)
                    for factor, level in chosen.items()
                },
            )
        )
    if twice := _twice(variant.id for variant in variants):
        raise SpecError(
            "two combinations of levels have the same name",
            found=twice,
            fix="leave commas and equals signs out of the names of levels",
        )
    return variants


def _twice(names: Iterable[str]) -> str | None:
    """The first of some names that occurs twice."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def columns_of(factor: str, levels: Sequence[LevelOfFactor]) -> list[str]:
    """The columns that a factor's levels fill: the factor's own, if it has one, and theirs."""
    own = [factor] if factor else []
    theirs = (column for level in levels for column in (*level.columns, *level.covariates))
    return list(dict.fromkeys(column_of("factor", name) for name in [*own, *theirs]))


def _named(factor: str, level: LevelOfFactor) -> str:
    return f"{factor}={level.name}" if factor else level.name


def _factors(chosen: Mapping[str, LevelOfFactor]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for factor, level in chosen.items():
        columns |= {factor: level.name, **level.columns} if factor else dict(level.columns)
    return {column_of("factor", name): level for name, level in columns.items()}
