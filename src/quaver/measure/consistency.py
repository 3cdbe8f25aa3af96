"""Consistency: how alike a prompt's rewordings treat the items of one class.

Two items of the same true class have the consistency 1 − TVD of their label distributions over the
rewordings. A sum over all pairs needs no pairs: with the items sorted by p(v), Σ_ij |p_i(v) − p_j(v)| is
a sum over the gaps between neighbouring values, each counted once for every pair that it lies between.

Source: Errica, Siracusano, Sanvito & Bifulco (2025), What Did I Do Wrong? Quantifying LLMs' Sensitivity
and Consistency to Prompt Engineering, NAACL 2025, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quaver.measure import Frame
from quaver.measure.bootstrap import Floats, Resampling, bootstrap
from quaver.measure.intervals import Claim, Interval, estimate, undefined
from quaver.measure.means import over_strata
from quaver.measure.sensitivity import PAPER, STRATA, Convention, check_convention, mean_defined, unequal
from quaver.measure.table import Cell, Columns, Missing, cells
from quaver.records import Estimate, LabelSet

__all__ = ["Pairs", "consistency"]


class Pairs:
    """The within-class pairs of one stratum's items, as functions of item weights.

    Args:
        counts: Label counts, shape (items, labels). Items without any do not take part.
        classes: Each item's class, -1 for none.
        self_pairs: Whether an item is paired with itself.
        pooled: Whether all pairs have equal weight, or all classes.
    """

    def __init__(
        self,
        counts: Floats,
        classes: NDArray[np.integer[Any]],
        *,
        self_pairs: bool = False,
        pooled: bool = False,
    ) -> None:
        predictions = counts.sum(1)
        takes_part = (predictions > 0) & (classes >= 0)
        self.shares = counts / np.maximum(predictions, 1)[:, None]
        self.classes = {
            int(code): np.flatnonzero(takes_part & (classes == code))
            for code in np.unique(classes[takes_part])
        }
        self._self_pairs, self._pooled = self_pairs, pooled
        self._sorted = {code: self._sort(items) for code, items in self.classes.items()}

    def _sort(self, items: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
        """For each label: the items in order of p, the last place of each value but the top, the gaps."""
        found = []
        for p in self.shares[items].T:
            order = np.argsort(p, kind="stable")
            ends = np.flatnonzero(np.diff(p[order]) > 0)
            if ends.size:
                found.append((items[order], ends, p[order][ends + 1] - p[order][ends]))
        return found

    def _sums(self, code: int, weights: Floats) -> tuple[Floats, Floats]:
        """Σ of consistencies and number of (ordered) pairs in one class, for each sample."""
        own = weights[:, self.classes[code]]
        total = own.sum(1)
        # Copies of one item in a bootstrap sample are not a pair: they would be consistent by birth.
        pairs = total**2 - (own**2).sum(1) + (total if self._self_pairs else 0)
        distance = np.zeros(len(weights))
        for order, ends, gaps in self._sorted[code]:
            below = np.cumsum(weights[:, order], 1)[:, ends]
            distance += (below * (total[:, None] - below)) @ gaps
        return pairs - distance, pairs

    def by_class(self, weights: Floats) -> Floats:
        """Each class's consistency, shape (samples, classes); NaN where it has no pair."""
        found = [self._sums(code, weights) for code in self.classes]
        columns = [np.where(n > 0, s / np.where(n > 0, n, 1), np.nan) for s, n in found]
        return np.stack(columns, 1) if columns else np.empty((len(weights), 0))

    def overall(self, weights: Floats) -> Floats:
        """Consistency over all classes, shape (samples, 1); NaN where there is no pair."""
        if not self._pooled:
            return over_strata(self.by_class)(weights)
        total, pairs = np.zeros(len(weights)), np.zeros(len(weights))
        for code in self.classes:
            more, n = self._sums(code, weights)
            total, pairs = total + more, pairs + n
        return np.asarray(np.where(pairs > 0, total / np.where(pairs > 0, pairs, 1), np.nan)[:, None])

    def per_item(self) -> Floats:
        """Each item's mean consistency with the others of its class; NaN where there are none."""
        found = np.full(len(self.shares), np.nan)
        for items in self.classes.values():
            size = items.size
            if size + self._self_pairs < 2:
                continue
            distance = np.zeros(size)
            for p in self.shares[items].T:
                order = np.argsort(p, kind="stable")
                below = np.cumsum(p[order]) - p[order]
                place = np.arange(size)
                # Σ_j |p_i − p_j| from the sums below and above the i-th in order.
                distance[order] += p[order] * (2 * place + 1 - size) + p.sum() - p[order] - 2 * below
            found[items] = 1 - distance / 2 / (size - (not self._self_pairs))
        return found

    def matrix(self, code: int) -> Floats:
        """The consistency of every pair of items of a class, shape (items, items), in memory at once."""
        p = self.shares[self.classes[code]]
        distance = np.zeros((len(p), len(p)))
        for column in p.T:
            distance += np.abs(column[:, None] - column)
        return np.asarray(1 - distance / 2)


def consistency(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    convention: Convention = "recommended",
    missing: Missing | None = None,
    self_pairs: bool | None = None,
    pooled: bool | None = None,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Consistency: the mean over pairs of items of one class of 1 − TVD of their label distributions.

    c(x, x') = 1 − ½ Σ_v |p(v | x) − p(v | x')|, with p(v | x) the share of the variants that labelled
    item x with v. The recommended value leaves out pairs of an item with itself (which are 1 by
    definition) and is the mean of the class means; the paper's tables pool all pairs and leave
    self-pairs in. Computed within each repeat (of each model and decoding), and averaged over those.
    Undefined without gold labels, or where no class has two items. The interval resamples items and
    leaves out pairs of copies of one item.

    Args:
        annotations: A row an annotation, with a ``gold`` column; see `quaver.measure.Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        convention: ``"paper"`` is ``missing="category", self_pairs=True, pooled=True``.
        missing: ``"drop"`` (the default) or ``"category"``.
        self_pairs: Whether an item is paired with itself; by default as the convention says.
        pooled: Whether all pairs weigh the same, or all classes; by default as the convention says.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell, the classes' own in ``details["by_class"]``.

    Raises:
        MeasureError: The frame or an option cannot be used.

    Two items of one class, labelled a a and a b: 1 − ½ (½ + ½):

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": [1, 2, 1, 2], "label": list("aaab"),
    ...                       "gold": list("aaaa")})
    >>> consistency(frame)[0].value, consistency(frame, convention="paper")[0].value
    (0.5, 0.75)
    """
    missing = check_convention(convention, missing)
    paper = convention == "paper"
    pairing = {
        "self_pairs": paper if self_pairs is None else self_pairs,
        "pooled": paper if pooled is None else pooled,
    }
    resampling = Resampling(confidence, resamples, seed, interval)
    found = cells(
        annotations,
        raters=("variant",),
        within=STRATA,
        by=by,
        labels=labels,
        columns=columns,
        group=group,
        missing=missing,
        gold=True,
    )
    return unequal([_consistency(cell, resampling, missing, pairing) for cell in found])


def _consistency(cell: Cell, resampling: Resampling, missing: Missing, pairing: dict[str, bool]) -> Estimate:
    units = cell.units
    counts = cell.counts()
    gold = np.full(len(cell.items), -1) if cell.gold is None else cell.gold
    pairs = [Pairs(counts[:, s], gold, **pairing) for s in range(counts.shape[1])]
    claim = _claim(cell, counts, gold, missing, pairing)
    codes = sorted({code for part in pairs for code, items in part.classes.items() if items.size > 1})
    if not codes:
        why = "no gold labels" if not (gold >= 0).any() else "no class with two items"
        return undefined(claim, units, resampling, why if cell.items else "no annotations")

    def statistic(weights: Floats) -> Floats:
        return np.concatenate([part.overall(weights) for part in pairs], 1)

    draws = bootstrap(over_strata(statistic), units, resampling)
    value = float(draws.point[0])
    item = mean_defined(np.stack([part.per_item() for part in pairs], 1))
    q = counts.sum(2)[gold >= 0]
    q = q[q > 0]
    claim = replace(
        claim,
        n=units.touched(np.isfinite(item)),
        spread=lambda share: _spread(value, share),
        details={
            "by_class": _by_class(pairs, cell.labels),
            "sd": float(np.nanstd(item, ddof=1)),
            "labels": len(cell.labels),
            "predictions": (float(q.min()), float(q.max())),
            **pairing,
        },
    )
    return estimate(claim, draws, units, resampling)


def _by_class(pairs: list[Pairs], labels: Sequence[str]) -> dict[str, float]:
    found: dict[int, list[float]] = {}
    for part in pairs:
        ones = np.ones((1, len(part.shares)))
        for code, value in zip(part.classes, part.by_class(ones)[0], strict=True):
            if np.isfinite(value):
                found.setdefault(code, []).append(float(value))
    return {labels[code]: float(np.mean(values)) for code, values in sorted(found.items())}


def _claim(
    cell: Cell, counts: Floats, gold: NDArray[np.integer[Any]], missing: Missing, pairing: dict[str, bool]
) -> Claim:
    excluded = dict(cell.counted) if missing == "drop" else {}
    if lost := int((gold < 0).sum()):
        excluded["item without gold"] = lost
    own = "in" if pairing["self_pairs"] else "out"
    mean = "mean over all pairs" if pairing["pooled"] else "mean of the class means"
    treated = "no answer is a label" if missing == "category" else "no answer is left out"
    method = f"1 − total variation distance of items of one class, {mean}, self-pairs {own} ({treated})"
    return Claim(
        "consistency", method, PAPER, cell=cell.where, excluded=excluded, n=cell.units.touched(gold >= 0)
    )


def _spread(value: float, share: float) -> Interval:
    # A pair is touched where either of its items is.
    pairs = 1 - (1 - share) ** 2
    return Interval(value * (1 - pairs), value + pairs * (1 - value))
