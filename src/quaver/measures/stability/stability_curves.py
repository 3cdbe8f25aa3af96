"""Intra-prompt stability as repeats accumulate, between neighbours, and as the paper reports it.

Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039, section 3.1 and figures 1-2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from quaver.agreement.stratified_alpha import said_of_alpha
from quaver.core.records import Estimate, Level
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic
from quaver.measures.stability.partial_alphas import Part, each_alpha
from quaver.measures.stability.prompt_stability import CONDITION, PAPER


@measure(
    section="stability",
    unit="coefficient",
    better="higher",
    source=PAPER,
    missing=("drop", "category"),
    treatments=("level",),
)
def intra_pss_cumulative(
    reading: Reading, *, level: Level | None = None, missing: Missing, tolerance: float = 0.01
) -> Iterator[Estimate]:
    """Intra-prompt stability of the first k repeats, for every k from 2.

    Computed within each condition and averaged over a cell's conditions; all k share their resamples, so
    that the curve's steps are paired. ``details`` of each estimate has: ``settled``, the first k from which
    the estimate stays within ``tolerance`` of its last value, and ``interval_settled``, the same of both
    ends of the interval (None where that is not so before the last k); ``running_mean`` and
    ``running_mean_interval``, which reproduce what the paper plots (`running_mean`) and are no estimates of
    the stability of k repeats. Undefined where alpha is.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        tolerance: How near to the last value is near enough to have settled.

    Returns:
        An estimate for each cell and k; the cell holds k under ``"repeats"``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 3, "repeat": [0] * 3 + [1] * 3 + [2] * 3,
    ...                       "label": list("aabaababb")})
    >>> [(e.cell["repeats"], round(e.value, 3)) for e in intra_pss_cumulative(frame)]
    [('2', 1.0), ('3', 0.6)]
    """
    for cell in reading.cells(raters=("repeat",), within=CONDITION, missing=missing):
        given = (cell.codes[..., None] == np.arange(len(cell.labels))).astype(np.float64)
        steps = [(str(k), f"first {k} repeats") for k in range(2, given.shape[2] + 1)]
        curve = _curve(cell, np.cumsum(given, 2)[:, :, 1:], steps, level, missing)
        found = [cell.estimated(one) for one in curve]
        yield from _with_summary(found, tolerance, reading.resampling.confidence_level)


@measure(
    section="stability",
    unit="coefficient",
    better="higher",
    source=PAPER,
    missing=("drop", "category"),
    raters=("repeat",),
    within=CONDITION,
    treatments=("level",),
)
def intra_pss_adjacent(cell: Cell, *, level: Level | None = None, missing: Missing) -> Iterator[Statistic]:
    """Intra-prompt stability of each repeat with the next one.

    Alpha of the repeats k and k + 1, within each condition and averaged over a cell's conditions. A trend
    says that the model, or what it is asked, drifts. Undefined where alpha is.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).

    Returns:
        An estimate for each cell and pair; the cell holds the pair under ``"repeats"``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 3, "repeat": [0] * 3 + [1] * 3 + [2] * 3,
    ...                       "label": list("aabaababb")})
    >>> [(e.cell["repeats"], round(e.value, 3)) for e in intra_pss_adjacent(frame)]
    [('0 and 1', 1.0), ('1 and 2', 0.444)]
    """
    given = (cell.codes[..., None] == np.arange(len(cell.labels))).astype(np.float64)
    pairs = list(zip(cell.raters[:-1], cell.raters[1:], strict=True))
    steps = [(f"{one} and {two}", f"repeats {one} and {two}") for one, two in pairs]
    yield from _curve(cell, given[:, :, :-1] + given[:, :, 1:], steps, level, missing)


def _curve(
    cell: Cell, counts: Floats, steps: list[tuple[str, str]], level: Level | None, missing: Missing
) -> Iterator[Statistic]:
    """Alpha at each step, mean over strata.

    Args:
        cell: The cell.
        counts: Label counts, shape (items, strata, steps, labels).
        steps: Each step's name, and which repeats it is of.
        level: Level of measurement.
        missing: What an answer without a label counts as.
    """
    said = said_of_alpha(cell, "Krippendorff's alpha, mean over conditions", missing)
    if not steps:
        yield replace(said, reason="fewer than two repeats" if cell.items else "no annotations")
        return
    items, strata, count, labels = counts.shape
    parts = [
        Part(
            replace(
                said,
                method=f"Krippendorff's alpha, {repeats} as raters, mean over conditions",
                where={"repeats": name},
            ),
            [stratum * count + step for stratum in range(strata)],
        )
        for step, (name, repeats) in enumerate(steps)
    ]
    yield from each_alpha(cell, counts.reshape(items, strata * count, labels), parts, level, missing)


def _with_summary(curve: list[Estimate], tolerance: float, confidence_level: float) -> list[Estimate]:
    defined = [e for e in curve if e.value is not None]
    if not defined:
        return curve
    ks = [int(e.cell["repeats"]) for e in defined]
    points = [e.value for e in defined if e.value is not None]
    ends = [(e.low, e.high) for e in defined if e.low is not None and e.high is not None]
    settled = settled_at(ks, np.array(points)[:, None], tolerance)
    band = settled_at(ks, np.array(ends), tolerance) if len(ends) == len(ks) else None
    running = running_mean(points, confidence_level)
    summary: dict[str, Any] = {"tolerance": tolerance, "settled": settled, "interval_settled": band}
    means = dict(zip(ks, running, strict=True))
    found = []
    for e in curve:
        details = {**e.details, **summary}
        if e.value is not None:
            one = means[int(e.cell["repeats"])]
            details |= {"running_mean": one.mean, "running_mean_interval": (one.low, one.high)}
        found.append(replace(e, details=details))
    return found


def settled_at(ks: Sequence[int], values: Floats, tolerance: float) -> int | None:
    """The first k from which all values stay within a tolerance of their last; None where only the last does.

    Args:
        ks: The numbers of repeats, ascending.
        values: Shape (k, values).
        tolerance: The largest distance that counts as near.

    >>> settled_at([2, 3, 4, 5], np.array([[0.7], [0.8], [0.795], [0.8]]), 0.01)
    3
    """
    near = (np.abs(values - values[-1]) <= tolerance).all(1)
    away = np.flatnonzero(~near)
    first = int(away[-1]) + 1 if away.size else 0
    return ks[first] if first < len(ks) - 1 else None


class RunningMean(NamedTuple):
    """The mean of the scores so far, and the paper's interval around it."""

    mean: float
    low: float
    high: float


def running_mean(scores: Sequence[float], confidence_level: float = 0.95) -> list[RunningMean]:
    """The paper's running mean of cumulative scores, with mean ± Z·σ/√k: a reproduction.

    The scores are those of growing sets of the same repeats, so they are not independent: the interval
    narrows with k whatever the data, and does not cover. σ has k in its denominator.

    >>> [round(x, 3) for x in running_mean([0.8, 0.6])[1]]  # 0.7 ± 1.96 · 0.1 / √2
    [0.7, 0.561, 0.839]
    """
    z = float(special.ndtri((1 + confidence_level) / 2))
    found = []
    for k in range(1, len(scores) + 1):
        mean = float(np.mean(scores[:k]))
        half = z * float(np.std(scores[:k])) / k**0.5
        found.append(RunningMean(mean, mean - half, mean + half))
    return found
