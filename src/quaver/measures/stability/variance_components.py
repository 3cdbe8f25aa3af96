"""Variance components of labels from pairs of answers, by the facets that a pair shares.

Of pairs of answers that share exactly the facets S let D(S) be the mean of ½(x − y)². Every component whose
facets are not all in S is in it once, so differences of such means are the components (Koch 1968,
Technometrics 10, 551-558, symmetric sums): unbiased, whatever is missing, and for balanced data those of the
analysis of variance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from quaver.agreement.stratified_alpha import rarest_labels, scaled, stray_labels
from quaver.core.records import Estimate, Level
from quaver.core.rows import Presentation
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.arrangement import Columns
from quaver.estimation.bootstrap import Draws, Floats, covariance_without_one
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import Ints
from quaver.estimation.intervals import mean_within
from quaver.estimation.inversion import deviations
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.stability.smallest_design import (
    Plan,
    dependabilities,
    dependability,
    smallest_design,
    uncertain_design,
)

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


_REFERENCE = (
    "Brennan (2001), Generalizability Theory, ch. 3-4; components by symmetric sums: Koch (1968), "
    "Technometrics 10, 551-558; nominal labels as indicators: Light & Margolin (1971), JASA 66, 534-544"
)


@measure(
    section="factors",
    better="higher",
    parts={"_component": Presentation()},
    source=_REFERENCE,
    missing=("drop", "category"),
    compares=("model", "variant"),
    treatments=("level",),
    estimands=("fixed", "population"),
    of_a_set=True,
)
def generalizability(
    data: MeasureInput,
    *,
    variants: int = 1,
    repeats: int = 1,
    models: int = 1,
    target: float = 0.8,
    level: Level | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """Variance components of items, variants, models and repeats, and the dependability of a planned design.

    Items, variants and models are crossed and random; repeats are nested in them; facets with one value in a
    cell play no part; decodings are kept apart, and their pairs of answers pooled. The variance of a nominal
    label is that of its indicators, ½ Σ_v (x_v − y_v)², so that a component is in units of the probability
    that two answers differ; other levels use the labels' numbers (ordinal: places).

    With D(S) the mean of ½(x − y)² over the pairs of answers that share exactly the facets S, D(∅) − D(S) is
    the sum of the components within S, and D(all) the repeats' own: unbiased, and not in need of balance.
    Dependability Φ = σ²(item) / (σ²(item) + Σ σ²(A) / n(A)), where n(A) multiplies the planned numbers of the
    facets in A; it is that of the mean of the indicators (vote shares), not of the majority's label.

    Undefined where there are fewer than two items, no facet or repeat, or no variation. Intervals are over
    items, for these variants and models; that of Φ is over variants too with ``estimand="population"``.

    Args:
        variants: Planned number of variants of each item's label.
        repeats: Planned number of repeats of each variant.
        models: Planned number of models.
        target: The dependability that ``details["smallest_design"]`` is to reach; ``smallest_design_answers``
            are the ends of its interval in answers an item (variants × repeats; None: none reaches it), and
            ``smallest_design_unreached`` how probable it is that none does, both over other items like these.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"`` (nominal only).

    Returns:
        For each cell ``generalizability`` (Φ of the plan; ``relative`` in its details is Eρ², in which what
        shifts all items alike does no harm), and ``generalizability_component`` for each source of variance,
        named in the cell as ``source``; a negative component is given as it is, and counts as 0 in Φ.

    Two items, two repeats, all the same within an item: all variance is the items':

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "repeat": [0, 1, 0, 1], "label": list("aabb")})
    >>> [(e.cell.get("source", ""), e.value) for e in generalizability(frame, resamples=0)]
    [('', 1.0), ('item', 1.0), ('repeat', 0.0)]
    """
    plan = _plan(variants, repeats, models, target)
    for cell in data.cells(raters=("repeat",), within=("decoding", "variant", "model"), missing=missing):
        of, values = scaled(cell.labels, level, cell.label_set, missing)
        values = np.arange(len(cell.labels), dtype=np.float64) if of == "ordinal" else values
        said = Statistic(
            method=f"dependability of {plan.variants} variants × {plan.repeats} repeats × {plan.models} "
            f"models, {of} labels; items, variants and models as random facets",
            excluded=cell.counted if missing == "drop" else {},
        )
        for statistic in _statistics(Pairs(cell, values, data.columns), plan, target, said):
            estimate = cell.estimated(statistic)
            below = not statistic.part and estimate.low is not None and estimate.low < 0
            yield replace(estimate, low=0.0) if below else estimate


def _plan(variants: int, repeats: int, models: int, target: float) -> Plan:
    for name, number in (("variants", variants), ("repeats", repeats), ("models", models)):
        if not isinstance(number, (int, np.integer)) or number < 1:
            raise MeasureError("not a number of them", where=name, expected="1 or more", found=repr(number))
    if not 0 < target < 1:
        raise MeasureError(
            "not a dependability", where="target", expected="a number between 0 and 1", found=repr(target)
        )
    return Plan(variants, repeats, models)


def _statistics(pairs: Pairs, plan: Plan, target: float, statistic: Statistic) -> Iterator[Statistic]:
    """Dependability, and each component after it."""
    cell, statistic = pairs.cell, replace(statistic, n=pairs.units_answered)
    if pairs.units_answered < 2:
        why = "fewer than two items" if pairs.units_answered else "no answer has a label"
        yield replace(statistic, reason=why if cell.items else "no annotations")
        return
    sources = Sources(pairs)
    several = sources.repeated or pairs.facets
    if not sources.complete or not several:
        why = "no pairs of answers for some source of variance" if several else "fewer than two raters"
        yield replace(statistic, reason=why)
        return
    names = sources.labels

    def under(weights: Floats) -> Floats:
        parts = sources.components(weights)
        return np.concatenate([dependabilities(parts, names, plan)[:, None], parts], 1)

    draws = cell.draws(under)
    point = draws.point
    if not np.isfinite(point[0]):
        yield replace(statistic, reason="no variation")
        return
    parts = dict(zip(names, (float(value) for value in point[1:]), strict=True))
    total = sum(max(0.0, value) for value in parts.values())
    statistic = replace(statistic, rarest=rarest_labels(cell.counts().sum(1), cell.units))
    yield replace(
        statistic,
        under=under,
        differing=cell.units.touched(pairs.differ),
        warnings=(*stray_labels(cell, cell.counts().sum(1)), *_cautions(sources, parts)),
        ends=(-1.0, 1.0),  # near 0 it varies as if it went on below, where it counts as 0
        spread=mean_within,
        details={
            "components": parts,
            "relative": dependability(parts, plan, relative=True),
            "plan": plan._asdict(),
            "target": target,
            "smallest_design": smallest_design(parts, target, models=plan.models),
            **_uncertain(cell, draws, names, target, plan.models),
        },
    )
    for index, (name, part) in enumerate(parts.items()):
        yield replace(
            statistic,
            part="_component",
            method=f"variance component of {name}",
            where={"source": name},
            under=under,
            column=index + 1,
            details={"share": max(0.0, part) / total},
        )


def _cautions(sources: Sources, parts: Mapping[str, float]) -> Iterator[str]:
    if negative := [name for name, value in parts.items() if value < -1e-12]:
        yield f"negative components count as 0: {', '.join(negative)}"
    if not sources.repeated:
        yield "without repeats their variance cannot be separated from the last interaction's"


def _uncertain(cell: Cell, draws: Draws, names: Sequence[str], target: float, models: int) -> dict[str, Any]:
    """How far the smallest design is known; nothing where nothing is resampled."""
    left, resampling = draws.jackknife[:, 1:], cell.resampling
    left = left[np.isfinite(left).all(1)]
    if len(left) < 2:
        return {}
    noise = deviations(
        covariance_without_one(left),
        draws=resampling.resamples,
        freedom=min(len(left) - 1, cell.units.freedom),
        seed=derive(resampling.seed, "smallest design"),
    )
    return uncertain_design(draws.point[1:] + noise, names, target, models, resampling.tail)
