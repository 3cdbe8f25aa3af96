"""The row bootstrap of the promptstability package: single labels are resampled, not items.

A row is one label: of an item, by a rater. The rows are drawn with replacement, as many as there are; a place
(an item and a rater) that is drawn twice counts once, with the row that was drawn first. An item's labels
depend on each other, which this ignores: the interval is narrower than the data allow.

Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039, and the package promptstability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.disagreement import Disagreement
from quaver.core.records import Estimate, Level
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats, Resampling
from quaver.estimation.cell import Cell
from quaver.estimation.intervals import percentile

ROWS_WARNING = (
    "resampling rows treats an item's labels as independent: the interval is too narrow; "
    "use it only to reproduce published ones"
)

_ENTRIES = 2**20
"""Samples are made in blocks of at most this many numbers (8 MiB)."""

Codes = NDArray[np.int64]


def alphas_of_rows(
    place: Codes,
    codes: Codes,
    shape: tuple[int, int],
    *,
    labels: int,
    level: Level = "nominal",
    values: Floats | None = None,
    resampling: Resampling,
) -> Floats:
    """Krippendorff's alpha of each resample of rows.

    Args:
        place: Where each row belongs: item × raters + rater.
        codes: Its label's code; −1 for a row without a label, which is drawn and does not count.
        shape: How many items and raters there are.
        labels: How many labels there are.
        level: Level of measurement.
        values: The labels' numbers, for interval and ratio.
        resampling: How many resamples, from which seed.

    Returns:
        One value a resample; NaN where alpha is undefined.

    >>> place, codes = np.arange(6), np.array([0, 0, 1, 1, 0, 0])  # three items, two raters, who agree
    >>> found = alphas_of_rows(place, codes, (3, 2), labels=2, resampling=Resampling(resamples=200))
    >>> np.unique(found[np.isfinite(found)]).tolist()
    [1.0]
    """
    items, raters = shape
    rng = np.random.default_rng(derive(resampling.seed, "bootstrap", "row"))
    blocks = [np.empty(0)]
    size = max(1, _ENTRIES // max(1, items * labels, codes.size))
    for start in range(0, resampling.resamples, size):
        samples = min(size, resampling.resamples - start)
        drawn = rng.integers(0, max(1, codes.size), (samples, codes.size))[:, ::-1]
        kept = np.full((samples, items * raters), -1)
        sample = np.broadcast_to(np.arange(samples)[:, None], drawn.shape)
        given = codes[drawn] >= 0
        kept[sample[given], place[drawn[given]]] = codes[drawn[given]]  # the one drawn first is written last
        found = np.argwhere(kept >= 0)
        one = (found[:, 1] // raters * samples + found[:, 0]) * labels + kept[kept >= 0]
        counts = np.bincount(one, minlength=items * samples * labels).reshape(items, samples, labels)
        model = Disagreement(counts.astype(np.float64), level, values)
        blocks.append(model.alphas(np.ones((1, items)))[0])
    return np.concatenate(blocks)


def over_rows(made: Estimate, cell: Cell, level: Level, values: Floats | None) -> Estimate:
    """An estimate of alpha, with the interval that resampling rows gives it in place of its own.

    Args:
        made: The estimate: alpha, or its mean over the cell's strata.
        cell: What it is taken of.
        level: Level of measurement.
        values: The labels' numbers, for interval and ratio.

    Returns:
        The estimate; ``details["mean_of_resamples"]`` is what promptstability reports as the score.
    """
    made = replace(made, warnings=(*made.warnings, ROWS_WARNING))
    resampling = cell.resampling
    if made.value is None or not resampling.resamples:
        return made
    layers = np.stack(list(_strata(cell, level, values)))
    defined = np.isfinite(layers)
    drawn = np.where(defined, layers, 0).sum(0) / np.where(defined.any(0), defined.sum(0), np.nan)
    ends = percentile(drawn, resampling.tail)
    if ends is None:
        return replace(made, low=None, high=None)
    how = f"percentile interval, {resampling.resamples} resamples of rows"
    return replace(
        made,
        low=ends.low,
        high=ends.high,
        unit="row",
        method=f"{made.method.partition('; ')[0]}; {how}",
        details={**made.details, "mean_of_resamples": float(np.nanmean(drawn))},
    )


def _strata(cell: Cell, level: Level, values: Floats | None) -> Iterator[Floats]:
    """The alphas of resampled rows of each stratum."""
    items, strata, raters = cell.codes.shape
    for stratum in range(strata):
        codes = cell.codes[:, stratum].ravel().astype(np.int64)
        there = (cell.rows[:, stratum] if cell.rows.size else cell.codes[:, stratum]).ravel() >= 0
        place = np.flatnonzero(there)
        yield alphas_of_rows(
            place,
            codes[place],
            (items, raters),
            labels=len(cell.labels),
            level=level,
            values=values,
            resampling=cell.resampling,
        )
