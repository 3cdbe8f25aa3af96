"""Resampling, shared by every measure: weights for items or groups of items, and draws of a statistic.

A bootstrap sample is a row of weights (how often each item was drawn), so that a statistic over a
thousand samples is a matrix product and not a thousand passes over the data. Weights depend on the
seed, the unit's name and the number of units alone: measures and cells with the same items share
them, which is what makes their differences paired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from numbers import Integral, Real
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special
from threadpoolctl import ThreadpoolController

from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.encoding import Ints


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

_ENTRIES = 2**22
"""Weights are made at most this many at a time (32 MiB)."""

_LEFT_OUT = 2**20
"""With units left out, so many (8 MiB): larger arrays are taken from the system anew each time.

It is zeroed then, which takes longer than the sums that are made of it.
"""

_GROUPS = 400
"""The jackknife leaves out at most this many units, or random groups of units, in turn."""

ALIKE = 0.25
"""The correlation that the items of a group are taken to have, where their own is not known well enough."""

_LEAST_FREEDOM = 2.0
"""The degrees of freedom of a variance over three groups or more, however unequal these are."""

IntervalKind = Literal["jackknife", "bca", "percentile"]
"""How the interval of a statistic is made: see `quaver.estimation.intervals`."""

_KINDS = get_args(IntervalKind)


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made.

    Attributes:
        confidence_level: Nominal level, between 0 and 1.
        resamples: Bootstrap samples; 0 for no interval.
        seed: Root seed.
        interval: Which interval the estimate gives.

    Raises:
        MeasureError: A number is outside its range.
    """

    confidence_level: float = 0.95
    resamples: int = 1000
    seed: int = 0
    interval: IntervalKind = "jackknife"

    def __post_init__(self) -> None:
        level, resamples = self.confidence_level, self.resamples
        share = isinstance(level, Real) and 0 < level < 1
        for name, fits, what, expected in (
            ("confidence_level", share, "not a level of confidence", "a number between 0 and 1, as 0.95"),
            ("resamples", _is_whole(resamples) and resamples >= 0, "not a number of resamples", "0 or more"),
            ("seed", _is_whole(self.seed), "not a seed", "a whole number"),
            ("interval", self.interval in _KINDS, "unknown interval", "jackknife, bca or percentile"),
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

    def spread(self, weights: Floats) -> Floats:
        """Item weights from unit weights: a group's items are drawn together."""
        return weights if self.clusters is None else weights[:, self.clusters]

    def touched(self, items: NDArray[np.bool_]) -> int:
        """How many units hold at least one of the items marked."""
        if self.clusters is None:
            return int(items.sum())
        return int(np.unique(self.clusters[items]).size)

    def weights(self, resampling: Resampling) -> Iterator[Floats]:
        """Bootstrap weights of the items, a block of samples at a time."""
        if not self.count or not resampling.resamples:
            return
        seed = derive(resampling.seed, "bootstrap", self.name)
        block = max(1, _ENTRIES // max(1, self.items, self.count))
        if resampling.resamples <= block:
            yield self.spread(_multinomial(self.count, resampling.resamples, seed))
            return
        rng = np.random.default_rng(seed)
        for start in range(0, resampling.resamples, block):
            yield self.spread(_draw(rng, self.count, min(block, resampling.resamples - start)))

    def without_one(self) -> Iterator[Floats]:
        """Item weights with one unit left out, for each unit; of many units, with one random group of them.

        The groups are the same for all statistics of as many units, so that values can be compared in pairs.
        """
        block = max(1, _LEFT_OUT // max(1, self.items, self.count))
        small = min(self.count, _GROUPS) * self.count <= 2 * _LEFT_OUT
        made = _kept_without_one if small else _without_one
        return map(self.spread, made(self.count, self.name, block))


def _draw(rng: np.random.Generator, units: int, samples: int) -> Floats:
    drawn = rng.integers(0, units, (samples, units), dtype=np.int32)
    drawn += np.arange(samples, dtype=np.int32)[:, None] * np.int32(units)
    counts = np.bincount(drawn.ravel(), minlength=samples * units)
    return counts.reshape(samples, units).astype(np.float64)


@lru_cache(maxsize=2)
def _multinomial(units: int, samples: int, seed: int) -> Floats:
    """The weights of a bootstrap; kept, since a study's cells ask for the same ones again and again."""
    weights = _draw(np.random.default_rng(seed), units, samples)
    weights.flags.writeable = False
    return weights


def _without_one(units: int, name: str, block: int) -> Iterator[Floats]:
    """Unit weights with a unit or group left out, so many of these at a time."""
    size = -(-units // _GROUPS)
    groups = -(-units // max(size, 1))
    order = np.arange(units)
    if size > 1:
        order = np.random.default_rng(derive(0, "jackknife", name)).permutation(order)
    group = np.empty(units, np.int64)
    group[order] = np.arange(units) * groups // max(units, 1)
    order = np.argsort(group, kind="stable")
    edges = np.searchsorted(group[order], np.arange(groups + 1))
    for start in range(0, groups, block):
        end = min(start + block, groups)
        gone = order[edges[start] : edges[end]]
        weights = np.ones((end - start, units))
        weights[group[gone] - start, gone] = 0.0
        weights.flags.writeable = False
        yield weights


@lru_cache(maxsize=2)
def _kept_without_one(units: int, name: str, block: int) -> tuple[Floats, ...]:
    """The same, kept: every statistic of a study's cells leaves out the same units."""
    return tuple(_without_one(units, name, block))


class Draws:
    """A statistic and its resamples, which are made when they are first asked for.

    Args:
        point: Its value, shape (statistics,).
        values: Its values over bootstrap samples, shape (samples, statistics), or what makes them.
        jackknife: Its values with one unit (of many units, one group of them) left out, shape (units or
            groups, statistics), or what makes them.
        units: What was left out, whose degrees of freedom the variance has at most.
    """

    def __init__(
        self,
        point: Floats,
        values: Floats | Callable[[], Floats],
        jackknife: Floats | Callable[[], Floats],
        units: Units | None = None,
    ) -> None:
        self.point, self._values, self._jackknife, self._units = point, values, jackknife, units

    @property
    def values(self) -> Floats:
        """Over bootstrap samples, shape (samples, statistics)."""
        if callable(self._values):
            self._values = self._values()
        return self._values

    @property
    def jackknife(self) -> Floats:
        """With one unit or group left out, shape (units or groups, statistics)."""
        if callable(self._jackknife):
            self._jackknife = self._jackknife()
        return self._jackknife

    @cached_property
    def variance(self) -> Floats:
        """The jackknife variance of each statistic: (m − 1) / m · Σ (t₋ⱼ − mean)² over the m left out.

        Values that are undefined do not count; NaN where fewer than two are defined. Source: Efron & Stein
        (1981), Annals of Statistics 9, 586-596; groups: Shao & Wu (1989), Annals of Statistics 17, 1176-1197.

        >>> left = np.array([[2.0], [3.0], [4.0]])
        >>> Draws(np.array([3.0]), left[:0], left).variance  # of a mean: s² / n = 4 / 3
        array([1.33333333])
        """
        defined = np.isfinite(self.jackknife)
        count = defined.sum(0)
        mean = np.where(defined, self.jackknife, 0).sum(0) / np.maximum(count, 1)
        squares = (np.where(defined, self.jackknife - mean, 0) ** 2).sum(0)
        return np.where(count > 1, squares * (count - 1) / np.maximum(count, 1), np.nan)

    @cached_property
    def covariance(self) -> Floats:
        """The jackknife covariance of the statistics, of the values that are defined together."""
        return covariance_without_one(self.jackknife[np.isfinite(self.jackknife).all(1)])

    @cached_property
    def freedom(self) -> Floats:
        """The degrees of freedom of each variance: of its values with one left out, at most the units'."""
        most = np.inf if self._units is None else self._units.freedom
        return np.asarray(np.minimum(np.isfinite(self.jackknife).sum(0) - 1.0, most))


def covariance_without_one(left: Floats) -> Floats:
    """The jackknife covariance (m − 1)/m·Σ (x_(−i) − x̄)(x_(−i) − x̄)′ of a vector.

    The mean of 1, 2 and 6 without each is 4, 3.5 and 1.5; its variance s²/m is 7/3:

    >>> covariance_without_one(np.array([[4.0], [3.5], [1.5]])).round(6).tolist()
    [[2.333333]]
    """
    apart = left - left.mean(0) if len(left) else left
    return np.asarray(apart.T @ apart * (len(left) - 1) / max(len(left), 1))


def bootstrap(statistic: Weighted, units: Units, resampling: Resampling) -> Draws:
    """Evaluate a statistic on the data; on bootstrap samples, and with each unit left out, where needed.

    >>> x = np.array([1.0, 2.0, 6.0])
    >>> draws = bootstrap(lambda w: (w @ x / w.sum(1))[:, None], Units(3), Resampling(resamples=4))
    >>> draws.point.tolist(), draws.jackknife[:, 0].tolist(), draws.values.shape
    ([3.0], [4.0, 3.5, 1.5], (4, 1))
    """

    def over(blocks: Callable[[], Iterable[Floats]]) -> Floats:
        with one_thread(), np.errstate(divide="ignore", invalid="ignore"):
            return np.concatenate([empty, *(statistic(weights) for weights in blocks())])

    with one_thread(), np.errstate(divide="ignore", invalid="ignore"):
        point = statistic(np.ones((1, units.items)))[0]
    empty = np.empty((0, point.size))
    left_out = units.without_one if resampling.resamples and units.count > 1 else tuple
    return Draws(point, lambda: over(lambda: units.weights(resampling)), lambda: over(left_out), units)


Norm = Callable[[Floats], Floats]
"""Vectors, shape (samples, dims) -> their f, shape (samples,)."""

Noise = Callable[[Floats], Floats]
"""A vector θ, shape (dims,) -> the deviations of its estimate, shape (draws, dims), always from one seed."""

_FAR, _NEAR = 1e15, 1e-9
_STEPS = 20
"""Bisections: the ends are known to a millionth of the first bracket."""

_CROSSINGS_ENTRIES = 2**16
"""Components at a time, so that they stay in the processor's cache."""


class Lines:
    """The vectors c·way along several ways, and their estimates.

    Args:
        ways: Shape (ways, dims).
        of: Which vector each is a way of.
        noises: The vectors' deviations, shape (vectors, draws, dims); or what makes them.
        alone: Their f, shape (vectors, draws).
        norm: f.
        level: The confidence level.
    """

    def __init__(
        self, ways: Floats, of: Ints, noises: Floats | Noise, alone: Floats, norm: Norm, level: float
    ) -> None:
        self.ways, self.of, self.alone, self.level = ways, of, alone, level
        self.floor, self._noises, self._norm = alone.mean(1)[of], noises, norm
        self.moves = norm(ways) * (1 + _NEAR)
        """By how much f changes with c, at most, since f(x + y) ≤ f(x) + f(y)."""
        self.fixed = None if callable(noises) else np.ascontiguousarray(np.moveaxis(noises, 2, 0))
        """Deviations that are the same everywhere, component by component, since a norm adds these up."""

    def values(self, c: Floats, some: Ints) -> Floats:
        """The estimates' f along some ways, shape (ways, draws)."""
        thetas = c[:, None] * self.ways[some]
        if self.fixed is None:
            assert callable(self._noises)
            return np.stack([self._norm(theta + self._noises(theta)) for theta in thetas])
        result = np.empty((len(some), self.alone.shape[1]))
        size = max(1, _CROSSINGS_ENTRIES // max(1, self.fixed[:, 0].size))
        for start in range(0, len(some), size):
            part = slice(start, start + size)
            there = self.fixed[:, self.of[some[part]]]
            there += thetas[part].T[:, :, None]
            result[part] = self._norm(there.reshape(len(there), -1).T).reshape(-1, result.shape[1])
        return result

    def values_of(self, c: Floats, way: Ints, draw: Ints) -> Floats:
        """That of some draws of some ways, of deviations that are the same everywhere."""
        assert self.fixed is not None
        there = self.fixed[:, self.of[way], draw]
        there += (c[:, None] * self.ways).T[:, way]
        return self._norm(there.T)

    def crossing(self, wanted: Floats, beside: float) -> Floats:
        """The c at which a share of f(c·way + e) reaches a value; 0 where it does so at once.

        It grows with c (Anderson's inequality, for symmetric noise), so bisection finds it.

        Returns:
            Of each way.
        """
        search = _Search(self, wanted, beside)
        low, high = np.zeros(len(self.of)), np.maximum(wanted[self.of], 1e-12)
        done = search.at_once() | ~self.ways.any(1)
        growing = ~done
        while growing.any():
            growing &= ~search.over(high) & (high < _FAR)
            low, high = np.where(growing, high, low), np.where(growing, 2 * high, high)
        high[done] = 0.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            over = search.over(middle)
            low, high = np.where(over, low, middle), np.where(over, middle, high)
            search.narrow(high - low)
        return np.asarray((low + high) / 2)


class _Search:
    """Whether the share at a c is as large as is wanted, asked again and again in ever smaller brackets.

    A draw whose f is further from the value than f can move within the bracket is on one side for good, and
    a mean or a standard deviation of f moves no further than f: most draws need no second look.
    """

    def __init__(self, lines: Lines, wanted: Floats, beside: float) -> None:
        self._lines, self._wanted, self._value, self._beside = lines, wanted, wanted[lines.of], beside
        self._draws = lines.alone.shape[1]
        self._sure = np.zeros(len(lines.of), np.int64)
        self._open: tuple[Ints, Ints] | None = None  # ways and draws; None: all of them
        self._apart = np.empty(0)
        unseen = np.full(len(lines.of), np.inf)
        self._seen = np.stack([unseen, unseen, unseen])  # c, and the mean and deviation of f there

    def at_once(self) -> NDArray[np.bool_]:
        """Whether the share is as large with no effect at all."""
        alone = self._lines.alone
        share = np.count_nonzero(alone >= self._wanted[:, None], axis=1) / self._draws
        over = share >= self._least(np.where(np.ptp(alone, 1) > 0, 0.0, np.inf))
        return np.asarray(over[self._lines.of])

    def over(self, c: Floats) -> NDArray[np.bool_]:
        """Whether it is at each way's c."""
        if self._open is None:
            self._apart = self._lines.values(c, np.arange(len(c))) - self._value[:, None]
            count = np.count_nonzero(self._apart >= 0, axis=1)
        else:
            way, draw = self._open
            self._apart = self._lines.values_of(c, way, draw) - self._value[way]
            count = self._sure + np.bincount(way[self._apart >= 0], minlength=len(c))
        share = count / self._draws
        surely, possibly = (share >= self._least(stands) for stands in self._bounds(c))
        unsure = np.flatnonzero(surely != possibly)
        if unsure.size:
            surely[unsure] = share[unsure] >= self._least(self._stands(c, unsure))
        return np.asarray(surely)

    def _least(self, stands: Floats) -> Floats:
        """The share that is wanted where f stands so many standard errors above the floor on average."""
        if np.isnan(self._beside):
            return np.full(stands.shape, 0.5)
        steps, tails = _unified(self._lines.level)
        return np.interp(stands, steps, tails) + self._beside

    def _stands(self, c: Floats, some: Ints) -> Floats:
        """How far f of some ways stands above the floor."""
        values = self._lines.values(c[some], some)
        mean = np.add.reduce(values, 1) / self._draws
        values -= mean[:, None]
        error = np.sqrt(np.add.reduce(values * values, 1) / self._draws)
        self._seen[:, some] = c[some], mean, error
        apart = mean - self._lines.floor[some]
        return np.where(error > 0, apart / np.where(error > 0, error, 1), np.inf)

    def _bounds(self, c: Floats) -> tuple[Floats, Floats]:
        """How far it stands above the floor, at least and at most, by where it was seen last."""
        at, mean, error = self._seen
        known = np.isfinite(at) if self._lines.fixed is not None else np.zeros(len(c), bool)
        at, mean, error = (np.where(known, one, 0.0) for one in (at, mean, error))
        off = np.abs(c - at) * self._lines.moves + 1e-12 * mean
        apart, most = mean - self._lines.floor, np.full(len(c), np.inf)
        least = np.where(known & (error + off > 0), (apart - off) / np.maximum(error + off, 1e-300), 0.0)
        close = known & (error > off)
        most[close] = (apart + off)[close] / (error - off)[close]
        return least, most

    def narrow(self, room: Floats) -> None:
        """Look no more at draws that are decided within so much of the last c."""
        if self._lines.fixed is None:
            return
        room = room * self._lines.moves + 1e-12 * np.abs(self._value)
        way, draw = self._open or (np.arange(len(room))[:, None], np.arange(self._draws))
        near = np.abs(self._apart) <= room[way]
        if 4 * np.count_nonzero(near) > 3 * near.size:
            return
        over = (self._apart >= 0) & ~near
        if self._open is None:
            self._sure = np.count_nonzero(over, axis=1)
            ways, draws = np.nonzero(near)
            self._open = ways, draws
        else:
            self._sure += np.bincount(way[over], minlength=len(room))
            self._open = way[near], draw[near]


@lru_cache(maxsize=8)
def _unified(level: float) -> tuple[Floats, Floats]:
    """By how far a mean μ ≥ 0 of N(μ, 1) stands out, the tail above its region (Feldman & Cousins 1998).

    The region has the x with the largest ratio of φ(x − μ) to φ(x − max(x, 0)): up to μ + k, and down to
    μ − k or, below x = 0, to μ/2 − k²/2μ. Where μ is above z = Φ⁻¹((1 + level)/2), both tails are equal.
    """
    mean = np.linspace(0, special.ndtri((1 + level) / 2), 200)
    low, high = np.zeros(mean.size), np.full(mean.size, 10.0)
    for _ in range(60):
        k = (low + high) / 2
        with np.errstate(divide="ignore"):
            under = np.where(k > mean, mean / 2 - k**2 / (2 * mean), mean - k)
        enough = special.ndtr(k) - special.ndtr(under - mean) >= level
        low, high = np.where(enough, low, k), np.where(enough, k, high)
    return mean, np.asarray(special.ndtr(-high))
