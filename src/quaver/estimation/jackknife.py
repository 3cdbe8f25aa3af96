"""The jackknife, shared by every measure: item weights with a unit left out, and a statistic of them.

A sample without a unit is a row of weights, so that a statistic over hundreds of samples is a matrix
product and not hundreds of passes over the data. Which units are left out together depends on their name
and number alone: measures and cells with the same items leave out the same ones, which is what makes
their differences paired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from quaver.core.seeds import derive
from quaver.errors import MeasureError


@cache
def _pools() -> ThreadpoolController:
    """The BLAS libraries that are loaded when the first product is near: NumPy's."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Have BLAS use one thread; as many as before afterwards. Also a decorator: ``@one_thread()``."""
    with _pools().limit(limits=1, user_api="blas"):
        yield


Floats = NDArray[np.float64]

Weighted = Callable[[Floats], Floats]
"""Item weights, shape (samples, items) -> values, shape (samples, statistics); NaN where undefined."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """The statistic Σ w·numerator / Σ w·denominator, column by column; NaN where nothing is below.

    A mean over units, in which how far each is from the rest can be seen: its interval needs no more units
    than a share's (`statistic.FEW_OF_A_MEAN`).

    Attributes:
        numerator: Shape (items, numbers).
        denominator: The same, or (items, 1).
    """

    numerator: Floats
    denominator: Floats

    def __call__(self, weights: Floats) -> Floats:
        """The numbers in each sample."""
        below = weights @ self.denominator
        return np.where(below > 0, (weights @ self.numerator) / np.where(below > 0, below, 1), np.nan)

    def below(self, column: int) -> int:
        """Which column of the denominator is a number's."""
        return column if self.denominator.shape[1] > 1 else 0

    def of_items(self, column: int) -> Floats:
        """Each item's own number; NaN where it has none."""
        below = self.denominator[:, self.below(column)]
        above = self.numerator[:, column]
        return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)


_LEFT_OUT = 2**20
"""With units left out, so many (8 MiB): larger arrays are taken from the system anew each time.

It is zeroed then, which takes longer than the sums that are made of it.
"""

ALIKE = 0.25
"""The correlation that the items of a group are taken to have, where their own is not known well enough."""

FEW, _MANY_GROUPS = 5, 15
"""With fewer units that make its error, the interval of a number that is no mean is a rough one: of twice as
many groups, where there are fewer than fifteen, which hardly show how groups differ."""

_LEAST_FREEDOM = 2.0
"""The degrees of freedom of a variance over three groups or more, however unequal these are."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made.

    Attributes:
        confidence_level: Nominal level, between 0 and 1.
        resamples: Random draws, where a p value or an interval needs them; 0 for no interval.
        seed: Root seed of these.
        groups: The jackknife leaves out at most this many units, or random groups of units, in turn.

    Raises:
        MeasureError: A number is outside its range.
    """

    confidence_level: float = 0.95
    resamples: int = 1000
    seed: int = 0
    groups: int = 400

    def __post_init__(self) -> None:
        level, resamples = self.confidence_level, self.resamples
        share = isinstance(level, Real) and 0 < level < 1
        for name, fits, what, expected in (
            ("confidence_level", share, "not a level of confidence", "a number between 0 and 1, as 0.95"),
            ("resamples", _is_whole(resamples) and resamples >= 0, "not a number of resamples", "0 or more"),
            ("seed", _is_whole(self.seed), "not a seed", "a whole number"),
        ):
            if not fits:
                raise MeasureError(what, where=name, expected=expected, found=repr(getattr(self, name)))

    @property
    def tail(self) -> float:
        """What lies outside the interval on each side."""
        return (1 - self.confidence_level) / 2


def _is_whole(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What is resampled: items, or groups of items.

    Attributes:
        items: How many items there are.
        clusters: The group of each item, from 0 without gaps; None where items are the units.
        name: ``"item"`` or the group's column.
    """

    items: int
    clusters: NDArray[np.int64] | None = None
    name: str = "item"

    @property
    def count(self) -> int:
        """How many units there are."""
        return self.items if self.clusters is None else int(self.clusters.max(initial=-1)) + 1

    @property
    def independent(self) -> float:
        """How many independent items they are worth; as many as there are where items are the units.

        The items of a group are worth more than one and less than as many: they are taken to be correlated by
        0.25, for use where their variance cannot say. With m = Σ n_g² / n the size of the group that an item
        lies in, on average, n items are worth n / (1 + 0.25 (m − 1)) (Kish 1965, Survey Sampling, 5.4).

        >>> round(Units(12, np.repeat([0, 1, 2], [10, 1, 1])).independent, 3)  # m = 8.5
        4.174
        """
        if self.clusters is None or not self.items:
            return float(self.items)
        size = float((np.bincount(self.clusters) ** 2).sum()) / self.items
        return self.items / (1 + (size - 1) * ALIKE)

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the jackknife's variance: the units less one, and fewer if groups differ.

        A large group has much leverage: where half of the items are in one group, the variance has hardly
        more than one degree, however many other groups there are. With v_g = n_g (1 + 0.25 (n_g − 1)), what
        group g adds to the variance if all items vary alike and those of a group are correlated by 0.25,
        times the 1 − n_g / n that it leaves of itself, the groups count as (Σ v_g)² / Σ v_g². The degrees of
        freedom are one less; Satterthwaite's are within a tenth of that. Below 2 they are taken for 2.
        Groups of one size have one less than there are.

        Sources: Bell & McCaffrey (2002), Survey Methodology 28, 169-181; Carter, Schnepel & Steigerwald
        (2017), Review of Economics and Statistics 99, 698-709; Pustejovsky & Tipton (2018), Journal of
        Business & Economic Statistics 36, 672-683.

        >>> sizes = np.linspace(2, 62, 8).round().astype(int)
        >>> units = Units(int(sizes.sum()), np.repeat(np.arange(8), sizes))
        >>> round(units.freedom, 2), Units(80, np.arange(80) // 10).freedom
        (3.66, 7.0)
        """
        most = self.count - 1.0
        if self.clusters is None or most < 2:
            return most
        sizes = np.bincount(self.clusters)
        if np.ptp(sizes) == 0:
            return most
        varying = sizes * (1 + (sizes - 1) * ALIKE) * (1 - sizes / self.items)
        alike = float(varying.sum() ** 2 / (varying**2).sum())
        return min(most, max(alike - 1, _LEAST_FREEDOM))

    @property
    def enough(self) -> int:
        """How many units must make the error of a number, or hold the labels that it rests on."""
        return FEW if self.clusters is None or self.freedom + 1 >= _MANY_GROUPS else 2 * FEW

    def touched(self, items: NDArray[np.bool_] | np.bool_) -> int:
        """How many units hold at least one of the items marked."""
        if self.clusters is None:
            return int(items.sum())
        return int(np.unique(self.clusters[items]).size)

    def same_as(self, other: Units) -> bool:
        """Whether others are the same items in the same groups."""
        if (self.items, self.name) != (other.items, other.name):
            return False
        if self.clusters is None or other.clusters is None:
            return self.clusters is other.clusters
        return bool(np.array_equal(self.clusters, other.clusters))

    def without_one(self, groups: int = 400) -> Iterator[Floats]:
        """Item weights with one unit left out, for each unit; of many units, with one random group of them.

        The groups are the same for all statistics of as many units, so that values can be compared in pairs.
        """
        group = _groups_left_out(self.count, self.name, groups)
        if self.clusters is not None:
            group = group[self.clusters]
        count = int(group.max(initial=-1)) + 1
        block = max(1, _LEFT_OUT // max(1, self.items, self.count))
        for start in range(0, count, block):
            left_out = np.arange(start, min(start + block, count))
            yield (group != left_out[:, None]).astype(np.float64)


@lru_cache(maxsize=8)
def _groups_left_out(units: int, name: str, most: int) -> NDArray[np.int64]:
    """Which units are left out together: each by itself, or at most so many random groups."""
    size = max(1, -(-units // most))
    groups = -(-units // size)
    order = np.arange(units)
    if size > 1:
        order = np.random.default_rng(derive(0, "jackknife", name)).permutation(order)
    group = np.empty(units, np.int64)
    group[order] = np.arange(units) * groups // max(units, 1)
    return group


@dataclass(frozen=True, eq=False)
class Jackknife:
    """A number, and its values with each unit left out.

    Attributes:
        point: The number.
        left: Its values with one unit (of many units, one group of them) left out; NaN where undefined.
        units: What was left out, whose degrees of freedom the variance has at most.
    """

    point: float
    left: Floats
    units: Units

    @cached_property
    def variance(self) -> float:
        """The jackknife variance: Σ wⱼ (t₋ⱼ − mean)², wⱼ = 1 − nⱼ / n, and the mean by w.

        Units of one size, m of them, have w = (m − 1) / m, the usual one. Where groups differ in size, the
        usual one is too large: without a large group, the rest moves more than it should. The weights make it
        CR2 for a mean, unbiased where items vary alike and on their own. Values that are undefined do not
        count; NaN where fewer than two are defined. Sources: Efron & Stein (1981), Annals of Statistics 9,
        586-596; groups: Shao & Wu (1989), Annals of Statistics 17, 1176-1197; their sizes: Bell & McCaffrey
        (2002), Survey Methodology 28, 169-181.

        >>> variance = Jackknife(3.0, np.array([2.0, 3.0, 4.0]), Units(3)).variance
        >>> round(variance, 6)  # of a mean: s² / n = 4 / 3
        1.333333
        """
        weights, errors = self._errors
        return float(weights @ errors**2) if errors.size > 1 else np.nan

    @cached_property
    def events(self) -> float:
        """As how many units the variance counts: (Σ wφ²)² / Σ w²φ⁴ of the units' contributions φ.

        A sum of squares that few units make varies by 1 / events of its own square, as one with twice as many
        degrees of freedom does.

        >>> Jackknife(3.0, np.array([2.0, 3.0, 4.0]), Units(3)).events  # contributions 1, 0 and -1
        2.0
        """
        weights, errors = self._errors
        return self.variance**2 / max(float(weights**2 @ errors**4), 1e-300)

    @cached_property
    def skewness(self) -> float:
        """The skewness of the number's error: Σ (√w φ)³ / (Σ w φ²)^1.5 of the contributions φ."""
        weights, errors = self._errors
        cubes = float(weights**1.5 @ errors**3)
        return cubes / float(max(self.variance, 1e-200) ** 1.5)

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the variance: of its values with one left out, at most the units'."""
        return min(self._errors[0].size - 1.0, self.units.freedom)

    @cached_property
    def moving(self) -> int:
        """How many units make the number's error: those without which it moves, or is undefined.

        Of the units that have a part in it, the most that leave it within a tenth of the range do not: what
        is common moves a number a little with every unit that has it.

        >>> left = np.array([0.6, 0.5, 0.5, 0.5, 0.51, 0.9])
        >>> Jackknife(0.6, left, Units(6)).moving  # the first has no part in it
        1
        """
        defined = np.sort(self.left[np.isfinite(self.left)])
        undefined = self.left.size - defined.size
        defined = defined[np.abs(defined - self.point) > 1e-13 * max(1.0, abs(self.point))]
        if not defined.size:
            return undefined
        near = max(1e-12, float(defined[-1] - defined[0]) / 10)
        alike = np.searchsorted(defined, defined + near, "right") - np.arange(defined.size)
        return undefined + defined.size - int(alike.max())

    def as_z(self) -> Jackknife:
        """Fisher's z = artanh of a correlation; of 1 and -1 those of numbers next to them."""
        point, left = (
            np.arctanh(np.clip(values, 1e-12 - 1, 1 - 1e-12)) for values in (self.point, self.left)
        )
        return Jackknife(float(point), left, self.units)

    @cached_property
    def _errors(self) -> tuple[Floats, Floats]:
        """The weight of each unit without which the number is defined, and what it adds to the error."""
        defined, sizes, clusters = np.isfinite(self.left), np.ones(self.left.size), self.units.clusters
        if clusters is not None and self.units.count == self.left.size:  # groups of many units have one size
            sizes = np.bincount(clusters).astype(np.float64)
        sizes, values = sizes[defined], self.left[defined]
        weights = 1 - sizes / max(sizes.sum(), 1)
        return weights, weights @ values / max(weights.sum(), 1e-300) - values


def jackknife(under: Weighted, units: Units, resampling: Resampling) -> tuple[Floats, Floats]:
    """A function of item weights, of the data and, where an interval is asked for, without each unit.

    Returns:
        Its numbers, and their values with each unit (of many, each group of units) left out, a row a unit.

    >>> x = np.array([1.0, 2.0, 6.0])
    >>> point, left = jackknife(lambda w: (w @ x / w.sum(1))[:, None], Units(3), Resampling())
    >>> point.tolist(), left[:, 0].tolist()
    ([3.0], [4.0, 3.5, 1.5])
    """
    blocks = units.without_one(resampling.groups) if resampling.resamples and units.count > 1 else ()
    with one_thread(), np.errstate(divide="ignore", invalid="ignore"):
        point = under(np.ones((1, units.items)))[0]
        return point, np.concatenate([np.empty((0, point.size)), *map(under, blocks)])
