"""Agreement of a model with human coders, and of the coders with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import alpha_over_strata, few_rare, scaled
from quaver.core.number_format import composed
from quaver.core.records import Estimate, IntervalWarning, Level
from quaver.core.rows import Presentation
from quaver.errors import MeasureError
from quaver.estimation.coded_columns import Encoded, UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import none_goes_far
from quaver.estimation.jackknife import Floats, Units
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

ALL = "all"
"""The cell of all coders together."""

Ints = NDArray[np.int64]


class Coded(NamedTuple):
    """A cell whose labels are also the coders', and each coder's label of each item (-1 for none)."""

    cell: Cell
    marks: Mapping[str, Ints]


class _Side(NamedTuple):
    """Pairs of raters of one kind: their alphas, and the coders that each pair is about."""

    alphas: Disagreement
    about: Sequence[frozenset[str]]
    defined: NDArray[np.bool_]

    def columns(self, coder: str) -> Ints:
        """The pairs that a coder is in, where alpha is defined."""
        return np.array(
            [
                index
                for index, names in enumerate(self.about)
                if self.defined[index] and (coder == ALL or coder in names)
            ],
            dtype=np.int64,
        )

    def pairable(self, columns: Ints) -> NDArray[np.bool_]:
        """Which items both raters of a pair labelled."""
        return np.asarray(self.alphas.pairable[:, columns].any(1))

    def few(self, columns: Ints, units: Units) -> tuple[IntervalWarning, ...]:
        """A warning where the raters of these pairs differ on few units, on which the side then rests."""
        differs = self.alphas.differs[:, columns]
        apart = units.touched(np.asarray(differs.any(1)))
        if not 0 < apart < units.enough:
            return ()
        return (
            IntervalWarning(
                f"only {apart} units differ between the coders: how often others would, the interval hardly "
                "knows"
            ),
        )

    def stray(self, columns: Ints, level: float) -> tuple[IntervalWarning, ...]:
        """A warning where the raters of these pairs differ by stray answers alone (`none_goes_far`)."""
        known = self.alphas.pairable[:, columns]
        apart = self.alphas.differs[:, columns] & known
        count = known.sum(1)
        share = quotient(apart.sum(1), count)
        return none_goes_far(share, "item", level)


def gaps(found: Coded, level: Level | None) -> Iterator[Statistic]:
    """The gap of each coder, and of all together: see `coders.coder_agreement`.

    Both sides are taken with the same items left out.
    """
    names = list(found.marks)
    statistic = Statistic(method="mean alpha between coders less mean alpha with the answers", part="_gap")
    if not found.cell.codes.size:
        yield from (
            replace(statistic, n=0, where={"coder": name}, reason="no annotations") for name in (*names, ALL)
        )
        return
    people, model = _sides(found, level)
    columns = {name: (people.columns(name), model.columns(name)) for name in (*names, ALL)}

    def under(weights: Floats) -> Floats:
        between, beside = people.alphas.alphas(weights), model.alphas.alphas(weights)
        return np.stack(
            [_mean(between[:, one]) - _mean(beside[:, other]) for one, other in columns.values()], 1
        )

    level_of_confidence = found.cell.resampling.confidence_level
    whole, units = np.ones((1, len(found.cell.items))), found.cell.units
    few = {who: few_rare(units, marks[:, None, None]) for who, marks in found.marks.items()}
    few[ALL] = next(filter(None, few.values()), ())
    for index, (name, (one, other)) in enumerate(columns.items()):
        if not one.size or not other.size:
            yield replace(statistic, n=0, where={"coder": name}, reason="no alpha is defined")
            continue
        known = people.pairable(one) | model.pairable(other)
        yield replace(
            statistic,
            where={"coder": name},
            under=under,
            column=index,
            n=found.cell.units.touched(np.asarray(known)),
            ends=(-2.0, 2.0),
            warnings=few[name] + people.few(one, units) + model.stray(other, level_of_confidence),
            details={
                "coders": float(_mean(people.alphas.alphas(whole)[:, one])[0]),
                "model": float(_mean(model.alphas.alphas(whole)[:, other])[0]),
            },
        )


def _sides(found: Coded, level: Level | None) -> tuple[_Side, _Side]:
    """The coders with each other, and the coders with each answer."""
    items, strata, raters = found.cell.codes.shape
    answers = found.cell.codes.reshape(items, strata * raters)
    pairs = list(combinations(found.marks, 2))
    between = np.stack([np.stack([found.marks[one], found.marks[two]], 1) for one, two in pairs], 1)
    beside = [np.stack(np.broadcast_arrays(answers, mark[:, None]), 2) for mark in found.marks.values()]
    about = [frozenset({name}) for name in found.marks for _ in range(strata * raters)]
    people = _side(found.cell, between, [frozenset(pair) for pair in pairs], level)
    return people, _side(found.cell, np.concatenate(beside, 1), about, level)


def _side(cell: Cell, codes: Ints, about: Sequence[frozenset[str]], level: Level | None) -> _Side:
    at, values = scaled(cell.labels, level, cell.label_set, "drop")
    alphas = Disagreement(codes, len(cell.labels), at, values)
    return _Side(alphas, about, np.array([reason is None for reason in alphas.reasons()]))


def _mean(values: Floats) -> Floats:
    """The mean of each sample's values that are defined there."""
    known = np.isfinite(values)
    count = known.sum(1)
    total = np.where(known, values, 0.0).sum(1)
    return quotient(total, count)


@measure(
    title="How far the model and the coders agree",
    section="coders",
    unit="coefficient",
    better="higher",
    source="Krippendorff (2019), Content Analysis, 4th ed., ch. 12",
    treatments=("level",),
    parts={
        "_model": Presentation(unit="coefficient", better="higher"),
        "_coders": Presentation(unit="coefficient", better="higher"),
        "_gap": Presentation(
            title="How much better people agree with each other than with the model",
            axis="alpha between coders less alpha with the model",
            unit="coefficient",
            better="lower",
            null=0.0,
        ),
    },
)
def coder_agreement(
    data: MeasureInput,
    *,
    coders: str | Sequence[str] = ("gold",),
    level: Level | None = None,
) -> Iterator[Estimate]:
    """Krippendorff's alpha of the answers with each human coder, and of the coders with each other.

    With each coder: alpha of two raters, the coder and one answer, for each asking (model × variant ×
    decoding × repeat), averaged over these; so that it compares with the agreement of two coders: alpha of
    each pair of coders, and of all of them. In ``details``: ``percent``, the share of answers (or pairs) that
    agree. Undefined where alpha is. A coder's label outside the label set counts as none. Intervals resample
    items.

    The gap of a coder is the mean alpha with each other coder, less the mean alpha with the answers of each
    asking; under ``"all"``, the mean over all pairs of coders less the mean over all coders and askings.
    Above 0, the model is further from the coders than they are from each other; at 0, it could be one of
    them. In its ``details``: ``coders`` and ``model``, the two mean alphas. Undefined where no alpha of
    either kind is defined.

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
    [('gold', 0.555556), ('ben', 0.555556), ('all', 0.555556)]
    """
    given = coders_of(data, coders)
    for cell in data.cells(raters=ASKING):
        found = coded(cell, given)
        yield from _with_each(found, level)
        if len(given) > 1:
            yield from _among(found, level)
            yield from (found.cell.estimated(statistic) for statistic in gaps(found, level))


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
    nobody = Encoded(np.full(gathered.height, -1), ())
    return {n: gathered.encoded(n, labels=True) if n in gathered.columns else nobody for n in names}


def coded(cell: Cell, given: Mapping[str, Encoded]) -> Coded:
    """A cell beside the coders' labels of its items."""
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
    return Coded(replace(cell, labels=labels), marks)


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


def _with_each(found: Coded, level: Level | None) -> Iterator[Estimate]:
    """The answers with each coder."""
    items, strata, raters = found.cell.codes.shape
    answers = found.cell.codes.reshape(items, strata * raters)
    for name, mark in found.marks.items():
        pair = np.stack(np.broadcast_arrays(answers, mark[:, None]), 2)
        yield _alpha(found.cell, "_model", name, pair, "mean over askings", level, own=mark)


def _among(found: Coded, level: Level | None) -> Iterator[Estimate]:
    """The coders with each other."""
    for one, two in combinations(found.marks, 2):
        pair = np.stack([found.marks[one], found.marks[two]], 1)[:, None]
        yield _alpha(found.cell, "_coders", f"{one}, {two}", pair, "two coders", level)
    every = np.stack(list(found.marks.values()), 1)[:, None]
    yield _alpha(found.cell, "_coders", "all", every, f"{every.shape[2]} coders", level)


def _alpha(
    cell: Cell,
    part: str,
    name: str,
    ratings: Ints,
    what: str,
    level: Level | None,
    own: Ints | None = None,
) -> Estimate:
    """Alpha of ratings, shape (items, strata, raters)."""
    method = f"Krippendorff's alpha, {what}"
    if not ratings.size:
        nothing = Statistic(method=method, part=part, where={"coder": name}, n=0, reason="no annotations")
        return cell.estimated(nothing)
    bare = int((ratings[:, :, 1:] < 0).all((1, 2)).sum())
    percent = _percent(ratings)
    rated = replace(
        cell,
        grid=ratings.astype(np.int32),
        marks=None,
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
    if own is not None:
        few = few_rare(cell.units, own[:, None, None])
        alpha = replace(alpha, warnings=(*alpha.warnings, *few, *stray_disagreement(rated, ratings)))
    return cell.estimated(replace(alpha, part=part))


def stray_disagreement(cell: Cell, ratings: Ints) -> tuple[IntervalWarning, ...]:
    """A warning where answers differ from a coder's label by stray answers alone (`none_goes_far`)."""
    known = (ratings >= 0).all(2)
    apart = (ratings[:, :, 0] != ratings[:, :, 1]) & known
    count = known.sum(1)
    share = quotient(apart.sum(1), count)
    return none_goes_far(share, "item", cell.resampling.confidence_level)


def _percent(ratings: Ints) -> float | None:
    """The share of pairs of raters that agree, among those that both rated."""
    same = both = 0
    for one, two in combinations(range(ratings.shape[2]), 2):
        known = (ratings[:, :, one] >= 0) & (ratings[:, :, two] >= 0)
        both += int(known.sum())
        same += int((known & (ratings[:, :, one] == ratings[:, :, two])).sum())
    return same / both if both else None
