"""Annotations as every measure reads them: the arguments that all measures have, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import Estimand, Estimate, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.cells import Missing, cells, checked
from quaver.estimation.coded_columns import Columns, Gathered, Ints, UnknownColumn, Unmeasurable, frame_of
from quaver.estimation.jackknife import Floats, Resampling
from quaver.estimation.statistic import Cell, Sampler


class Declared(Protocol):
    """A measure as it was declared: its name, the source of its method, and the function itself."""

    name: str
    source: str

    def __call__(self, *arguments: Any, **options: Any) -> list[Estimate]: ...  # noqa: D102


class Judged(NamedTuple):
    """Which answers count, and which of them are right.

    Attributes:
        right: True where the label is the item's gold label, shape (items, strata, raters).
        asked: True where the answer counts, the same shape.
        excluded: What does not count, by kind.
        reason: Why nothing counts; None where something does.
    """

    right: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    excluded: dict[str, int]
    reason: str | None


def treatment(missing: Missing) -> str:
    """How the unanswered are treated, in words."""
    return "counted wrong" if checked(missing, ("wrong", "drop")) == "wrong" else "left out"


def judge(cell: Cell, missing: Missing = "wrong") -> Judged:
    """Judge a cell's answers by its gold labels."""
    gold = cell.gold_codes
    defined = (gold >= 0)[:, None, None]
    answered = (cell.codes >= 0) & defined
    asked = answered | (cell.unanswered & defined) if missing == "wrong" else answered
    excluded = {"item without gold": int((~defined).sum())} if not defined.all() else {}
    if missing == "drop" and (bare := int((cell.unanswered & defined).sum())):
        excluded["unanswered"] = bare
    reason = None
    if not asked.any():
        reason = (
            "no annotations" if not cell.items else "no gold labels" if not defined.any() else "no answers"
        )
    return Judged((cell.codes == gold[:, None, None]) & answered, asked, excluded, reason)


def column_for(frame: pl.DataFrame | Gathered, role: str, columns: Columns | None) -> str | None:
    """The one column that plays a role; None where the frame has none."""
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
    """A role's column as numbers, NaN where it is null; None where the frame has no such column."""
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
    return np.where(cell.rows >= 0, values[cell.rows], np.nan)


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
    """The answers of a cell that have a label, a gold label and a confidence."""
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

    Returns:
        The first evaluator's rows, with the second's confidence in a column ``token``.

    >>> frame = pl.DataFrame({"item": [1, 1], "evaluator": ["said", "logprob"], "confidence": [0.9, 0.6]})
    >>> beside(frame, ("said", "logprob")).select("item", "confidence", "token").rows()
    [(1, 0.9, 0.6)]
    """
    frame, names = frame_of(annotations), list[str]()
    for role in ("evaluator", "confidence", "item"):
        name = column_for(frame, role, columns)
        if name is None:
            raise UnknownColumn(role, frame.columns, where="annotations")
        names.append(name)
    evaluator, confidence, item = names
    if len(evaluators) != 2:
        raise MeasureError("not two evaluators", where="evaluators", expected="two", found=repr(evaluators))
    of = frame[evaluator].cast(pl.String)
    first, second = (frame.filter(of == evaluator) for evaluator in evaluators)
    if first.is_empty() or second.is_empty():
        raise Unmeasurable(
            "no annotations of one of these evaluators",
            where="evaluators",
            expected=", ".join(map(str, of.unique().sort())),
            found=", ".join(evaluators),
        )
    roles = (column_for(frame, role, columns) for role in ("model", "variant", "decoding", "repeat"))
    keys = [item, *filter(None, roles)]
    second = second.select(*keys, token=pl.col(confidence))
    if second.select(keys).is_duplicated().any():
        raise MeasureError(
            "several annotations in one place",
            where="annotations",
            expected=f"one for each {', '.join(keys)}",
            found=f"more of evaluator {evaluators[1]}",
        )
    return first.drop("token", strict=False).join(second, on=keys, how="left", maintain_order="left")


@dataclass(frozen=True, slots=True)
class MeasureInput:
    """What a measure is taken of, and how.

    Attributes:
        measure: The measure that reads.
        gathered: The annotations, and what was made of them for other measures.
        labels: The label set.
        by: The columns that make the cells.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        resampling: How intervals are made.
        keep_draws: Whether the estimates carry the numbers behind their intervals.
        estimand: What the intervals are to hold for. The measure's own affair only where it makes them
            itself; the declaration sees to all others (`quaver.estimation.estimands`).
        is_retaken: Whether the measure is taken once more without some prompts: only values and draws count.
    """

    measure: Declared
    gathered: Gathered
    labels: LabelSet | None
    by: Sequence[str]
    columns: Columns | None
    group: str | None
    resampling: Resampling
    keep_draws: bool = False
    estimand: Estimand = "fixed"
    is_retaken: bool = False
    _numbers: dict[tuple[str, Any], Floats | None] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def frame(self) -> pl.DataFrame:
        """The annotations as a frame in memory."""
        return self.gathered.frame

    def of(self, frame: pl.DataFrame) -> MeasureInput:
        """A reading of other annotations, in the same way."""
        return replace(self, gathered=Gathered(frame))

    def cells(
        self,
        *,
        raters: Sequence[str],
        within: Sequence[str] = (),
        gold: bool = False,
        missing: Missing | None = None,
        numbers: Sequence[str] = (),
    ) -> list[Cell]:
        """The annotations, a cell at a time, ready to be resampled."""
        cut = cells(
            self.gathered,
            raters=raters,
            within=within,
            by=self.by,
            labels=self.labels,
            columns=self.columns,
            group=self.group,
            missing="category" if missing == "category" else "drop",
            gold=gold,
        )
        columns = {role: self.numbers(role) for role in numbers}
        return [
            replace(
                cell,
                label_set=self.labels,
                numbers={role: arranged(column, cell) for role, column in columns.items()},
                sampler=self.sampler(cell),
            )
            for cell in cut
        ]

    def sampler(self, cell: Cell) -> Sampler:
        """What resamples the units of a cell."""
        return Sampler(
            cell.units,
            self.resampling,
            measure=self.measure.name,
            source=self.measure.source,
            where=cell.where,
            keep_draws=self.keep_draws,
        )

    def numbers(self, role: str, within: tuple[float, float] | None = (0.0, 1.0)) -> Floats | None:
        """A role's column as numbers, NaN where it is null; None where the frame has no such column."""
        if (role, within) not in self._numbers:
            self._numbers[role, within] = numbers_of(self.gathered, role, self.columns, within=within)
        return self._numbers[role, within]

    def column(self, role: str) -> str | None:
        """The one column that plays a role; None where the frame has none."""
        return column_for(self.gathered, role, self.columns)

    def measured(
        self, measure: Declared, frame: pl.DataFrame | Gathered | None = None, **options: Any
    ) -> list[Estimate]:
        """The estimates of another measure with the same arguments."""
        return measure(
            self.gathered if frame is None else frame,
            labels=self.labels,
            by=self.by,
            confidence_level=self.resampling.confidence_level,
            resamples=self.resampling.resamples,
            seed=self.resampling.seed,
            columns=self.columns,
            group=self.group,
            keep_draws=self.keep_draws,
            **options,
        )
