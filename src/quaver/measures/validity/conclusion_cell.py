"""One conclusion in one cell: its regression of each prompt's labels, and of all prompts' together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import Estimate, IntervalWarning
from quaver.correction.estimators import Corrected, Question, gold_alone
from quaver.correction.regressions import GoldSample, Kind
from quaver.correction.spread import interval
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats, Weighted
from quaver.estimation.cells import Missing
from quaver.estimation.encoding import Ints, label_counts
from quaver.estimation.intervals import Interval, clopper_pearson
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.regression import orthonormal
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.validity.conclusion_formula import ItemTable, Regression, outcome_numbers
from quaver.measures.validity.consensus import dawid_skene, majority, votes
from quaver.measures.validity.specifications import Specification

_FEW_EVENTS = 8.0
_RARE = "the contrast rests on few items with the rarer label: its interval may be too narrow"

VERDICTS = {
    "conclusion_holds": "holds",
    "conclusion_reverses": "reverses",
    "conclusion_undecided": "not distinguishable",
}
"""The measures that count verdicts over variants."""


def regressed(
    matrix: Floats,
    outcomes: Floats,
    contrast: Floats,
    kind: Kind = "linear",
    weights: Floats | None = None,
    clusters: Ints | None = None,
) -> Corrected | None:
    """A contrast of a regression of labels that are taken for true, with its sandwich variance (HC3).

    Args:
        matrix: The items' columns, shape (items, columns).
        outcomes: Shape (items, outcomes).
        contrast: What each coefficient counts, shape (outcomes × columns,).
        kind: Of regression.
        weights: What each item counts for; alike if left out.
        clusters: Each item's group; None where items are on their own.

    Returns:
        None where the columns determine each other, or tell the labels apart.

    >>> sides = np.stack([np.ones(4), np.array([0.0, 0.0, 1.0, 1.0])], 1)
    >>> round(regressed(sides, np.array([[0.0], [1.0], [1.0], [1.0]]), np.array([0.0, 1.0])).value, 9)
    0.5
    """
    found = orthonormal(matrix, contrast.reshape(outcomes.shape[1], -1))
    if found is None or not len(matrix):
        return None
    own = None if clusters is None else np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    each = np.ones(len(matrix)) if weights is None else weights
    return gold_alone(
        Question(GoldSample(found[0], outcomes, np.ones(len(matrix)), each, own), found[1], kind)
    )


class Labelled(NamedTuple):
    """Labels of a cell's items: the share of each, shape (items, labels); which items count; who does not."""

    shares: Floats
    known: NDArray[np.bool_]
    excluded: dict[str, int]


class ConclusionCell:
    """One conclusion in one cell, under each specification.

    Args:
        cell: The labels.
        asked: The formula.
        table: The items' columns, and the claim.
        regression: Its kind.
        missing: What an answer without a label is.
        designed: Whether gold labels were drawn by design, so that their estimate is given elsewhere.
        source: What estimates refer to.
    """

    def __init__(
        self,
        cell: Cell,
        asked: Regression,
        table: ItemTable,
        regression: Kind,
        missing: Missing,
        *,
        designed: bool,
        source: str,
    ) -> None:
        self._cell, self._table, self._regression, self._missing = cell, table, regression, missing
        self._designed, self._source = designed, source
        self._outcomes = outcome_numbers(asked, regression, cell.labels, cell.label_set, table.outcomes)
        self._matrix, self._weights = table.rows(cell.items), table.weights(cell.items)
        self._complete = np.isfinite(self._matrix).all(1) & np.isfinite(self._weights)
        numbers = self._outcomes if asked.label is None and self._outcomes.size else np.array([0.0, 1.0])
        self._ends = (float(numbers.min()), float(numbers.max()))
        self._tested = regression != "multinomial" and not table.weighted

    def estimates(self) -> Iterator[Estimate]:
        """Each variant's, those of all together, the gold labels', and the verdicts counted."""
        cell, labels = self._cell, len(self._cell.labels)
        single = [self._one("", self._labelled(index), where) for index, where in enumerate(cell.strata)]
        yield from single
        if len(single) > 1:
            counts = votes(cell.codes, labels)
            likeliest = dawid_skene(counts).posterior
            known = np.asarray(np.isfinite(likeliest).all(1))
            best = np.eye(labels)[np.where(known[:, None], likeliest, 0).argmax(1)]
            yield self._one("_majority", Labelled(majority(counts), known, {}), {})
            yield self._one("_dawid_skene", Labelled(best, known, {}), {})
        if not self._designed and cell.gold is not None and (cell.gold >= 0).any():
            true = label_counts(cell.gold[:, None], labels)
            yield self._one("_gold", Labelled(true, cell.gold >= 0, {}), {})
        if len(single) > 1:
            yield from self._counted(single)

    def _labelled(self, index: int) -> Labelled:
        counts = label_counts(self._cell.codes[:, index], len(self._cell.labels))
        bare = self._cell.unanswered[:, index].sum(1)
        total = counts.sum(1)
        excluded = {"no label": int(bare.sum())} if bare.any() else {}
        if self._missing == "category":
            total, excluded = total + bare, {}
        return Labelled(counts / np.maximum(total, 1)[:, None], np.asarray(total > 0), excluded)

    def _one(self, part: str, labelled: Labelled, where: Mapping[str, str]) -> Estimate:
        """The estimate from one set of labels, with its verdict."""
        known, effect = labelled.known & self._complete, self._table.effect
        outcomes = np.nan_to_num(labelled.shares)[known] @ self._outcomes
        excluded = dict(labelled.excluded)
        if lacking := int((~self._complete).sum()):
            excluded["no value of a column"] = lacking
        details: dict[str, Any] = {
            "effect": effect.text,
            "threshold": effect.threshold,
            "above": effect.above,
        }
        if (right := self._accuracy(labelled)) is not None and part != "_gold":
            details["accuracy"] = right
        statistic = Statistic(
            part=part,
            method=f"{self._regression} regression, contrast {effect.text}",
            reason=self._reason(outcomes),
            where=where,
            excluded=excluded,
            n=self._cell.units.touched(known),
            details=details,
        )
        estimate = self._cell.estimated(self._fitted(statistic, outcomes, known))
        details = {**estimate.details, "verdict": effect.verdict(estimate.low, estimate.high)}
        return replace(estimate, details=details)

    def _fitted(self, statistic: Statistic, outcomes: Floats, known: NDArray[np.bool_]) -> Statistic:
        """A statistic filled in: the contrast, with its interval and p."""
        steady = not outcomes.size or np.ptp(outcomes, axis=0).max() == 0
        if steady and (self._regression != "linear" or not outcomes.size):
            return statistic
        effect, clusters = self._table.effect, self._cell.units.clusters
        made = regressed(
            self._matrix[known],
            outcomes,
            effect.contrast,
            self._regression,
            self._weights[known],
            None if clusters is None else clusters[known],
        )
        if made is None:
            return statistic
        each, value = np.zeros(known.size), made.value
        each[known] = made.contributions

        def under(weights: Floats) -> Floats:
            return np.asarray(value + (weights @ each - each.sum())[:, None])

        moves = _moves(self._matrix[known], outcomes, effect.contrast, self._regression, self._ends)
        spread = None if self._regression != "linear" else lambda at, share: _beside(at, moves(share))
        statistic = replace(statistic, under=under, moves=moves, spread=spread)
        level = self._cell.resampling.confidence_level
        if self._tested and self._cell.resampling.resamples:
            own = None if clusters is None else clusters[known]
            kind: Literal["linear", "logistic"] = "logistic" if self._regression == "logistic" else "linear"
            tested = Specification(
                self._matrix[known], effect.contrast, outcomes[:, 0], kind, self._ends, own
            )
            ends, p = tested.interval(level), tested.p(effect.threshold)
            said = tested.warnings(self._cell.units.name)
            details, made_by = {**statistic.details, "p": p}, ends and (ends, "score interval")
            return replace(statistic, interval=made_by, details=details, warnings=said)
        if self._tested or not made.spread.variance > 0:
            return statistic
        error = made.spread.variance**0.5
        p = float(2 * special.stdtr(made.spread.tail_freedom, -abs(value - effect.threshold) / error))
        sandwich = interval(value, made.spread, level), "sandwich interval"
        few = () if made.spread.events >= _FEW_EVENTS else (IntervalWarning(_RARE),)
        details = {**statistic.details, "p": p}
        return replace(statistic, interval=sandwich, details=details, warnings=few)

    def _reason(self, outcomes: Floats) -> str:
        if not outcomes.size:
            return "no labelled items with values of these columns"
        if np.ptp(outcomes, axis=0).max() == 0:
            return "no variation"
        if self._regression != "linear":
            return "no finite estimate: the columns tell the labels apart without error, or each other"
        return "the columns determine each other where there are labels"

    def _accuracy(self, labelled: Labelled) -> float | None:
        """The share of labels that are the true ones, over items that have both."""
        gold = self._cell.gold
        if gold is None or not (both := labelled.known & (gold >= 0)).any():
            return None
        return float(labelled.shares[both, gold[both]].mean())

    def _counted(self, single: Sequence[Estimate]) -> Iterator[Estimate]:
        """The shares of variants by verdict."""
        verdicts = [estimate.details["verdict"] for estimate in single]
        without, level = sum(estimate.value is None for estimate in single), single[0].confidence_level
        for name, verdict in VERDICTS.items():
            count = verdicts.count(verdict)
            low, high = clopper_pearson(count, len(verdicts), level)
            yield Estimate(
                measure=name,
                value=count / len(verdicts),
                low=low,
                high=high,
                confidence_level=level,
                n=len(verdicts),
                unit="variant",
                method="share of variants by verdict; Clopper-Pearson interval over variants",
                reference=self._source,
                cell=self._cell.where,
                details={"count": count, "undefined": without, "effect": self._table.effect.text},
            )


def _moves(
    matrix: Floats, outcomes: Floats, contrast: Floats, regression: Kind, ends: tuple[float, float]
) -> Callable[[float], Interval]:
    """How far a contrast moves at most when a share of the items had any outcomes at all, to a first order.

    Least squares is a sum Σ a_i y_i with the levers a = X(XᵀX)⁻¹c: the items with the largest |a_i| move it
    most. Log-odds move by as much over p(1 − p).
    """
    found = np.linalg.pinv(matrix.T @ matrix) @ contrast.reshape(outcomes.shape[1], -1).T
    lever = matrix @ found
    if regression != "linear":
        lever = lever / np.maximum(outcomes.mean(0) * (1 - outcomes.mean(0)), 1e-3)
    down, up = (
        (np.where(sign * lever > 0, ends[1] - outcomes, outcomes - ends[0]) * np.abs(lever)).sum(1)
        for sign in (-1, 1)
    )
    sums = [np.append(0.0, np.sort(part)[::-1].cumsum()) for part in (down, up)]

    def moves(share: float) -> Interval:
        most = (float(np.interp(share * len(part[1:]), np.arange(part.size), part)) for part in sums)
        return Interval(-next(most), next(most))

    return moves


def _beside(value: float, moved: Interval) -> Interval:
    return Interval(value + moved.low, value + moved.high)


_SAID = "items weighted by one over their probability of being drawn"


class ItemWeights:
    """What each item of a cell counts for.

    Args:
        cell: The cell.
        each: The weight of each item, of mean 1 over those that count; None where all count alike.
    """

    def __init__(self, cell: Cell, each: Floats | None = None) -> None:
        self.cell, self.each = cell, each
        self._last: tuple[Weighted, Weighted] | None = None

    @property
    def whole(self) -> Floats:
        """The items' weights in the data as they are, shape (1, items)."""
        return np.ones((1, len(self.cell.items))) if self.each is None else self.each[None]

    def estimated(self, statistic: Statistic) -> Estimate:
        """The estimate of a statistic of the cell, in the data and in each resample under these weights."""
        if self.each is None or statistic.under is None:
            return self.cell.estimated(statistic)
        if self._last is None or self._last[0] is not statistic.under:
            own, each = statistic.under, self.each

            def under(weights: Floats) -> Floats:
                return own(weights * each)

            self._last = own, under
        method = f"{statistic.method}, {_SAID}"
        return self.cell.estimated(replace(statistic, under=self._last[1], method=method))


def drawn_weights(
    cell: Cell, data: MeasureInput, probability: str | None, counted: Floats
) -> tuple[Floats, Floats | None]:
    """Which items count, and the weight of each.

    Returns:
        Without a column, the items that would count, and None; so too where all were as likely to be drawn.
    """
    if probability is None or not cell.rows.size:
        return counted, None
    if probability not in data.gathered.columns:
        raise UnknownColumn(probability, data.gathered.columns, where="probability")
    chances = data.gathered[probability].cast(float).fill_null(np.nan).to_numpy()
    row = cell.rows.reshape(len(cell.items), -1).max(1)
    chance = np.where(row >= 0, chances[row], np.nan)
    counted = counted * (chance > 0)
    some = chance[counted > 0]
    if not some.size or np.ptp(some) < 1e-9 * some.max():
        return counted, None
    each = np.where(counted > 0, 1 / np.where(counted > 0, chance, 1.0), 0.0)
    return counted, each * some.size / each.sum()
