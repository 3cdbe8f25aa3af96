"""Intra-prompt stability as repeats accumulate, between neighbours, and as the paper reports it.

Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039, section 3.1 and figures 1-2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special

from quaver.agreement.stratified_alpha import Setting
from quaver.core.records import Estimate, LabelSet, Level
from quaver.estimation.bootstrap import Floats, Resampling
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.column_roles import Columns
from quaver.estimation.intervals import undefined
from quaver.estimation.measure_protocol import Frame
from quaver.measures.stability.partial_alphas import Part, each_alpha
from quaver.measures.stability.prompt_stability import CONDITION, PAPER

__all__ = ["intra_pss_adjacent", "intra_pss_cumulative", "running_mean", "settled_at"]


def intra_pss_cumulative(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    level: Level | None = None,
    missing: Missing = "drop",
    tolerance: float = 0.01,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Intra-prompt stability of the first k repeats, for every k from 2.

    Computed within each condition and averaged over a cell's conditions; all k share their resamples, so
    that the curve's steps are paired. ``details`` of each estimate has: ``settled``, the first k from which
    the estimate stays within ``tolerance`` of its last value, and ``interval_settled``, the same of both
    ends of the interval (None where that is not so before the last k); ``running_mean`` and
    ``running_mean_interval``, which reproduce what the paper plots (`running_mean`) and are no estimates of
    the stability of k repeats.

    Undefined where alpha is. Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039, section 3.1.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        tolerance: How near to the last value is near enough to have settled.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell and k; the cell holds k under ``"repeats"``.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 3, "repeat": [0] * 3 + [1] * 3 + [2] * 3,
    ...                       "label": list("aabaababb")})
    >>> [(e.cell["repeats"], round(e.value, 3)) for e in intra_pss_cumulative(frame)]
    [('2', 1.0), ('3', 0.6)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group)
    found: list[Estimate] = []
    for cell in setting.cells(("repeat",), CONDITION):
        given = (cell.codes[..., None] == np.arange(len(cell.labels))).astype(np.float64)
        steps = [(str(k), f"first {k} repeats") for k in range(2, given.shape[2] + 1)]
        curve = _curve(setting, cell, "intra_pss_cumulative", np.cumsum(given, 2)[:, :, 1:], steps)
        found += _with_summary(curve, tolerance, resampling)
    return found


def intra_pss_adjacent(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    level: Level | None = None,
    missing: Missing = "drop",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Intra-prompt stability of each repeat with the next one.

    Alpha of the repeats k and k + 1, within each condition and averaged over a cell's conditions. A trend
    says that the model, or what is asked of it, drifts.

    Undefined where alpha is. Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell and pair; the cell holds the pair under ``"repeats"``.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 3, "repeat": [0] * 3 + [1] * 3 + [2] * 3,
    ...                       "label": list("aabaababb")})
    >>> [(e.cell["repeats"], round(e.value, 3)) for e in intra_pss_adjacent(frame)]
    [('0 and 1', 1.0), ('1 and 2', 0.444)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group)
    found: list[Estimate] = []
    for cell in setting.cells(("repeat",), CONDITION):
        given = (cell.codes[..., None] == np.arange(len(cell.labels))).astype(np.float64)
        pairs = list(zip(cell.raters[:-1], cell.raters[1:], strict=True))
        steps = [(f"{one} and {two}", f"repeats {one} and {two}") for one, two in pairs]
        found += _curve(setting, cell, "intra_pss_adjacent", given[:, :, :-1] + given[:, :, 1:], steps)
    return found


def _curve(
    setting: Setting, cell: Cell, measure: str, counts: Floats, steps: list[tuple[str, str]]
) -> list[Estimate]:
    """Alpha at each step, mean over strata; ``counts`` is (items, strata, steps, labels)."""
    claim = setting.claim(measure, "Krippendorff's alpha, mean over conditions", PAPER, cell)
    if not steps:
        why = "fewer than two repeats" if cell.items else "no annotations"
        return [undefined(replace(claim, n=cell.units.count), cell.units, setting.resampling, why)]
    items, strata, count, labels = counts.shape
    parts = [
        Part(
            replace(
                claim,
                method=f"Krippendorff's alpha, {told} as raters, mean over conditions",
                cell={**cell.where, "repeats": name},
            ),
            [stratum * count + step for stratum in range(strata)],
        )
        for step, (name, told) in enumerate(steps)
    ]
    return each_alpha(setting, cell, counts.reshape(items, strata * count, labels), parts)


def _with_summary(curve: list[Estimate], tolerance: float, resampling: Resampling) -> list[Estimate]:
    defined = [e for e in curve if e.value is not None]
    if not defined:
        return curve
    ks = [int(e.cell["repeats"]) for e in defined]
    points = [e.value for e in defined if e.value is not None]
    ends = [(e.low, e.high) for e in defined if e.low is not None and e.high is not None]
    settled = settled_at(ks, np.array(points)[:, None], tolerance)
    band = settled_at(ks, np.array(ends), tolerance) if len(ends) == len(ks) else None
    running = running_mean(points, resampling.confidence)
    summary: dict[str, Any] = {"tolerance": tolerance, "settled": settled, "interval_settled": band}
    told = dict(zip(ks, running, strict=True))
    found = []
    for e in curve:
        details = {**e.details, **summary}
        if e.value is not None:
            one = told[int(e.cell["repeats"])]
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


def running_mean(scores: Sequence[float], confidence: float = 0.95) -> list[RunningMean]:
    """The paper's running mean of cumulative scores, with mean ± Z·σ/√k: a reproduction.

    The scores are those of growing sets of the same repeats, so they are not independent: the interval
    narrows with k whatever the data, and does not cover. σ has k in its denominator.

    >>> [round(x, 3) for x in running_mean([0.8, 0.6])[1]]  # 0.7 ± 1.96 · 0.1 / √2
    [0.7, 0.561, 0.839]
    """
    z = float(special.ndtri((1 + confidence) / 2))
    found = []
    for k in range(1, len(scores) + 1):
        mean = float(np.mean(scores[:k]))
        half = z * float(np.std(scores[:k])) / k**0.5
        found.append(RunningMean(mean, mean - half, mean + half))
    return found
