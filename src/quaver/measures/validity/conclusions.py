"""Would the conclusion be another with another prompt? A regression on the items, for every specification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import Estimate, IntervalWarning
from quaver.estimation.cells import Missing
from quaver.estimation.coded_columns import Ints, frame_of, label_counts
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Floats
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.regression import orthonormal
from quaver.estimation.score_tests import ScoreTest
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.corrected.gold_cells import TOGETHER, Correcting, GoldCell, designed, gold_cells
from quaver.measures.validity.conclusion_formula import ItemTable, Regression, label_numbers, read_formula

CORRECTED, GOLD = "conclusion_corrected", "conclusion_gold"
"""The estimates about the true labels: corrected by all of the model's, and from gold labels alone."""

ESTIMATED = (CORRECTED, "conclusion", GOLD)
"""The measures that are estimates of the effect."""

_FEW_EVENTS = 0.6
"""Below this many expected events on a side one label can decide: the test errs in up to 15% of cases."""
_FEW_GROUPS = 4.0
"""Below this many groups on a side, their variance is hardly known."""


@measure(missing=("drop", "category"))
def conclusion(
    data: MeasureInput,
    *,
    formula: str,
    effect: str,
    items: Any = None,
    name: str | None = None,
    categories: Sequence[str] = (),
    missing: Missing,
) -> Iterator[Estimate]:
    """A conclusion under every specification: what is claimed of a regression of the labels on the items.

    An item's outcome is the share of its labels over repeats that are LABEL (``share(LABEL)``), or the mean
    of its labels' numbers (``label``). The interval inverts a score test (`quaver.estimation.score_tests`).
    The claim *holds* where the whole interval is on its side, *reverses* where all of it is on the other
    side, and is *not distinguishable* otherwise.

    With a gold sample that was drawn by design, the first estimates hold for gold labels of all items,
    whatever the errors of the model's labels depend on: the regression on gold labels, each weighted by the
    inverse of its probability of being drawn, minus the part of all prompts' and models' labels that the
    columns do not explain, which is known to sum to zero over all items. They are undefined where the rarer
    label has too few gold labels on one side of the contrast, since an interval would then contain the truth
    too rarely.

    Returns:
        With a designed gold sample ``conclusion_corrected`` (``details``: ``gold_alone``, ``effective_gold``,
        how many gold labels alone would be as precise), and ``conclusion_gold``. For each cell and variant a
        ``conclusion`` (``details``: ``verdict``, ``effect``, ``threshold``, its two-sided ``p``, ``accuracy``
        against the gold labels). Of gold labels that were not drawn by design ``conclusion_gold``.

    Of two items in each group, 2 and 0 are labelled ``a``, so the shares differ by 1:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "sex": list("ffmm")})
    >>> round(conclusion(frame, formula="share(a) ~ sex", effect="sex[f] > sex[m]")[0].value, 9)
    1.0

    Of 80 items 40 were drawn, and 24 of these are ``a``; the model's labels are all right, 44 in all being
    ``a``. Gold alone says 0.6, the corrected estimate 0.55:

    >>> true = list("aaaaaabbbb") * 4 + list("aaaaabbbbb") * 4
    >>> frame = pl.DataFrame({"item": range(80), "label": true, "gold": true, "gold_probability": 0.5,
    ...     "gold_drawn": [True] * 40 + [False] * 40})
    >>> found = conclusion(frame, formula="share(a) ~ 1", effect="Intercept > 0.5")
    >>> [(one.measure.removeprefix("conclusion_"), round(one.value, 2)) for one in found[:2]]
    [('corrected', 0.55), ('gold', 0.6)]
    """
    asked = read_formula(formula)
    rows = data.frame if items is None else frame_of(items, "items")
    drawn = _Drawn(asked, ItemTable(rows, asked, categories, effect), missing)
    title = name or f"{formula.strip()}; {effect.strip()}"
    for estimate in drawn.estimates(data):
        yield replace(estimate, cell={"conclusion": title, **estimate.cell})


class _Drawn:
    """A conclusion, drawn from labels.

    Args:
        asked: The formula.
        table: The items' columns, and the claim.
        missing: What an answer without a label is.
    """

    def __init__(self, asked: Regression, table: ItemTable, missing: Missing) -> None:
        self.asked, self.table, self.missing = asked, table, missing

    def estimates(self, data: MeasureInput) -> Iterator[Estimate]:
        """The estimates about the true labels, where gold labels were drawn by design; then each cell's."""
        known = designed(data.frame)
        if known:
            by = tuple(name for name in data.by if name not in TOGETHER)
            for gold in gold_cells(replace(data, by=by)):
                yield from self._corrected(gold)
        for cell in data.cells(raters=("repeat",), within=("model", "decoding", "variant"), gold=True):
            yield from (self._of_variant(cell, index) for index in range(len(cell.strata)))
            has_gold = np.asarray(cell.gold_codes >= 0)
            if not known and has_gold.any():
                true = label_counts(cell.gold_codes[:, None], len(cell.labels))
                yield self._one(cell, true, has_gold, Statistic(method="", part="_gold"))

    def _judged(self, cell: Cell, statistic: Statistic) -> Estimate:
        """The estimate of a statistic, with its verdict."""
        table = self.table
        said = {"effect": table.effect, "threshold": table.threshold, "above": table.above}
        estimate = cell.estimated(replace(statistic, details={**said, **statistic.details}))
        verdict = table.verdict(estimate.low, estimate.high)
        return replace(estimate, details={**estimate.details, "verdict": verdict})

    def _numbers(self, cell: Cell) -> Floats:
        return label_numbers(self.asked.label, cell.labels, cell.label_set)

    def _corrected(self, gold: GoldCell) -> Iterator[Estimate]:
        """The estimates about the true labels."""
        cell, table = gold.cell, self.table
        numbers, matrix = self._numbers(cell), table.rows(cell.items)
        complete = np.isfinite(matrix).all(1)
        kept = gold.known & complete
        solution = orthonormal(matrix[kept], table.contrast)
        if solution is None:
            return
        matrix[kept], contrast = solution
        true = np.where(gold.gold >= 0, numbers[gold.gold], np.nan)
        asked = gold.regression(true, kept, matrix, contrast=contrast)
        made = Correcting(cell, kept, asked, gold.predicted(numbers)[0])
        lacking = int((gold.known & ~complete).sum())
        shape = Statistic(
            method=f"linear regression on gold labels drawn by design, contrast {table.effect}",
            excluded={**gold.excluded, "no value of a column": lacking},
        )
        nothing: dict[str, Any] = {}
        both = ("_corrected", made.corrected, made.beside()), ("_gold", made.alone, nothing)
        for part, estimated, beside in both:
            if estimated is not None and estimated.variance > 0:
                off = abs(estimated.value - table.threshold) / estimated.variance**0.5
                beside["p"] = float(2 * special.stdtr(estimated.tail_freedom, -off))
            yield self._judged(cell, made.statistic(estimated, replace(shape, part=part, details=beside)))

    def _of_variant(self, cell: Cell, index: int) -> Estimate:
        """The estimate from one variant's labels."""
        counts = label_counts(cell.codes[:, index], len(cell.labels))
        bare, total = cell.unanswered[:, index].sum(1), counts.sum(1)
        excluded = {"no label": int(bare.sum())}
        if self.missing == "category":
            total, excluded = total + bare, {}
        shape = Statistic(method="", where=cell.strata[index], excluded=excluded)
        return self._one(cell, counts / np.maximum(total, 1)[:, None], total > 0, shape)

    def _one(self, cell: Cell, shares: Floats, known: NDArray[np.bool_], shape: Statistic) -> Estimate:
        """The estimate from one set of labels: the share of each label, by item."""
        matrix, details, excluded = self.table.rows(cell.items), dict(shape.details), dict(shape.excluded)
        complete = np.isfinite(matrix).all(1)
        if (both := known & (cell.gold_codes >= 0)).any() and shape.part != "_gold":
            details["accuracy"] = float(shares[both, cell.gold_codes[both]].mean())
        excluded["no value of a column"] = int((~complete).sum())
        known = known & complete
        outcome = shares[known] @ self._numbers(cell)
        reason = "no labelled items with values of these columns"
        if outcome.size:
            flat = np.ptp(outcome) == 0
            reason = "no variation" if flat else "the columns determine each other where there are labels"
        statistic = replace(
            shape,
            method=f"linear regression, contrast {self.table.effect}",
            reason=reason,
            excluded=excluded,
            n=known,
            details=details,
        )
        if outcome.size:
            statistic = self._fitted(cell, statistic, matrix[known], outcome, known)
        return self._judged(cell, statistic)

    def _fitted(
        self, cell: Cell, statistic: Statistic, matrix: Floats, outcome: Floats, known: NDArray[np.bool_]
    ) -> Statistic:
        """A statistic filled in: the contrast, with its interval and p."""
        numbers, clusters = self._numbers(cell), cell.clusters
        ends = (0.0, 1.0) if self.asked.label is not None else (float(numbers.min()), float(numbers.max()))
        if clusters is not None:
            clusters = np.unique(clusters[known], return_inverse=True)[1].astype(np.int64)
        if ends[0] == ends[1]:
            return statistic
        try:
            test = ScoreTest(matrix, outcome, self.table.contrast, clusters, ends)
        except ValueError:
            return statistic
        each = np.zeros(known.size)
        each[known] = test.contributions

        def under(weights: Floats) -> Floats:
            return np.asarray(test.value + (weights @ each - each.sum())[:, None])

        statistic = replace(statistic, under=under, width=test.width)
        if not cell.resampling.resamples:
            return statistic
        share = (outcome - ends[0]) / (ends[1] - ends[0])
        return replace(
            statistic,
            interval=(test.interval(cell.resampling.confidence_level), "score interval"),
            details={**statistic.details, "p": test.p(self.table.threshold)},
            warnings=tuple(_warnings(test, share, clusters, cell.unit)),
        )


def _warnings(test: ScoreTest, outcome: Floats, clusters: Ints | None, unit: str) -> Iterator[str]:
    """What a reader must know of how little one side of a contrast rests on.

    A contrast sets the items that raise it (a_i > 0) against those that lower it. A side counts as
    (Σ|a_i|)² / Σ a_i² items (Kish 1965), and as fewer groups.
    """
    items, share = _smaller_side(test.lever, np.arange(test.lever.size)), float(outcome.mean())
    if items * min(share, 1 - share) < _FEW_EVENTS:
        yield IntervalWarning(
            f"one side of the contrast rests on about {items:.1f} items, which are few for so uneven a "
            "label: a single one of them can decide the verdict"
        )
    groups = np.inf if clusters is None else _smaller_side(test.lever, clusters)
    if groups < _FEW_GROUPS:
        yield IntervalWarning(
            f"one side of the contrast rests on about {groups:.1f} {unit}s: the interval takes the {unit}s "
            "of both sides to vary alike"
        )


def _smaller_side(lever: Floats, units: Ints) -> float:
    """Kish's effective number of units on the smaller side of a contrast."""
    sizes = []
    for sign in (1.0, -1.0):
        weights = np.maximum(sign * lever, 0.0)
        if (total := float(weights.sum())) > 1e-12 * float(np.abs(lever).sum()):
            sizes.append(total**2 / float((np.bincount(units, weights) ** 2).sum()))
    return min(sizes, default=0.0)
