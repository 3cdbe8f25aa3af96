"""Groups of items whose outcomes go together, and the noise of answers asked again.

One-way analysis of variance of item-level values over groups of unequal sizes: with F the ratio of the mean
squares between and within G groups of n items, and m₀ = (n − Σ nᵍ² / n) / (G − 1), the intraclass correlation
is ρ = (F − 1) / (F − 1 + m₀) (Donner 1986, International Statistical Review 54, 67-82). Resampling items
as if they were independent makes the variance of a mean too small by the design effect 1 + (Σ nᵍ² / n − 1)
ρ (Kish 1965, Survey Sampling, section 5.4); Σ nᵍ² / n is the size of the group that an item lies in, on
average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from quaver.errors import MeasureError
from quaver.estimation.coded_columns import UnknownColumn
from quaver.estimation.intervals import Interval
from quaver.estimation.jackknife import Floats, Units, one_thread


@dataclass(frozen=True, slots=True)
class ItemGroups:
    """Which group each item is in.

    Attributes:
        name: The groups' column; None where items are resampled.
        of: The group of each item that has one, both as text.
    """

    name: str | None = None
    of: Mapping[str, str] = field(default_factory=dict)

    def units(self, items: Sequence[str]) -> Units:
        """What is resampled of these items; an item without a group is its own.

        >>> ItemGroups("author", {"i": "x", "k": "x"}).units(["i", "j", "k"]).clusters.tolist()
        [0, 1, 0]
        """
        if self.name is None:
            return Units(len(items))
        keys = [(True, self.of[item]) if item in self.of else (False, item) for item in items]
        place = {key: index for index, key in enumerate(dict.fromkeys(keys))}
        return Units(len(items), np.array([place[key] for key in keys], np.int64), self.name)


def item_groups(frame: pl.DataFrame, group: str | None) -> ItemGroups:
    """The groups of a frame's items."""
    if group is None:
        return ItemGroups()
    if group not in frame.columns:
        raise UnknownColumn(group, frame.columns, where="group")
    pairs = frame.select(item=pl.col("item").cast(pl.String), group=pl.col(group).cast(pl.String))
    pairs = pairs.drop_nulls().unique()
    if (twice := pairs.filter(pl.col("item").is_duplicated())).height:
        raise MeasureError(
            f"an item with two values of group {group!r}",
            where="annotations",
            expected="one value in all rows of an item",
            found=f"item {sorted(twice['item'].to_list())[0]}",
        )
    return ItemGroups(group, dict(pairs.iter_rows()))


def tabulated(frame: pl.DataFrame, weight: str | None = None, /, **levels: Sequence[str]) -> Floats:
    """How many rows have each combination of the levels of some columns, an axis a column.

    Rows with other values do not count. With a ``weight``, it is the sum of that column over them.
    """
    known = frame.filter(pl.col(name).is_in(list(names)) for name, names in levels.items())
    number = pl.len() if weight is None else pl.col(weight).sum()
    table = known.group_by(*levels).agg(number.alias(""))
    counts = np.zeros([len(names) for names in levels.values()])
    places = tuple(
        table[name].cast(pl.Enum(list(names))).to_physical().to_numpy() for name, names in levels.items()
    )
    counts[places] = table[""].to_numpy()
    return counts


_NUMBERS = 2**24
"""Random numbers that a floor may cost (a few seconds): large data need fewer draws for the same digits."""

_BLOCK = 2**22


def affordable(draws: int, size: int) -> int:
    """How many of the wanted draws are made, where each costs ``size`` random numbers; never below 99.

    >>> affordable(1000, 50), affordable(1000, 125_000), affordable(0, 50)
    (1000, 134, 0)
    """
    return min(draws, max(99, _NUMBERS // max(1, size)))


def above_floor(value: float, draws: Floats, confidence_level: float) -> dict[str, Any]:
    """Where a value stands among what noise alone gives.

    Returns:
        ``floor`` (the mean of the draws), ``floor_high`` (their upper quantile at ``confidence_level``),
        ``p`` = (1 + draws above the value + half of those equal to it) / (1 + draws) (Phipson & Smyth 2010,
        Statistical Applications in Genetics and Molecular Biology 9, 39; the mid-p value, Lancaster 1961,
        Journal of the ASA 56, 223-234, for the ties that a few differing units leave), 1 for a value of 0;
        and ``floor_draws``. Nothing without draws.

    >>> above_floor(0.3, np.array([0.1, 0.2, 0.3]), 0.5)
    {'floor': 0.2, 'floor_high': 0.2, 'p': 0.375, 'floor_draws': 3}
    """
    if not draws.size:
        return {}
    high, p = float(np.quantile(draws, confidence_level)), p_above(np.array([value]), draws.reshape(-1, 1))
    floor = round(float(draws.mean()), 15)
    return {"floor": floor, "floor_high": high, "p": float(p[0]), "floor_draws": len(draws)}


def p_above(values: Floats, draws: Floats) -> Floats:
    """The ``p`` of `above_floor`, of several values and draws with a column for each."""
    above = np.count_nonzero(draws > values + 1e-12, 0)
    equal = np.count_nonzero(np.abs(draws - values) <= 1e-12, 0)
    return np.where(values > 1e-12, (1 + above + equal / 2) / (1 + len(draws)), 1.0)


def level_deviations(above: Floats, below: Floats) -> Floats:
    """What each item adds to how far each level's share is from that of all levels together.

    With the shares p_l = Σ above / Σ below over the items and p that of all levels, the deviations are
    (above − p · below) / Σ below: over the items they sum to p_l − p.

    >>> right = np.array([[1.0, 0.0], [1.0, 1.0]])[..., None]
    >>> level_deviations(right, np.ones((2, 2, 1))).sum(0)[:, 0].tolist()  # 1 and 1/2, of 3/4
    [0.25, -0.25]
    """
    whole = below.sum(0)
    pooled = above.sum((0, 1)) / whole.sum(0)
    return np.asarray((above - pooled * below) / whole)


def by_unit(values: Floats, units: Units) -> Floats:
    """Sums over the items of each unit, from shape (items, numbers).

    >>> by_unit(np.array([[1.0], [2.0], [4.0]]), Units(3, np.array([0, 1, 0]))).tolist()
    [[5.0], [2.0]]
    """
    if units.clusters is None:
        return values
    sums = np.zeros((units.count, values.shape[1]))
    np.add.at(sums, units.clusters, values)
    return sums


@one_thread()
def with_random_signs(deviations: Floats, units: Units, draws: int, seed: int) -> Floats:
    """Sums of deviations over units, each unit's with a sign at random: what differences look like by chance.

    Were there no difference, a unit's deviation might as well have gone the other way: the sign-flip test of
    paired differences (Fisher 1935, The Design of Experiments, section 21), exact where each unit's answers
    could have been exchanged between two conditions. The draws have the deviations' own covariance (wild
    bootstrap: Liu 1988, Annals of Statistics 16, 1696-1708), so they hold for large samples where one
    condition is noisier than another too, as permutations over all conditions do not. The items of a group
    have one sign together. ``benchmarks/sign_flips.py`` simulates how often the test errs.

    Returns:
        Shape (draws, …).

    >>> with_random_signs(np.array([[1.0], [1.0]]), Units(2), 4, 0)[:, 0].tolist()
    [0.0, 2.0, 2.0, 0.0]
    """
    flat = by_unit(deviations.reshape(len(deviations), -1), units)
    rng, found = np.random.default_rng(seed), np.empty((draws, flat.shape[1]))
    block = max(1, _BLOCK // max(1, len(flat)))
    for start in range(0, draws, block):
        signs = rng.integers(0, 2, (min(block, draws - start), len(flat)), dtype=np.int8)
        found[start : start + len(signs)] = (2.0 * signs - 1) @ flat
    return found.reshape(draws, *deviations.shape[1:])


@one_thread()
def of_random_conditions(deviations: Floats, units: Units, draws: int, seed: int) -> Floats:
    """Sums of deviations over units, each unit's taken from a condition at random.

    Were all conditions alike, any of them might have been the one that is held against the others, in each
    unit anew (Fisher 1935, The Design of Experiments, section 21). This keeps the deviations' skewness, which
    random signs lose: a condition that never gives a rare label lies a little below the mean of the others
    in every unit, so that no exchange of its two sides looks like it, but an exchange of conditions does.

    Returns:
        Shape (draws, numbers).

    >>> found = of_random_conditions(np.array([[[2.0], [-1.0], [-1.0]]]), Units(1), 50, 0)
    >>> sorted(set(found[:, 0].tolist()))
    [-1.0, 2.0]
    """
    items, conditions, numbers = deviations.shape
    flat = by_unit(deviations.reshape(items, -1), units).reshape(-1, conditions, numbers)
    flat = flat - flat.mean(1, keepdims=True)  # conditions of unequal size do not average to zero
    flat = flat[(np.abs(flat) > 1e-12).any((1, 2))]
    rng, result, rows = np.random.default_rng(seed), np.zeros((draws, numbers)), np.arange(len(flat))
    block = max(1, _BLOCK // max(1, len(flat) * numbers))
    for start in range(0, draws, block):
        chosen = rng.integers(0, conditions, (min(block, draws - start), len(flat)))
        result[start : start + len(chosen)] = flat[rows, chosen].sum(1)
    return result


_PERMUTED = 5000
"""Of more items, F's own distribution is exact enough."""

_ENOUGH = 50
"""So many permutations beyond the data's F are enough (Besag & Clifford 1991, Biometrika 78, 301-304)."""

_LOOKED_AT = 0.3
"""Where the F tests alone say more than this, nothing is permuted."""


def agreement_of_sums(n: Floats, raters: Floats, items: Floats, squares: Floats) -> Floats:
    """ICC(A,1) of k numbers an item, from sums: absolute agreement of single raters, drawn at random.

    With the mean squares of items, raters and error of a two-way analysis of variance, it is
    (MS_i − MS_e) / (MS_i + (k − 1) MS_e + k (MS_r − MS_e) / n), which is Shrout & Fleiss' ICC(2,1). Source:
    McGraw & Wong (1996), Psychological Methods 1, 30-46.

    Args:
        n: How many items, shape (samples,).
        raters: The sum of each rater's numbers, shape (samples, raters).
        items: The sum over items of the square of the sum of an item's numbers.
        squares: The sum of the squares of all numbers.

    Returns:
        One for each sample; NaN where nothing varies.

    Two raters of three items, one of whom is always 1 higher: 1, 2, 3 and 2, 3, 4:

    >>> one = agreement_of_sums(np.array([3.0]), np.array([[6.0, 9.0]]), np.array([83.0]), np.array([43.0]))
    >>> one.round(4).tolist()
    [0.6667]
    """
    k = raters.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = raters.sum(-1) ** 2 / (n * k)
        of_items, of_raters = items / k - mean, (raters**2).sum(-1) / n - mean
        within = np.maximum(squares - mean - of_items - of_raters, 0.0)
        among, between = of_items / (n - 1), of_raters / (k - 1)
        error = within / ((n - 1) * (k - 1))
        below = among + (k - 1) * error + k * (between - error) / n
        return np.asarray(np.where(below > 1e-12 * squares, (among - error) / below, np.nan))


class Likeness(NamedTuple):
    """How alike the items of one group are in one quantity.

    Attributes:
        correlation: The intraclass correlation ρ; below 0 where items of one group differ more than others.
        interval: Of ρ, from the F distribution.
        effect: The design effect, at least 1.
        f: The ratio of the mean squares.
        p: Of the F test that ρ is 0.
        items: How many items have a value.
        groups: How many groups they are in.
    """

    correlation: float
    interval: Interval
    effect: float
    f: float
    p: float
    items: int
    groups: int


class Partition:
    """Items in groups.

    Args:
        groups: The group of each item, from 0 without gaps.
        numbers: The number that each item's group stands for: groups are then judged by what no straight
            line and no curve over these explains.
    """

    def __init__(self, groups: NDArray[np.int64], numbers: Floats | None = None) -> None:
        self._order = np.argsort(groups, kind="stable")
        self._starts = np.flatnonzero(np.diff(groups[self._order], prepend=-1))
        self._trend = np.zeros((groups.size, 0))  # orthonormal columns
        if numbers is not None:
            x = (numbers - numbers.mean()) / (numbers.std() or 1.0)
            self._trend = np.linalg.qr(np.stack([np.ones(x.size), x, x * x], 1))[0][:, 1:]

    def mean_squares(self, values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """F of each column, its degrees of freedom between and within, and Σ nᵍ²."""
        known = np.isfinite(values)
        n = known.sum(0)
        centred = np.where(known, values - np.nansum(values, 0) / np.maximum(n, 1), 0.0)
        return self._ratios(centred, known.astype(np.float64))

    def _ratios(self, centred: Floats, known: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        sums = np.add.reduceat(centred[self._order], self._starts)
        sizes = np.add.reduceat(known[self._order], self._starts)
        n, groups = sizes.sum(0), (sizes > 0).sum(0)
        between = (sums**2 / np.maximum(sizes, 1)).sum(0)
        whole = (centred**2).sum(0)
        inside = np.maximum(whole - between, 1e-9 * whole)  # groups that agree throughout have a finite F
        explained = ((self._trend.T @ centred) ** 2).sum(0)
        above, below = groups - 1.0 - self._trend.shape[1], n - groups * 1.0
        usable = (above > 0) & (below > 0) & (inside > 0)
        f = np.full(n.size, np.nan)
        explains = np.maximum(between - explained, 0)[usable] / above[usable]
        f[usable] = explains / (inside[usable] / below[usable])
        return f, above, below, (sizes**2).sum(0)

    def likeness(self, values: Floats, confidence_level: float = 0.95) -> list[Likeness | None]:
        """The intraclass correlation of each quantity; None where it does not exist.

        Four groups of two, of which one differs, so that F = (1.375 / 3) / (0.5 / 4):

        >>> groups = Partition(np.array([0, 0, 1, 1, 2, 2, 3, 3]))
        >>> found = groups.likeness(np.array([[1.0], [1], [0], [0], [1], [1], [0], [1]]))[0]
        >>> round(found.f, 3), round(found.correlation, 3), round(found.effect, 3)
        (3.667, 0.571, 1.571)
        """
        n = np.isfinite(values).sum(0)
        likeness: list[Likeness | None] = []
        for f, above, below, squares, items in zip(*self.mean_squares(values), n, strict=True):
            if not np.isfinite(f):
                likeness.append(None)
                continue
            mean = squares / items
            size = (items - mean) / (items - below - 1)
            tail = (1 - confidence_level) / 2
            with np.errstate(divide="ignore"):  # a quantile may round to 0: the end is then 1
                ends = f / scipy.special.fdtri(above, below, np.array([1 - tail, tail]))
            rho, low, high = (1.0 if np.isinf(g) else (g - 1) / (g - 1 + size) for g in (f, *ends))
            effect = max(1.0, 1 + (mean - 1) * rho)
            p = float(scipy.special.fdtrc(above, below, f))
            counts = int(items), int(items - below)
            interval = Interval(float(low), float(high))
            likeness.append(Likeness(float(rho), interval, float(effect), float(f), p, *counts))
        return likeness

    def p(self, values: Floats, seed: int, permutations: int = 999) -> float:
        """Whether any quantity differs between groups more than by chance.

        The largest F, held against its distribution where items are shuffled over the groups, all quantities
        of an item together; where the F tests see nothing, or there are thousands of items, their smallest p
        times their number.
        """
        f, above, below, _ = self.mean_squares(values)
        usable = np.isfinite(f)
        if not usable.any():
            return 1.0
        tests = scipy.special.fdtrc(above[usable], below[usable], f[usable])
        least = min(1.0, float(tests.min()) * int(usable.sum()))
        if least > _LOOKED_AT or len(values) > _PERMUTED:
            return least
        known = np.isfinite(values)
        centred = np.where(known, values - np.nanmean(values, 0), 0.0)[:, usable]
        centred = centred - self._trend @ (self._trend.T @ centred)
        present = known[:, usable].astype(np.float64)
        rng, top = np.random.default_rng(seed), f[usable].max() - 1e-9
        beyond = 0
        for times in range(1, permutations + 1):
            drawn = rng.permutation(len(values))
            beyond += bool(np.nanmax(self._ratios(centred[drawn], present[drawn])[0]) >= top)
            if beyond == _ENOUGH:
                return beyond / times
        return (1 + beyond) / (1 + permutations)
