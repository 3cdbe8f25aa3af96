"""Many alphas of the same items at once: of the first k repeats for every k, of every paraphrase.

One matrix product serves them all, so that a thousand paraphrases do not take a thousand bootstraps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import (
    alpha_losses,
    ranged,
    rarest_in_each,
    scaled,
    spread_over,
    stray_labels,
)
from quaver.core.records import Level
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.statistic import Statistic, enough_groups


class Part(NamedTuple):
    """One estimate: what is said of it, and the strata over which its alpha is averaged."""

    said: Statistic
    strata: Sequence[int]


def each_alpha(
    cell: Cell, counts: Floats, parts: Sequence[Part], level: Level | None, missing: Missing
) -> Iterator[Statistic]:
    """The mean alpha of each part, from shared resamples.

    Args:
        cell: Whose items these are.
        counts: Label counts, shape (items, strata, labels).
        parts: The estimates wanted. Strata in which alpha is undefined are left out of their means.
        level: Level of measurement; the label set's if left out.
        missing: What an answer without a label counts as.
    """
    level, values = scaled(cell.labels, level, cell.label_set, missing)
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

    differ, losses = model.per_item > 1e-12, alpha_losses(model, level)
    rarest = rarest_in_each(counts, cell.units)
    for column, (part, strata) in enumerate(zip(parts, usable, strict=True)):
        own = list(part.strata)
        lost = len(own) - len(strata)
        partly = (f"alpha is undefined in {lost} of {len(own)} strata",) if lost and strata else ()
        yield replace(
            ranged(part.said, model, strata),
            under=means,
            column=column,
            n=cell.units.touched(np.asarray(model.pairable[:, own].any(1))),
            differing=cell.units.touched(np.asarray(differ[:, own].any(1))),
            reason=next((reasons[s] for s in own if reasons[s]), None),
            warnings=(*part.said.warnings, *partly, *stray_labels(cell, counts[:, own].sum(1))),
            rarest=int(rarest[own].mean()),
            least_rare_groups=enough_groups(cell.units),
            spread=spread_over(losses[strata]),
            details={**part.said.details, "level": level, "strata": len(strata)},
        )
