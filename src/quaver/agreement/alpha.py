"""Krippendorff's alpha of any ratings."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np

from quaver.agreement.coefficient import Ratings, coefficient
from quaver.agreement.disagreement import REFERENCE, Disagreement
from quaver.agreement.stratified_alpha import alpha_losses, rarest_labels, spread_over
from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Draws, Floats
from quaver.estimation.cell import label_counts
from quaver.estimation.statistic import Statistic

ROWS_WARNING = (
    "resampling rows treats an item's ratings as independent: the interval is too narrow; "
    "use it only to reproduce published ones"
)


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
    found = _alpha(ratings, contributions)
    if resample == "items":
        return found
    warnings.warn(ROWS_WARNING, stacklevel=4)  # of whoever called the coefficient
    found = replace(found, warnings=(ROWS_WARNING,))
    cell = ratings.cell
    draws = None if found.under is None else cell.draws(found.under)
    if draws is not None:
        draws = Draws(draws.point, _rows(ratings), draws.jackknife[:0])
    made = cell.estimated(found, draws)
    return replace(made, unit="row", method=made.method.replace("of items", "of rows")) if draws else made


def _alpha(ratings: Ratings, contributions: bool) -> Statistic:
    cell, counts = ratings.cell, ratings.cell.counts()
    model = Disagreement(counts, ratings.level, ratings.values)
    reason = model.reasons()[0] if model.strata else "no annotations"
    per_item = model.per_item[:, 0] if model.strata else np.zeros(0)
    said = replace(
        ratings.said(f"Krippendorff's alpha, {ratings.level}"),
        differing=cell.units.touched(per_item > 1e-12),
        rarest=rarest_labels(ratings.counts, cell.units),
        n=cell.units.touched(model.pairable[:, 0]) if model.strata else 0,
        reason=reason,
    )
    if reason:
        return said
    d, e, n = (float(part[0, 0]) for part in model.sums(np.ones((1, cell.units.items))))
    details = {**said.details, "observed": d / n, "expected": e / (n * (n - 1)), "pairable": int(n)}
    if contributions:
        used = model.pairable[:, 0]
        details["items"] = {
            name: float(part / n) for name, part, use in zip(cell.items, per_item, used, strict=True) if use
        }
    spread = spread_over(alpha_losses(model, ratings.level))
    return replace(said, under=model.alphas, ends=(-1.0, 1.0), spread=spread, details=details)


def _rows(ratings: Ratings) -> Floats:
    """Alpha of resampled ratings, a rating that is drawn twice counting once."""
    cell, codes = ratings.cell, ratings.codes
    assert cell.sampler is not None
    resampling = cell.sampler.resampling
    given = np.flatnonzero(codes >= 0)
    rng = np.random.default_rng(derive(resampling.seed, "bootstrap", "row"))
    ones = np.ones((1, codes.shape[0]))
    found = np.empty((resampling.resamples, 1))
    for sample in range(resampling.resamples):
        drawn = given[rng.integers(0, given.size, given.size)]
        kept = np.full(codes.size, -1)
        kept[drawn] = codes.ravel()[drawn]
        counts = label_counts(kept.reshape(codes.shape), len(cell.labels))
        found[sample] = Disagreement(counts[:, None], ratings.level, ratings.values).alphas(ones)[0]
    return found
