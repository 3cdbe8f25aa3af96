"""The answers of a cell: which label each rater gave to each item, as small as they go, and how often."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Small = NDArray[np.signedinteger[Any]]

UNANSWERED, UNDECIDED = 1, 2
"""Marks of an answer without a label, and of one that is valid all the same; both stand together."""


class Grid:
    """Which label each rater gave to each item of each stratum.

    Args:
        codes: Label codes, shape (items, strata, raters), of as few bytes as they take; -1 where there is
            none.
        marks: `UNANSWERED` and `UNDECIDED`, shape as ``codes``; None where nothing is marked.
        rows: The frame's row of each annotation, -1 where there is none; None where there is no frame.
    """

    def __init__(
        self, codes: Small, marks: Small | None = None, rows: NDArray[np.int32] | None = None
    ) -> None:
        self._codes, self._marks, self._rows = codes, marks, rows
        self._counted: dict[int, NDArray[np.float64]] = {}

    @property
    def shape(self) -> tuple[int, int, int]:
        """Items, strata, raters."""
        return self._codes.shape

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        kept = [self._codes, self._marks, self._rows, *self._counted.values()]
        return sum(one.nbytes for one in kept if one is not None)

    @property
    def codes(self) -> NDArray[np.int32]:
        """Label codes; -1 where there is none."""
        return self._codes.astype(np.int32)

    @property
    def unanswered(self) -> NDArray[np.bool_]:
        """True where an answer came without a label."""
        return np.zeros(self.shape, bool) if self._marks is None else (self._marks & UNANSWERED) > 0

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """True where such an answer is valid all the same."""
        return np.zeros(self.shape, bool) if self._marks is None else (self._marks & UNDECIDED) > 0

    @property
    def rows(self) -> NDArray[np.int32]:
        """The frame's row of each annotation; -1 where there is none."""
        return np.zeros((0, 0, 0), np.int32) if self._rows is None else self._rows

    @cached_property
    def taken(self) -> NDArray[np.bool_]:
        """Which raters have an annotation in which strata, shape (strata, raters)."""
        return np.asarray((self.rows >= 0).any(0))

    def counts(self, labels: int) -> NDArray[np.float64]:
        """How many raters gave each label to each item, shape (items, strata, labels); not to be written to.

        They are kept where they are fewer than the answers.
        """
        if labels in self._counted:
            return self._counted[labels]
        found = label_counts(self._codes, labels)
        found.flags.writeable = False
        if 2 * found.size <= self._codes.size:
            self._counted[labels] = found
        return found

    def emptied(self, gone: NDArray[np.bool_]) -> Grid:
        """Without the answers that are marked, shape as ``codes``."""
        marks = None if self._marks is None else np.where(gone, self._marks.dtype.type(0), self._marks)
        empty = self._codes.dtype.type(-1)
        return Grid(np.where(gone, empty, self._codes), marks, np.where(gone, np.int32(-1), self.rows))

    def part(self, strata: Ints, raters: Ints) -> Grid:
        """The answers in some strata of some raters."""
        return _Part(self, strata, raters)


class _Part(Grid):
    """Some strata and raters of another grid; its answers are copied when they are asked for, if ever.

    Its counts are those of the whole less those of the raters who are left out, where these are fewer.
    """

    def __init__(self, whole: Grid, strata: Ints, raters: Ints) -> None:
        self._whole, self._strata, self._raters = whole, strata, raters
        self._counted = {}

    def _of(self, values: Any) -> Any:
        return values[:, self._strata][:, :, self._raters]

    @cached_property
    def _codes(self) -> Small:  # type: ignore[override]
        codes: Small = self._of(self._whole._codes)
        return codes

    @cached_property
    def _marks(self) -> Small | None:  # type: ignore[override]
        return None if self._whole._marks is None else self._of(self._whole._marks)

    @cached_property
    def _rows(self) -> NDArray[np.int32] | None:  # type: ignore[override]
        return None if self._whole._rows is None else self._of(self._whole._rows)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self._whole.shape[0], len(self._strata), len(self._raters)

    def counts(self, labels: int) -> NDArray[np.float64]:
        if labels not in self._counted:
            left_out = np.setdiff1d(np.arange(self._whole.shape[2]), self._raters)
            if len(left_out) < len(self._raters):
                gone = label_counts(self._whole._codes[:, :, left_out], labels)
                found = (self._whole.counts(labels) - gone)[:, self._strata]
            else:
                found = label_counts(self._codes, labels)
            found.flags.writeable = False
            self._counted[labels] = found
        return self._counted[labels]


def smallest(values: int) -> type[np.signedinteger[Any]]:
    """The integers of the fewest bytes that hold codes below a number, and -1."""
    for kind in (np.int8, np.int16, np.int32):
        if values <= np.iinfo(kind).max:
            return kind
    return np.int64


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
    # A place more in each row takes what has no label.
    place = np.arange(rows)[:, None] * (labels + 1) + 1 + flat
    counts = np.bincount(place.ravel(), minlength=rows * (labels + 1))
    return counts.reshape(*shape, labels + 1)[..., 1:].astype(np.float64)
