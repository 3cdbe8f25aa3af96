"""Which columns of an annotation frame are factors of the prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.estimation.arrangement import Columns
from quaver.estimation.gathered import Gathered
from quaver.estimation.reading import column_for


def factors_of(
    annotations: Any, *, columns: Columns | None = None, without: Sequence[str] = ()
) -> tuple[str, ...]:
    """The columns that are factors of the variants.

    Columns beyond those of every annotation frame that vary, and have one value in all rows of a variant;
    without any, the first of variant, decoding and model that varies.

    Args:
        annotations: The frame.
        columns: Other names for its columns.
        without: Columns that are not to be taken.
    """
    gathered = Gathered.of(annotations)
    played = {one for v in (columns or {}).values() for one in ((v,) if isinstance(v, str) else v)}
    left = {*ANNOTATION_COLUMNS, *played, *without, "prompt_tokens", "raw", "token"}
    left |= {"length"} if holds_lengths(gathered, columns) else set()
    variant = column_for(gathered, "variant", columns)
    candidates = [
        name
        for name, kind in gathered.schema.items()
        if name not in left and not kind.is_nested() and kind != pl.Object
    ]
    found: list[str] = []
    if variant is not None and candidates and gathered.height:
        key = ("factors", variant, tuple(candidates))
        found = gathered.kept(key, lambda: _varied(gathered, variant, candidates))
    if found:
        return tuple(found)
    roles = [column_for(gathered, role, columns) for role in ("variant", "decoding", "model")]
    named = [n for n in roles if n is not None and n not in without]
    return tuple(n for n in named if gathered[n].n_unique() > 1)[:1]


def _varied(gathered: Gathered, variant: str, candidates: Sequence[str]) -> list[str]:
    """The columns that vary, and have one value in all rows of a variant."""
    rows = gathered.read([variant, *candidates])
    each = rows.group_by(variant).agg(pl.col(candidates).n_unique())
    return [n for n in candidates if each[n].max() == 1 and rows[n].n_unique() > 1]


def holds_lengths(frame: pl.DataFrame | Gathered, columns: Columns | None) -> bool:
    """Whether there is a column of lengths, and not a factor of that name (standard, concise)."""
    name = column_for(frame, "length", columns)
    return name is not None and (name != "length" or frame.schema[name].is_numeric())
