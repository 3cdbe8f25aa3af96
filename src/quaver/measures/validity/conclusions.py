"""Would the conclusion be another with another prompt? A regression on the items, for every specification."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import Estimate, IntervalWarning
from quaver.correction.estimators import Corrected, GoldRegression, gold_alone
from quaver.estimation.cells import Missing
from quaver.estimation.coded_columns import Ints, frame_of, label_counts
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import Interval, clopper_pearson
from quaver.estimation.jackknife import Floats
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.regression import Kind, levers, orthonormal
from quaver.estimation.score_tests import LinearTest, LogisticTest, ScoreTest, score_interval
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.corrected.gold_cells import TOGETHER, Correcting, GoldCell, designed, gold_cells
from quaver.measures.validity.conclusion_formula import ItemTable, Regression, label_numbers, read_formula
from quaver.measures.validity.consensus import majority

CORRECTED, GOLD = "conclusion_corrected", "conclusion_gold"
"""The estimates about the true labels: corrected by all of the model's, and from gold labels alone."""

ESTIMATED = (CORRECTED, "conclusion", "conclusion_majority", GOLD)
"""The measures that are estimates of the effect."""

VERDICTS = {
    "conclusion_holds": "holds",
    "conclusion_reverses": "reverses",
    "conclusion_undecided": "not distinguishable",
}
"""The measures that count verdicts over variants."""

_FEW_EVENTS = 0.6
"""Below this many expected events on a side one label can decide: the test errs in up to 15% of cases."""
_FEW_GROUPS = 4.0
"""Below this many groups on a side, their variance is hardly known."""


@measure(
    missing=("drop", "category"),
    source="specification curve: Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4, 1208-1214",
)
def conclusion(
    data: MeasureInput,
    *,
    formula: str,
    effect: str,
    items: Any = None,
    name: str | None = None,
    regression: Literal["linear", "logistic"] = "linear",
    categories: Sequence[str] = (),
    missing: Missing,
) -> Iterator[Estimate]:
    """A conclusion under every specification: what is claimed of a regression of the labels on the items.

    An item's outcome is the share of its labels over repeats that are LABEL (``share(LABEL)``), or the mean
    of its labels' numbers (``label``). The interval inverts a score test (`quaver.estimation.score_tests`).
    The claim *holds* where the whole interval is on its side, *reverses* where it is all on the other, and is
    *not distinguishable* else.

    With a gold sample that was drawn by design come first the estimates about the true labels, whatever the
    errors of the model's labels lean on: the regression on gold labels, each weighted by one over its
    probability, less what the labels of all prompts and models together say beyond the columns, where that is
    known to sum to zero. They are undefined where the rarer label has too few gold labels on one side of the
    contrast: an interval would then cover too rarely.

    Returns:
        With a designed gold sample ``conclusion_corrected`` (``details``: ``gold_alone``, ``effective_gold``,
        how many gold labels alone would be as precise), and ``conclusion_gold``. For each cell and variant a
        ``conclusion`` (``details``: ``verdict``, ``effect``, ``threshold``, its two-sided ``p``, ``accuracy``
        against the gold labels). Of all variants' labels ``conclusion_majority``; of gold labels that were
        not drawn by design ``conclusion_gold``; the shares of variants by verdict, ``conclusion_holds``,
        ``_reverses`` and ``_undecided``, with Clopper & Pearson's interval.

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
    asked = read_formula(formula, regression)
    rows = data.frame if items is None else frame_of(items, "items")
    drawn = _Drawn(asked, ItemTable(rows, asked, categories, effect), regression, missing)
    title = name or f"{formula.strip()}; {effect.strip()}"
    for estimate in drawn.estimates(data):
        yield replace(estimate, cell={"conclusion": title, **estimate.cell})


class _Drawn:
    """A conclusion, drawn from labels.

    Args:
        asked: The formula.
        table: The items' columns, and the claim.
        kind: Of regression.
        missing: What an answer without a label is.
    """

    def __init__(self, asked: Regression, table: ItemTable, kind: Kind, missing: Missing) -> None:
        self.asked, self.table, self.kind, self.missing = asked, table, kind, missing

    def estimates(self, data: MeasureInput) -> Iterator[Estimate]:
        """Those of the true labels, where they were drawn by design; then those of each cell."""
        known = designed(data.frame)
        if known:
            by = tuple(name for name in data.by if name not in TOGETHER)
            for gold in gold_cells(replace(data, by=by)):
                yield from self._corrected(gold)
        for cell in data.cells(raters=("repeat",), within=("model", "decoding", "variant"), gold=True):
            single = [self._of_variant(cell, index) for index in range(len(cell.strata))]
            yield from single
            several = len(cell.strata) > 1
            if several:
                shares = majority(cell.codes, len(cell.labels))
                known_to_all = np.asarray(np.isfinite(shares).all(1))
                yield self._one(cell, shares, known_to_all, Statistic(method="", part="_majority"))
            has_gold = np.asarray(cell.gold_codes >= 0)
            if not known and has_gold.any():
                true = label_counts(cell.gold_codes[:, None], len(cell.labels))
                yield self._one(cell, true, has_gold, Statistic(method="", part="_gold"))
            if several:
                yield from self._counted(cell, single)

    def _judged(self, cell: Cell, statistic: Statistic) -> Estimate:
        """The estimate of a statistic, with its verdict."""
        effect = self.table.effect
        said = {"effect": effect.text, "threshold": effect.threshold, "above": effect.above}
        estimate = cell.estimated(replace(statistic, details={**said, **statistic.details}))
        verdict = effect.verdict(estimate.low, estimate.high)
        return replace(estimate, details={**estimate.details, "verdict": verdict})

    def _numbers(self, cell: Cell) -> Floats:
        return label_numbers(self.asked.label, cell.labels, cell.label_set)

    def _corrected(self, gold: GoldCell) -> Iterator[Estimate]:
        """The estimates about the true labels."""
        cell, effect = gold.cell, self.table.effect
        numbers, matrix = self._numbers(cell), self.table.rows(cell.items)
        complete = np.isfinite(matrix).all(1)
        kept = gold.known & complete
        found = orthonormal(matrix[kept], effect.contrast)
        if found is None:
            return
        matrix[kept], contrast = found
        true = np.where(gold.gold >= 0, numbers[gold.gold], np.nan)
        asked = gold.regression(true, kept, matrix, contrast=contrast, kind=self.kind)
        made = Correcting(cell, kept, asked, gold.predicted(numbers)[0])
        lacking = int((gold.known & ~complete).sum())
        shape = Statistic(
            method=f"{self.kind} regression on gold labels drawn by design, contrast {effect.text}",
            excluded={**gold.excluded, **({"no value of a column": lacking} if lacking else {})},
        )
        nothing: dict[str, Any] = {}
        both = ("_corrected", made.corrected, made.beside()), ("_gold", made.alone, nothing)
        for part, estimated, beside in both:
            if estimated is not None and estimated.variance > 0:
                off = abs(estimated.value - effect.threshold) / estimated.variance**0.5
                beside["p"] = float(2 * special.stdtr(estimated.tail_freedom, -off))
            yield self._judged(cell, made.statistic(estimated, replace(shape, part=part, details=beside)))

    def _of_variant(self, cell: Cell, index: int) -> Estimate:
        """The estimate from one variant's labels."""
        counts = label_counts(cell.codes[:, index], len(cell.labels))
        bare, total = cell.unanswered[:, index].sum(1), counts.sum(1)
        excluded = {"no label": int(bare.sum())} if bare.any() else {}
        if self.missing == "category":
            total, excluded = total + bare, {}
        shape = Statistic(method="", where=cell.strata[index], excluded=excluded)
        return self._one(cell, counts / np.maximum(total, 1)[:, None], np.asarray(total > 0), shape)

    def _one(self, cell: Cell, shares: Floats, known: NDArray[np.bool_], shape: Statistic) -> Estimate:
        """The estimate from one set of labels: the share of each label, by item."""
        matrix, details, excluded = self.table.rows(cell.items), dict(shape.details), dict(shape.excluded)
        complete = np.isfinite(matrix).all(1)
        if (both := known & (cell.gold_codes >= 0)).any() and shape.part != "_gold":
            details["accuracy"] = float(shares[both, cell.gold_codes[both]].mean())
        if lacking := int((~complete).sum()):
            excluded["no value of a column"] = lacking
        known = known & complete
        outcome = shares[known] @ self._numbers(cell)
        statistic = replace(
            shape,
            method=f"{self.kind} regression, contrast {self.table.effect.text}",
            reason=_reason(outcome, self.kind),
            excluded=excluded,
            n=cell.units.touched(known),
            details=details,
        )
        if outcome.size and (self.kind == "linear" or np.ptp(outcome) > 0):
            statistic = self._fitted(cell, statistic, matrix[known], outcome, known)
        return self._judged(cell, statistic)

    def _fitted(
        self, cell: Cell, statistic: Statistic, matrix: Floats, outcome: Floats, known: NDArray[np.bool_]
    ) -> Statistic:
        """A statistic filled in: the contrast, with its interval and p."""
        effect, clusters = self.table.effect, cell.clusters
        if clusters is not None:
            clusters = np.unique(clusters[known], return_inverse=True)[1].astype(np.int64)
        made = regressed(matrix, outcome, effect.contrast, self.kind, clusters)
        if made is None:
            return statistic
        each, value = np.zeros(known.size), made.value
        each[known] = made.contributions

        def under(weights: Floats) -> Floats:
            return np.asarray(value + (weights @ each - each.sum())[:, None])

        numbers = self._numbers(cell) if self.asked.label is None else np.array([0.0, 1.0])
        ends = float(numbers.min()), float(numbers.max())
        moves = _moves(matrix, outcome, effect.contrast, self.kind, ends)
        statistic = replace(statistic, under=under, moves=moves)
        if self.kind == "linear":
            statistic = replace(statistic, spread=lambda at, share: Interval(*np.add(at, moves(share))))
        if not cell.resampling.resamples:
            return statistic
        tested = Specification(matrix, effect.contrast, outcome, self.kind, ends, clusters)
        interval = tested.interval(cell.resampling.confidence_level)
        return replace(
            statistic,
            interval=interval and (interval, "score interval"),
            details={**statistic.details, "p": tested.p(effect.threshold)},
            warnings=tested.warnings(cell.unit),
        )

    def _counted(self, cell: Cell, single: Sequence[Estimate]) -> Iterator[Estimate]:
        """The shares of variants by verdict."""
        verdicts, level, n = (
            [one.details["verdict"] for one in single],
            single[0].confidence_level,
            len(single),
        )
        without = sum(one.value is None for one in single)
        for name, verdict in VERDICTS.items():
            count = verdicts.count(verdict)
            yield Estimate(
                name,
                count / n,
                *clopper_pearson(count, n, level),
                confidence_level=level,
                n=n,
                unit="variant",
                method="share of variants by verdict; Clopper-Pearson interval over variants",
                reference=conclusion.source,
                cell=cell.where,
                details={"count": count, "undefined": without, "effect": self.table.effect.text},
            )


def _reason(outcome: Floats, kind: Kind) -> str:
    """Why there is no estimate, should there be none."""
    if not outcome.size:
        return "no labelled items with values of these columns"
    if np.ptp(outcome) == 0:
        return "no variation"
    if kind != "linear":
        return "no finite estimate: the columns tell the labels apart without error, or each other"
    return "the columns determine each other where there are labels"


def regressed(
    matrix: Floats, outcome: Floats, contrast: Floats, kind: Kind = "linear", clusters: Ints | None = None
) -> Corrected | None:
    """A contrast of a regression of labels that are taken for true, with its sandwich variance (HC3).

    Args:
        matrix: The items' columns, shape (items, columns).
        outcome: Of each item.
        contrast: What each coefficient counts.
        kind: Of regression.
        clusters: Each item's group, from 0 without gaps; None where items are on their own.

    Returns:
        None where the columns determine each other, or tell the labels apart.

    >>> sides = np.stack([np.ones(4), np.array([0.0, 0.0, 1.0, 1.0])], 1)
    >>> round(regressed(sides, np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0])).value, 9)
    0.5
    """
    found = orthonormal(matrix, contrast)
    if found is None or not len(matrix):
        return None
    return gold_alone(GoldRegression(found[0], outcome, np.ones(len(matrix)), found[1], kind, clusters))


def _moves(
    matrix: Floats, outcome: Floats, contrast: Floats, kind: Kind, ends: tuple[float, float]
) -> Callable[[float], Interval]:
    """How far a contrast moves at most when a share of the items had any outcomes at all, to a first order.

    Least squares is a sum Σ a_i y_i with the levers a = X(XᵀX)⁻¹c: the items with the largest |a_i| move it
    most. Log-odds move by as much over p(1 − p).
    """
    lever = levers(matrix, contrast)
    if kind != "linear":
        lever = lever / max(float(outcome.mean() * (1 - outcome.mean())), 1e-3)
    down, up = (
        np.where(sign * lever > 0, ends[1] - outcome, outcome - ends[0]) * np.abs(lever) for sign in (-1, 1)
    )
    sums = [np.append(0.0, np.sort(part)[::-1].cumsum()) for part in (down, up)]

    def moves(share: float) -> Interval:
        most = (float(np.interp(share * len(part[1:]), np.arange(part.size), part)) for part in sums)
        return Interval(-next(most), next(most))

    return moves


class Specification:
    """A contrast in the outcomes of one specification, tested by its score.

    Args:
        matrix: The items' columns, shape (items, columns).
        contrast: Of the coefficients.
        outcome: Of each item.
        kind: Of regression.
        ends: The least and the largest outcome.
        clusters: Each item's group, where items are not on their own.
    """

    def __init__(
        self,
        matrix: Floats,
        contrast: Floats,
        outcome: Floats,
        kind: Kind,
        ends: tuple[float, float],
        clusters: Ints | None,
    ) -> None:
        self._lever, self._clusters = levers(matrix, contrast), clusters
        low, high = ends
        self._share = float((outcome.mean() - low) / (high - low)) if high > low else 0.0
        self._test: ScoreTest | None = None
        self._scale, self._least = (high - low, 0.0) if kind == "linear" else (1.0, 0.0)
        if high > low and (found := orthonormal(matrix, contrast)) is not None:
            test = LinearTest if kind == "linear" else LogisticTest
            self._test = test(matrix, (outcome - low) / (high - low), contrast, clusters)
            self._least = low * float((found[0] @ found[1]).sum()) if kind == "linear" else 0.0
        # Of a test over groups: as many as there are, less the two sides of the contrast.
        self._freedom = np.inf if clusters is None else float(max(1, np.unique(clusters).size - 2))

    def interval(self, confidence_level: float) -> Interval | None:
        """The score interval; None where it has no value."""
        if self._test is None:
            return None
        # The level at which a normal quantile is the one of Student's t for as many groups.
        tail = float(special.stdtrit(self._freedom, (1 - confidence_level) / 2))
        low, high = score_interval(self._test, 1 - 2 * float(special.ndtr(tail)))
        if not (np.isfinite(low) and np.isfinite(high)):
            return None
        return Interval(low * self._scale + self._least, high * self._scale + self._least)

    def p(self, at: float) -> float | None:
        """The two-sided p value of the contrast being ``at``."""
        if self._test is None or not np.isfinite(self._test.value):
            return None
        statistic = self._test.statistic((at - self._least) / self._scale)
        return float(2 * special.stdtr(self._freedom, -abs(statistic)))

    def warnings(self, unit: str) -> tuple[str, ...]:
        """What a reader must know of how little one side of the contrast rests on.

        A contrast sets the items that raise it (a_i > 0) against those that lower it. A side counts as
        (Σ|a_i|)² / Σ a_i² items (Kish 1965), and as fewer groups.
        """
        found: tuple[str, ...] = ()
        items = _smaller_side(self._lever, np.arange(self._lever.size))
        if items * min(self._share, 1 - self._share) < _FEW_EVENTS:
            few_items = (
                f"one side of the contrast rests on about {items:.1f} items, which are few for so "
                "uneven a label: a single one of them can decide the verdict"
            )
            found += (IntervalWarning(few_items),)
        groups = np.inf if self._clusters is None else _smaller_side(self._lever, self._clusters)
        if groups < _FEW_GROUPS:
            few_groups = (
                f"one side of the contrast rests on about {groups:.1f} {unit}s: the interval takes "
                f"the {unit}s of both sides to vary alike"
            )
            found += (IntervalWarning(few_groups),)
        return found


def _smaller_side(lever: Floats, units: Ints) -> float:
    """As how many units the smaller side of a contrast counts."""
    sizes = []
    for sign in (1.0, -1.0):
        weights = np.maximum(sign * lever, 0.0)
        if (total := float(weights.sum())) > 1e-12 * float(np.abs(lever).sum()):
            sizes.append(total**2 / float((np.bincount(units, weights) ** 2).sum()))
    return min(sizes, default=0.0)
