"""Agreement of a model with human coders, and of the coders with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import alpha_over_strata, few_rare, scaled
from quaver.core.number_format import composed
from quaver.core.records import Estimate, IntervalWarning, Level
from quaver.errors import MeasureError
from quaver.estimation.coded_columns import Codes, Encoded, UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import none_goes_far
from quaver.estimation.jackknife import Floats
from quaver.estimation.means import mean_defined, quotient
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

ALL = "all"
"""The cell of all coders together."""

Ints = NDArray[np.int64]


def _gap(cell: Cell, marks: Sequence[Ints], level: Level | None) -> Statistic:
    """How much better coders agree with each other than with the model, the same items left out of both."""
    method = "mean alpha between coders less mean alpha with the answers"
    shape = Statistic(method=method, part="_gap", where={"coder": ALL}, n=0, reason="no annotations")
    if not cell.codes.size:
        return shape
    people = _alphas(cell, level, np.stack([np.stack(pair, 1) for pair in combinations(marks, 2)], 1))
    model = _alphas(cell, level, np.concatenate([_beside(cell, mark) for mark in marks], 1))
    if people is None or model is None:
        return replace(shape, reason="no alpha is defined")

    def under(weights: Floats) -> Floats:
        return (mean_defined(people.alphas(weights)) - mean_defined(model.alphas(weights)))[:, None]

    warnings = next(filter(None, (few_rare(cell.units, mark[:, None, None]) for mark in marks)), ())
    differ = cell.units.touched(np.asarray(people.differs.any(1)))
    if 0 < differ < cell.units.enough:
        few = f"only {differ} units differ between coders: too few to show how often other units would"
        warnings += (IntervalWarning(few),)
    whole = np.ones((1, len(cell.items)))
    return replace(
        shape,
        under=under,
        n=people.pairable.any(1) | model.pairable.any(1),
        ends=(-2.0, 2.0),
        warnings=warnings + _stray(cell, model.differs & model.pairable, model.pairable),
        details={
            side: float(mean_defined(of.alphas(whole))[0])
            for side, of in {"coders": people, "model": model}.items()
        },
    )


def _alphas(cell: Cell, level: Level | None, pairs: Ints) -> Disagreement | None:
    """The alphas of pairs of raters, codes of shape (items, pairs, 2), where they are defined."""
    at, values = scaled(cell.labels, level, cell.label_set, "drop")
    reasons = Disagreement(pairs, len(cell.labels), at, values).reasons()
    defined = np.array([reason is None for reason in reasons])
    return Disagreement(pairs[:, defined], len(cell.labels), at, values) if defined.any() else None


def _beside(cell: Cell, mark: Ints) -> Ints:
    """Each answer beside a coder's label of its item, shape (items, askings, 2)."""
    items, strata, raters = cell.codes.shape
    answers = cell.codes.reshape(items, strata * raters)
    return np.stack(np.broadcast_arrays(answers, mark[:, None]), 2).astype(np.int64)


def _stray(cell: Cell, apart: NDArray[Any], known: NDArray[Any]) -> tuple[IntervalWarning, ...]:
    """A warning where answers differ from coders' labels by stray answers alone (`none_goes_far`)."""
    return none_goes_far(quotient(apart.sum(1), known.sum(1)), "item", cell.resampling.confidence_level)


@measure(treatments=("level",))
def coder_agreement(
    data: MeasureInput,
    *,
    coders: str | Sequence[str] = ("gold",),
    level: Level | None = None,
) -> Iterator[Estimate]:
    """Krippendorff's alpha of the answers with each human coder, and of the coders with each other.

    With each coder: alpha of two raters, the coder and one answer, for each asking (model × variant ×
    decoding × repeat), averaged over these, so that it can be compared with the agreement of two coders:
    alpha of each pair of coders, and of all of them. In ``details``: ``percent``, the share of answers (or
    pairs) that agree. Undefined where alpha is. A coder's label outside the label set counts as none.
    Intervals resample items.

    The gap is the mean alpha over all pairs of coders, less the mean over all coders and askings. Above 0,
    the model is further from the coders than they are from each other; at 0, it could be one of them. In its
    ``details``: ``coders`` and ``model``, the two mean alphas. Undefined where no alpha of either kind is.

    Args:
        coders: The coders' columns, each with one label for all rows of an item.
        level: Level of measurement; by default the label set's, nominal without one.

    Returns:
        For each cell: ``coder_agreement_model`` for each coder (named in the cell as ``coder``), and with two
        coders or more ``coder_agreement_coders`` for each pair (``"first, second"``) and for ``"all"``, and
        ``coder_agreement_gap`` for each coder and for ``"all"``.

    Raises:
        MeasureError: An item has two labels of one coder.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3], "label": list("aab"), "gold": list("abb")})
    >>> [(e.cell["coder"], round(e.value, 6)) for e in coder_agreement(frame)]
    [('gold', 0.444444)]

    Two coders agree on all three texts (alpha 1), the model on two of them:

    >>> found = coder_agreement(frame.with_columns(ben=pl.col("gold")), coders=["gold", "ben"])
    >>> [(e.cell["coder"], round(e.value, 6)) for e in found if e.measure == "coder_agreement_gap"]
    [('all', 0.555556)]
    """
    given = coders_of(data, coders)
    for answers in data.cells(raters=ASKING):
        cell, marks = coded(answers, given)
        for name, mark in marks.items():
            yield cell.estimated(_with_coder(cell, name, mark, level))
        if len(marks) > 1:
            sets = {", ".join(pair): pair for pair in combinations(marks, 2)}
            for name, some in {**sets, ALL: tuple(marks)}.items():
                together = np.stack([marks[coder] for coder in some], 1)[:, None]
                what = "two coders" if name != ALL else f"{len(marks)} coders"
                yield cell.estimated(replace(_alpha(cell, name, together, what, level), part="_coders"))
            yield cell.estimated(_gap(cell, [*marks.values()], level))


def coders_of(data: MeasureInput, coders: str | Sequence[str]) -> Mapping[str, Encoded]:
    """The columns of the coders."""
    names = (coders,) if isinstance(coders, str) else tuple(coders)
    if not names or len(set(names)) < len(names):
        raise MeasureError(
            "no coder, or a coder twice", where="coders", expected="names of columns", found=repr(coders)
        )
    gathered = data.gathered
    for name in names:
        if name not in gathered.columns and name != "gold":
            raise UnknownColumn(name, gathered.columns, where="coders")
    nobody: Encoded = Codes(np.full(gathered.height, -1), ())
    return {n: gathered.encoded(n, labels=True) if n in gathered.columns else nobody for n in names}


def coded(cell: Cell, given: Mapping[str, Encoded]) -> tuple[Cell, dict[str, Ints]]:
    """A cell whose labels are also the coders', and each coder's label of each item (-1 for none)."""
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
    return replace(cell, labels=labels), marks


def _by_item(cell: Cell, row: Ints, name: str) -> Ints:
    """A coder's label of each item, -1 for none."""
    if not cell.rows.size:
        return np.full(len(cell.items), -1)
    rows = cell.rows.reshape(len(cell.items), -1)
    values = np.where(rows >= 0, row[rows], -1)
    result = np.asarray(values.max(1))
    clash = ((values >= 0) & (values != result[:, None])).any(1)
    if clash.any():
        raise MeasureError(
            f"an item with two values of {name}",
            where="coders",
            expected="one label from each coder for each item",
            found=f"item {cell.items[int(np.argmax(clash))]}",
        )
    return result


def _with_coder(cell: Cell, name: str, mark: Ints, level: Level | None) -> Statistic:
    """The answers with one coder."""
    pairs = _beside(cell, mark)
    alpha = replace(_alpha(cell, name, pairs, "mean over askings", level), part="_model")
    if not pairs.size:
        return alpha
    defined = np.asarray((pairs >= 0).all(2))
    stray = _stray(cell, (pairs[:, :, 0] != pairs[:, :, 1]) & defined, defined)
    return replace(alpha, warnings=(*alpha.warnings, *few_rare(cell.units, mark[:, None, None]), *stray))


def _alpha(cell: Cell, name: str, ratings: Ints, what: str, level: Level | None) -> Statistic:
    """Alpha of ratings, shape (items, strata, raters)."""
    method, where = f"Krippendorff's alpha, {what}", {"coder": name}
    if not ratings.size:
        return Statistic(method=method, where=where, n=0, reason="no annotations")
    bare = int((ratings[:, :, 1:] < 0).all((1, 2)).sum())
    counted = {"item without the coder's label": bare}
    rated = replace(cell, grid=ratings.astype(np.int32), marks=None, counted=counted)
    # The share of pairs of raters that agree, among those that both rated
    same = both = 0
    for first, two in combinations(range(ratings.shape[2]), 2):
        defined = (ratings[:, :, first] >= 0) & (ratings[:, :, two] >= 0)
        both += int(defined.sum())
        same += int((defined & (ratings[:, :, first] == ratings[:, :, two])).sum())
    percent = same / both if both else None
    details = {} if percent is None else {"percent": percent}
    return alpha_over_strata(
        rated,
        method=method,
        stratum="asking",
        level=level,
        missing="drop",
        where=where,
        details=details,
    )
