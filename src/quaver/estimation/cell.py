"""The annotations of one cell of the data as an array, and how it is cut out of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Draws, Floats, Resampling, Units, Weighted
from quaver.estimation.encoding import Codes, Encoded
from quaver.estimation.statistic import Sampler, Statistic

UNDECIDED = "valid, without a label"
"""The kind of the answers that did as they were asked and prefer no label: tied scores."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """The annotations of one cell, as an array.

    Attributes:
        where: The cell: the value of each column in ``by``.
        codes: Label codes, shape (items, strata, raters); -1 where there is none.
        labels: The label of each code. With ``missing="category"`` the last is `NO_LABEL`.
        items: The items' ids, sorted.
        strata: What each stratum is, by column.
        raters: The raters' names, sorted.
        gold: Code of each item's true label, -1 where unknown; None where the frame has no gold.
        clusters: The group of each item, as integers from 0; None where items are resampled.
        unit: What is resampled: ``"item"`` or the group's column.
        counted: How many answers are not a label, by status or kind; whether they were left out is the
            measure's affair.
        unanswered: True where an answer came without a label, shape as ``codes``.
        undecided: True where such an answer is valid all the same, as tied scores are, shape as ``codes``.
        rows: The frame's row of each annotation, shape as ``codes``; -1 where there is none. Further
            columns (a confidence, a factor's level) are arranged by it.
        label_set: The label set that was given.
        numbers: Columns of numbers that the measure reads, by role, shape as ``codes``; NaN where there is
            none.
        sampler: What resamples its units.
    """

    where: dict[str, str]
    codes: NDArray[np.int32]
    labels: tuple[str, ...]
    items: tuple[str, ...]
    strata: tuple[dict[str, str], ...]
    raters: tuple[str, ...]
    gold: NDArray[np.int32] | None = None
    clusters: Ints | None = None
    unit: str = "item"
    counted: dict[str, int] = field(default_factory=dict)
    unanswered: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0, 0), bool))
    undecided: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0, 0), bool))
    rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0, 0), np.int32))
    label_set: LabelSet | None = None
    numbers: Mapping[str, Floats] = field(default_factory=dict)
    sampler: Sampler | None = field(default=None, repr=False, compare=False)

    def draws(self, under: Weighted) -> Draws:
        """A function of item weights on the data, on the resamples, and with each unit left out."""
        assert self.sampler is not None, "only the cells of a reading are resampled"
        return self.sampler.draws(under)

    def estimated(self, statistic: Statistic, draws: Draws | None = None) -> Estimate:
        """The estimate of a statistic of this cell; ``draws`` where they are not those of its units."""
        assert self.sampler is not None, "only the cells of a reading are resampled"
        return self.sampler.estimated(statistic, draws)

    @property
    def expected(self) -> set[int]:
        """The codes of the labels that the label set has, whether or not they occur; none without a set."""
        asked = () if self.label_set is None else self.label_set.codes
        return {self.labels.index(label) for label in asked if label in self.labels}

    @property
    def resampling(self) -> Resampling:
        """How this cell is resampled."""
        assert self.sampler is not None, "only the cells of a reading are resampled"
        return self.sampler.resampling

    @property
    def units(self) -> Units:
        """What is resampled."""
        return Units(len(self.items), self.clusters, self.unit)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """True where an answer did as it was asked, shape as ``codes``."""
        return (self.codes >= 0) & ~self.unanswered | self.undecided

    def counts(self) -> NDArray[np.float64]:
        """How many raters gave each label to each item, shape (items, strata, labels)."""
        return label_counts(self.codes, len(self.labels))


def never_labelled(cell: Cell) -> tuple[str, ...]:
    """A warning where items have no label at all, and so agree perfectly where that is one more label.

    Args:
        cell: Read with ``missing="category"``.
    """
    asked = (cell.codes >= 0).any((1, 2))
    never = int((asked & ~((cell.codes >= 0) & ~cell.unanswered).any((1, 2))).sum())
    if not never:
        return ()
    return (
        f"{never:,} of {int(asked.sum()):,} items never got a label: having none every time counts as "
        "agreement",
    )


def label_counts(codes: NDArray[Any], labels: int) -> NDArray[np.float64]:
    """How often each label occurs along the last axis.

    Returns:
        Counts, the last axis as long as there are labels.

    >>> label_counts(np.array([[0, 1, 1], [2, -1, 2]]), 3)
    array([[1., 2., 0.],
           [0., 0., 2.]])
    """
    shape = codes.shape[:-1]
    rows = int(np.prod(shape))
    flat = codes.reshape(rows, -1) if codes.size else np.full((rows, 1), -1)
    given = flat >= 0
    place = (np.arange(rows)[:, None] * labels + flat)[given]
    return np.bincount(place, minlength=rows * labels).reshape(*shape, labels).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Every row's item, stratum, rater and label: what a cell is cut out of."""

    items: Codes
    names: list[str]
    strata: Codes
    raters: Codes
    label: NDArray[np.int32]
    labels: tuple[str, ...]
    status: Encoded
    gold: Ints | None
    clusters: Ints | None
    unit: str

    def cell(self, where: dict[str, str], rows: Ints) -> Cell:
        """The cell of some of the rows."""
        some, item = _compact(self.items.codes[rows], len(self.items.values))
        layers, stratum = _compact(self.strata.codes[rows], len(self.strata.values))
        judges, rater = _compact(self.raters.codes[rows], len(self.raters.values))
        shape = (some.size, layers.size, judges.size)
        place = (item * layers.size + stratum) * judges.size + rater
        kinds = self.status.codes[rows]
        undecided = self.status.values.index(UNDECIDED)
        codes = np.full(some.size * layers.size * judges.size, -1, np.int32)
        bare, even = np.zeros(codes.size, bool), np.zeros(codes.size, bool)
        origin = np.full(codes.size, -1, np.int32)
        codes[place], bare[place], origin[place] = self.label[rows], kinds >= 0, rows
        even[place] = kinds == undecided
        if (more := rows.size - int((origin >= 0).sum())) > 0:
            self._twice(place, some[item], more, where)
        tally = np.bincount(kinds[kinds >= 0], minlength=len(self.status.values))
        return Cell(
            where=where,
            codes=codes.reshape(shape),
            labels=self.labels,
            items=tuple(map(self.names.__getitem__, some.tolist())),
            strata=tuple(self.strata.values[i] for i in layers),
            raters=tuple(" | ".join(self.raters.values[i].values()) for i in judges),
            gold=None if self.gold is None else self.gold[some].astype(np.int32),
            clusters=None if self.clusters is None else _own(self.clusters[some]),
            unit=self.unit,
            counted={self.status.values[k]: int(tally[k]) for k in np.flatnonzero(tally)},
            unanswered=bare.reshape(shape),
            undecided=even.reshape(shape),
            rows=origin.reshape(shape),
        )

    def _twice(self, place: Ints, item: Ints, more: int, where: dict[str, str]) -> None:
        order = np.argsort(place, kind="stable")
        again = order[1:][place[order][1:] == place[order][:-1]][0]
        apart = [name for codes in (self.strata, self.raters) for name in codes.values[0]]
        position = "".join(f", {name} {value}" for name, value in where.items())
        raise MeasureError(
            "several annotations in one place",
            where="annotations",
            expected=f"one for each item{''.join(f' and {name}' for name in apart)}",
            found=f"{more} too many, the first of item {self.names[item[again]]}" + position,
            fix="name the column that distinguishes them in by or in columns",
        )


def _compact(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """The codes that occur, sorted, and each row's place among them."""
    occurs = np.zeros(size, bool)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def _own(clusters: Ints) -> Ints:
    """Clusters as integers from 0; an item without one is its own."""
    alone = clusters.max(initial=0) + 1 + np.arange(clusters.size)
    return np.unique(np.where(clusters < 0, alone, clusters), return_inverse=True)[1].astype(np.int64)
