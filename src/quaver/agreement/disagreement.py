"""Krippendorff's alpha as a function of item weights: the arithmetic, for many strata at once.

With n_uv ratings of value v in unit u and m_u = Σ_v n_uv (units with m_u < 2 do not count), and N_v =
Σ_u w_u n_uv under item weights w, alpha = 1 − (n − 1) D / E, where n = Σ_v N_v,

* D = Σ_u w_u Σ_vk n_uv n_uk δ²(v, k) / (m_u − 1), n times the observed disagreement;
* E = Σ_vk N_v N_k δ²(v, k), n (n − 1) times the expected one.

Nominal and interval differences need no sum over pairs of values (the second is a variance); ordinal
ones are interval ones between midranks, which depend on the weights; ratio ones need the pairs, or waves in
their place (`waves`), and the pairs those of sets of labels, whose Jaccard or MASI distance stands for δ².
Source: Krippendorff (2019), Content Analysis, 4th ed., ch. 12; Krippendorff (2011), Computing alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.agreement.set_distance import set_distances
from quaver.core.records import OF_SETS, LabelSet, Level
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Tally

REFERENCE = "Krippendorff (2019), Content Analysis, 4th ed., ch. 12"

_OF_PAIRS = OF_SETS | {"ratio"}
"""The levels whose differences need each pair of values."""

_REACH, _FASTEST, _WAVES = 36.0, 13.0, 64
"""How far apart logarithms are alike to the last digit, above which frequency waves are nothing, and how many
are added at a time."""

_ENTRIES = 2**22
_MANY = 100
"""From so many samples on, a product in single precision is worth its preparation."""


def scale(labels: Sequence[str], level: Level, label_set: LabelSet | None = None) -> Floats | None:
    """The numbers of the labels on an interval or ratio scale; of sets, their distances; else None.

    Args:
        labels: The labels in order.
        level: Level of measurement.
        label_set: Where it comes from: a label's ``value``, or its place where it has none.

    Raises:
        MeasureError: The level is unknown, or a label is not a number where one is needed, or labels
            are to be ordered that are no numbers and stand in no label set.

    >>> scale(("1", "2.5"), "interval")
    array([1. , 2.5])
    """
    if level not in get_args(Level):
        raise MeasureError(
            "unknown level of measurement",
            where="level",
            expected=f"one of {', '.join(get_args(Level))}",
            found=repr(level),
        )
    if level in OF_SETS:
        return set_distances(labels, level)
    if level == "nominal":
        return None
    if label_set is not None:
        values = [
            float(i) if label.value is None else label.value for i, label in enumerate(label_set.labels)
        ]
    else:
        values = [_number(label, level) for label in labels]
    if level == "ratio" and min(values, default=0.0) < 0:
        raise MeasureError(
            "a negative value on a ratio scale", where="ratings", expected="0 or more", found=str(min(values))
        )
    return None if level == "ordinal" else np.array(values, np.float64)


def _number(label: str, level: Level) -> float:
    try:
        return float(label)
    except ValueError:
        raise MeasureError(
            f"a label that is not a number, at the {level} level",
            where="ratings",
            expected="numbers, or labels= with the labels in their order",
            found=repr(label),
        ) from None


def over_values(counts: Floats) -> Floats:
    """Sums along the last axis, which is short: a product with ones takes a tenth of the time of `sum`."""
    return np.asarray(counts @ np.ones(counts.shape[-1]))


def squares_over_values(counts: Floats) -> Floats:
    """Sums of squares along the last axis, without an array of the squares."""
    return np.asarray(np.einsum("...v,...v->...", counts, counts))


class Disagreement:
    """Observed and expected disagreement of several strata, as functions of item weights.

    Args:
        counts: n_uv, shape (items, strata, values), the values in order.
        level: Level of measurement.
        values: Each value's number, for interval and ratio; of sets, the distance of each two values.
    """

    def __init__(self, counts: Floats, level: Level = "nominal", values: Floats | None = None) -> None:
        self._rated(over_values(counts), level, values)
        kept = self.pairable
        self._counts = counts if kept.all() else np.where(kept[:, :, None], counts, 0.0)

    def _rated(self, m: Floats, level: Level, values: Floats | None) -> None:
        pairable = m >= 2
        self.pairable = pairable
        self._m = np.where(pairable, m, 0.0)
        self._share = np.where(pairable, 1 / np.maximum(m - 1, 1), 0.0)
        self._level = level
        # Centred, so that a variance of large numbers keeps its digits.
        self._values = values if values is None or level in _OF_PAIRS else values - values.mean()
        self.strata = m.shape[1]

    def _of(self, stratum: int) -> Any:
        """The counts of one stratum, shape (items, values)."""
        return self._counts[:, stratum]

    @property
    def ratings(self) -> Floats:
        """m_u: how many ratings each item has that count, shape (items, strata)."""
        return self._m

    @cached_property
    def totals(self) -> Floats:
        """N_v: how often each value was given, shape (strata, values)."""
        return np.asarray(self._counts.sum(0))

    def range_squared(self, stratum: int) -> float:
        """The largest δ² between two values that were given."""
        given = np.flatnonzero(self.totals[stratum])
        if given.size < 2:
            return 0.0
        if self._level == "ordinal":
            ranks = self._midranks(np.ones((1, len(self._m))), stratum)[0][given]
            return float(np.ptp(ranks) ** 2)
        if self._level in OF_SETS:
            return float(self._apart[np.ix_(given, given)].max())
        if self._level == "ratio":
            assert self._values is not None
            low, high = self._values[given].min(), self._values[given].max()
            return float(((high - low) / (high + low)) ** 2)
        return 1.0 if self._values is None else float(np.ptp(self._values[given]) ** 2)

    @cached_property
    def least(self) -> Floats:
        """Each stratum's least nominal alpha of such frequencies of labels, and what one agreement adds.

        It is above -1 where one label is frequent: an answer with another label disagrees with no more than
        the item's other answers, so D ≤ 2 (n − max N_v). And D ≤ Σ_u m_u min(1, (1 − 1/L) m_u / (m_u − 1)),
        since no item is labelled more evenly than with all L labels equally often. Where two such answers are
        of one item, D is less by 4 / (m − 1). At other levels of measurement it is -1.

        Two answers in twenty differ, and are not of one item: 1 − 19 · 4 / (400 − 18² − 2²), and 19 · 4 / 72:

        >>> given = Disagreement(np.array([[[2.0, 0.0]]] * 8 + [[[1.0, 1.0]]] * 2))
        >>> given.least.round(4).tolist()
        [[-0.0556, 1.0556]]
        """
        totals = self.totals
        n = totals.sum(1)
        expected = n**2 - (totals**2).sum(1)
        known = expected > 0 if self._level == "nominal" else np.zeros(self.strata, bool)
        if not known.any():
            return np.tile([-1.0, 0.0], (self.strata, 1))
        expected, m = np.where(known, expected, 1.0), self._m
        used = np.maximum((totals > 0).sum(1), 1)
        evenly = (m * np.minimum(1.0, (1 - 1 / used) * m * self._share)).sum(0)
        most = np.minimum(2 * (n - totals.max(1)), evenly)
        answers = np.maximum(m.sum(0) / np.maximum((m > 0).sum(0), 1), 2.0)
        found = np.stack([1 - (n - 1) * most / expected, (n - 1) * 4 / (answers - 1) / expected], 1)
        found[:, 0] = np.maximum(-1.0, found[:, 0])
        return np.where(known[:, None], found, [-1.0, 0.0])

    @cached_property
    def differs(self) -> NDArray[np.bool_]:
        """Which items have two values that differ, shape (items, strata), whatever rounding does to sums."""
        columns = [np.asarray((self._of(stratum) > 0).sum(1)) > 1 for stratum in range(self.strata)]
        return np.stack(columns, 1) if columns else np.zeros(self._m.shape, bool)

    @cached_property
    def per_item(self) -> Floats:
        """Each item's Σ_vk n_uv n_uk δ²(v, k) / (m_u − 1), shape (items, strata)."""
        if self._level == "ordinal":
            ones = np.ones((1, self._counts.shape[0]))
            ranks = [self._midranks(ones, s)[0] for s in range(self.strata)]
            columns = [self._moments(self._counts[:, s], r, s) for s, r in enumerate(ranks)]
            return np.stack(columns, 1) if columns else np.zeros(self._m.shape)
        n, share = self._counts, self._share
        if self._level == "nominal":
            return np.asarray((self._m**2 - squares_over_values(n)) * share)
        if self._level == "interval":
            assert self._values is not None
            first, second = n @ self._values, n @ self._values**2
            return np.asarray(2 * (self._m * second - first**2) * share)
        return np.asarray(((n @ self._apart) * n).sum(2) * share)

    @cached_property
    def _apart(self) -> Floats:
        """δ² of each two values, of ratios and of sets."""
        assert self._values is not None
        if self._level in OF_SETS:
            return self._values
        total = self._values[:, None] + self._values
        return np.asarray(((self._values[:, None] - self._values) / np.where(total == 0, 1, total)) ** 2)

    def _midranks(self, weights: Floats, stratum: int) -> Floats:
        totals = weights @ self._of(stratum)
        return np.asarray(np.cumsum(totals, 1) - totals / 2)

    def _moments(self, counts: Floats, ranks: Floats, stratum: int) -> Floats:
        # The mean rank is taken off so that the difference below keeps its digits.
        ranks = ranks - ranks.mean()
        first, second = counts @ ranks, counts @ ranks**2
        return np.asarray(2 * (self._m[:, stratum] * second - first**2) * self._share[:, stratum])

    def sums(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """D, E and n under item weights, each of shape (samples, strata)."""
        if self._level == "ordinal":
            columns = [self._ordinal(weights, stratum) for stratum in range(self.strata)]
            if not columns:
                empty = np.zeros((weights.shape[0], 0))
                return empty, empty, empty
            d, e, n = (np.stack(part, 1) for part in zip(*columns, strict=True))
            return d, e, n
        d = weights @ self.per_item
        n, e = np.empty_like(d), np.empty_like(d)
        size = max(1, _ENTRIES // max(1, weights.shape[0] * self._counts.shape[2]))
        for start in range(0, self.strata, size):
            part = slice(start, start + size)
            block = self._counts[:, part]
            totals = self._product(weights, block.reshape(block.shape[0], -1))
            totals = totals.reshape(len(weights), *block.shape[1:])
            n[:, part] = over_values(totals)
            e[:, part] = self._expected(totals, n[:, part])
        return d, e, n

    @cached_property
    def _most(self) -> float:
        """The most ratings of an item; infinity where they are no whole numbers."""
        whole = bool((np.rint(self._counts) == self._counts).all())
        return float(self._m.max(initial=0.0)) if whole else np.inf

    def _product(self, weights: Floats, counts: Floats) -> Floats:
        """Counts under weights, in single precision where that is exact: whole numbers below 2²⁴."""
        if len(weights) >= _MANY and self._most * float(weights.sum(1).max(initial=0.0)) < 2**24:
            single = weights.astype(np.float32)
            if (np.rint(single) == weights).all():
                return (single @ counts.astype(np.float32)).astype(np.float64)
        return np.asarray(weights @ counts)

    def _expected(self, totals: Floats, n: Floats) -> Floats:
        if self._level == "nominal":
            return np.asarray(n**2 - squares_over_values(totals))
        if self._level == "interval":
            assert self._values is not None
            return np.asarray(2 * (n * (totals @ self._values**2) - (totals @ self._values) ** 2))
        return np.asarray(((totals @ self._apart) * totals).sum(2))

    def _ordinal(self, weights: Floats, stratum: int) -> tuple[Floats, Floats, Floats]:
        counts, m, share = self._of(stratum), self._m[:, stratum], self._share[:, stratum]
        ranks = self._midranks(weights, stratum)
        totals = weights @ counts
        n = totals.sum(1)
        # The mean midrank is n/2 whatever the data: taking it off keeps the variances' digits.
        ranks = ranks - n[:, None] / 2
        second = (weights @ (counts * (m * share)[:, None]) * ranks**2).sum(1)
        first = (weights * share * (ranks @ counts.T) ** 2).sum(1)
        e = n * (totals * ranks**2).sum(1) - (totals * ranks).sum(1) ** 2
        return 2 * (second - first), 2 * e, n

    def alphas(self, weights: Floats) -> Floats:
        """Alpha under item weights, shape (samples, strata); NaN where it is undefined."""
        d, e, n = self.sums(weights)
        # Sums that ought to be zero may be off by rounding, relative to the size of their terms.
        small = 1e-12 * np.maximum(n, 1) ** 2 * self._spread(n)
        # Where all of a sample's copies are of one item, pairs across items do not exist.
        alpha = np.where(e > small, 1 - (n - 1) * d / np.where(e > small, e, 1), np.nan)
        return np.asarray(alpha)

    def _spread(self, n: Floats) -> Floats | float:
        if self._level == "ordinal":
            return np.asarray(np.maximum(n, 1) ** 2)
        if self._values is None or self._level in _OF_PAIRS or not self._values.size:
            return 1.0
        return float(max(np.ptp(self._values) ** 2, np.finfo(float).tiny))

    def reasons(self) -> list[str | None]:
        """Why each stratum's alpha is undefined; None where it is defined."""
        totals = self.totals
        result: list[str | None] = []
        for stratum in range(self.strata):
            units = int(self.pairable[:, stratum].sum())
            if not units:
                result.append("fewer than two raters" if len(self._m) else "no annotations")
            elif (totals[stratum] > 0).sum() < 2:
                result.append("no variation")
            elif units < 2:
                result.append("fewer than two items with two labels")
            else:
                result.append(None)
        return result


class _OfMany(Disagreement):
    """The same of many labels, from the answers: nothing grows with the square of their number.

    Args:
        tally: The answers.
        level: Level of measurement.
        values: See `Disagreement`.
    """

    def __init__(self, tally: Tally, level: Level = "nominal", values: Floats | None = None) -> None:
        self._rated((tally.codes >= 0).sum(2).astype(np.float64), level, values)
        self._codes = np.where(self.pairable[:, :, None], tally.codes, -1)
        self._labels = tally.labels

    def _of(self, stratum: int) -> Any:
        return self._tables[stratum]

    @cached_property
    def _tables(self) -> list[Any]:
        tables = []
        for stratum in range(self.strata):
            item, rater = np.nonzero(self._codes[:, stratum] >= 0)
            places = item, self._codes[item, stratum, rater]
            table = scipy.sparse.csr_array((np.ones(item.size), places), (len(self._m), self._labels))
            table.sum_duplicates()
            tables.append(table)
        return tables

    @cached_property
    def totals(self) -> Floats:
        return np.array([table.sum(0) for table in self._tables]).reshape(self.strata, self._labels)

    @cached_property
    def per_item(self) -> Floats:
        between = np.zeros(self._m.shape)
        ranks = None
        if self._level == "ordinal":
            ones = np.ones((1, len(self._m)))
            ranks = np.array([self._midranks(ones, stratum)[0] for stratum in range(self.strata)])
        for step in range(1, self._codes.shape[2]):
            one, other = self._codes[:, :, step:], self._codes[:, :, :-step]
            both = (one >= 0) & (other >= 0)
            between += np.where(both, self._squared(one, other, ranks), 0.0).sum(2)
        return np.asarray(2 * between * self._share)

    def _squared(self, one: Any, other: Any, ranks: Floats | None) -> Floats:
        """δ² of each two codes, shape (items, strata, pairs); anything where one is missing."""
        if self._level == "nominal":
            return np.asarray(one != other, np.float64)
        if ranks is not None:
            strata = np.arange(self.strata)[:, None]
            return np.asarray((ranks[strata, one] - ranks[strata, other]) ** 2)
        if self._level in OF_SETS:
            return np.asarray(self._apart[one, other])
        assert self._values is not None
        first, second = self._values[one], self._values[other]
        if self._level == "interval":
            return np.asarray((first - second) ** 2)
        total = first + second
        return np.asarray(((first - second) / np.where(total == 0, 1, total)) ** 2)

    def sums(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        if self._level == "ordinal":
            return super().sums(weights)
        n, e = np.zeros((2, len(weights), self.strata))
        for stratum in range(self.strata):
            totals = weights @ self._of(stratum)
            n[:, stratum] = totals.sum(1)
            e[:, stratum] = self._expected(totals, n[:, stratum])
        return weights @ self.per_item, e, n

    def _expected(self, totals: Floats, n: Floats) -> Floats:
        if self._level != "ratio":
            return np.asarray(super()._expected(totals[:, None], n[:, None])[:, 0])
        assert self._values is not None
        above = self._values > 0
        positive = totals[:, above]
        zeros = n - positive.sum(1)
        return np.asarray(waves(np.log(self._values[above]), positive) + 2 * zeros * (n - zeros))


def waves(logs: Floats, totals: Floats) -> Floats:
    """Σ_vk N_v N_k ((v − k) / (v + k))² of positive numbers, from their logarithms, without the pairs.

    With x = ln v, the difference of two numbers is tanh²((x_v − x_k) / 2), which is 1 less four times a bell
    whose Fourier transform is πω / sinh πω. Both fall so fast that a sum of few waves is the bell to fifteen
    digits, and each wave's part is n² − |Σ_v N_v exp(iωx_v)|².

    Args:
        logs: x, shape (values,).
        totals: N, shape (samples, values).

    Of 1, 1 and 3 two of nine pairs are 1 and 3, in either order: 4 · (2 / 4)²:

    >>> waves(np.log([1.0, 3.0]), np.array([[2.0, 1.0]])).round(12).tolist()
    [1.0]
    """
    n, found = totals.sum(1, keepdims=True), np.zeros(len(totals))
    x = logs - logs.mean() if logs.size else logs
    length = float(np.ptp(x)) + _REACH if logs.size else _REACH
    every = np.arange(1, int(_FASTEST * length / (2 * np.pi)) + 2) * (2 * np.pi / length)
    for omega in np.array_split(every, -(-every.size // _WAVES)):
        half = np.multiply.outer(x, omega / 2)
        # 1 − cos and sin, so that numbers that are all nearly the same keep their digits.
        lost, turned = totals @ (2 * np.sin(half) ** 2), totals @ np.sin(2 * half)
        found += (2 * n * lost - lost**2 - turned**2) @ (omega / np.sinh(np.pi * omega))
    return found * 8 * np.pi / length


def disagreement(
    counts: Floats | Tally, level: Level = "nominal", values: Floats | None = None
) -> Disagreement:
    """`Disagreement` of counts; of many labels from the answers themselves."""
    made = _OfMany if isinstance(counts, Tally) else Disagreement
    return made(counts, level, values)  # type: ignore[arg-type]
