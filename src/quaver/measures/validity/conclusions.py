"""Would the conclusion be another with another prompt? A regression on the items, for every specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell, label_counts
from quaver.estimation.cells import Missing, frame_of
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import FEW, Interval, clopper_pearson
from quaver.estimation.means import differing
from quaver.estimation.reading import Reading
from quaver.estimation.regression import contrast_bound, linear, logistic, two_sided_bound
from quaver.estimation.statistic import Statistic
from quaver.measures.validity.conclusion_formula import ItemTable, Regression, label_numbers, read_formula
from quaver.measures.validity.consensus import dawid_skene, majority, votes

GOLD = "conclusion_gold"
"""The estimate from the gold labels."""

VERDICTS = {
    "conclusion_holds": "holds",
    "conclusion_reverses": "reverses",
    "conclusion_undecided": "not distinguishable",
}
"""The measures that count verdicts over variants."""

ESTIMATED = ("conclusion", "conclusion_majority", "conclusion_dawid_skene", GOLD)
"""The measures that are estimates of the effect."""


@measure(
    missing=("drop", "category"),
    source="specification curve: Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4, 1208-1214",
)
def conclusion(
    reading: Reading,
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
    of its labels' numbers (``label``). Ordinary least squares or, for a share, logistic regression; the
    interval resamples items. Within a cell, variants are compared and their labels brought together. The
    claim *holds* where the whole interval is on its side, *reverses* where the whole interval is on the
    other, and is *not distinguishable* else.

    Args:
        formula: See `conclusion_formula.read_formula`.
        effect: What is claimed: ``educ > 0``, ``party[Rep] < party[Dem]`` (see `claims.read_effect`).
        items: A frame of the items' columns: ``item`` and those of the formula; ``annotations`` itself if
            left out.
        name: What the conclusion is called; the formula and the effect if left out.
        regression: ``"linear"``, or ``"logistic"``, whose coefficients are log-odds.
        categories: Columns that are categories although they look like numbers.
        missing: ``"drop"``: an answer without a label is left out; ``"category"``: it is not LABEL.

    Returns:
        For each cell and variant a ``conclusion`` (``details``: ``verdict``, ``effect``, ``threshold``,
        ``accuracy`` against the gold labels); ``conclusion_majority`` and ``conclusion_dawid_skene`` of the
        labels that all variants give together; ``conclusion_gold`` of the true labels; and
        ``conclusion_holds``, ``conclusion_reverses`` and ``conclusion_undecided``: the shares of variants,
        with Clopper & Pearson's interval, which takes the variants for a random sample of all that might
        have been used. Where one side of the contrast rests on fewer than 15 items (a small group), the
        interval is the wider one of the bootstrap's and of what these items allow, and a warning says so.

    Raises:
        UnknownName: The label is not in the set.

    Of two items in each group, 2 and 0 are labelled ``a``, so the shares differ by 1:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "sex": list("ffmm")})
    >>> found = conclusion(frame, formula="share(a) ~ sex", effect="sex[f] > sex[m]")
    >>> found[0].value
    1.0
    """
    asked = _regression_of(formula, regression)
    rows = reading.frame if items is None else frame_of(items, "items")
    table = ItemTable(rows, asked, categories, effect)
    title = name or f"{formula.strip()}; {effect.strip()}"
    for cell in reading.cells(raters=("repeat",), within=("model", "decoding", "variant"), gold=True):
        for one in _Specifications(cell, asked, table, regression, missing).estimates():
            yield replace(one, cell={"conclusion": title, **one.cell})


def _regression_of(formula: str, regression: Literal["linear", "logistic"]) -> Regression:
    """What a formula asks for; only a share can be the outcome of a logistic regression."""
    asked = read_formula(formula)
    if regression == "logistic" and asked.label is None:
        raise MeasureError(
            "a regression that needs a share",
            where="regression",
            expected="linear, or logistic for share(LABEL)",
            found=repr(regression),
        )
    return asked


class _Labelled(NamedTuple):
    """Labels of a cell's items: the share of each, shape (items, labels); which items count; who does not."""

    shares: Floats
    known: NDArray[np.bool_]
    excluded: dict[str, int]


class _Specifications:
    """One conclusion in one cell, under each specification."""

    def __init__(
        self,
        cell: Cell,
        asked: Regression,
        table: ItemTable,
        regression: Literal["linear", "logistic"],
        missing: Missing,
    ) -> None:
        self._cell, self._table, self._regression, self._missing = cell, table, regression, missing
        self._numbers = label_numbers(asked.label, cell.labels, cell.label_set)
        self._matrix = table.rows(cell.items)
        self._complete = np.isfinite(self._matrix).all(1)

    def estimates(self) -> Iterator[Estimate]:
        """Each variant's, those of all together, the gold labels', and the verdicts counted."""
        cell, labels = self._cell, len(self._cell.labels)
        single = [self._one("", self._labelled(at), where) for at, where in enumerate(cell.strata)]
        yield from single
        if len(single) > 1:
            counts = votes(cell.codes, labels)
            likeliest = dawid_skene(counts).posterior
            known = np.asarray(np.isfinite(likeliest).all(1))
            best = np.eye(labels)[np.where(known[:, None], likeliest, 0).argmax(1)]
            yield self._one("_majority", _Labelled(majority(counts), known, {}))
            yield self._one("_dawid_skene", _Labelled(best, known, {}))
        if cell.gold is not None and (cell.gold >= 0).any():
            true = label_counts(cell.gold[:, None], labels)
            yield self._one("_gold", _Labelled(true, cell.gold >= 0, {}))
        if len(single) > 1:
            yield from self._counted(single)

    def _labelled(self, at: int) -> _Labelled:
        counts = label_counts(self._cell.codes[:, at], len(self._cell.labels))
        bare = self._cell.unanswered[:, at].sum(1)
        total = counts.sum(1)
        excluded = {"no label": int(bare.sum())} if bare.any() else {}
        if self._missing == "category":
            total, excluded = total + bare, {}
        return _Labelled(counts / np.maximum(total, 1)[:, None], np.asarray(total > 0), excluded)

    def _one(self, part: str, labelled: _Labelled, where: Mapping[str, str] | None = None) -> Estimate:
        effect = self._table.effect
        outcome = np.where(
            labelled.known & self._complete, np.nan_to_num(labelled.shares) @ self._numbers, np.nan
        )
        known = np.isfinite(outcome)
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
        found = Statistic(
            part=part,
            method=f"{self._regression} regression, contrast {effect.text}",
            reason=self._reason(outcome),
            where=where or {},
            excluded=excluded,
            n=self._cell.units.touched(known),
            differing=differing(outcome, self._cell.units),
            details=details,
        )
        if known.any() and not (self._regression == "logistic" and np.ptp(outcome[known]) == 0):
            made = self._fitted(found, outcome)
        else:
            made = self._cell.estimated(found)
        details = {**made.details, "verdict": effect.verdict(made.low, made.high)}
        warnings, resamples = made.warnings, self._cell.resampling.resamples
        if (lost := details.get("undefined_resamples", 0)) > 0.05 * resamples:
            warnings += (f"{lost} resamples had no solution and are left out: the interval is a rough one",)
        return replace(made, details=details, warnings=warnings)

    def _fitted(self, found: Statistic, outcome: Floats) -> Estimate:
        """The estimate of a regression, with an interval that knows how few items a side rests on."""
        contrast, regression = self._table.effect.contrast, self._regression
        matrix = np.where(np.isfinite(self._matrix), self._matrix, 0.0)
        ends = (float(self._numbers.min(initial=0.0)), float(self._numbers.max(initial=0.0)))

        def moves(share: float) -> Interval:
            return contrast_bound(matrix, outcome, contrast, share, ends, regression)

        def spread(value: float, share: float) -> Interval:
            return Interval(*(value + end for end in moves(share)))

        fit = linear if regression == "linear" else logistic
        made = self._cell.estimated(
            replace(
                found,
                under=fit(matrix, outcome, contrast),
                moves=moves,
                spread=spread if regression == "linear" else None,
            )
        )
        if made.value is None or made.low is None or made.high is None:
            return made
        clusters, confidence_level = self._cell.units.clusters, self._cell.resampling.confidence_level
        few, bound = two_sided_bound(matrix, outcome, contrast, confidence_level, ends, regression, clusters)
        if few >= FEW:
            return made
        warning = f"one side of the contrast rests on about {few:.1f} {made.unit}s: its interval is a bound"
        low, high = min(made.low, made.value + bound.low), max(made.high, made.value + bound.high)
        return replace(made, low=low, high=high, warnings=(*made.warnings, warning))

    def _reason(self, outcome: Floats) -> str:
        known = np.isfinite(outcome)
        if not known.any():
            return "no labelled items with values of these columns"
        if np.ptp(outcome[known]) == 0:
            return "no variation"
        if self._regression == "logistic":
            return "no finite estimate: the columns tell the labels apart without error, or each other"
        return "the columns determine each other where there are labels"

    def _accuracy(self, labelled: _Labelled) -> float | None:
        """The share of labels that are the true ones, over items that have both."""
        gold = self._cell.gold
        if gold is None or not (both := labelled.known & (gold >= 0)).any():
            return None
        return float(labelled.shares[both, gold[both]].mean())

    def _counted(self, single: Sequence[Estimate]) -> Iterator[Estimate]:
        """The shares of variants by verdict."""
        verdicts = [one.details["verdict"] for one in single]
        without = sum(one.value is None for one in single)
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
                reference=conclusion.source,
                cell=self._cell.where,
                details={"count": count, "undefined": without, "effect": self._table.effect.text},
            )
