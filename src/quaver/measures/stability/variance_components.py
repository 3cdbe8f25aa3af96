"""Variance components of labels from pairs of answers, by the facets that a pair shares.

Of pairs of answers that share exactly the facets S let D(S) be the mean of ½(x − y)². Every component whose
facets are not all in S is in it once, so differences of such means are the components (Koch 1968,
Technometrics 10, 551-558, symmetric sums): unbiased, whatever is missing, and for balanced data those of the
analysis of variance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from quaver.estimation.answer_grid import Ints
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.column_roles import Columns

Facets = frozenset[str]


class Pairs:
    """Sums of ½(x − y)² over pairs of answers, by the facets that a pair shares.

    Args:
        cell: Read with decoding, variant and model as strata and the repeats as raters.
        values: The labels' numbers; None for nominal labels, whose indicators are taken.
        columns: Other names for the frame's columns.
    """

    def __init__(self, cell: Cell, values: Floats | None, columns: Columns | None) -> None:
        self.cell = cell
        shape, place, active = _facets(cell, columns)
        counts = cell.counts()
        m = np.asarray(counts.sum(2))
        if values is not None and m.any():
            # Pairs differ by as much from any zero; from this one, sums of squares keep their digits.
            values = values - np.average(values, weights=counts.sum((0, 1)))
        features = counts if values is None else counts @ values[:, None]
        square = m if values is None else counts @ values**2
        items = len(cell.items)
        self._m = np.zeros((items, *shape))
        self._q = np.zeros((items, *shape))
        self._f = np.zeros((items, *shape, features.shape[2]))
        decoding, variant, model = place
        self._m[:, decoding, variant, model] = m
        self._q[:, decoding, variant, model] = square
        self._f[:, decoding, variant, model] = features
        self.facets = active
        self.units_answered = cell.units.touched(np.asarray((m > 0).any(1)))
        self.differ = np.asarray((counts > 0).any(1).sum(1) > 1)

    def subsets(self) -> list[Facets]:
        """The sets of facets other than the item, small ones first."""
        names = list(self.facets)
        return [frozenset(some) for size in range(len(names) + 1) for some in combinations(names, size)]

    def means(self) -> Any:
        """A function of item weights to the mean of ½(x − y)² over pairs that share exactly a set.

        It gives two dictionaries by set of facets: of two items, and of the same item; each of shape
        (samples,), NaN where there are no such pairs.
        """
        margins = {shared: self._margin(shared) for shared in self.subsets()}
        full = frozenset(self.facets)

        def at_weights(weights: Floats) -> tuple[dict[Facets, Floats], dict[Facets, Floats]]:
            apart = {shared: one.apart(weights) for shared, one in margins.items()}
            same = {shared: one.same(weights) for shared, one in margins.items()}
            own = weights @ self._m.sum(tuple(range(1, self._m.ndim)))
            exact_apart = {shared: _exact(apart, shared) for shared in margins}
            exact_same = {shared: _exact(same, shared) for shared in margins}
            # An answer paired with itself shares everything and differs in nothing.
            total, pairs = exact_same[full]
            exact_same[full] = (total, pairs - own)
            return _divided(exact_apart), _divided(exact_same)

        return at_weights

    def _margin(self, shared: Facets) -> _Margin:
        axes = tuple(axis for name, axis in (("variant", 2), ("model", 3)) if name not in shared)
        m, q, f = self._m.sum(axes), self._q.sum(axes), self._f.sum(axes)
        items = m.shape[0]
        return _Margin(m.reshape(items, -1), q.reshape(items, -1), f.reshape(items, -1, f.shape[-1]))


class _Margin(NamedTuple):
    """Answers, Σ x² and Σ x by item and combination of the shared facets."""

    m: Floats
    q: Floats
    f: Floats

    def same(self, weights: Floats) -> tuple[Floats, Floats]:
        """Σ ½(x − y)² over ordered pairs of one item's answers, and how many there are."""
        return weights @ self._per_item, weights @ (self.m**2).sum(1)

    @property
    def _per_item(self) -> Floats:
        return np.asarray((self.m * self.q - (self.f**2).sum(2)).sum(1))

    def apart(self, weights: Floats) -> tuple[Floats, Floats]:
        """The same over pairs of two items; copies of one item are not two items."""
        m, q = weights @ self.m, weights @ self.q
        f = weights @ self.f.reshape(self.f.shape[0], -1)
        total = (m * q).sum(1) - (f**2).sum(1) - weights**2 @ self._per_item
        return np.asarray(total), np.asarray((m**2).sum(1) - weights**2 @ (self.m**2).sum(1))


def _exact(sums: Mapping[Facets, tuple[Floats, Floats]], shared: Facets) -> tuple[Floats, Floats]:
    """From pairs that share at least a set of facets to those that share exactly it."""
    total, pairs = np.zeros(()), np.zeros(())
    for other, (one, number) in sums.items():
        if shared <= other:
            sign = (-1) ** len(other - shared)
            total, pairs = total + sign * one, pairs + sign * number
    return np.asarray(total), np.asarray(pairs)


def _divided(sums: Mapping[Facets, tuple[Floats, Floats]]) -> dict[Facets, Floats]:
    return {
        shared: np.asarray(np.where(pairs > 0.5, total / np.where(pairs > 0.5, pairs, 1), np.nan))
        for shared, (total, pairs) in sums.items()
    }


def _facets(
    cell: Cell, columns: Columns | None
) -> tuple[tuple[int, int, int], tuple[Ints, Ints, Ints], tuple[str, ...]]:
    """Each stratum's place among decodings, variants and models, and which of the last two vary."""
    places, sizes = [], []
    for role in ("decoding", "variant", "model"):
        name = (columns or {}).get(role, role)
        of = (name,) if isinstance(name, str) else tuple(name)
        keys = [tuple(where.get(column, "") for column in of) for where in cell.strata]
        known = {key: index for index, key in enumerate(dict.fromkeys(keys))}
        places.append(np.array([known[key] for key in keys], np.int64))
        sizes.append(max(1, len(known)))
    active = tuple(role for role, size in (("variant", sizes[1]), ("model", sizes[2])) if size > 1)
    return (sizes[0], sizes[1], sizes[2]), (places[0], places[1], places[2]), active


class Sources:
    """The sources of variance of one cell, as functions of the mean differences.

    Attributes:
        repeated: Whether there are repeats, whose own variance can be estimated.
        complete: Whether there are pairs of answers for every other source.
    """

    def __init__(self, pairs: Pairs) -> None:
        self._means = pairs.means()
        ones = np.ones((1, len(pairs.cell.items)))
        apart, same = self._means(ones)
        self._subsets = pairs.subsets()
        self._full = frozenset(pairs.facets)
        self.repeated = bool(np.isfinite(same[self._full][0]))
        self.names = ["item"]
        self.sets: list[frozenset[str]] = [frozenset({"item"})]
        for shared in self._subsets[1:]:
            self._add(shared)
            self._add(shared | {"item"})
        self.complete = all(np.isfinite(value[0]) for value in apart.values()) and all(
            np.isfinite(value[0]) for shared, value in same.items() if shared != self._full
        )

    def _add(self, source: frozenset[str]) -> None:
        order = [name for name in ("item", "variant", "model") if name in source]
        self.sets.append(source)
        self.names.append(" × ".join(order))

    @property
    def labels(self) -> list[str]:
        """The sources' names, the repeats' own last."""
        if self.repeated:
            return [*self.names, "repeat"]
        everything = self._full | {"item"}
        return [
            f"{name}, repeat" if source == everything else name
            for name, source in zip(self.names, self.sets, strict=True)
        ]

    def components(self, weights: Floats) -> Floats:
        """Variance components under item weights, shape (samples, sources)."""
        apart, same = self._means(weights)
        if not self.repeated:
            same[self._full] = np.zeros(len(weights))
        whole = apart[frozenset()]

        def within(source: frozenset[str]) -> Floats:
            means = same if "item" in source else apart
            return np.asarray(whole - means[source - {"item"}])

        found = []
        for source in self.sets:
            total = np.zeros(len(weights))
            for part in _parts(source):
                total = total + (-1) ** len(source - part) * within(part)
            found.append(total)
        if self.repeated:
            found.append(same[self._full])
        return np.stack(found, 1)


def _parts(source: frozenset[str]) -> Iterator[frozenset[str]]:
    for size in range(1, len(source) + 1):
        for some in combinations(sorted(source), size):
            yield frozenset(some)
