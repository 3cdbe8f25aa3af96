"""Resampling, shared by every measure: weights for items or groups of items, and draws of a statistic.

A bootstrap sample is a row of weights (how often each item was drawn), so that a statistic over a
thousand samples is a matrix product and not a thousand passes over the data. Weights depend on the
seed, the unit's name and the number of units alone: measures and cells with the same items share
them, which is what makes their differences paired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.one_thread import one_thread

Floats = NDArray[np.float64]

Weighted = Callable[[Floats], Floats]
"""Item weights, shape (samples, items) -> values, shape (samples, statistics); NaN where undefined."""

_ENTRIES = 2**22
"""Weights are made at most this many at a time (32 MiB)."""

_JACKKNIFE = 2000
_SAMPLE = 500
"""Above the first many units BCa's acceleration, which falls with √n, is taken from a spread sample."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made.

    Attributes:
        confidence_level: Nominal level, between 0 and 1.
        resamples: Bootstrap samples; 0 for no interval.
        seed: Root seed.
        interval: Which interval the estimate gives; the other one is in its details.

    Raises:
        MeasureError: A number is outside its range.
    """

    confidence_level: float = 0.95
    resamples: int = 1000
    seed: int = 0
    interval: Literal["bca", "percentile"] = "bca"

    def __post_init__(self) -> None:
        if not isinstance(self.confidence_level, Real) or not 0 < self.confidence_level < 1:
            raise MeasureError(
                "not a level of confidence",
                where="confidence_level",
                expected="a number between 0 and 1, for instance 0.95",
                found=repr(self.confidence_level),
            )
        if not _is_whole(self.resamples) or self.resamples < 0:
            raise MeasureError(
                "not a number of resamples",
                where="resamples",
                expected="0 or more",
                found=repr(self.resamples),
            )
        if not _is_whole(self.seed):
            raise MeasureError("not a seed", where="seed", expected="a whole number", found=repr(self.seed))
        if self.interval not in ("bca", "percentile"):
            raise MeasureError(
                "unknown interval", where="interval", expected="bca or percentile", found=repr(self.interval)
            )

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
        """Item weights with one unit left out, for each unit or for a spread sample of them."""
        wanted = self.count if self.count <= _JACKKNIFE else _SAMPLE
        chosen = np.unique(np.linspace(0, self.count - 1, wanted).astype(np.int64))
        block = max(1, _ENTRIES // max(1, self.items, self.count))
        for start in range(0, chosen.size, block):
            some = chosen[start : start + block]
            weights = np.ones((some.size, self.count))
            weights[np.arange(some.size), some] = 0
            yield self.spread(weights)


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


class Draws(NamedTuple):
    """A statistic and its bootstrap.

    Attributes:
        point: Shape (statistics,).
        values: Over bootstrap samples, shape (samples, statistics).
        jackknife: With one unit left out, shape (units or a sample of them, statistics).
    """

    point: Floats
    values: Floats
    jackknife: Floats


def bootstrap(statistic: Weighted, units: Units, resampling: Resampling, *, jackknife: bool = True) -> Draws:
    """Evaluate a statistic on the data, on bootstrap samples, and with each unit left out.

    Args:
        statistic: The function of item weights.
        units: What is resampled.
        resampling: How often, and from which seed.
        jackknife: Whether the leave-one-out values (for BCa) are wanted.

    >>> x = np.array([1.0, 2.0, 6.0])
    >>> draws = bootstrap(lambda w: (w @ x / w.sum(1))[:, None], Units(3), Resampling(resamples=4))
    >>> draws.point.tolist(), draws.jackknife[:, 0].tolist(), draws.values.shape
    ([3.0], [4.0, 3.5, 1.5], (4, 1))
    """
    with one_thread(), np.errstate(divide="ignore", invalid="ignore"):
        point = statistic(np.ones((1, units.items)))[0]
        empty = np.empty((0, point.size))
        values = [statistic(weights) for weights in units.weights(resampling)]
        without = units.without_one() if jackknife and resampling.resamples and units.count > 1 else ()
        left = [statistic(weights) for weights in without]
    return Draws(point, np.concatenate([empty, *values]), np.concatenate([empty, *left]))
