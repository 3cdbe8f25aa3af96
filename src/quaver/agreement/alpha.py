"""Krippendorff's alpha of any ratings."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np

from quaver.agreement.coefficient import Ratings, coefficient
from quaver.agreement.disagreement import REFERENCE, disagreement
from quaver.agreement.stratified_alpha import (
    ROWS_WARNING,
    alpha_losses,
    few_rare,
    over_rows,
    ranged,
    spread_over,
)
from quaver.core.records import Estimate
from quaver.estimation.intervals import clopper_pearson
from quaver.estimation.statistic import Statistic


@coefficient(source=REFERENCE)
def krippendorff_alpha(
    ratings: Ratings,
    *,
    resample: Literal["items", "rows"] = "items",
    contributions: bool = False,
) -> Statistic | Estimate:
    """Krippendorff's alpha: 1 − observed over expected disagreement.

    alpha = 1 − Do / De, with Do = Σ_u Σ_vk n_uv n_uk δ²(v, k) / (m_u − 1) / n over the units u (items) with
    m_u ≥ 2 ratings, De = Σ_vk n_v n_k δ²(v, k) / (n (n − 1)), n = Σ_u m_u. The difference δ² is 1 or 0
    (nominal), of midranks (ordinal), of numbers (interval), or ((v − k) / (v + k))² (ratio). Missing ratings
    do not count. Undefined, with a reason, where fewer than two items have two ratings, or where all ratings
    are the same (``no variation``: nothing could disagree).

    Args:
        resample: ``"rows"`` resamples single ratings, as the promptstability package does, and warns.
        contributions: Whether ``details["items"]`` holds each item's part of the observed disagreement.

    Returns:
        The estimate; ``details`` has ``observed`` and ``expected`` disagreement, ``standard_error`` and
        ``freedom`` of the interval, how many items differ and the exact binomial interval of their share.

    Warns:
        UserWarning: ``resample="rows"``.

    Krippendorff (2011), Computing alpha, section B (nominal data, two observers): 0.095

    >>> from quaver.agreement import krippendorff_alpha
    >>> a = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    >>> b = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    >>> round(krippendorff_alpha(list(zip(a, b))).value, 3)
    0.095
    """
    statistic = _alpha(ratings, contributions)
    if resample == "items":
        return statistic
    warnings.warn(ROWS_WARNING, stacklevel=4)  # of whoever called the coefficient
    return over_rows(ratings.cell.estimated(statistic), ratings.cell, ratings.level, ratings.values)


def _alpha(ratings: Ratings, contributions: bool) -> Statistic:
    cell, counts = ratings.cell, ratings.cell.tally()
    model = disagreement(counts, ratings.level, ratings.values)
    reason = model.reasons()[0] if model.strata else "no annotations"
    statistic = replace(
        ratings.said(f"Krippendorff's alpha, {ratings.level}"),
        n=cell.units.touched(model.pairable[:, 0]) if model.strata else 0,
        reason=reason,
    )
    if reason:
        bound = (
            tuple(clopper_pearson(0, statistic.n, cell.resampling.confidence_level)) if statistic.n else None
        )
        return replace(statistic, details={**statistic.details, "differing": 0, "share_differing": bound})
    d, e, n = (float(part[0, 0]) for part in model.sums(np.ones((1, cell.units.items))))
    details = {**statistic.details, "observed": d / n, "expected": e / (n * (n - 1)), "pairable": int(n)}
    if contributions:
        used = model.pairable[:, 0]
        details["items"] = {
            name: float(part / n)
            for name, part, use in zip(cell.items, model.per_item[:, 0], used, strict=True)
            if use
        }
    statistic = replace(statistic, warnings=(*statistic.warnings, *few_rare(cell.units, counts)))
    spread = spread_over(alpha_losses(model, ratings.level))
    return replace(ranged(statistic, model, [0]), under=model.alphas, spread=spread, details=details)
