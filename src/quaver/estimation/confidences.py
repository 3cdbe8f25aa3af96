"""A frame's confidences as numbers from 0 to 1, arranged beside its labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from quaver.errors import MeasureError
from quaver.estimation.answer_grid import Ints
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.column_roles import Columns, UnknownColumn
from quaver.estimation.gathered import Gathered, frame_of
from quaver.estimation.judgements import judge


def column_for(frame: pl.DataFrame | Gathered, role: str, columns: Columns | None) -> str | None:
    """The one column that plays a role; None where the frame has none.

    Raises:
        MeasureError: Several columns are named, or one that does not exist.
    """
    name = (columns or {}).get(role, role if role in frame.columns else None)
    if name is None:
        return None
    if not isinstance(name, str):
        raise MeasureError(
            "several columns for one role", where=f"columns[{role!r}]", expected="one", found=repr(name)
        )
    if name not in frame.columns:
        raise UnknownColumn(name, frame.columns, where=f"columns[{role!r}]")
    return name


def numbers_of(
    annotations: Any, role: str, columns: Columns | None, *, within: tuple[float, float] | None = (0.0, 1.0)
) -> Floats | None:
    """A role's column as numbers, NaN where it is null; None where the frame has no such column.

    Args:
        annotations: The frame.
        role: For instance ``"confidence"``.
        columns: Other names for the frame's columns.
        within: The smallest and largest number allowed.

    Raises:
        MeasureError: It holds something other than numbers, infinities, or numbers outside the range.
    """
    frame = Gathered.of(annotations)
    name = column_for(frame, role, columns)
    if name is None:
        return None
    column = frame[name]
    if column.dtype != pl.Null and not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise MeasureError(
            "a column that does not hold numbers",
            where=f"annotations[{name!r}]",
            expected="numbers",
            found=str(column.dtype),
        )
    values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    low, high = within or (-np.finfo(float).max, np.finfo(float).max)
    with np.errstate(invalid="ignore"):
        outside = (values < low) | (values > high)
    if outside.any():
        raise MeasureError(
            "a number out of range",
            where=f"annotations[{name!r}]",
            expected=f"numbers from {low:g} to {high:g}" if within else "finite numbers",
            found=f"{values[outside][0]:g} in row {int(np.argmax(outside))}",
        )
    return np.asarray(values)


def arranged(values: Floats | None, cell: Cell) -> Floats:
    """A value for each place of a cell, shape as ``cell.codes``; NaN where there is none."""
    if values is None or not values.size:
        return np.full(cell.codes.shape, np.nan)
    return np.asarray(np.where(cell.rows >= 0, values[cell.rows], np.nan))


class Graded(NamedTuple):
    """The answers that have a confidence and are right or wrong, as a list.

    Attributes:
        item: Each answer's item, as an integer.
        stratum: Each answer's stratum.
        confidence: Each answer's confidence.
        right: 1 where it is right.
        items: How many items the cell has.
        excluded: What is left out, by kind.
        reason: Why nothing is left; None where something is.
    """

    item: Ints
    stratum: Ints
    confidence: Floats
    right: Floats
    items: int
    excluded: dict[str, int]
    reason: str | None


def graded(cell: Cell, confidences: Floats, *others: Floats) -> Graded:
    """The answers of a cell that have a label, a gold label and a confidence.

    Args:
        cell: Read with ``gold=True``.
        confidences: Shape as ``cell.codes``, NaN for none.
        *others: Further columns of that shape that must have a number too.
    """
    judged = judge(cell, "drop")
    kept = judged.asked & np.isfinite(confidences)
    for other in others:
        kept &= np.isfinite(other)
    excluded = dict(judged.excluded)
    if bare := int(judged.asked.sum() - kept.sum()):
        excluded["without a confidence"] = bare
    item, stratum, _ = np.nonzero(kept)
    reason = judged.reason or (None if item.size else "no confidences")
    right = judged.right[kept].astype(np.float64)
    return Graded(item, stratum, confidences[kept], right, len(cell.items), excluded, reason)


def beside(annotations: Any, evaluators: Sequence[str], *, columns: Columns | None = None) -> pl.DataFrame:
    """Two evaluators' confidences in the same responses, side by side.

    Args:
        annotations: A frame that holds both evaluators' annotations.
        evaluators: The one whose rows are kept, and the one whose confidence is set beside it.
        columns: Other names for the frame's columns.

    Returns:
        The first evaluator's rows, with the second's confidence in a column ``token``.

    Raises:
        MeasureError: The frame has no such column, or no such evaluator.

    >>> frame = pl.DataFrame({"item": [1, 1], "evaluator": ["said", "logprob"], "confidence": [0.9, 0.6]})
    >>> beside(frame, ("said", "logprob")).select("item", "confidence", "token").rows()
    [(1, 0.9, 0.6)]
    """
    frame = frame_of(annotations)
    if len(evaluators) != 2:
        raise MeasureError("not two evaluators", where="evaluators", expected="two", found=repr(evaluators))
    names = {role: column_for(frame, role, columns) for role in ("evaluator", "confidence", "item")}
    for role, name in names.items():
        if name is None:
            raise UnknownColumn(role, frame.columns, where="annotations")
    evaluator, confidence = str(names["evaluator"]), str(names["confidence"])
    of = frame[evaluator].cast(pl.String)
    for one in evaluators:
        if not (of == one).any():
            raise MeasureError(
                "no annotations of that evaluator",
                where="evaluators",
                expected=", ".join(map(str, of.unique().sort())),
                found=one,
            )
    roles = ("model", "variant", "decoding", "repeat")
    keys = [str(names["item"])]
    keys += [name for role in roles if (name := column_for(frame, role, columns)) is not None]
    second = frame.filter(of == evaluators[1]).select(*keys, token=pl.col(confidence))
    if second.select(keys).is_duplicated().any():
        raise MeasureError(
            "several annotations in one place",
            where="annotations",
            expected=f"one for each {', '.join(keys)}",
            found=f"more of evaluator {evaluators[1]}",
        )
    first = frame.filter(of == evaluators[0])
    return first.drop("token", strict=False).join(second, on=keys, how="left", maintain_order="left")
