"""Agreement of a model with human coders, and of the coders with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.stratified_alpha import mean_alpha, scaled
from quaver.core.records import Estimate, LabelSet, Level
from quaver.core.table_text import composed
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.cell import Cell, label_counts
from quaver.estimation.cells import cells, frame_of
from quaver.estimation.column_roles import Columns, UnknownColumn
from quaver.estimation.encoding import encode_labels
from quaver.estimation.intervals import Claim, undefined
from quaver.estimation.measure_protocol import Frame
from quaver.measures.variation.label_shares import ASKING

__all__ = ["coder_agreement"]

_REFERENCE = "Krippendorff (2019), Content Analysis, 4th ed., ch. 12"

Ints = NDArray[np.int64]


def coder_agreement(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    coders: Sequence[str] = ("gold",),
    level: Level | None = None,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Krippendorff's alpha of the answers with each human coder, and of the coders with each other.

    With each coder: alpha of two raters, the coder and one answer, for each asking (model × variant ×
    decoding × repeat), averaged over these; so that it compares with the agreement of two coders: alpha of
    each pair of coders, and of all of them. In ``details``: ``percent``, the share of answers (or pairs) that
    agree. Undefined where alpha is. Intervals resample items.

    Source: Krippendorff (2019), Content Analysis, 4th ed., ch. 12.

    Args:
        annotations: A row an annotation, each coder's label in a column that is constant for an item.
        labels: The label set; a coder's label outside it counts as none.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        coders: The coders' columns.
        level: Level of measurement; by default the label set's, nominal without one.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        For each cell: ``coder_agreement_model`` for each coder (named in the cell as ``coder``), and with two
        coders or more ``coder_agreement_coders`` for each pair (``"first, second"``) and for ``"all"``.

    Raises:
        MeasureError: The frame or an option cannot be used; an item has two labels of one coder.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3], "label": list("aab"), "gold": list("abb")})
    >>> [(e.cell["coder"], round(e.value, 6)) for e in coder_agreement(frame)]
    [('gold', 0.444444)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    names = (coders,) if isinstance(coders, str) else tuple(coders)
    if not names or len(set(names)) < len(names):
        raise MeasureError(
            "no coders, or one twice", where="coders", expected="names of columns", found=repr(coders)
        )
    frame = frame_of(annotations)
    for name in names:
        if name not in frame.columns and name != "gold":
            raise UnknownColumn(name, frame.columns, where="coders")
    found: list[Estimate] = []
    given = {name: encode_labels(frame[name], name) for name in names if name in frame.columns}
    # Without a label set, the labels are those that anybody used.
    known = {value for column in given.values() for value in column.values}
    for cell in cells(annotations, raters=ASKING, by=by, labels=labels, columns=columns, group=group):
        # Of two ways to write an accent the answers' counts.
        codes = list(
            {composed(code): code for code in (*(() if labels else sorted(known)), *cell.labels)}.values()
        )
        codes = [*cell.labels, *(code for code in codes if code not in cell.labels)]
        place = {composed(code): index for index, code in enumerate(codes)}
        marks = {}
        for name in names:
            values = given[name].values if name in given else ()
            table = np.array([place.get(composed(value), -1) for value in values] + [-1])
            row = table[given[name].codes] if name in given else np.full(frame.height, -1)
            marks[name] = _by_item(cell, row, name)
        found += _Coders(cell, tuple(codes), marks, labels, level, resampling).estimates()
    return found


def _by_item(cell: Cell, row: Ints, name: str) -> Ints:
    """A coder's label of each item, -1 for none."""
    if not cell.rows.size:
        return np.full(len(cell.items), -1)
    rows = cell.rows.reshape(len(cell.items), -1)
    values = np.where(rows >= 0, row[rows], -1)
    found = np.asarray(values.max(1))
    clash = ((values >= 0) & (values != found[:, None])).any(1)
    if clash.any():
        raise MeasureError(
            f"an item with two values of {name}",
            where="coders",
            expected="one label of a coder for each item",
            found=f"item {cell.items[int(np.argmax(clash))]}",
        )
    return found


class _Coders:
    """One cell's answers beside its coders' labels."""

    def __init__(
        self,
        cell: Cell,
        codes: tuple[str, ...],
        marks: dict[str, Ints],
        labels: LabelSet | None,
        level: Level | None,
        resampling: Resampling,
    ) -> None:
        self._cell, self._codes, self._marks, self._resampling = cell, codes, marks, resampling
        self._level, self._values = scaled(codes, level, labels, "drop")

    def estimates(self) -> list[Estimate]:
        """With each coder, then among the coders."""
        found = []
        items, strata, raters = self._cell.codes.shape
        answers = self._cell.codes.reshape(items, strata * raters)
        for name, mark in self._marks.items():
            pair = np.stack(np.broadcast_arrays(answers, mark[:, None]), 2)
            found.append(self._alpha("coder_agreement_model", name, pair, "mean over askings"))
        if len(self._marks) > 1:
            for one, two in combinations(self._marks, 2):
                pair = np.stack([self._marks[one], self._marks[two]], 1)[:, None]
                found.append(self._alpha("coder_agreement_coders", f"{one}, {two}", pair, "two coders"))
            every = np.stack(list(self._marks.values()), 1)[:, None]
            found.append(self._alpha("coder_agreement_coders", "all", every, f"{every.shape[2]} coders"))
        return found

    def _alpha(self, kind: str, name: str, ratings: Ints, what: str) -> Estimate:
        """Alpha of ratings, shape (items, strata, raters)."""
        percent = _percent(ratings)
        claim = Claim(
            kind,
            f"Krippendorff's alpha, {what}",
            _REFERENCE,
            cell={**self._cell.where, "coder": name},
            excluded={"item without the coder's label": bare}
            if (bare := int((ratings[:, :, 1:] < 0).all((1, 2)).sum() if ratings.size else 0))
            else {},
            details={} if percent is None else {"percent": percent},
        )
        units = self._cell.units
        if not ratings.size:
            return undefined(replace(claim, n=0), units, self._resampling, "no annotations")
        counts = label_counts(ratings, len(self._codes))
        return mean_alpha(claim, counts, units, self._resampling, self._level, self._values, "asking")


def _percent(ratings: Ints) -> float | None:
    """The share of pairs of raters that agree, among those that both rated."""
    same = both = 0
    for one, two in combinations(range(ratings.shape[2] if ratings.ndim == 3 else 0), 2):
        known = (ratings[:, :, one] >= 0) & (ratings[:, :, two] >= 0)
        both += int(known.sum())
        same += int((known & (ratings[:, :, one] == ratings[:, :, two])).sum())
    return same / both if both else None
