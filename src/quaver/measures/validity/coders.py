"""Agreement of a model with human coders, and of the coders with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.stratified_alpha import alpha_over_strata
from quaver.core.presentation import Presentation
from quaver.core.records import Estimate, Level
from quaver.core.table_text import composed
from quaver.errors import MeasureError
from quaver.estimation.cell import Cell
from quaver.estimation.column_roles import UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import Encoded, encode_labels
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic
from quaver.measures.variation.label_shares import ASKING

Ints = NDArray[np.int64]


@measure(
    unit="coefficient",
    better="higher",
    source="Krippendorff (2019), Content Analysis, 4th ed., ch. 12",
    treatments=("level",),
    parts={
        "_model": Presentation(unit="coefficient", better="higher"),
        "_coders": Presentation(unit="coefficient", better="higher"),
    },
)
def coder_agreement(
    reading: Reading, *, coders: str | Sequence[str] = ("gold",), level: Level | None = None
) -> Iterator[Estimate]:
    """Krippendorff's alpha of the answers with each human coder, and of the coders with each other.

    With each coder: alpha of two raters, the coder and one answer, for each asking (model × variant ×
    decoding × repeat), averaged over these; so that it compares with the agreement of two coders: alpha of
    each pair of coders, and of all of them. In ``details``: ``percent``, the share of answers (or pairs) that
    agree. Undefined where alpha is. A coder's label outside the label set counts as none. Intervals resample
    items.

    Args:
        coders: The coders' columns, each with one label for all rows of an item.
        level: Level of measurement; by default the label set's, nominal without one.

    Returns:
        For each cell: ``coder_agreement_model`` for each coder (named in the cell as ``coder``), and with two
        coders or more ``coder_agreement_coders`` for each pair (``"first, second"``) and for ``"all"``.

    Raises:
        MeasureError: An item has two labels of one coder.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3], "label": list("aab"), "gold": list("abb")})
    >>> [(e.cell["coder"], round(e.value, 6)) for e in coder_agreement(frame)]
    [('gold', 0.444444)]
    """
    names = (coders,) if isinstance(coders, str) else tuple(coders)
    if not names or len(set(names)) < len(names):
        raise MeasureError(
            "no coder, or a coder twice", where="coders", expected="names of columns", found=repr(coders)
        )
    frame = reading.frame
    for name in names:
        if name not in frame.columns and name != "gold":
            raise UnknownColumn(name, frame.columns, where="coders")
    nobody = Encoded(np.full(frame.height, -1), ())
    given = {n: encode_labels(frame[n], n) if n in frame.columns else nobody for n in names}
    for cell in reading.cells(raters=ASKING):
        coded = _coded(cell, given)
        yield from _with_each(coded, level)
        if len(names) > 1:
            yield from _among(coded, level)


class _Coded(NamedTuple):
    """A cell whose labels are also the coders', and each coder's label of each item (-1 for none)."""

    cell: Cell
    marks: Mapping[str, Ints]


def _coded(cell: Cell, given: Mapping[str, Encoded]) -> _Coded:
    # Without a label set, the labels are those that anybody used.
    known = () if cell.label_set else sorted({value for column in given.values() for value in column.values})
    # Of two ways to write an accent the answers' counts.
    codes = {composed(code): code for code in (*known, *cell.labels)}.values()
    labels = (*cell.labels, *(code for code in codes if code not in cell.labels))
    place = {composed(code): index for index, code in enumerate(labels)}
    marks = {}
    for name, column in given.items():
        table = np.array([place.get(composed(value), -1) for value in column.values] + [-1])
        marks[name] = _by_item(cell, table[column.codes], name)
    return _Coded(replace(cell, labels=labels), marks)


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
            expected="one label from each coder for each item",
            found=f"item {cell.items[int(np.argmax(clash))]}",
        )
    return found


def _with_each(coded: _Coded, level: Level | None) -> Iterator[Estimate]:
    """The answers with each coder."""
    items, strata, raters = coded.cell.codes.shape
    answers = coded.cell.codes.reshape(items, strata * raters)
    for name, mark in coded.marks.items():
        pair = np.stack(np.broadcast_arrays(answers, mark[:, None]), 2)
        yield _alpha(coded.cell, "_model", name, pair, "mean over askings", level)


def _among(coded: _Coded, level: Level | None) -> Iterator[Estimate]:
    """The coders with each other."""
    for one, two in combinations(coded.marks, 2):
        pair = np.stack([coded.marks[one], coded.marks[two]], 1)[:, None]
        yield _alpha(coded.cell, "_coders", f"{one}, {two}", pair, "two coders", level)
    every = np.stack(list(coded.marks.values()), 1)[:, None]
    yield _alpha(coded.cell, "_coders", "all", every, f"{every.shape[2]} coders", level)


def _alpha(cell: Cell, part: str, name: str, ratings: Ints, what: str, level: Level | None) -> Estimate:
    """Alpha of ratings, shape (items, strata, raters)."""
    method = f"Krippendorff's alpha, {what}"
    if not ratings.size:
        nothing = Statistic(method=method, part=part, where={"coder": name}, n=0, reason="no annotations")
        return cell.estimated(nothing)
    bare = int((ratings[:, :, 1:] < 0).all((1, 2)).sum())
    percent = _percent(ratings)
    rated = replace(
        cell,
        codes=ratings.astype(np.int32),
        counted={"item without the coder's label": bare} if bare else {},
    )
    alpha = alpha_over_strata(
        rated,
        method=method,
        stratum="asking",
        level=level,
        missing="drop",
        where={"coder": name},
        details={} if percent is None else {"percent": percent},
    )
    return rated.estimated(replace(alpha, part=part))


def _percent(ratings: Ints) -> float | None:
    """The share of pairs of raters that agree, among those that both rated."""
    same = both = 0
    for one, two in combinations(range(ratings.shape[2]), 2):
        known = (ratings[:, :, one] >= 0) & (ratings[:, :, two] >= 0)
        both += int(known.sum())
        same += int((known & (ratings[:, :, one] == ratings[:, :, two])).sum())
    return same / both if both else None
