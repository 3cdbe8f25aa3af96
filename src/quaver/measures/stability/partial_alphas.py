"""Many alphas of the same items at once: of every k, of every paraphrase.

One matrix product serves them all, so that a thousand paraphrases do not take a thousand bootstraps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import Setting, alpha_losses, spread_of
from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.intervals import Claim, estimate

__all__ = ["Part", "each_alpha"]


class Part(NamedTuple):
    """One estimate: what it says, and the strata over which its alpha is averaged."""

    claim: Claim
    strata: Sequence[int]


def each_alpha(setting: Setting, cell: Cell, counts: Floats, parts: Sequence[Part]) -> list[Estimate]:
    """The mean alpha of each part, from shared resamples.

    Args:
        setting: What was asked.
        cell: Whose items these are.
        counts: Label counts, shape (items, strata, labels).
        parts: The estimates wanted. Strata in which alpha is undefined are left out of their means.
    """
    level, values = setting.scaled(cell)
    units = cell.units
    model = Disagreement(counts, level, values)
    reasons = model.reasons()
    usable = [[s for s in part.strata if reasons[s] is None] for part in parts]
    # A column a part: which strata it is the mean of.
    member = np.zeros((model.strata, len(parts)))
    for column, strata in enumerate(usable):
        member[strata, column] = 1

    def means(weights: Floats) -> Floats:
        each = model.alphas(weights)
        known = np.isfinite(each)
        n = known.astype(np.float64) @ member
        total = np.where(known, each, 0.0) @ member
        return np.asarray(np.where(n > 0, total / np.maximum(n, 1), np.nan))

    draws = bootstrap(means, units, setting.resampling)
    differ, losses = model.per_item > 1e-12, alpha_losses(model, level)
    found = []
    for index, (part, strata) in enumerate(zip(parts, usable, strict=True)):
        lost = len(part.strata) - len(strata)
        own = list(part.strata)
        claim = replace(
            part.claim,
            n=units.touched(np.asarray(model.pairable[:, own].any(1))),
            differing=units.touched(np.asarray(differ[:, own].any(1))),
            reason=next((reasons[s] for s in own if reasons[s]), None),
            warnings=(f"alpha is undefined in {lost} of {len(own)} strata",) if lost and strata else (),
            spread=spread_of(float(draws.point[index]), [losses[s] for s in strata]),
            details={**(part.claim.details or {}), "level": level, "strata": len(strata)},
        )
        found.append(estimate(claim, draws, units, setting.resampling, index))
    return found
