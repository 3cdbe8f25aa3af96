"""How alike the items of one group are: intraclass correlations, design effects, and whether it is chance.

One-way analysis of variance of item-level values over groups of unequal sizes: with F the ratio of the mean
squares between and within G groups of n items, and m₀ = (n − Σ nᵍ² / n) / (G − 1), the intraclass correlation
is ρ = (F − 1) / (F − 1 + m₀) (Donner 1986, International Statistical Review 54, 67-82). Resampling items
as if they were independent makes the variance of a mean too small by the design effect 1 + (Σ nᵍ² / n − 1)
ρ (Kish 1965, Survey Sampling, section 5.4); Σ nᵍ² / n is the size of the group that an item lies in, on
average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.estimation.bootstrap import Floats
from quaver.estimation.intervals import Interval

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


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Items in groups.

    Attributes:
        order: The items, those of one group next to each other.
        starts: Where in this order each group starts.
        trend: What a straight line and a curve over the groups' numbers explain, shape (items, 0 or 2) with
            orthonormal columns: groups are judged by what is left.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    trend: Floats

    @staticmethod
    def of(groups: NDArray[np.int64], numbers: Floats | None = None) -> Partition:
        """The groups as they are coded, from 0 without gaps."""
        order = np.argsort(groups, kind="stable")
        fresh = np.diff(groups[order], prepend=-1) > 0
        if numbers is None:
            return Partition(order, np.flatnonzero(fresh), np.zeros((groups.size, 0)))
        x = (numbers - numbers.mean()) / (numbers.std() or 1.0)
        basis = np.linalg.qr(np.stack([np.ones(x.size), x, x * x], 1))[0][:, 1:]
        return Partition(order, np.flatnonzero(fresh), basis)

    def mean_squares(self, values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """F of each column, its degrees of freedom between and within, and Σ nᵍ²."""
        known = np.isfinite(values)
        n = known.sum(0)
        centred = np.where(known, values - np.nansum(values, 0) / np.maximum(n, 1), 0.0)
        return self._ratios(centred, known.astype(np.float64))

    def _ratios(self, centred: Floats, known: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        sums = np.add.reduceat(centred[self.order], self.starts)
        sizes = np.add.reduceat(known[self.order], self.starts)
        n, groups = sizes.sum(0), (sizes > 0).sum(0)
        between = (sums**2 / np.maximum(sizes, 1)).sum(0)
        whole = (centred**2).sum(0)
        inside = np.maximum(whole - between, 1e-9 * whole)  # groups that agree throughout have a finite F
        explained = ((self.trend.T @ centred) ** 2).sum(0)
        above, below = groups - 1.0 - self.trend.shape[1], n - groups * 1.0
        usable = (above > 0) & (below > 0) & (inside > 0)
        f = np.full(n.size, np.nan)
        explains = np.maximum(between - explained, 0)[usable] / above[usable]
        f[usable] = explains / (inside[usable] / below[usable])
        return f, above, below, (sizes**2).sum(0)

    def likeness(self, values: Floats, confidence_level: float = 0.95) -> list[Likeness | None]:
        """The intraclass correlation of each quantity; None where it does not exist.

        Four groups of two, of which one differs, so that F = (1.375 / 3) / (0.5 / 4):

        >>> groups = Partition.of(np.array([0, 0, 1, 1, 2, 2, 3, 3]))
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
        centred = centred - self.trend @ (self.trend.T @ centred)
        present = known[:, usable].astype(np.float64)
        rng, top = np.random.default_rng(seed), f[usable].max() - 1e-9
        beyond = 0
        for times in range(1, permutations + 1):
            drawn = rng.permutation(len(values))
            beyond += bool(np.nanmax(self._ratios(centred[drawn], present[drawn])[0]) >= top)
            if beyond == _ENOUGH:
                return beyond / times
        return (1 + beyond) / (1 + permutations)
