"""How few items would do: stability scores from subsamples of the items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import Setting
from quaver.core.records import Estimate, LabelSet, Level
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, Units, Weighted
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.column_roles import Columns
from quaver.estimation.intervals import Claim, percentile, undefined
from quaver.estimation.means import over_strata
from quaver.estimation.measure_protocol import Frame, compares
from quaver.estimation.one_thread import one_thread
from quaver.measures.stability.prompt_stability import CONDITION, PAPER, WITHIN_REPEAT

__all__ = ["SHARES", "inter_pss_subsamples", "intra_pss_subsamples"]

SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75)


def intra_pss_subsamples(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    level: Level | None = None,
    missing: Missing = "drop",
    shares: Sequence[float] = SHARES,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Intra-prompt stability from subsamples of 2 to 75 % of the items.

    For each share, ``resamples`` subsamples of the items (of the groups, where ``group`` names them) are
    drawn without replacement, and `intra_pss` is computed on each. The value is the mean over the
    subsamples; the interval holds the middle ``confidence`` of them: what a study of so few items would have
    found, were these items all there are. ``details["whole"]`` is the score of all items.
    Subsamples in which alpha is undefined are left out, counted, and told in a warning; where it is undefined
    in all of them, so is the value.

    Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        shares: The shares of the items to draw.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell and share; the cell holds the share under ``"share"``.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> import polars as pl
    >>> items, raters = list(range(40)) * 2, [0] * 40 + [1] * 40
    >>> frame = pl.DataFrame({"item": items, "repeat": raters, "label": list("ab") * 40})
    >>> [(e.cell["share"], e.value) for e in intra_pss_subsamples(frame, shares=(0.1, 0.5))]
    [('0.1', 1.0), ('0.5', 1.0)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group)
    return [
        one
        for cell in setting.cells(("repeat",), CONDITION)
        for one in _subsampled(setting, cell, "intra_pss_subsamples", _checked(shares))
    ]


@compares("variant")
def inter_pss_subsamples(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    level: Level | None = None,
    missing: Missing = "drop",
    shares: Sequence[float] = SHARES,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Inter-prompt stability from subsamples of 2 to 75 % of the items.

    For each share, ``resamples`` subsamples of the items (of the groups, where ``group`` names them) are
    drawn without replacement, and `inter_pss` is computed on each. The value is the mean over the
    subsamples; the interval holds the middle ``confidence`` of them: what a study of so few items would have
    found, were these items all there are. ``details["whole"]`` is the score of all items.
    Subsamples in which alpha is undefined are left out, counted, and told in a warning; where it is undefined
    in all of them, so is the value.

    Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        shares: The shares of the items to draw.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell and share; the cell holds the share under ``"share"``.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> import polars as pl
    >>> items, raters = list(range(40)) * 2, [0] * 40 + [1] * 40
    >>> frame = pl.DataFrame({"item": items, "variant": raters, "label": list("ab") * 40})
    >>> [(e.cell["share"], e.value) for e in inter_pss_subsamples(frame, shares=(0.1, 0.5))]
    [('0.1', 1.0), ('0.5', 1.0)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group)
    return [
        one
        for cell in setting.cells(("variant",), WITHIN_REPEAT)
        for one in _subsampled(setting, cell, "inter_pss_subsamples", _checked(shares))
    ]


def _checked(shares: Sequence[float]) -> tuple[float, ...]:
    if not shares or not all(0 < share <= 1 for share in shares):
        raise MeasureError(
            "not shares of the items",
            where="shares",
            expected="numbers above 0, at most 1",
            found=repr(shares),
        )
    return tuple(shares)


_NOWHERE = "alpha is undefined in every subsample"


@one_thread()
def _subsampled(setting: Setting, cell: Cell, measure: str, shares: Sequence[float]) -> list[Estimate]:
    level, values = setting.scaled(cell)
    units = cell.units
    model = Disagreement(cell.counts(), level, values)
    claim = setting.claim(measure, "mean stability score of subsamples", PAPER, cell)
    reasons = model.reasons()
    if all(reason is not None for reason in reasons):
        why = reasons[0] if reasons else "no annotations"
        return [undefined(claim, units, setting.resampling, why)]
    pairable = model.pairable.astype(np.float64)

    def alphas(weights: Floats) -> Floats:
        # A subsample may leave one item with two labels, of which alpha says nothing.
        return np.asarray(np.where(weights @ pairable >= 2, model.alphas(weights), np.nan))

    statistic = over_strata(alphas)
    whole = float(statistic(np.ones((1, units.items)))[0, 0])
    return [_at(setting, cell, claim, share, whole, statistic) for share in shares]


def _at(
    setting: Setting, cell: Cell, claim: Claim, share: float, whole: float, statistic: Weighted
) -> Estimate:
    """The scores of many subsamples of one size."""
    units, resampling = cell.units, setting.resampling
    size = max(1, round(share * units.count))
    values = np.concatenate(
        [statistic(weights)[:, 0] for weights in _subsamples(units, size, share, resampling)] or [np.empty(0)]
    )
    defined = values[np.isfinite(values)]
    lost = int(values.size - defined.size)
    details: dict[str, Any] = {"drawn": size, "undefined_subsamples": lost, "whole": whole}
    how = f"{claim.method} of {size} {units.name}s, {resampling.resamples} of them, with the middle of these"
    claim = replace(claim, cell={**cell.where, "share": f"{share:g}"}, n=size, method=how, details=details)
    told = (
        [f"alpha is undefined in {lost:,} of {values.size:,} subsamples, which are left out"] if lost else []
    )
    if not defined.size:
        why = _NOWHERE if values.size else "no subsamples were drawn"
        return replace(undefined(claim, units, resampling, why), warnings=tuple(told))
    value, ends = float(defined.mean()), percentile(defined, resampling.tail)
    wide = ends is not None and ends.high - ends.low > 1e-12
    if not wide:
        told.append("the subsamples do not vary, so there is no interval")
    elif ends and not ends.low <= value <= ends.high:
        wide = False
        told.append("a few subsamples lie so far off that their mean is outside the middle of all")
    low, high = (ends.low, ends.high) if ends and wide else (None, None)
    found = undefined(claim, units, resampling)
    return replace(found, value=value, low=low, high=high, reason=None, warnings=tuple(told))


def _subsamples(units: Units, size: int, share: float, resampling: Resampling) -> Iterator[Floats]:
    """Item weights of 0 and 1, a block of subsamples at a time."""
    rng = np.random.default_rng(derive(resampling.seed, "subsample", units.name, f"{share:g}"))
    block = max(1, 2**22 // max(1, units.items))
    for start in range(0, resampling.resamples, block):
        keys = rng.random((min(block, resampling.resamples - start), units.count))
        chosen = np.argpartition(keys, size - 1, axis=1)[:, :size]
        weights = np.zeros(keys.shape)
        np.put_along_axis(weights, chosen, 1.0, 1)
        yield units.spread(weights)
