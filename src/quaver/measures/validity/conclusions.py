"""Would the conclusion be another with another prompt? A regression on the items, for every specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate, IntervalWarning
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell, label_counts
from quaver.estimation.cells import Missing, frame_of
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import Interval, clopper_pearson
from quaver.estimation.means import differing
from quaver.estimation.reading import Reading
from quaver.estimation.regression import contrast_bound, linear, logistic
from quaver.estimation.statistic import Statistic
from quaver.measures.corrected.labelled_items import designed, populations
from quaver.measures.validity.conclusion_formula import ItemTable, Regression, label_numbers, read_formula
from quaver.measures.validity.conclusion_joint import Drawn, joint_estimate
from quaver.measures.validity.consensus import dawid_skene, majority, votes
from quaver.measures.validity.corrected_conclusion import CORRECTED, DSL, PPI, Concluding
from quaver.measures.validity.specifications import Specifications

GOLD = "conclusion_gold"
"""The estimate from the gold labels."""

VERDICTS = {
    "conclusion_holds": "holds",
    "conclusion_reverses": "reverses",
    "conclusion_undecided": "not distinguishable",
}
"""The measures that count verdicts over variants."""

ESTIMATED = (CORRECTED, "conclusion", "conclusion_majority", "conclusion_dawid_skene", GOLD, PPI, DSL)
"""The measures that are estimates of the effect."""

JOINT = "conclusion_joint"
"""The measure of all specifications together."""


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
    interval inverts a score test (`quaver.estimation.score_tests`). Within a cell, variants are compared and
    their labels brought together. The claim *holds* where the whole interval is on its side, *reverses* where
    the whole interval is on the other, and is *not distinguishable* else.

    Args:
        formula: See `conclusion_formula.read_formula`.
        effect: What is claimed: ``educ > 0``, ``party[Rep] < party[Dem]`` (see `claims.read_effect`).
        items: A frame with ``item`` and the formula's columns; ``annotations`` itself if left out.
        name: What the conclusion is called; the formula and the effect if left out.
        regression: ``"linear"``, or ``"logistic"``, whose coefficients are log-odds.
        categories: Columns that are categories although they look like numbers.
        missing: ``"drop"``: an answer without a label is left out; ``"category"``: it is not LABEL.

    Returns:
        With a gold sample that was drawn by design, first what `corrected_conclusion` gives: estimates of
        the true labels' effect, which no error of the labels biases. All others are about these labels.
        For each cell and variant a ``conclusion`` (``details``: ``verdict``, ``effect``, ``threshold``, its
        two-sided ``p``, ``accuracy`` against the gold labels). Of the labels that all variants give together
        ``conclusion_majority`` and ``conclusion_dawid_skene``; of the gold labels ``conclusion_gold``.
        ``conclusion_holds``, ``_reverses`` and ``_undecided``: the shares of variants, with Clopper &
        Pearson's interval, which takes them for a random sample of all that might have been used.
        ``conclusion_joint``, of each cell and of all: see `joint_estimate`.

    Raises:
        UnknownName: The label is not in the set.

    Of two items in each group, 2 and 0 are labelled ``a``, so the shares differ by 1:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "sex": list("ffmm")})
    >>> found = conclusion(frame, formula="share(a) ~ sex", effect="sex[f] > sex[m]")
    >>> round(found[0].value, 9)
    1.0
    """
    asked = _regression_of(formula, regression)
    rows = reading.frame if items is None else frame_of(items, "items")
    table = ItemTable(rows, asked, categories, effect)
    title = name or f"{formula.strip()}; {effect.strip()}"
    known = designed(reading.frame)
    for population in populations(reading) if known else ():
        for found in Concluding(reading, population, table, asked, regression).estimates(each=True):
            yield replace(found, cell={"conclusion": title, **found.cell})
    drawn: list[Drawn] = []
    for cell in reading.cells(raters=("repeat",), within=("model", "decoding", "variant"), gold=True):
        one = _Conclusion(cell, asked, table, regression, missing, designed=known)
        for found in (*one.estimates(), *joint_estimate(one.drawn, table, reading.resampling)):
            yield replace(found, cell={"conclusion": title, **found.cell})
        drawn += one.drawn
    if len(drawn) > 1:
        for found in joint_estimate(drawn, table, reading.resampling):
            yield replace(found, cell={"conclusion": title})


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


class _Conclusion:
    """One conclusion in one cell, under each specification."""

    def __init__(
        self,
        cell: Cell,
        asked: Regression,
        table: ItemTable,
        regression: Literal["linear", "logistic"],
        missing: Missing,
        *,
        designed: bool,
    ) -> None:
        self._cell, self._table, self._regression, self._missing = cell, table, regression, missing
        self._designed = designed
        self._numbers = label_numbers(asked.label, cell.labels, cell.label_set)
        self._matrix = table.rows(cell.items)
        self._complete = np.isfinite(self._matrix).all(1)
        numbers = self._numbers if asked.label is None and self._numbers.size else np.array([0.0, 1.0])
        self._ends = (float(numbers.min()), float(numbers.max()))
        self.drawn: list[Drawn] = []

    def estimates(self) -> Iterator[Estimate]:
        """Each variant's, those of all together, the gold labels', and the verdicts counted."""
        cell, labels = self._cell, len(self._cell.labels)
        single = [("", self._labelled(at), where) for at, where in enumerate(cell.strata)]
        others: list[tuple[str, _Labelled, Mapping[str, str]]] = []
        if len(single) > 1:
            counts = votes(cell.codes, labels)
            likeliest = dawid_skene(counts).posterior
            known = np.asarray(np.isfinite(likeliest).all(1))
            best = np.eye(labels)[np.where(known[:, None], likeliest, 0).argmax(1)]
            others.append(("_majority", _Labelled(majority(counts), known, {}), {}))
            others.append(("_dawid_skene", _Labelled(best, known, {}), {}))
        if not self._designed and cell.gold is not None and (cell.gold >= 0).any():
            true = label_counts(cell.gold[:, None], labels)
            others.append(("_gold", _Labelled(true, cell.gold >= 0, {}), {}))
        made = list(self._drawn_from(single))
        yield from made
        yield from self._drawn_from(others)
        if len(made) > 1:
            yield from self._counted(made)

    def _drawn_from(self, labelled: Sequence[tuple[str, _Labelled, Mapping[str, str]]]) -> Iterator[Estimate]:
        """An estimate for each of several sets of labels, tested together."""
        if not labelled:
            return
        shares = np.stack([np.nan_to_num(one.shares) @ self._numbers for _, one, _ in labelled], 1)
        known = np.stack([one.known & self._complete for _, one, _ in labelled], 1)
        outcomes = np.where(known, shares, np.nan)
        tested = Specifications(
            self._matrix,
            self._table.effect.contrast,
            outcomes,
            self._regression,
            self._ends,
            self._cell.units.clusters,
        )
        made = [
            self._one(part, one, where, outcomes[:, at], tested, at)
            for at, (part, one, where) in enumerate(labelled)
        ]
        if not labelled[0][0]:
            self.drawn.append(Drawn(self._cell, tested, made))
        yield from made

    def _labelled(self, at: int) -> _Labelled:
        counts = label_counts(self._cell.codes[:, at], len(self._cell.labels))
        bare = self._cell.unanswered[:, at].sum(1)
        total = counts.sum(1)
        excluded = {"no label": int(bare.sum())} if bare.any() else {}
        if self._missing == "category":
            total, excluded = total + bare, {}
        return _Labelled(counts / np.maximum(total, 1)[:, None], np.asarray(total > 0), excluded)

    def _one(
        self,
        part: str,
        labelled: _Labelled,
        where: Mapping[str, str],
        outcome: Floats,
        tested: Specifications,
        at: int,
    ) -> Estimate:
        effect = self._table.effect
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
            where=where,
            excluded=excluded,
            n=self._cell.units.touched(known),
            differing=differing(outcome, self._cell.units),
            details=details,
        )
        if known.any() and not (self._regression == "logistic" and np.ptp(outcome[known]) == 0):
            found = self._fitted(found, outcome, tested, at)
        made = self._cell.estimated(found)
        details = {**made.details, "verdict": effect.verdict(made.low, made.high)}
        warnings, resamples = made.warnings, self._cell.resampling.resamples
        if made.low is not None:
            warnings += tested.warnings(at, self._cell.units.name)
        if (lost := details.get("undefined_resamples", 0)) > 0.05 * resamples:
            warnings += (
                IntervalWarning(
                    f"{lost} resamples had no solution and are left out: the interval is a rough one"
                ),
            )
        return replace(made, details=details, warnings=warnings)

    def _fitted(self, found: Statistic, outcome: Floats, tested: Specifications, at: int) -> Statistic:
        """The statistic of a regression, with the interval of its score test."""
        contrast, regression = self._table.effect.contrast, self._regression
        matrix = np.where(np.isfinite(self._matrix), self._matrix, 0.0)

        def moves(share: float) -> Interval:
            return contrast_bound(matrix, outcome, contrast, share, self._ends, regression)

        def spread(value: float, share: float) -> Interval:
            return Interval(*(value + end for end in moves(share)))

        resampling = self._cell.resampling
        if resampling.resamples and resampling.interval == "jackknife":
            own = tested.interval(at, resampling.confidence_level)
            # The test knows of few events by itself.
            p = tested.p(at, self._table.effect.threshold)
            details = {**found.details, "differing": found.differing, "p": p}
            found = replace(found, interval=own and (own, "score interval"), differing=None, details=details)
        return replace(
            found,
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
