"""annotations -> estimates: one family of measures a file.

`table` turns an annotation frame (or any frame, or CSV, with column names) into dense arrays, a
`Cell` for each combination of the columns in ``by``; `bootstrap` resamples items (or groups of
them) by weights, and makes intervals; each family's file holds its arithmetic on arrays and the
functions on frames that are registered under ``quaver.measures``.

A measure that needs a certain stratum (one prompt, say, for its stability over repeats) is computed
within each stratum of a cell and averaged over them, so that every measure works with every ``by``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

import polars as pl

from quaver.core import arguments
from quaver.core.records import Estimate, LabelSet
from quaver.errors import MeasureError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OUTPUT", "Frame", "Measure", "compared_by", "compares", "guarded", "of_outputs", "reads_outputs"]

Frame: TypeAlias = "pl.DataFrame | pd.DataFrame"


_F = TypeVar("_F", bound=Callable[..., Any])


def compares(*columns: str) -> Callable[[_F], _F]:
    """Say of a measure that it compares the levels of these columns, as its attribute ``compares``.

    A study does not measure these apart unless its file says so. A measure that compares
    ``"evaluator"`` is given all evaluators' rows, and the name of the study's first as ``first``.
    """

    def mark(measure: _F) -> _F:
        measure.compares = columns  # type: ignore[attr-defined]
        return measure

    return mark


OUTPUT: Final = "output"
"""The column of the answers as they were written, for measures that read them."""


def of_outputs(measure: _F) -> _F:
    """Say of a measure that it takes the answers as they were written, as its attribute ``reads_outputs``.

    A study gives it the column ``output`` beside the annotations, where its answers are stored.
    """
    measure.reads_outputs = True  # type: ignore[attr-defined]
    return measure


def reads_outputs(measure: Callable[..., Any]) -> bool:
    """Whether a measure takes the answers as they were written."""
    return bool(getattr(measure, "reads_outputs", False))


def compared_by(measure: Callable[..., Any], options: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns whose levels a measure compares with these options.

    One with an option ``between`` compares those columns instead of its own.
    """
    own: tuple[str, ...] = getattr(measure, "compares", ())
    between = options.get("between", own)
    return (between,) if isinstance(between, str) else tuple(between)


def guarded(function: _F) -> _F:
    """Have a function refuse an argument that does not fit its signature with a `MeasureError`."""
    return arguments.guarded(function, MeasureError, "{1}")


class Measure(Protocol):
    """A named function of annotations, registered under ``quaver.measures``.

    Called with nothing but a frame it must give a sensible answer, whatever the frame holds: an
    `Estimate` always has a value or a reason. It raises nothing but ``MeasureError``.
    """

    def __call__(
        self,
        annotations: Frame,
        *,
        labels: LabelSet | None = None,
        by: Sequence[str] = (),
        confidence: float = 0.95,
        resamples: int = 1000,
        seed: int = 0,
        **options: Any,
    ) -> list[Estimate]:
        """Estimate it in every cell of the data.

        Args:
            annotations: A frame with the columns of ``annotation_frame.ANNOTATION_COLUMNS`` (those that the
                measure needs), of one evaluator (or with ``"evaluator"`` in ``by``, or of all
                where it `compares` evaluators).
            labels: The task's label set; without it, the labels that occur, as nominal.
            by: Columns whose combinations are estimated apart, each in an ``Estimate.cell``.
            confidence: Nominal level of the intervals.
            resamples: Bootstrap resamples.
            seed: Root seed of the bootstrap.
            **options: The measure's own. Common to all of Quaver's: ``columns`` (other names for
                the frame's columns), ``group`` (the column whose groups of items are resampled),
                ``missing`` (what an answer without a label counts as).

        Returns:
            At least one estimate for each cell; one cell, with nothing in ``Estimate.cell``,
            where ``by`` is empty.
        """
        ...
