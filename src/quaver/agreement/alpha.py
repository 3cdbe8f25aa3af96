"""Krippendorff's alpha of any ratings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from quaver.agreement.disagreement import REFERENCE, Disagreement
from quaver.agreement.ratings import label_set_of, read_ratings
from quaver.agreement.stratified_alpha import alpha_losses, scaled, spread_of
from quaver.core.records import Estimate, LabelSet, Level
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Draws, Floats, Resampling, bootstrap
from quaver.estimation.cell import Cell, label_counts
from quaver.estimation.cells import Missing
from quaver.estimation.intervals import Claim, estimate, undefined

__all__ = ["ROWS_WARNING", "alpha_of", "krippendorff_alpha"]

ROWS_WARNING = (
    "resampling rows treats an item's ratings as independent: the interval is too narrow; "
    "use it only to reproduce published ones"
)


def krippendorff_alpha(
    ratings: Any,
    level: Level = "nominal",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    *,
    item: str | None = None,
    rater: str | Sequence[str] | None = None,
    label: str | None = None,
    labels: LabelSet | Sequence[Any] | None = None,
    missing: Missing = "drop",
    groups: str | Sequence[Any] | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    resample: Literal["items", "rows"] = "items",
    contributions: bool = False,
) -> Estimate:
    """Krippendorff's alpha: 1 − observed over expected disagreement.

    alpha = 1 − Do / De, with Do = Σ_u Σ_vk n_uv n_uk δ²(v, k) / (m_u − 1) / n over the units u (items) with
    m_u ≥ 2 ratings, De = Σ_vk n_v n_k δ²(v, k) / (n (n − 1)), n = Σ_u m_u. The difference δ² is 1 or 0
    (nominal), of midranks (ordinal), of numbers (interval), or ((v − k) / (v + k))² (ratio). Missing ratings
    do not count. Undefined, with a reason, where fewer than two items have two ratings, or where all ratings
    are the same (``no variation``: nothing could disagree).

    Args:
        ratings: Items × raters: an array, lists, or a wide frame, with None or NaN for missing ones; or a
            long frame whose columns ``item``, ``rater`` and ``label`` name.
        level: Level of measurement.
        confidence: Nominal level of the interval.
        resamples: Bootstrap resamples; 0 for no interval.
        seed: Root seed.
        item: The long frame's column of items.
        rater: Its column, or columns, of raters.
        label: Its column of labels.
        labels: The labels in order; others count as missing.
        missing: ``"drop"``, or ``"category"``: one more label (nominal only).
        groups: Resample these groups of items: one value an item, or a long frame's column.
        interval: Which interval is given; both are in ``details``.
        resample: ``"rows"`` resamples single ratings, as the promptstability package does, and warns.
        contributions: Whether ``details["items"]`` holds each item's part of the observed disagreement.

    Returns:
        The estimate; ``details`` has ``observed`` and ``expected`` disagreement, both intervals, how many
        items differ and the exact binomial interval of their share.

    Raises:
        MeasureError: The ratings or an option cannot be used.

    Warns:
        UserWarning: ``resample="rows"``.

    Krippendorff (2011), Computing alpha, section B (nominal data, two observers): 0.095

    >>> a = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    >>> b = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    >>> round(krippendorff_alpha(list(zip(a, b))).value, 3)
    0.095
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    label_set = label_set_of(labels, level)
    cell = read_ratings(
        ratings, item=item, rater=rater, label=label, labels=label_set, missing=missing, groups=groups
    )
    if resample not in ("items", "rows"):
        raise MeasureError("unknown unit", where="resample", expected="items or rows", found=repr(resample))
    found = alpha_of(cell, resampling, level, label_set, missing, resample, contributions)
    if resample == "rows":
        warnings.warn(ROWS_WARNING, stacklevel=2)
    return found


def alpha_of(
    cell: Cell,
    resampling: Resampling,
    level: Level = "nominal",
    label_set: LabelSet | None = None,
    missing: Missing = "drop",
    resample: Literal["items", "rows"] = "items",
    contributions: bool = False,
) -> Estimate:
    """`krippendorff_alpha` of a cell with one stratum."""
    level, values = scaled(cell.labels, level, label_set, missing)
    counts, units = cell.counts(), cell.units
    model = Disagreement(counts, level, values)
    reason = model.reasons()[0] if model.strata else "no annotations"
    per_item = model.per_item[:, 0] if model.strata else np.zeros(0)
    details: dict[str, Any] = {"level": level, "raters": len(cell.raters)}
    claim = Claim(
        "krippendorff_alpha",
        f"Krippendorff's alpha, {level}",
        REFERENCE,
        cell=cell.where,
        excluded=cell.counted if missing == "drop" else {},
        differing=units.touched(per_item > 1e-12),
        n=units.touched(model.pairable[:, 0]) if model.strata else 0,
        warnings=(ROWS_WARNING,) if resample == "rows" else (),
        details=details,
    )
    if reason:
        return undefined(claim, units, resampling, reason)
    d, e, n = (float(part[0, 0]) for part in model.sums(np.ones((1, units.items))))
    details |= {"observed": d / n, "expected": e / (n * (n - 1)), "pairable": int(n)}
    if contributions:
        used = model.pairable[:, 0]
        details["items"] = {
            name: float(part / n) for name, part, use in zip(cell.items, per_item, used, strict=True) if use
        }
    draws = bootstrap(model.alphas, units, resampling)
    if resample == "rows":
        draws = Draws(draws.point, _rows(cell, level, values, resampling), draws.jackknife[:0])
    claim = replace(claim, spread=spread_of(float(draws.point[0]), alpha_losses(model, level)))
    found = estimate(claim, draws, units, resampling)
    return found if resample == "items" else _of_rows(found)


def _of_rows(found: Estimate) -> Estimate:
    return replace(found, unit="row", method=found.method.replace("of items", "of rows"))


def _rows(cell: Cell, level: Level, values: Floats | None, resampling: Resampling) -> Floats:
    """Alpha of resampled ratings, a rating that is drawn twice counting once."""
    codes = cell.codes[:, 0]
    given = np.flatnonzero(codes >= 0)
    rng = np.random.default_rng(derive(resampling.seed, "bootstrap", "row"))
    ones = np.ones((1, codes.shape[0]))
    found = np.empty((resampling.resamples, 1))
    for sample in range(resampling.resamples):
        drawn = given[rng.integers(0, given.size, given.size)]
        kept = np.full(codes.size, -1)
        kept[drawn] = codes.ravel()[drawn]
        counts = label_counts(kept.reshape(codes.shape), len(cell.labels))
        found[sample] = Disagreement(counts[:, None], level, values).alphas(ones)[0]
    return found
