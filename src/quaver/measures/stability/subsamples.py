"""How few items would do: stability scores from subsamples of the items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import said_of_alpha, scaled
from quaver.core.records import Estimate, Level
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, Units, Weighted
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import percentile
from quaver.estimation.means import over_strata
from quaver.estimation.one_thread import one_thread
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic
from quaver.measures.stability.prompt_stability import CONDITION, PAPER, WITHIN_REPEAT

SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75)


@measure(
    title="How far the stability of the same prompt would lie apart with fewer items",
    axis="Krippendorff’s α over repeats",
    section="stability",
    unit="coefficient",
    better="higher",
    bar=0.8,
    source=PAPER,
    missing=("drop", "category"),
    treatments=("level",),
)
def intra_pss_subsamples(
    reading: Reading, *, level: Level | None = None, missing: Missing, shares: Sequence[float] = SHARES
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
    shares = _checked(shares)
    for cell in reading.cells(raters=("repeat",), within=CONDITION, missing=missing):
        yield from _subsampled(cell, reading.resampling, shares, level, missing)


@measure(
    title="How far the stability across paraphrases would lie apart with fewer items",
    axis="Krippendorff’s α over prompts",
    section="stability",
    unit="coefficient",
    better="higher",
    bar=0.8,
    source=PAPER,
    missing=("drop", "category"),
    compares=("variant",),
    treatments=("level",),
)
def inter_pss_subsamples(
    reading: Reading, *, level: Level | None = None, missing: Missing, shares: Sequence[float] = SHARES
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
    shares = _checked(shares)
    for cell in reading.cells(raters=("variant",), within=WITHIN_REPEAT, missing=missing):
        yield from _subsampled(cell, reading.resampling, shares, level, missing)


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


def _subsampled(
    cell: Cell, resampling: Resampling, shares: Sequence[float], level: Level | None, missing: Missing
) -> Iterator[Estimate]:
    level, values = scaled(cell.labels, level, cell.label_set, missing)
    model = Disagreement(cell.counts(), level, values)
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
        return np.asarray(np.where(weights @ pairable >= 2, model.alphas(weights), np.nan))

    statistic = over_strata(alphas)
    whole = float(statistic(np.ones((1, cell.units.items)))[0, 0])
    for share in shares:
        yield _at(cell, resampling, said, share, whole, statistic)


def _at(
    cell: Cell, resampling: Resampling, said: Statistic, share: float, whole: float, statistic: Weighted
) -> Estimate:
    """The scores of many subsamples of one size."""
    units = cell.units
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
    found = cell.estimated(said)
    return replace(found, value=value, low=low, high=high, reason=None, warnings=warnings)


@one_thread()
def _scores(statistic: Weighted, units: Units, size: int, share: float, resampling: Resampling) -> Floats:
    """The score of each subsample."""
    found = [statistic(weights)[:, 0] for weights in _subsamples(units, size, share, resampling)]
    return np.concatenate(found) if found else np.empty(0)


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
