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

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.core.label_values import labels_in, lineages
from quaver.core.records import BY_PAIRS, LabelSet, Level
from quaver.errors import MeasureError
from quaver.estimation.coded_columns import label_counts
from quaver.estimation.jackknife import Floats
from quaver.estimation.means import quotient

REFERENCE = "Krippendorff (2019), Content Analysis, 4th ed., ch. 12"

_OF_PAIRS = BY_PAIRS | {"ratio"}
"""The levels whose differences need each pair of values."""

_REACH, _FASTEST, _WAVES = 36.0, 13.0, 64
"""How far apart logarithms are alike to the last digit, above which frequency waves are nothing, and how many
are added at a time."""

MANY_LABELS = 300
"""Of more labels no table is made: of numbers, each answer may be a label of its own."""

_NARROW, _BLOCK = 64, 2**13
"""So many columns of a table are multiplied by samples' weights at a time."""


def scale(labels: Sequence[str], level: Level, label_set: LabelSet | None = None) -> Floats | None:
    """The numbers of the labels on an interval or ratio scale; of sets and trees, their distances; else None.

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
    if level == "tree":
        return tree_distances(labels, label_set)
    if level in BY_PAIRS:
        return set_distances(labels, level)
    if level == "nominal":
        return None
    values = list[float]()
    if label_set is not None:
        for place, label in enumerate(label_set.labels):
            values.append(float(place) if label.value is None else label.value)
    else:
        values += (_number(label, level) for label in labels)
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


class Disagreement:
    """Observed and expected disagreement of several strata, as functions of item weights.

    Args:
        codes: The label that each rater gave, shape (items, strata, raters); -1 where there is none.
        labels: How many labels there are.
        level: Level of measurement.
        values: Each label's number, for interval and ratio; of sets, the distance of each two labels.

    Attributes:
        strata: How many strata there are.
        pairable: Which items have two ratings, shape (items, strata): no others count.
        ratings: m_u: how many ratings each item has that count, the same shape.
    """

    def __init__(
        self, codes: NDArray[Any], labels: int, level: Level = "nominal", values: Floats | None = None
    ) -> None:
        m = (codes >= 0).sum(2)
        self.strata, self.pairable = codes.shape[1], m >= 2
        self.ratings = np.where(self.pairable, m, 0.0)
        self._share = np.where(self.pairable, 1 / np.maximum(m - 1, 1), 0.0)
        # Which of the raters gave a label does not matter: those that count stand first, the largest first.
        given = np.where(self.pairable[:, :, None], codes, -1)
        self._codes = np.sort(given, 2)[:, :, ::-1][:, :, : int(self.ratings.max(initial=0.0))]
        self._labels, self.level = max(1, labels), level
        # Centred, so that a variance of large numbers keeps its digits.
        self._values = values if values is None or level in _OF_PAIRS else values - values.mean()

    @cached_property
    def _tables(self) -> list[tuple[slice, Any]]:
        """How often each label was given, an item a row: of some strata, or of many labels sparse of each."""
        few, tables = self._labels <= MANY_LABELS, []
        size = max(1, _BLOCK // max(1, self._labels)) if few else 1
        for start in range(0, self.strata, size):
            part = slice(start, start + size)
            codes = self._codes[:, part]
            tables.append((part, _table(codes, self._labels) if few else _sparse_table(codes, self._labels)))
        return tables

    def _totals(self, weights: Floats) -> Iterator[tuple[slice, Any, Floats]]:
        """Strata, their table, and N under item weights, shape (samples, strata, labels)."""
        # Of wide tables, single precision is twice as fast, and exact of whole numbers below 2²⁴.
        most = float(self.ratings.max(initial=0.0)) * float(weights.sum(1).max(initial=0.0))
        own: NDArray[Any] = weights
        if self.strata * self._labels > _NARROW and most < 2**24:
            single = weights.astype(np.float32)
            own = single if (np.rint(single) == weights).all() else weights
        for part, table in self._tables:
            totals = own @ table
            yield part, table, totals.astype(np.float64).reshape(len(weights), -1, self._labels)

    @cached_property
    def totals(self) -> Floats:
        """N_v: how often each label was given, shape (strata, labels)."""
        ones = np.ones((1, len(self.ratings)))
        return np.concatenate([np.zeros((0, self._labels)), *(n[0] for _, _, n in self._totals(ones))])

    def _numbers(self, codes: NDArray[Any]) -> NDArray[Any]:
        """What of labels is compared, from codes whose second axis, if any, are strata."""
        if self.level == "ordinal":
            ranks = np.cumsum(self.totals, 1) - self.totals / 2
            return np.asarray(ranks[np.arange(self.strata)[:, None], codes])
        return codes if self._values is None or self.level in BY_PAIRS else np.asarray(self._values[codes])

    def _squared(self, one: NDArray[Any], other: NDArray[Any]) -> Floats:
        """δ² of what is compared."""
        if self.level == "nominal":
            return np.asarray(one != other, np.float64)
        if self.level in BY_PAIRS:
            assert self._values is not None
            return np.asarray(self._values[one, other])
        total = one + other if self.level == "ratio" else np.ones(())
        return np.asarray(((one - other) / np.where(total == 0, 1, total)) ** 2)

    @cached_property
    def _apart(self) -> Floats:
        """δ² of each two labels, shape (strata or 1, labels, labels)."""
        every = np.arange(self._labels)
        numbers = self._numbers(every) if self.level == "ordinal" else self._numbers(every)[None]
        return self._squared(numbers[:, :, None], numbers[:, None, :])

    @cached_property
    def per_item(self) -> Floats:
        """Each item's Σ_vk n_uv n_uk δ²(v, k) / (m_u − 1), shape (items, strata)."""
        items, strata, most = self._codes.shape
        result = np.zeros((items, strata))
        if self._labels <= min(most, MANY_LABELS):  # fewer pairs of labels than of answers
            apart = np.broadcast_to(self._apart, (strata, *self._apart.shape[1:]))
            for part, table in self._tables:
                counts = table.reshape(items, -1, self._labels).transpose(1, 0, 2).astype(np.float64)
                result[:, part] = np.einsum("siv,siv->is", counts @ apart[part], counts)
            return result * self._share
        numbers = self._numbers(self._codes)
        for step in range(1, most):
            squared = self._squared(numbers[:, :, step:], numbers[:, :, :-step])
            result += 2 * np.where(self._codes[:, :, step:] >= 0, squared, 0.0).sum(2)
        return result * self._share

    @cached_property
    def differs(self) -> NDArray[np.bool_]:
        """Which items have two labels that differ, shape (items, strata), whatever rounding does to sums."""
        least = np.where(self._codes < 0, self._labels, self._codes).min(2, initial=self._labels)
        return np.asarray(self.pairable & (self._codes.max(2, initial=-1) != least))

    def range_squared(self, stratum: int) -> float:
        """The largest δ² between two labels that were given."""
        given = np.flatnonzero(self.totals[stratum])
        if given.size < 2:
            return 0.0
        if self.level in BY_PAIRS:
            return float(self._squared(given[:, None], given).max())
        codes = np.repeat(given[[0, -1]][None], self.strata if self.level == "ordinal" else 1, 0)
        ends = self._numbers(codes)[stratum if self.level == "ordinal" else 0]
        return float(self._squared(ends[0], ends[1]))

    @cached_property
    def least(self) -> Floats:
        """Each stratum's least nominal alpha of such frequencies of labels, and what one agreement adds.

        It is above -1 where one label is frequent: an answer with another label disagrees with no more than
        the item's other answers, so D ≤ 2 (n − max N_v). And D ≤ Σ_u m_u min(1, (1 − 1/L) m_u / (m_u − 1)),
        since no item is labelled more evenly than with all L labels equally often. Where two such answers are
        of one item, D is less by 4 / (m − 1). At other levels of measurement it is -1.

        Two answers in twenty differ, and are not of one item: 1 − 19 · 4 / (400 − 18² − 2²), and 19 · 4 / 72:

        >>> given = Disagreement(np.array([[[0, 0]]] * 8 + [[[0, 1]]] * 2), 2)
        >>> given.least.round(4).tolist()
        [[-0.0556, 1.0556]]
        """
        totals, m, unknown = self.totals, self.ratings, np.tile([-1.0, 0.0], (self.strata, 1))
        n = totals.sum(1)
        expected = n**2 - (totals**2).sum(1)
        if self.level != "nominal" or not totals.size:
            return unknown
        used = np.maximum((totals > 0).sum(1), 1)
        evenly = (m * np.minimum(1.0, (1 - 1 / used) * m * self._share)).sum(0)
        most = np.minimum(2 * (n - totals.max(1)), evenly)
        answers = np.maximum(m.sum(0) / np.maximum((m > 0).sum(0), 1), 2.0)
        each = np.stack([most, 4 / (answers - 1)], 1) * quotient(n - 1, expected)[:, None]
        each[:, 0] = np.maximum(-1.0, 1 - each[:, 0])
        return np.where(expected[:, None] > 0, each, unknown)

    def sums(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """D, E and n under item weights, each of shape (samples, strata)."""
        d, e, n = np.zeros((3, len(weights), self.strata))
        for part, table, totals in self._totals(weights):
            n[:, part] = totals @ np.ones(self._labels)  # quicker than a sum over so short an axis
            if self.level == "ordinal":
                for place, stratum in enumerate(range(*part.indices(self.strata))):
                    own = table[:, place * self._labels : (place + 1) * self._labels]
                    sums = self._ordinal(weights, own, totals[:, place], stratum)
                    d[:, stratum], e[:, stratum] = sums
            else:
                e[:, part] = self._expected(totals, n[:, part])
        return (d if self.level == "ordinal" else weights @ self.per_item), e, n

    def _expected(self, totals: Floats, n: Floats) -> Floats:
        if self.level == "nominal":
            return np.asarray(n**2 - np.einsum("...v,...v->...", totals, totals))
        if self.level == "interval":
            assert self._values is not None
            return np.asarray(2 * (n * (totals @ self._values**2) - (totals @ self._values) ** 2))
        if self.level in BY_PAIRS or self._labels <= MANY_LABELS:
            return np.asarray(((totals @ self._apart[0]) * totals).sum(2))
        assert self._values is not None
        above = self._values > 0
        positive = totals[:, 0, above]
        zeros = n[:, 0] - positive.sum(1)
        of_zeros = 2 * zeros * (n[:, 0] - zeros)
        return np.asarray(waves(np.log(self._values[above]), positive) + of_zeros)[:, None]

    def _ordinal(self, weights: Floats, table: Any, totals: Floats, stratum: int) -> tuple[Floats, Floats]:
        """D and E of one stratum, whose midranks depend on the weights."""
        n, share = totals.sum(1), self._share[:, stratum]
        # The mean midrank is n/2 whatever the data: taking it off keeps the variances' digits.
        ranks = np.cumsum(totals, 1) - totals / 2 - n[:, None] / 2
        second = ((weights * (self.ratings[:, stratum] * share)) @ table * ranks**2).sum(1)
        first = np.einsum("si,is->s", weights * share, (table @ ranks.T) ** 2)
        e = n * (totals * ranks**2).sum(1) - (totals * ranks).sum(1) ** 2
        return 2 * (second - first), 2 * e

    def alphas(self, weights: Floats) -> Floats:
        """Alpha under item weights, shape (samples, strata); NaN where it is undefined."""
        d, e, n = self.sums(weights)
        # Sums that ought to be zero may be off by rounding, relative to the size of their terms.
        size: Floats | float = 1.0
        if self.level == "ordinal":
            size = np.maximum(n, 1) ** 2
        elif self.level == "interval" and self._values is not None and self._values.size:
            size = float(max(np.ptp(self._values) ** 2, np.finfo(float).tiny))
        # Where all of a sample's copies are of one item, pairs across items do not exist.
        small = 1e-12 * np.maximum(n, 1) ** 2 * size
        return np.where(e > small, 1 - (n - 1) * d / np.where(e > small, e, 1), np.nan)

    def reasons(self) -> list[str | None]:
        """Why each stratum's alpha is undefined; None where it is defined."""
        reasons: list[str | None] = []
        for items, labels in zip(self.pairable.sum(0), (self.totals > 0).sum(1), strict=True):
            if not items:
                reasons.append("fewer than two raters" if len(self.ratings) else "no annotations")
            elif labels < 2:
                reasons.append("no variation")
            else:
                reasons.append("fewer than two items with two labels" if items < 2 else None)
        return reasons


def _table(codes: NDArray[Any], labels: int) -> Any:
    return label_counts(codes, labels).reshape(len(codes), -1).astype(np.float32)


def _sparse_table(codes: NDArray[Any], labels: int) -> Any:
    given = codes >= 0
    places = np.nonzero(given)[0], codes[given]
    table = scipy.sparse.csr_array((np.ones(places[0].size), places), (len(codes), labels))
    table.sum_duplicates()
    return table


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
    n, total = totals.sum(1, keepdims=True), np.zeros(len(totals))
    x = logs - logs.mean() if logs.size else logs
    length = float(np.ptp(x)) + _REACH if logs.size else _REACH
    every = np.arange(1, int(_FASTEST * length / (2 * np.pi)) + 2) * (2 * np.pi / length)
    for omega in np.array_split(every, -(-every.size // _WAVES)):
        half = np.multiply.outer(x, omega / 2)
        # 1 − cos and sin, so that numbers that are all nearly the same keep their digits.
        lost, turned = totals @ (2 * np.sin(half) ** 2), totals @ np.sin(2 * half)
        total += (2 * n * lost - lost**2 - turned**2) @ (omega / np.sinh(np.pi * omega))
    return total * 8 * np.pi / length


_SUBSET, _OVERLAP = 2 / 3, 1 / 3
"""MASI's weights of sets one of which holds the other, and of sets that overlap."""


def members(sets: Sequence[str]) -> tuple[list[str], Floats]:
    """The labels in some sets, and which of them each set holds, shape (sets, labels).

    >>> labels, held = members(["food;service", "[]", "food"])
    >>> labels, held.tolist()
    (['food', 'service'], [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    """
    read = list(map(labels_in, sets))
    labels = list(dict.fromkeys(chain.from_iterable(read)))
    held = np.zeros((len(read), len(labels)))
    for row, some in zip(held, read, strict=True):
        row[[labels.index(label) for label in some]] = 1.0
    return labels, held


def set_distances(labels: Sequence[str], level: str) -> Floats:
    """The distance of each two labels that are sets, shape (labels, labels).

    ``jaccard`` is 1 − |A ∩ B| / |A ∪ B|, and 0 for two empty sets (Jaccard 1912, New Phytologist 11, 37-50).
    ``masi`` is 1 − M |A ∩ B| / |A ∪ B|, with M = 1, 2/3 or 1/3: equal, one in the other, or neither
    (Passonneau 2006, LREC, 831-836).

    >>> set_distances(["food", "food; service", "[]"], "jaccard").tolist()
    [[0.0, 0.5, 1.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
    >>> set_distances(["food", "food; service"], "masi")[0].round(6).tolist()
    [0.0, 0.666667]
    """
    held = members(labels)[1]
    sizes, both = held.sum(1), held @ held.T
    either = sizes[:, None] + sizes - both
    shared = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    if level == "masi":
        within = both == np.minimum(sizes[:, None], sizes)
        shared *= np.where(both == either, 1.0, np.where(within, _SUBSET, _OVERLAP))
    return 1 - shared


def tree_distances(labels: Sequence[str], label_set: LabelSet | None) -> Floats:
    """The distance of each two labels on the tree of a label set, shape (labels, labels).

    1 − 2 d(a ∧ b) / (d(a) + d(b)), with d how deep a label is (a label without a parent: 1) and a ∧ b the
    deepest that both fall under: 0 for the same, 1 for labels that have nothing in common (Wu & Palmer 1994,
    ACL, 133-138).

    Raises:
        MeasureError: No label has a parent.

    >>> from quaver.core.records import Label, LabelSet
    >>> codes = ("work", ""), ("wages", "work"), ("unions", "work"), ("war", "")
    >>> tree = LabelSet(tuple(Label(code, code, parent=parent) for code, parent in codes), "tree")
    >>> tree_distances(tree.codes, tree)[1].round(3).tolist()
    [0.333, 0.0, 0.5, 1.0]
    """
    if label_set is None or not any(label.parent for label in label_set.labels):
        raise MeasureError(
            "labels without parents form no tree",
            where="level",
            expected="a label set in which labels have a `parent`",
            found="tree",
        )
    whole = lineages(label_set)
    lines = [whole.get(label, (label,)) for label in labels]
    kinds = list(dict.fromkeys(line[: depth + 1] for line in lines for depth in range(len(line))))
    under = np.array([[float(line[: len(kind)] == kind) for kind in kinds] for line in lines])
    depth = under.sum(1)
    return np.asarray(1 - 2 * (under @ under.T) / (depth[:, None] + depth))
