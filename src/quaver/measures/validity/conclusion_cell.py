"""One conclusion in one cell: its regression of each prompt's labels, and of all prompts' together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import Estimate, IntervalWarning
from quaver.correction.estimators import Question, gold_alone
from quaver.correction.regressions import GoldSample, Kind
from quaver.correction.spread import interval
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats, Weighted
from quaver.estimation.cells import Missing
from quaver.estimation.encoding import Ints, label_counts
from quaver.estimation.intervals import Interval, clopper_pearson
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.regression import contrast_bound, linear, logistic
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.validity.conclusion_formula import ItemTable, Regression, outcome_numbers
from quaver.measures.validity.consensus import dawid_skene, majority, votes
from quaver.measures.validity.specifications import Specifications

_FEW_EVENTS = 8.0


class WeightedRegression(NamedTuple):
    """A regression of labels that are taken for true, each weighted by what its item counts for.

    Attributes:
        matrix: The items' columns, shape (items, columns); NaN where one has no value.
        weights: What each item counts for; NaN where that is not known.
        contrast: What each coefficient counts in the effect, shape (outcomes × columns,).
        kind: Of regression.
        clusters: Each item's group, from 0; None where items are on their own.
    """

    matrix: Floats
    weights: Floats
    contrast: Floats
    kind: Kind
    clusters: Ints | None

    def statistic(
        self, statistic: Statistic, outcome: Floats, threshold: float, confidence_level: float
    ) -> Statistic:
        """A statistic filled in: the contrast, with the interval of its sandwich variance (HC3) and p."""
        complete = np.isfinite(self.matrix).all(1) & np.isfinite(self.weights)
        known = complete & np.isfinite(outcome).all(1)
        clusters = None
        if self.clusters is not None:
            clusters = np.unique(self.clusters[known], return_inverse=True)[1].astype(np.int64)
        sample = GoldSample(
            self.matrix[known], outcome[known], np.ones(int(known.sum())), self.weights[known], clusters
        )
        contrast = self.contrast.reshape(outcome.shape[1], -1)
        corrected = gold_alone(Question(sample, contrast, self.kind))
        if corrected is None or not corrected.spread.variance > 0:
            return statistic
        each, value = np.zeros(known.size), corrected.value
        each[known] = corrected.contributions

        def under(weights: Floats) -> Floats:
            return np.asarray(value + (weights @ each - each.sum())[:, None])

        error = corrected.spread.variance**0.5
        p = float(2 * special.stdtr(corrected.spread.tail_freedom, -abs(value - threshold) / error))
        few = () if corrected.spread.events >= _FEW_EVENTS else (IntervalWarning(_RARE),)
        own = interval(value, corrected.spread, confidence_level)
        return replace(
            statistic,
            under=under,
            interval=(own, "sandwich interval"),
            details={**statistic.details, "p": p},
            warnings=(*statistic.warnings, *few),
        )


_RARE = "the contrast rests on few items with the rarer label: its interval may be too narrow"


VERDICTS = {
    "conclusion_holds": "holds",
    "conclusion_reverses": "reverses",
    "conclusion_undecided": "not distinguishable",
}
"""The measures that count verdicts over variants."""


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
        self._numbers = self._outcomes[:, 0] if self._outcomes.size else np.zeros(len(cell.labels))
        self._matrix, weights = table.rows(cell.items), table.weights(cell.items)
        self._complete = np.isfinite(self._matrix).all(1) & np.isfinite(weights)
        self._weighted: WeightedRegression | None = None
        if regression == "multinomial" or table.weighted:
            given = (table.effect.contrast, regression, cell.units.clusters)
            self._weighted = WeightedRegression(self._matrix, weights, *given)
        numbers = self._numbers if asked.label is None and self._numbers.size else np.array([0.0, 1.0])
        self._ends = (float(numbers.min()), float(numbers.max()))

    def estimates(self) -> Iterator[Estimate]:
        """Each variant's, those of all together, the gold labels', and the verdicts counted."""
        cell, labels = self._cell, len(self._cell.labels)
        single = [("", self._labelled(index), where) for index, where in enumerate(cell.strata)]
        others: list[tuple[str, Labelled, Mapping[str, str]]] = []
        if len(single) > 1:
            counts = votes(cell.codes, labels)
            likeliest = dawid_skene(counts).posterior
            known = np.asarray(np.isfinite(likeliest).all(1))
            best = np.eye(labels)[np.where(known[:, None], likeliest, 0).argmax(1)]
            others.append(("_majority", Labelled(majority(counts), known, {}), {}))
            others.append(("_dawid_skene", Labelled(best, known, {}), {}))
        if not self._designed and cell.gold is not None and (cell.gold >= 0).any():
            true = label_counts(cell.gold[:, None], labels)
            others.append(("_gold", Labelled(true, cell.gold >= 0, {}), {}))
        estimates = list(self._drawn_from(single))
        yield from estimates
        yield from self._drawn_from(others)
        if len(estimates) > 1:
            yield from self._counted(estimates)

    def _drawn_from(self, labelled: Sequence[tuple[str, Labelled, Mapping[str, str]]]) -> Iterator[Estimate]:
        """An estimate for each of several sets of labels, tested together."""
        if not labelled:
            return
        if self._weighted is not None:
            yield from (self._by_weights(*one) for one in labelled)
            return
        shares = np.stack([np.nan_to_num(one.shares) @ self._numbers for _, one, _ in labelled], 1)
        known = np.stack([one.known & self._complete for _, one, _ in labelled], 1)
        outcomes = np.where(known, shares, np.nan)
        tested = Specifications(
            self._matrix,
            self._table.effect.contrast,
            outcomes,
            "logistic" if self._regression == "logistic" else "linear",
            self._ends,
            self._cell.units.clusters,
        )
        for index, (part, one, where) in enumerate(labelled):
            yield self._one(part, one, where, outcomes[:, index], tested, index)

    def _labelled(self, index: int) -> Labelled:
        counts = label_counts(self._cell.codes[:, index], len(self._cell.labels))
        bare = self._cell.unanswered[:, index].sum(1)
        total = counts.sum(1)
        excluded = {"no label": int(bare.sum())} if bare.any() else {}
        if self._missing == "category":
            total, excluded = total + bare, {}
        return Labelled(counts / np.maximum(total, 1)[:, None], np.asarray(total > 0), excluded)

    def _begun(self, part: str, labelled: Labelled, where: Mapping[str, str], outcome: Floats) -> Statistic:
        """A statistic with all but its numbers."""
        effect = self._table.effect
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
        return Statistic(
            part=part,
            method=f"{self._regression} regression, contrast {effect.text}",
            reason=self._reason(outcome),
            where=where,
            excluded=excluded,
            n=self._cell.units.touched(np.isfinite(outcome)),
            details=details,
        )

    def _by_weights(self, part: str, labelled: Labelled, where: Mapping[str, str]) -> Estimate:
        """The estimate of a regression that has weights, or several outcomes."""
        assert self._weighted is not None
        known = labelled.known & self._complete
        outcomes = np.where(known[:, None], np.nan_to_num(labelled.shares) @ self._outcomes, np.nan)
        most = int(np.nan_to_num(outcomes).var(0).argmax()) if outcomes.size else 0
        statistic = self._begun(part, labelled, where, outcomes[:, most])
        level = self._cell.resampling.confidence_level
        made = self._weighted.statistic(statistic, outcomes, self._table.effect.threshold, level)
        return self._judged(self._cell.estimated(made), ())

    def _judged(self, estimate: Estimate, warnings: tuple[str, ...]) -> Estimate:
        """An estimate with its verdict."""
        details = {**estimate.details, "verdict": self._table.effect.verdict(estimate.low, estimate.high)}
        return replace(estimate, details=details, warnings=estimate.warnings + warnings)

    def _one(
        self,
        part: str,
        labelled: Labelled,
        where: Mapping[str, str],
        outcome: Floats,
        tested: Specifications,
        index: int,
    ) -> Estimate:
        statistic, known = self._begun(part, labelled, where, outcome), np.isfinite(outcome)
        if known.any() and not (self._regression == "logistic" and np.ptp(outcome[known]) == 0):
            statistic = self._fitted(statistic, outcome, tested, index)
        estimate = self._cell.estimated(statistic)
        warnings: tuple[str, ...] = ()
        if estimate.low is not None:
            warnings += tested.warnings(index, self._cell.units.name)
        return self._judged(estimate, warnings)

    def _fitted(self, statistic: Statistic, outcome: Floats, tested: Specifications, index: int) -> Statistic:
        """The statistic of a regression, with the interval of its score test."""
        contrast = self._table.effect.contrast
        regression: Literal["linear", "logistic"] = "logistic" if self._regression == "logistic" else "linear"
        matrix = np.where(np.isfinite(self._matrix), self._matrix, 0.0)

        def moves(share: float) -> Interval:
            return contrast_bound(matrix, outcome, contrast, share, self._ends, regression)

        def spread(value: float, share: float) -> Interval:
            return Interval(*(value + end for end in moves(share)))

        resampling = self._cell.resampling
        if resampling.resamples:
            own = tested.interval(index, resampling.confidence_level)
            # The test knows of few events by itself.
            p = tested.p(index, self._table.effect.threshold)
            details = {**statistic.details, "p": p}
            statistic = replace(statistic, interval=own and (own, "score interval"), details=details)
        return replace(
            statistic,
            under=(linear if regression == "linear" else logistic)(matrix, outcome, contrast),
            moves=moves,
            spread=spread if regression == "linear" else None,
        )

    def _reason(self, outcome: Floats) -> str:
        known = np.isfinite(outcome)
        if not known.any():
            return "no labelled items with values of these columns"
        if np.ptp(outcome[known]) == 0:
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
        without = sum(estimate.value is None for estimate in single)
        for name, verdict in VERDICTS.items():
            count = verdicts.count(verdict)
            low, high = clopper_pearson(count, len(verdicts), self._cell.resampling.confidence_level)
            yield Estimate(
                measure=name,
                value=count / len(verdicts),
                low=low,
                high=high,
                confidence_level=self._cell.resampling.confidence_level,
                n=len(verdicts),
                unit="variant",
                method="share of variants by verdict; Clopper-Pearson interval over variants",
                reference=self._source,
                cell=self._cell.where,
                details={"count": count, "undefined": without, "effect": self._table.effect.text},
            )


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
