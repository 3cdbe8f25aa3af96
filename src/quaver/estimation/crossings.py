"""The vectors along several ways at which a test by noisy estimates turns: the bisections of `inversion`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints

Norm = Callable[[Floats], Floats]
"""Vectors, shape (samples, dims) -> their f, shape (samples,)."""

Noise = Callable[[Floats], Floats]
"""A vector θ, shape (dims,) -> the deviations of its estimate, shape (draws, dims), always from one seed."""

_FAR, _NEAR = 1e15, 1e-9
_STEPS = 20
"""Bisections: the ends are known to a millionth of the first bracket."""

_ENTRIES = 2**16
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
        found = np.empty((len(some), self.alone.shape[1]))
        size = max(1, _ENTRIES // max(1, self.fixed[:, 0].size))
        for start in range(0, len(some), size):
            part = slice(start, start + size)
            there = self.fixed[:, self.of[some[part]]]
            there += thetas[part].T[:, :, None]
            found[part] = self._norm(there.reshape(len(there), -1).T).reshape(-1, found.shape[1])
        return found

    def values_of(self, c: Floats, way: Ints, draw: Ints) -> Floats:
        """That of some draws of some ways, of deviations that are the same everywhere."""
        assert self.fixed is not None
        there = self.fixed[:, self.of[way], draw]
        there += (c[:, None] * self.ways).T[:, way]
        return self._norm(there.T)

    def crossing(self, wanted: Floats, beside: float) -> Floats:
        """The c at which a share of f(c·way + e) reaches a value; 0 where it does so at once.

        It grows with c (Anderson's inequality, for symmetric noise), so bisection finds it.

        Args:
            wanted: The value of each vector.
            beside: The share is so much, and the tail above the acceptance region of c; NaN: a half.

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
        return _above(self._lines.level, stands) + self._beside

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


def _above(level: float, apart: Floats) -> Floats:
    """The tail above the unified acceptance region of means that are ``apart`` standard errors from 0."""
    steps, tails = _unified(level)
    return np.interp(apart, steps, tails)


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
