"""The columns of annotations that the design says: of conditions, and of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from quaver.core.annotations import ANNOTATION_COLUMNS, GOLD_COLUMNS
from quaver.core.records import Condition, Decoding, Item, Variant
from quaver.errors import SpecError


def columns_of(
    conditions: Sequence[Condition], items: Sequence[Item], variants: Mapping[str, Variant]
) -> tuple[dict[str, pl.Series], dict[str, pl.Series]]:
    """The columns that depend on the condition (a row each), and those that depend on the item."""
    of_condition: dict[str, list[str | None]] = {
        "model": [condition.model for condition in conditions],
        "variant": [condition.variant for condition in conditions],
        "decoding": [condition.decoding for condition in conditions],
    }
    of_item: dict[str, list[str | None]] = {
        "item": [item.id for item in items],
        "gold": [item.gold for item in items],
    }
    taken = dict.fromkeys(ANNOTATION_COLUMNS, "annotations")
    for name in dict.fromkeys(name for variant in variants.values() for name in variant.factors):
        _claim(name, "a factor of the variants", taken)
        of_condition[name] = [variants[condition.variant].factors.get(name) for condition in conditions]
    covariates: dict[str, pl.Series] = {}
    for name in dict.fromkeys(name for variant in variants.values() for name in variant.covariates):
        _claim(name, "a covariate of the variants", taken)
        values = [variants[condition.variant].covariates.get(name) for condition in conditions]
        covariates[name] = _typed(name, values)
    for name in dict.fromkeys(name for item in items for name in item.groups):
        _claim(name, "a group of the items", taken)
        of_item[name] = [item.groups.get(name) for item in items]
    sample = {
        name: pl.Series([None] * len(items), dtype=ANNOTATION_COLUMNS[name]) for name in GOLD_COLUMNS[1:]
    }
    return _categorical(of_condition) | covariates, _categorical(of_item) | sample


def _typed(name: str, values: Sequence[str | float | bool | None]) -> pl.Series:
    """Booleans as such, numbers as numbers, anything else as text."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known):
        return pl.Series(name, values, dtype=pl.Boolean)
    if all(isinstance(value, int | float) for value in known):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    texts = [None if value is None else str(value) for value in values]
    return pl.Series(name, texts, dtype=pl.Categorical)


def grid_columns(conditions: Sequence[Condition], decodings: Mapping[str, Decoding]) -> dict[str, pl.Series]:
    """The options that grids vary, with a row for each condition."""
    names = dict.fromkeys(name for decoding in decodings.values() for name in decoding.grid)
    return {
        name: pl.Series(name, [getattr(decodings[c.decoding], name) for c in conditions], dtype=pl.Float64)
        for name in names
    }


def _claim(name: str, claimant: str, taken: dict[str, str]) -> None:
    if name in taken:
        raise SpecError(
            f"two columns of the annotations would be named {name!r}",
            found=f"{name!r} of {taken[name]}, and {claimant}",
            fix="give one of them another name",
        )
    taken[name] = claimant


def _categorical(columns: Mapping[str, list[str | None]]) -> dict[str, pl.Series]:
    return {name: pl.Series(name, values, dtype=pl.Categorical) for name, values in columns.items()}
