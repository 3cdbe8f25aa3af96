"""Consistency: how alike a prompt's paraphrases treat the items of one class.

Two items of the same true class have the consistency 1 − TVD of their label distributions over the
paraphrases; `Pairs` sums them without going through the pairs.

Source: Errica, Siracusano, Sanvito & Bifulco (2025), What Did I Do Wrong? Quantifying LLMs' Sensitivity
and Consistency to Prompt Engineering, NAACL 2025, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from quaver.core.records import Estimate, IntervalWarning, LabelSet, Level
from quaver.errors import MeasureError
from quaver.estimation.arrangement import Columns
from quaver.estimation.bootstrap import FEW, Floats, Weighted
from quaver.estimation.cells import Frame, Missing, cells, guarded
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import Interval, no_narrower, none_goes_far
from quaver.estimation.means import over_strata, quotient
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic, never_labelled
from quaver.measures.variation.item_sensitivity import (
    PAPER,
    STRATA,
    Convention,
    Scale,
    check_convention,
    mean_defined,
    unequal,
    unlabelled,
)

_PAIRED = 300
"""Of more items in a class than these, the pairs among this many, evenly spread, are kept."""


@measure(
    title="How similar the answers about items of one class are: consistency",
    axis="consistency (1: alike within a class)",
    section="sensitivity",
    better="higher",
    ends=(0.0, 1.0),
    source=PAPER,
    missing=("drop", "category"),
    compares=("variant",),
    treatments=("convention",),
    estimands=("population", "fixed"),
    of_a_set=True,
    of_classes=True,
)
def consistency(
    data: MeasureInput,
    *,
    convention: Convention = "recommended",
    missing: Missing | None = None,
    level: Level = "nominal",
    self_pairs: bool | None = None,
    pooled: bool | None = None,
    classes: bool = False,
) -> list[Estimate]:
    """Consistency: the mean over pairs of items of one class of 1 − TVD of their label distributions.

    c(x, x') = 1 − ½ Σ_v |p(v | x) − p(v | x')|, with p(v | x) the share of the variants that labelled
    item x with v. The recommended value leaves out pairs of an item with itself (which are 1 by
    definition) and is the mean of the class means; the paper's tables pool all pairs and leave
    self-pairs in. Computed within each repeat (of each model and decoding), and averaged over those.
    Undefined without gold labels, or where no class has two items. The interval resamples items and
    leaves out pairs of copies of one item.

    Args:
        convention: ``"paper"`` is ``missing="category", self_pairs=True, pooled=True``.
        missing: ``"drop"`` (the default) or ``"category"``.
        level: ``"nominal"``: labels are the same or not. Of labels on a scale (``"ordinal"``, ``"interval"``,
            ``"ratio"``) it is 1 − how far one item's answers are from the other's (earth mover's distance),
            over the length of the scale.
        self_pairs: Whether an item is paired with itself; by default as the convention says.
        pooled: Whether all pairs weigh the same, or all classes; by default as the convention says.
        classes: Whether each class gets an estimate of its own after the overall one, with its label under
            ``"class"`` in the cell.

    Returns:
        An estimate for each cell, the classes' own in ``details["by_class"]``. What ``keep=["distribution"]``
        keeps of a class is the consistency of each pair of its items (of 300 of them at most, evenly
        spread), items × items in the order of their modal labels; of a cell, each item's mean.

    Two items of one class, labelled a a and a b: 1 − ½ (½ + ½):

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": [1, 2, 1, 2], "label": list("aaab"),
    ...                       "gold": list("aaaa")})
    >>> consistency(frame)[0].value, consistency(frame, convention="paper")[0].value
    (0.5, 0.75)
    """
    missing = check_convention(convention, missing)
    paper = convention == "paper"
    pairing = {
        "self_pairs": paper if self_pairs is None else self_pairs,
        "pooled": paper if pooled is None else pooled,
    }
    estimates: list[Estimate] = []
    for cell in data.cells(raters=("variant",), within=STRATA, gold=True, missing=missing):
        statistics = _consistency(cell, missing, pairing, level)
        if data.is_retaken and not classes:
            statistics = islice(statistics, 1)
        whole, *each = map(cell.estimated, statistics)
        if not pairing["pooled"]:
            whole = no_narrower(whole, each, (0.0, 1.0))
        estimates += [whole, *(each if classes else ())]
    return unequal(estimates)


def _consistency(
    cell: Cell, missing: Missing, pairing: Mapping[str, bool], level: Level
) -> Iterator[Statistic]:
    """The statistic of all classes, and of each one."""
    counts, scale = cell.counts(), Scale.of(cell, level, missing)
    gold = cell.gold_codes
    pairs = [Pairs(counts[:, s], gold, scale=scale, **pairing) for s in range(counts.shape[1])]
    statistic = _said(cell, gold, missing, pairing, level)
    codes = sorted({code for part in pairs for code, items in part.classes.items() if items.size > 1})
    if not codes:
        why = "no gold labels" if not (gold >= 0).any() else "no class with two items"
        yield replace(statistic, reason=why if cell.items else "no annotations")
        return
    item = mean_defined(np.stack([part.per_item() for part in pairs], 1))
    q = counts.sum(2)[gold >= 0]
    q = q[q > 0]
    base = {"labels": len(cell.labels), "predictions": (float(q.min()), float(q.max())), **pairing}

    under = _under(pairs, codes, pooled=pairing["pooled"])

    def one(column: int, items: Floats, **details: Any) -> Statistic:
        known = items[np.isfinite(items)]
        sd = float(known.std(ddof=1)) if known.size > 1 else None
        return replace(
            statistic,
            under=under,
            column=column,
            n=cell.units.touched(np.isfinite(items)),
            ends=(0.0, 1.0),
            spread=_spread,
            details={"sd": sd, **base, **details},
            values=items,
        )

    whole = one(0, item, by_class=_by_class(pairs, cell.labels))
    if pairing["pooled"]:
        yield whole
    else:
        yield replace(whole, warnings=(*whole.warnings, *_few_deviating(cell, counts.sum(1), gold)))
    for column, code in enumerate(codes, start=1):
        own = one(column, np.where(gold == code, item, np.nan))
        members = np.flatnonzero((gold == code) & (counts.sum(2) > 0).all(1))
        matrix = partial(_in_order, counts[spread_evenly(members, _PAIRED)], scale)
        yield replace(
            own,
            where={"class": cell.labels[code]},
            values=matrix,
        )


def _few_deviating(cell: Cell, counts: Floats, gold: NDArray[np.int32]) -> tuple[IntervalWarning, ...]:
    """A warning where few items of a class have another label than most: they make all the variance."""
    few: list[int] = []
    far: tuple[IntervalWarning, ...] = ()
    for code in np.unique(gold[gold >= 0]):
        own = np.where((gold == code)[:, None], counts, 0.0)
        total = own.sum(1)
        others = total - own[:, int(own.sum(0).argmax())]
        few.append(cell.units.touched(np.asarray(others > 0)))
        share = quotient(others, total)
        far = far or none_goes_far(share, "item of a class", cell.resampling.confidence_level)
    if min(few) >= FEW:
        return far
    unit = cell.units.name
    return (
        IntervalWarning(
            f"only {min(few)} {unit}s of a class have another label than most: the interval may be too narrow"
        ),
    )


def spread_evenly(members: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """As many of them as there may be, evenly spread."""
    if members.size <= most:
        return members
    return members[np.linspace(0, members.size - 1, most).round().astype(np.int64)]


def _in_order(counts: Floats, scale: Scale | None) -> Floats:
    """The consistency of each pair of these items, in the order of their modal labels."""
    totals = counts.sum(1)
    shares = totals / np.maximum(totals.sum(1, keepdims=True), 1)
    order = np.lexsort((-shares.max(1), shares.argmax(1)))
    return np.clip(alike(counts[order], scale), 0, 1)  # sums of shares may pass 1 by a rounding


def _under(pairs: Sequence[Pairs], codes: Sequence[int], *, pooled: bool) -> Weighted:
    """Consistency over all classes, and of each of some, as one function: each sample is weighed once."""

    def under(weights: Floats) -> Floats:
        found = np.full((len(weights), 1 + len(codes), len(pairs)), np.nan)
        for stratum, part in enumerate(pairs):
            each = part.by_class(weights)
            found[:, 0, stratum] = part.overall(weights)[:, 0] if pooled else mean_defined(each)
            place = {code: index for index, code in enumerate(part.classes)}
            for column, code in enumerate(codes, start=1):
                if code in place:
                    found[:, column, stratum] = each[:, place[code]]
        return mean_defined(found.reshape(-1, len(pairs))).reshape(len(weights), -1)

    return under


def _by_class(pairs: list[Pairs], labels: Sequence[str]) -> dict[str, float]:
    found: dict[int, list[float]] = {}
    for part in pairs:
        ones = np.ones((1, len(part.shares)))
        for code, value in zip(part.classes, part.by_class(ones)[0], strict=True):
            if np.isfinite(value):
                found.setdefault(code, []).append(float(value))
    return {labels[code]: float(np.mean(values)) for code, values in sorted(found.items())}


def _said(
    cell: Cell, gold: NDArray[np.integer[Any]], missing: Missing, pairing: Mapping[str, bool], level: Level
) -> Statistic:
    excluded = dict(cell.counted) if missing == "drop" else {}
    if lost := int((gold < 0).sum()):
        excluded["item without gold"] = lost
    own = "in" if pairing["self_pairs"] else "out"
    mean = "mean over all pairs" if pairing["pooled"] else "mean of the class means"
    treated = unlabelled(missing)
    distance = "total variation" if level == "nominal" else f"earth mover’s ({level})"
    method = f"1 − {distance} distance of items of one class, {mean}, self-pairs {own} ({treated})"
    return Statistic(
        method=method,
        excluded=excluded,
        n=cell.units.touched(gold >= 0),
        warnings=never_labelled(cell) if missing == "category" else (),
    )


def _spread(value: float, share: float) -> Interval:
    # A pair is touched where either of its items is.
    pairs = 1 - (1 - share) ** 2
    return Interval(value * (1 - pairs), value + pairs * (1 - value))


class Similarity(NamedTuple):
    """The pairs of items of one class.

    Attributes:
        items: Their ids.
        matrix: Consistency of each pair, shape (items, items), 1 on the diagonal; mean over repeats.
        edges: The histogram's edges, from 0 to 1.
        counts: How many pairs of two different items lie between them (the last edge included).
    """

    items: tuple[str, ...]
    matrix: Floats
    edges: Floats
    counts: NDArray[np.int64]


@guarded
def consistency_matrix(
    annotations: Frame,
    of: str,
    *,
    bins: int = 20,
    labels: LabelSet | None = None,
    missing: Missing = "drop",
    columns: Columns | None = None,
) -> Similarity:
    """The consistency of every pair of items of one class, and its histogram.

    Args:
        annotations: A row an annotation, with a ``gold`` column, of one cell of interest.
        of: The gold label whose items are compared.
        bins: Bins of the histogram.
        labels: The label set.
        missing: ``"drop"`` or ``"category"``.
        columns: Other names for the frame's columns.

    Returns:
        The matrix, items × items, with their ids, and the counts of its histogram.

    Raises:
        MeasureError: The frame cannot be used, or no item has that gold label and an answer.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": [1, 2, 1, 2], "label": list("aaab"),
    ...                       "gold": list("aaaa")})
    >>> consistency_matrix(frame, "a").matrix.tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    if bins < 1:
        raise MeasureError("not a number of bins", where="bins", expected="1 or more", found=repr(bins))
    (cell,) = cells(
        annotations,
        raters=("variant",),
        within=STRATA,
        labels=labels,
        columns=columns,
        missing=check_convention("recommended", missing),
        gold=True,
    )
    if cell.gold is None or of not in cell.labels:
        known = "no gold labels" if cell.gold is None else ", ".join(cell.labels)
        raise MeasureError("no such class", where="of", expected=known, found=repr(of))
    code, counts = cell.labels.index(of), cell.counts()
    members = np.flatnonzero((cell.gold == code) & (counts.sum(2) > 0).all(1))
    if not members.size:
        raise MeasureError("no items of this class", where="of", expected="a gold label with items", found=of)
    matrix = alike(counts[members])
    # Sums of shares may pass 1 by a rounding.
    values = np.clip(matrix[np.triu_indices(members.size, 1)], 0, 1)
    heights, edges = np.histogram(values, bins=bins, range=(0.0, 1.0))
    return Similarity(tuple(cell.items[i] for i in members), matrix, edges, heights)


class Pairs:
    """The within-class pairs of one stratum's items, as functions of item weights.

    Args:
        counts: Label counts, shape (items, labels). Items without any do not take part.
        classes: Each item's class, -1 for none.
        self_pairs: Whether an item is paired with itself.
        pooled: Whether all pairs have equal weight, or all classes.
        scale: The scale of the labels, if their distances count.
    """

    def __init__(
        self,
        counts: Floats,
        classes: NDArray[np.integer[Any]],
        *,
        scale: Scale | None = None,
        self_pairs: bool = False,
        pooled: bool = False,
    ) -> None:
        predictions = counts.sum(1)
        takes_part = (predictions > 0) & (classes >= 0)
        self.shares = counts / np.maximum(predictions, 1)[:, None]
        if scale is not None:  # half the sum of differences is then the mean distance on the scale
            self.shares = 2 * scale.steps * scale.upto(self.shares)
        self.classes = {
            int(code): np.flatnonzero(takes_part & (classes == code))
            for code in np.unique(classes[takes_part])
        }
        self._self_pairs, self._pooled = self_pairs, pooled
        self._items = len(counts)
        self._count()

    def _count(self) -> None:
        """Number each label's values above 0 in each class, in order, and say which items have them."""
        labels, none = self.shares.shape[1], np.zeros(0, np.int64)
        self._members = np.concatenate([none, *self.classes.values()])
        self._class = np.repeat(
            np.arange(len(self.classes)), [class_name.size for class_name in self.classes.values()]
        )
        shares = self.shares[self._members]
        self._holder, label = np.nonzero(shares)
        values, value = _numbered(shares[self._holder, label])
        place = (self._class[self._holder] * labels + label) * values.size + value
        there, self._place = _numbered(place)
        level = values[there % max(values.size, 1)]
        of = there // max(values.size, 1)  # class and label
        first = np.flatnonzero(np.diff(of, prepend=-1))
        size = np.diff(first, append=of.size)
        self._gaps = np.where(np.isin(np.arange(of.size), first), level, np.diff(level, prepend=0.0))
        self._levels, self._first = level, np.repeat(first, size)
        self._ends, self._sizes, self._of = first + size, size, of // max(labels, 1)
        rows = np.concatenate([self._class, len(self.classes) + self._place])
        columns = np.concatenate([self._members, self._members[self._holder]])
        shape = (len(self.classes) + of.size, self._items)
        self._taken = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
        self._in_class = self._taken[: len(self.classes)]

    def _sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """Σ of consistencies and number of (ordered) pairs in each class, shapes (samples, classes)."""
        classes = len(self.classes)
        if not classes:
            return np.empty((len(weights), 0)), np.empty((len(weights), 0))
        found = self._taken @ np.ascontiguousarray(weights.T)
        total, at = found[:classes], found[classes:]
        # Copies of one item in a bootstrap sample are not a pair: they would be consistent by birth.
        pairs = total**2 - self._in_class @ np.ascontiguousarray(weights.T) ** 2
        if self._self_pairs:
            pairs = pairs + total
        upto = np.zeros((len(at) + 1, len(weights)))
        np.cumsum(at, 0, out=upto[1:])
        above = np.repeat(upto[self._ends], self._sizes, 0)
        above -= upto[:-1]
        apart = np.repeat(total, np.bincount(self._of), 0)
        apart -= above
        apart *= above
        apart *= self._gaps[:, None]
        distance = np.add.reduceat(apart, np.flatnonzero(np.diff(self._of, prepend=-1)), 0)
        return (pairs - distance).T, pairs.T

    def by_class(self, weights: Floats) -> Floats:
        """Each class's consistency, shape (samples, classes); NaN where it has no pair."""
        total, pairs = self._sums(weights)
        return quotient(total, pairs)

    def overall(self, weights: Floats) -> Floats:
        """Consistency over all classes, shape (samples, 1); NaN where there is no pair."""
        if not self._pooled:
            return over_strata(self.by_class)(weights)
        total, pairs = (one.sum(1) for one in self._sums(weights))
        return quotient(total, pairs)[:, None]

    def per_item(self) -> Floats:
        """Each item's mean consistency with the others of its class; NaN where there are none."""
        result = np.full(self._items, np.nan)
        if not self.classes:
            return result
        size = np.bincount(self._class)
        counts = np.bincount(self._place, minlength=self._levels.size).astype(np.float64)
        # Σ_j |p_i − p_j| from the sums below and above; the items without a label have p = 0.
        number, whole = (np.concatenate([[0.0], np.cumsum(one)]) for one in (counts, counts * self._levels))
        here = np.arange(self._levels.size)
        last = np.repeat(self._ends, self._sizes)
        above, over = number[last] - number[here], whole[last] - whole[here]
        below = size[self._of] - above
        apart = self._levels * (below - above) - (whole[here] - whole[self._first]) + over
        every = whole[last] - whole[self._first]  # Σ_j p_j, of an item that has none
        starts = np.flatnonzero(self._first == here)
        none = np.bincount(self._of[starts], every[starts], minlength=size.size)
        distance = np.bincount(self._holder, (apart - every)[self._place], minlength=self._members.size)
        others = size + self._self_pairs - 1
        enough = others[self._class] > 0
        mean = (distance + none[self._class]) / 2 / np.maximum(others[self._class], 1)
        result[self._members[enough]] = 1 - mean[enough]
        return result

    def matrix(self, code: int) -> Floats:
        """The consistency of every pair of items of a class, shape (items, items), in memory at once."""
        p = self.shares[self.classes[code]]
        distance = np.zeros((len(p), len(p)))
        for column in p.T:
            distance += np.abs(column[:, None] - column)
        return np.asarray(1 - distance / 2)


def alike(counts: Floats, scale: Scale | None = None) -> Floats:
    """The consistency of each pair of items of one class, mean over the strata, shape (items, items)."""
    one_class = np.zeros(len(counts), np.int64)
    layers = [Pairs(counts[:, index], one_class, scale=scale).matrix(0) for index in range(counts.shape[1])]
    return np.asarray(np.mean(layers, 0))


def _numbered(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different values, sorted, and each one's place among them."""
    found, positions = np.unique(values, return_inverse=True)
    return found, positions
