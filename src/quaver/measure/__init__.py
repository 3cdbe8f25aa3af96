"""annotations -> estimates: one family of measures a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import polars as pl

from quaver.records import Estimate, LabelSet

__all__ = ["Measure"]


class Measure(Protocol):
    """A named function of annotations, registered under ``quaver.measures``."""

    def __call__(
        self,
        annotations: pl.DataFrame,
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
            annotations: A frame with the columns of ``records.ANNOTATION_COLUMNS`` (those that the
                measure needs), of one evaluator.
            labels: The task's label set; without it, the labels that occur, as nominal.
            by: Columns whose combinations are estimated apart, each in an ``Estimate.cell``.
            confidence: Nominal level of the intervals.
            resamples: Bootstrap resamples.
            seed: Seed of the bootstrap.
            **options: The measure's own.
        """
        ...
