"""Intra-prompt stability as repeats accumulate, between neighbours, and as the paper reports it.

Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039, section 3.1 and figures 1-2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import mean_alpha, over_rows, said_of_alpha, scaled
from quaver.core.records import Estimate, Level
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.cells import Missing
from quaver.estimation.intervals import percentile
from quaver.estimation.jackknife import Floats, Resampling, Units, Weighted, one_thread
from quaver.estimation.means import over_strata
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.stability.prompt_stability import (
    CONDITION,
    WITHIN_REPEAT,
    Resample,
    alpha,
)

SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75)


@alpha(raters=("repeat",), within=CONDITION)
def intra_pss_subsamples(
    cell: Cell, *, level: Level | None = None, missing: Missing, shares: Sequence[float] = SHARES
) -> Iterator[Estimate]:
    """Intra-prompt stability from subsamples of 2% to 75% of the items.

    For each share, ``resamples`` subsamples of the items (of the groups, where ``group`` names them) are
    drawn without replacement, and `intra_pss` is computed on each. The value is the mean over the
    subsamples; the interval holds the middle ``confidence_level`` of them: what a study of so few items would
    have found, were these items all there are. ``details["whole"]`` is the score of all items.
    Subsamples in which alpha is undefined are left out, counted, and named in a warning; where it is
    undefined in all of them, so is the value.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        shares: The shares of the items to draw.

    Returns:
        An estimate for each cell and share; the cell holds the share under ``"share"``.

    >>> import polars as pl
    >>> items, raters = list(range(40)) * 2, [0] * 40 + [1] * 40
    >>> frame = pl.DataFrame({"item": items, "repeat": raters, "label": list("ab") * 40})
    >>> [(e.cell["share"], e.value) for e in intra_pss_subsamples(frame, shares=(0.1, 0.5))]
    [('0.1', 1.0), ('0.5', 1.0)]
    """
    yield from _subsampled(cell, shares, level, missing)


@alpha(compares=("variant",), raters=("variant",), within=WITHIN_REPEAT)
def inter_pss_subsamples(
    cell: Cell, *, level: Level | None = None, missing: Missing, shares: Sequence[float] = SHARES
) -> Iterator[Estimate]:
    """Inter-prompt stability from subsamples of 2% to 75% of the items.

    It works as `intra_pss_subsamples` does; the score of each subsample is `inter_pss`. Undefined where alpha
    is undefined in every subsample.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        shares: The shares of the items to draw.

    Returns:
        An estimate for each cell and share; the cell holds the share under ``"share"``.

    >>> import polars as pl
    >>> items, raters = list(range(40)) * 2, [0] * 40 + [1] * 40
    >>> frame = pl.DataFrame({"item": items, "variant": raters, "label": list("ab") * 40})
    >>> [(e.cell["share"], e.value) for e in inter_pss_subsamples(frame, shares=(0.1, 0.5))]
    [('0.1', 1.0), ('0.5', 1.0)]
    """
    yield from _subsampled(cell, shares, level, missing)


_NOWHERE = "alpha is undefined in every subsample"


def _subsampled(
    cell: Cell, shares: Sequence[float], level: Level | None, missing: Missing
) -> Iterator[Estimate]:
    """The scores of subsamples of each size."""
    if not shares or not all(0 < share <= 1 for share in shares):
        expected = "numbers above 0, at most 1"
        raise MeasureError("not shares of the items", where="shares", expected=expected, found=repr(shares))
    level, values = scaled(cell.labels, level, cell.label_set, missing)
    model = Disagreement(cell.grid, len(cell.labels), level, values)
    said = said_of_alpha(cell, "mean stability score of subsamples", missing)
    reasons = model.reasons()
    if all(reason is not None for reason in reasons):
        why = reasons[0] if reasons else "no annotations"
        yield cell.estimated(replace(said, reason=why))
        return
    pairable = model.pairable.astype(np.float64)
    pairable = pairable[:, :1] if model.pairable.all() else pairable

    def alphas(weights: Floats) -> Floats:
        # A subsample may leave one item with two labels, of which alpha says nothing.
        return np.where(weights @ pairable >= 2, model.alphas(weights), np.nan)

    statistic = over_strata(alphas)
    whole = float(statistic(np.ones((1, cell.units.items)))[0, 0])
    for share in shares:
        yield _at(cell, said, share, whole, statistic)


def _at(cell: Cell, said: Statistic, share: float, whole: float, statistic: Weighted) -> Estimate:
    """The scores of many subsamples of one size."""
    units, resampling = cell.units, cell.resampling
    size = max(1, round(share * units.count))
    values = _scores(statistic, units, size, share, resampling)
    defined = values[np.isfinite(values)]
    lost = int(values.size - defined.size)
    said = replace(
        said,
        where={"share": f"{share:g}"},
        n=size,
        method=f"{said.method} of {size} {units.name}s, {resampling.resamples} of them, with the middle of "
        "these",
        details={"drawn": size, "undefined_subsamples": lost, "whole": whole},
    )
    if lost:
        warning = f"alpha is undefined in {lost:,} of {values.size:,} subsamples, which are left out"
        said = replace(said, warnings=(*said.warnings, warning))
    if not defined.size:
        return cell.estimated(replace(said, reason=_NOWHERE if values.size else "no subsamples were drawn"))
    value, ends = float(defined.mean()), percentile(defined, resampling.tail)
    low, high, warnings = None, None, said.warnings
    if ends is None or ends.high - ends.low <= 1e-12:
        warnings += ("the subsamples do not vary, so there is no interval",)
    elif not ends.low <= value <= ends.high:
        warnings += ("a few subsamples lie so far off that their mean is outside the middle of all",)
    else:
        low, high = ends
    estimate = cell.estimated(said)
    return replace(estimate, value=value, low=low, high=high, reason=None, warnings=warnings)


@one_thread()
def _scores(statistic: Weighted, units: Units, size: int, share: float, resampling: Resampling) -> Floats:
    """The score of each subsample."""
    scores = [statistic(weights)[:, 0] for weights in _subsamples(units, size, share, resampling)]
    return np.concatenate(scores) if scores else np.empty(0)


def _subsamples(units: Units, size: int, share: float, resampling: Resampling) -> Iterator[Floats]:
    """Item weights of 0 and 1, a block of subsamples at a time."""
    rng = np.random.default_rng(derive(resampling.seed, "subsample", units.name, f"{share:g}"))
    block = max(1, 2**22 // max(1, units.items))
    for start in range(0, resampling.resamples, block):
        keys = rng.random((min(block, resampling.resamples - start), units.count))
        chosen = np.argpartition(keys, size - 1, axis=1)[:, :size]
        weights = np.zeros(keys.shape)
        np.put_along_axis(weights, chosen, 1.0, 1)
        yield weights if units.clusters is None else weights[:, units.clusters]


@alpha(raters=("repeat",), within=CONDITION)
def intra_pss_cumulative(
    cell: Cell, *, level: Level | None = None, missing: Missing, resample: Resample = "items"
) -> Iterator[Estimate]:
    """Intra-prompt stability of the first k repeats, for every k from 2.

    Computed within each condition and averaged over a cell's conditions; all k share their resamples, so
    that the curve's steps are paired. Undefined where alpha is.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        resample: ``"rows"`` resamples single labels in place of items, as in `intra_pss`.

    Returns:
        An estimate for each cell and k; the cell holds k under ``"repeats"``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 3, "repeat": [0] * 3 + [1] * 3 + [2] * 3,
    ...                       "label": list("aabaababb")})
    >>> [(e.cell["repeats"], round(e.value, 3)) for e in intra_pss_cumulative(frame)]
    [('2', 1.0), ('3', 0.6)]
    """
    steps = {str(k): (f"first {k} repeats", slice(k)) for k in range(2, len(cell.raters) + 1)}
    yield from _curve(cell, steps, level, missing, resample)


@alpha(raters=("repeat",), within=CONDITION)
def intra_pss_adjacent(
    cell: Cell, *, level: Level | None = None, missing: Missing, resample: Resample = "items"
) -> Iterator[Estimate]:
    """Intra-prompt stability of each repeat with the next one.

    Alpha of the repeats k and k + 1, within each condition and averaged over a cell's conditions. A trend
    says that the model, or what it is asked, drifts. Undefined where alpha is.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        resample: ``"rows"`` resamples single labels in place of items, as in `intra_pss`.

    Returns:
        An estimate for each cell and pair; the cell holds the pair under ``"repeats"``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 3, "repeat": [0] * 3 + [1] * 3 + [2] * 3,
    ...                       "label": list("aabaababb")})
    >>> [(e.cell["repeats"], round(e.value, 3)) for e in intra_pss_adjacent(frame)]
    [('0 and 1', 1.0), ('1 and 2', 0.444)]
    """
    steps = {}
    for index, pair in enumerate(pairwise(cell.raters)):
        name = " and ".join(pair)
        steps[name] = f"repeats {name}", slice(index, index + 2)
    yield from _curve(cell, steps, level, missing, resample)


def _curve(
    cell: Cell,
    steps: Mapping[str, tuple[str, slice]],
    level: Level | None,
    missing: Missing,
    resample: Resample,
) -> Iterator[Estimate]:
    """Alpha at each step, mean over strata.

    Args:
        cell: The labels, its raters being repeats.
        steps: Of each point of the curve, by name, its repeats in words, and which they are.
        level: Level of measurement.
        missing: What an answer without a label counts as.
        resample: What an interval resamples.
    """
    said = said_of_alpha(cell, "Krippendorff's alpha, mean over conditions", missing)
    if not steps:
        why = "fewer than two repeats" if cell.items else "no annotations"
        yield cell.estimated(replace(said, reason=why))
    for name, (repeats, raters) in steps.items():
        method = f"Krippendorff's alpha, {repeats} as raters, mean over conditions"
        step = replace(said, method=method, where={"repeats": name})
        estimate = cell.estimated(mean_alpha(cell, cell.grid[:, :, raters], step, level, missing))
        if resample == "rows":
            of_rows = scaled(cell.labels, level, cell.label_set, missing)
            estimate = over_rows(estimate, cell, *of_rows, raters)
        yield estimate
