"""The original paraphrase among the others: counted in every group of them, and left where doubt begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

ORIGINAL = "original"
FLAGGED = "flagged"


def in_every_group(annotations: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The annotations with the original's counted in each combination of ``by`` that has paraphrases.

    A paraphraser's paraphrases have a temperature, the original has none: it is the same at all of them,
    and one of the set at each. So are its rows here, once for every value that it lacks.

    Args:
        annotations: A row an annotation, with a Boolean column ``original`` where paraphrases are compared.
        by: Columns that make the cells.

    >>> rows = {"original": [True, False, False], "heat": [None, 0.5, 1.0], "label": list("abc")}
    >>> frame = pl.DataFrame(rows)
    >>> in_every_group(frame, ["heat"]).rows()
    [(False, 0.5, 'b'), (False, 1.0, 'c'), (True, 0.5, 'a'), (True, 1.0, 'a')]
    """
    if ORIGINAL not in annotations.columns or annotations[ORIGINAL].dtype != pl.Boolean:
        return annotations
    own = pl.col(ORIGINAL).fill_null(value=False)
    originals = annotations.filter(own)
    lacking = [
        name
        for name in by
        if name in annotations.columns
        and originals.height
        and originals[name].null_count() == originals.height
    ]
    groups = annotations.filter(~own).select(lacking).drop_nulls().unique(maintain_order=True)
    if not lacking or groups.is_empty():
        return annotations
    shared = originals.drop(lacking).join(groups, how="cross").select(annotations.columns)
    return pl.concat([annotations.filter(~own), shared])


def without_flagged(annotations: pl.DataFrame) -> pl.DataFrame:
    """The annotations of paraphrases whose meaning is not in doubt."""
    if FLAGGED not in annotations.columns:
        return annotations
    return annotations.filter(~pl.col(FLAGGED).fill_null(value=False))


def left_out(annotations: pl.DataFrame, cell: Mapping[str, str]) -> int:
    """How many of the annotations in a cell are of flagged paraphrases."""
    if FLAGGED not in annotations.columns:
        return 0
    mine = annotations.filter(pl.col(FLAGGED).fill_null(value=False))
    for column, value in cell.items():
        if column in mine.columns:
            mine = mine.filter(pl.col(column).cast(pl.String) == value)
    return mine.height
