"""Krippendorff's alpha of any ratings."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np

from quaver.agreement.coefficient import Ratings, coefficient
from quaver.agreement.disagreement import REFERENCE, Disagreement
from quaver.agreement.stratified_alpha import ROWS_WARNING, mean_alphas, over_rows
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
    cell, said = ratings.cell, ratings.said(f"Krippendorff's alpha, {ratings.level}")
    parts = [(said, range(cell.grid.shape[1]))]
    (statistic,) = mean_alphas(cell, cell.grid, parts, ratings.level, ratings.missing)
    statistic = replace(statistic, details=dict(said.details))
    if statistic.under is None:
        level = cell.resampling.confidence_level
        bound = tuple(clopper_pearson(0, statistic.n, level)) if statistic.n else None
        return replace(statistic, details={**said.details, "differing": 0, "share_differing": bound})
    model = Disagreement(cell.grid, len(cell.labels), ratings.level, ratings.values)
    d, e, n = (float(part[0, 0]) for part in model.sums(np.ones((1, cell.units.items))))
    details = {**said.details, "observed": d / n, "expected": e / (n * (n - 1)), "pairable": int(n)}
    if contributions:
        each = zip(cell.items, model.per_item[:, 0], model.pairable[:, 0], strict=True)
        details["items"] = {name: float(part / n) for name, part, counts in each if counts}
    return replace(statistic, details=details)
