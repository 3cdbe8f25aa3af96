"""Whether a model disagrees with human coders more than they disagree with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import rarest_labels, scaled
from quaver.core.records import IntervalWarning, Level
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import label_counts
from quaver.estimation.means import none_goes_far
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.validity.conclusion_cell import ItemWeights

ALL = "all"
"""The cell of all coders together."""

Ints = NDArray[np.int64]


class Coded(NamedTuple):
    """A cell whose labels are also the coders', each coder's label of each item (-1 for none), weights."""

    cell: Cell
    marks: Mapping[str, Ints]
    weights: ItemWeights


class _Side(NamedTuple):
    """Pairs of raters of one kind: their alphas, and the coders that each pair is about."""

    alphas: Disagreement
    about: Sequence[frozenset[str]]
    defined: NDArray[np.bool_]

    def columns(self, coder: str) -> Ints:
        """The pairs that a coder is in, where alpha is defined."""
        return np.array(
            [
                at
                for at, names in enumerate(self.about)
                if self.defined[at] and (coder == ALL or coder in names)
            ],
            dtype=np.int64,
        )

    def pairable(self, columns: Ints) -> NDArray[np.bool_]:
        """Which items both raters of a pair labelled."""
        return np.asarray(self.alphas.pairable[:, columns].any(1))

    def differing(self, columns: Ints) -> NDArray[np.bool_]:
        """Which items the raters of a pair labelled differently."""
        return np.asarray((self.alphas.per_item[:, columns] > 1e-12).any(1))

    def stray(self, columns: Ints, level: float) -> tuple[IntervalWarning, ...]:
        """A warning where the raters of these pairs differ by stray answers alone (`none_goes_far`)."""
        known = self.alphas.pairable[:, columns]
        apart = (self.alphas.per_item[:, columns] > 1e-12) & known
        count = known.sum(1)
        share = np.where(count > 0, apart.sum(1) / np.maximum(count, 1), np.nan)
        return none_goes_far(share, "item", level)


def gaps(found: Coded, level: Level | None) -> Iterator[Statistic]:
    """The gap of each coder, and of all together: see `coders.coder_agreement`.

    Both sides are taken of the same resamples of items.
    """
    names = list(found.marks)
    said = Statistic(method="mean alpha between coders less mean alpha with the answers", part="_gap")
    if not found.cell.codes.size:
        yield from (
            replace(said, n=0, where={"coder": name}, reason="no annotations") for name in (*names, ALL)
        )
        return
    people, model = _sides(found, level)
    columns = {name: (people.columns(name), model.columns(name)) for name in (*names, ALL)}

    def under(weights: Floats) -> Floats:
        between, beside = people.alphas.alphas(weights), model.alphas.alphas(weights)
        return np.stack(
            [_mean(between[:, one]) - _mean(beside[:, other]) for one, other in columns.values()], 1
        )

    size, units = len(found.cell.labels), found.cell.units
    rarest = {who: rarest_labels(label_counts(m[:, None], size), units) for who, m in found.marks.items()}
    rarest[ALL] = min(rarest.values())
    whole = found.weights.whole
    for at, (name, (one, other)) in enumerate(columns.items()):
        if not one.size or not other.size:
            yield replace(said, n=0, where={"coder": name}, reason="no alpha is defined")
            continue
        known = people.pairable(one) | model.pairable(other)
        apart = min(  # where people hardly ever differ, they decide
            found.cell.units.touched(side.differing(some)) for side, some in ((people, one), (model, other))
        )
        yield replace(
            said,
            where={"coder": name},
            under=under,
            column=at,
            n=found.cell.units.touched(np.asarray(known)),
            differing=apart,
            rarest=rarest[name],
            ends=(-2.0, 2.0),
            warnings=model.stray(other, found.cell.resampling.confidence_level),
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
    alphas = Disagreement(label_counts(codes, len(cell.labels)), at, values)
    return _Side(alphas, about, np.array([reason is None for reason in alphas.reasons()]))


def _mean(values: Floats) -> Floats:
    """The mean of each sample's values that are defined there."""
    known = np.isfinite(values)
    count = known.sum(1)
    total = np.where(known, values, 0.0).sum(1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))
