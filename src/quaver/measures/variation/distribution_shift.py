"""How far the labels' distribution moves between conditions, beside what chance would move it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from quaver.core.records import Estimate
from quaver.core.rows import Presentation
from quaver.core.seeds import derive
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats, Units, Weighted
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.grouped_items import (
    above_floors,
    affordable,
    by_unit,
    level_deviations,
    of_random_conditions,
    p_above,
    with_random_signs,
)
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.multiple_testing import adjusted
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

Distance = Callable[[Floats, Floats], Floats]

_ENTRIES = 2**15
"""Shares at a time, so that they stay in the processor's cache."""

_LEAST = float(np.finfo(np.float64).tiny)

_LIN = "Lin (1991), IEEE Trans. Information Theory 37, 145-151, equation 4.1"


def total_variation(p: Floats, q: Floats) -> Floats:
    """Total variation distance of two distributions: ½ Σ |p − q| along the last axis; 0 to 1.

    >>> float(total_variation(np.array([0.5, 0.5]), np.array([0.75, 0.25])))
    0.25
    """
    return np.asarray(np.abs(p - q) @ np.full(p.shape[-1], 0.5))


def jensen_shannon(p: Floats, q: Floats) -> Floats:
    """Jensen-Shannon divergence in bits: H((p + q)/2) − (H(p) + H(q))/2 along the last axis; 0 to 1.

    >>> float(jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])))
    1.0
    """

    def entropy(share: Floats) -> Floats:
        each = np.maximum(share, _LEAST)  # 0 · log 0 is 0
        np.log2(each, out=each)
        each *= share
        return -np.asarray(each @ np.ones(share.shape[-1]))

    return np.asarray(np.maximum(entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2, 0.0))


_DISTANCES: dict[str, tuple[Distance, str, str]] = {
    "tv": (total_variation, "total variation distance", ""),
    "js": (jensen_shannon, "Jensen-Shannon divergence in bits", _LIN),
}


@measure(
    section="factors",
    compares=("variant", "text"),
    missing=("drop", "category"),
    source="Lin (1991), IEEE Trans. Information Theory 37, 145-151, equation 4.1 (Jensen-Shannon)",
    parts={"_tv": Presentation(better="lower"), "_js": Presentation(better="lower")},
    of_classes=True,
)
def distribution_shift(
    data: MeasureInput,
    *,
    between: str | Sequence[str] = "variant",
    reference: str | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """How far each condition's label distribution is from a reference's, or from all others' together.

    ``distribution_shift_tv`` is the total variation distance, ``distribution_shift_js`` the Jensen-Shannon
    divergence (bits) of the shares of labels. Both are above 0 by noise alone: in ``details``, ``floor`` and
    ``floor_high`` are their mean and upper quantile when the two sides of a comparison are exchanged at
    random, item by item or group by group (as many times as there are resamples, less often where the data
    are large), and ``p`` is of that test. It rests on the two sides alone, so that another condition's noise
    has no part in it. Without a reference, ``p`` is no smaller than that of a second test, which exchanges
    the conditions at random: the first finds too much where one condition lacks a rare label in every group,
    the second where one condition is noisier than the others, and what both find is there. ``p_holm`` is
    adjusted for the cell's comparisons; ``shares`` and ``reference_shares`` are the distributions. Undefined
    where there are fewer than two conditions with labels. The interval is of the true distance: its lower
    end is no nearer than noise may have lifted the value, and 0 where ``p`` does not reject that there is
    none.

    Args:
        between: The column (or columns) whose values are the conditions.
        reference: The condition to compare the others with: its columns' values, joined by ``" | "``.
        missing: ``"drop"``: shares of the answers with a label; ``"category"``: of all answers.

    Returns:
        Two estimates for each cell and condition (but the reference); the cell holds the condition.

    Raises:
        UnknownColumn: The reference does not occur.

    Shares of a: 3/4 and 1/4, half apart:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4] * 2, "variant": ["v"] * 4 + ["w"] * 4,
    ...                       "label": list("aaab" "abbb")})
    >>> distribution_shift(frame, reference="w")[0].value
    0.5
    """
    conditions = (between,) if isinstance(between, str) else tuple(between)
    raters = [role for role in ASKING if role not in conditions]
    for cell in data.cells(raters=raters, within=conditions, missing=missing):
        statistic = Statistic(
            method="distance of label distributions",
            source="",
            excluded={} if missing == "category" else cell.counted,
            n=0,
        )
        yield from _shifts(statistic, cell, reference)


def _shifts(found: Statistic, cell: Cell, reference: str | None) -> Iterator[Estimate]:
    names = [" | ".join(where.values()) for where in cell.strata]
    if reference is not None and names and reference not in names:
        raise UnknownColumn(reference, names, where="reference")
    counts = cell.counts()
    present = counts.sum(2) > 0
    kept = np.flatnonzero(present.any(0))
    against = names.index(reference) if reference is not None and names else None
    if kept.size < 2 or (against is not None and against not in kept):
        why = "no annotations" if not cell.items else "fewer than two conditions with labels"
        if cell.items and not kept.size:
            why = "no answer has a label"
        for kind in _DISTANCES:
            yield cell.estimated(replace(found, part=f"_{kind}", reason=why))
        return
    counts, present = counts[:, kept], present[:, kept]
    place = None if against is None else int(np.flatnonzero(kept == against)[0])
    found = replace(found, n=cell.units.touched(np.asarray(present.any(1))))
    compared = [index for index in range(kept.size) if index != place]
    where = [cell.strata[kept[index]] for index in compared]
    shift = _Shift(counts, place, compared, cell)
    chance = shift.by_chance()
    for kind, (_, name, source) in _DISTANCES.items():
        one = replace(found, part=f"_{kind}", method=name, source=source)
        statistics = _statistics(one, shift, chance[kind], kind, where)
        yield from adjusted([cell.estimated(statistic) for statistic in statistics])


def _normalised(totals: Floats) -> Floats:
    """Shares along the last axis; NaN where there is nothing to share."""
    whole = totals @ np.ones(totals.shape[-1])
    return np.asarray(totals / np.where(whole > 0, whole, np.nan)[..., None])


_Sides = tuple[Floats, Floats]
"""Label shares of conditions, and of what they are compared with."""


class _Shift:
    """Each condition's label shares and those of what it is compared with: how far they are apart."""

    def __init__(self, counts: Floats, reference: int | None, compared: Sequence[int], cell: Cell) -> None:
        self.cell, self._counts = cell, counts
        self._reference, self._compared = reference, list(compared)
        both = np.stack(self._pair(counts), 1)
        each = [level_deviations(pair, pair.sum(-1, keepdims=True)) for pair in np.moveaxis(both, 2, 0)]
        self._parts = np.stack([one[:, 0] - one[:, 1] for one in each], 1)
        self.plain = self._shares(counts.sum(0))

    @property
    def two_sided(self) -> bool:
        """Whether two conditions are compared with each other, so that both distances are one test."""
        return self._reference is None and len(self._compared) == 2

    def _pair(self, totals: Floats) -> tuple[Floats, Floats]:
        """What is counted in each condition that is compared, and in what it is compared with."""
        if self._reference is None:
            other = totals.sum(-2, keepdims=True) - totals
        else:
            other = np.broadcast_to(totals[..., [self._reference], :], totals.shape)
        return totals[..., self._compared, :], other[..., self._compared, :]

    def _shares(self, totals: Floats) -> _Sides:
        """Shares of the labels in each condition, and in what it is compared with."""
        one, two = self._pair(totals)
        return _normalised(one), _normalised(two)

    def under(self, distance: Distance) -> Weighted:
        """The distances of all conditions as a function of item weights."""
        items, *shape = self._counts.shape

        def distances(weights: Floats) -> Floats:
            totals = (weights @ self._counts.reshape(items, -1)).reshape(len(weights), *shape)
            one, two = self._shares(totals)
            known = np.isfinite(one).all(-1) & np.isfinite(two).all(-1)
            values = distance(np.nan_to_num(one), np.nan_to_num(two))
            return np.asarray(np.where(known, values, np.nan))

        return distances

    def by_chance(self) -> dict[str, _Chance]:
        """The distances that chance gives, by kind."""
        resampling, units, parts = self.cell.resampling, self.cell.units, self._parts
        draws, seed = affordable(resampling.resamples, units.count), derive(resampling.seed, "signs")
        sums = by_unit(parts.reshape(len(parts), -1), units).reshape(-1, *parts.shape[1:])
        single = Units(len(sums))
        signed, apart = (
            self._apart(with_random_signs(each, single, draws, seed)) for each in (sums, sums - sums.mean(0))
        )
        exchanged: dict[str, Floats] = {}
        if not self.two_sided and self._reference is None:  # of two, exchanging them is turning the sign
            seed = derive(resampling.seed, "conditions")
            exchanged = self._apart(of_random_conditions(parts, units, draws, seed)[:, None])
        return {kind: _Chance(signed[kind], apart[kind], exchanged.get(kind)) for kind in _DISTANCES}

    def _apart(self, gaps: Floats) -> dict[str, Floats]:
        """The distances if the shares were apart by these gaps, around the mean of both sides."""
        size = max(1, _ENTRIES // max(1, self._parts[0].size))
        found: dict[str, list[Floats]] = {kind: [] for kind in _DISTANCES}
        for start in range(0, len(gaps), size):
            half = gaps[start : start + size] / 2
            middle = np.maximum((self.plain[0] + self.plain[1]) / 2, np.abs(half))  # no share is below 0
            sides = _normalised(middle + half), _normalised(middle - half)
            for kind, (distance, *_) in _DISTANCES.items():
                found[kind].append(distance(*sides))
        none = np.empty((0, len(self._compared)))
        return {kind: np.concatenate([none, *some]) for kind, some in found.items()}


class _Chance(NamedTuple):
    """How far noise alone takes conditions apart, a column each.

    Attributes:
        floor: Where the two sides are exchanged at random, unit by unit.
        noise: Where each unit's deviation from the mean gets a random sign: beside a gap that there is.
        exchanged: Where another condition, at random, is the one in each unit; None of a pair.
    """

    floor: Floats
    noise: Floats
    exchanged: Floats | None


def _statistics(
    statistic: Statistic, shift: _Shift, chance: _Chance, kind: str, where: Sequence[dict[str, str]]
) -> Iterator[Statistic]:
    under, cell = shift.under(_DISTANCES[kind][0]), shift.cell
    values, level = cell.draws(under).point, cell.resampling.confidence_level
    stands = above_floors(values, chance.floor, level)
    by_conditions = None if chance.exchanged is None else p_above(values, chance.exchanged)
    own, other = shift.plain
    for column, condition in enumerate(where):
        known, value, reach = stands[column], float(values[column]), None
        if known:
            if by_conditions is not None:
                known["p"] = max(known["p"], float(by_conditions[column]))
            reach = float(np.quantile(chance.noise[:, column], (1 + level) / 2))
            if kind == "js":  # its root is a distance
                reach = value - max(0.0, value**0.5 - reach**0.5) ** 2
            reach = np.inf if known["p"] >= 1 - level else reach  # it holds what its test does not reject
        yield replace(
            statistic,
            under=under,
            column=column,
            where=condition,
            details={
                **known,
                **({"hypothesis": "the same distribution"} if shift.two_sided else {}),
                "shares": dict(zip(cell.labels, own[column].tolist(), strict=True)),
                "reference_shares": dict(zip(cell.labels, other[column].tolist(), strict=True)),
            },
            ends=(0.0, 1.0),
            reach=reach,
        )
