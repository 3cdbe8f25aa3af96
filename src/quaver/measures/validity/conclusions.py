"""Would the conclusion be another with another prompt? A regression on the items, for every specification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.agreement.ratings import label_set_of
from quaver.core.records import Estimate, LabelSet
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.bootstrap import Floats, Resampling, bootstrap
from quaver.estimation.cell import Cell, label_counts
from quaver.estimation.cells import Missing, cells, checked, frame_of
from quaver.estimation.column_roles import Columns, UnknownColumn
from quaver.estimation.formula import design, parsed
from quaver.estimation.intervals import FEW, Claim, Interval, clopper_pearson, estimate, undefined
from quaver.estimation.means import differing
from quaver.estimation.measure_protocol import Frame
from quaver.estimation.regression import contrast_bound, linear, logistic, two_sided_bound
from quaver.measures.validity.claims import Effect, read_effect
from quaver.measures.validity.consensus import dawid_skene, majority, votes

__all__ = ["ESTIMATED", "GOLD", "VERDICTS", "Regression", "check_conclusion", "conclusion", "read_formula"]

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

_REFERENCE = "specification curve: Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4, 1208-1214"
_SHARE = re.compile(r"\s*share\(\s*(.+?)\s*\)\s*")
_FACTOR = re.compile(r"\bfactor\(\s*([^\W\d]\w*)\s*\)")


class Regression(NamedTuple):
    """A formula, read.

    Attributes:
        label: The label whose share is explained; None where the label's own number is.
        columns: The items' columns that explain it.
        categories: Those of them that are categories although they may look like numbers.
        right: What stands right of the ``~``, with plain names.
    """

    label: str | None
    columns: tuple[str, ...]
    categories: frozenset[str]
    right: str


def read_formula(formula: str) -> Regression:
    """Read ``share(LABEL) ~ a + b`` or ``label ~ a * b``.

    Right of the ``~`` stand columns of the items, as `quaver.estimation.formula.parsed` reads them;
    ``factor(a)`` takes numbers as categories, and ``1`` stands for no column at all.

    Raises:
        MeasureError: It is no such formula.

    >>> read_formula("share(Clinton) ~ factor(party) + educ")[:2]
    ('Clinton', ('party', 'educ'))
    """
    left, tilde, right = str(formula).partition("~")
    share = _SHARE.fullmatch(left)
    if not tilde or not (share or left.strip() == "label"):
        raise MeasureError(
            "not a formula that can be read",
            where="formula",
            expected="share(LABEL) ~ a + b, or label ~ a + b where the labels are numbers",
            found=formula,
        )
    plain = _FACTOR.sub(r"\1", right)
    try:
        terms = parsed(f"label ~ {plain}")[1]
    except MeasureError as error:
        error.fix = f"in {formula!r}; make a column for anything else"
        raise
    columns = tuple(dict.fromkeys(name for term in terms for name in term))
    return Regression(share[1] if share else None, columns, frozenset(_FACTOR.findall(right)), plain)


def conclusion(
    annotations: Frame,
    *,
    formula: str,
    effect: str,
    items: Frame | None = None,
    name: str | None = None,
    regression: Literal["linear", "logistic"] = "linear",
    categories: Sequence[str] = (),
    missing: Missing = "drop",
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    group: str | None = None,
    columns: Columns | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """A conclusion under every specification: what is claimed of a regression of the labels on the items.

    An item's outcome is the share of its labels over repeats that are LABEL (``share(LABEL)``), or the mean
    of its labels' numbers (``label``). Ordinary least squares or, for a share, logistic regression; the
    interval resamples items. The claim *holds* where the whole interval is on its side, *reverses* where
    the whole interval is on the other, and is *not distinguishable* else.

    Args:
        annotations: A row an annotation, of one evaluator; see `quaver.estimation.measure_protocol.Measure`.
        formula: See `read_formula`.
        effect: What is claimed: ``educ > 0``, ``party[Rep] < party[Dem]`` (see `read_effect`).
        items: The items' columns: ``item`` and those of the formula; ``annotations`` itself if left out.
        name: What the conclusion is called; the formula and the effect if left out.
        regression: ``"linear"``, or ``"logistic"``, whose coefficients are log-odds.
        categories: Columns that are categories although they look like numbers.
        missing: ``"drop"``: an answer without a label is left out; ``"category"``: it is not LABEL.
        labels: The label set.
        by: Columns that make the cells, within which variants are compared and labels brought together.
        confidence: Nominal level of the intervals.
        resamples: Bootstrap resamples.
        seed: Root seed.
        group: The column whose groups of items are resampled.
        columns: Other names for the frame's columns.
        interval: Which interval is given.

    Returns:
        For each cell and variant a ``conclusion`` (``details``: ``verdict``, ``effect``, ``threshold``,
        ``accuracy`` against the gold labels); ``conclusion_majority`` and ``conclusion_dawid_skene`` of the
        labels that all variants give together; ``conclusion_gold`` of the true labels; and
        ``conclusion_holds``, ``conclusion_reverses`` and ``conclusion_undecided``: the shares of variants,
        with Clopper & Pearson's interval, which takes the variants for a random sample of all that might
        have been used. Where one side of the contrast rests on fewer than 15 items (a small group), the
        interval is the wider one of the bootstrap's and of what these items allow, and a warning says so.

    Raises:
        MeasureError: Formula, effect, a column or an option cannot be used.
        UnknownName: The label is not in the set.

    Of two items in each group, 2 and 0 are labelled ``a``, so the shares differ by 1:

    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "sex": list("ffmm")})
    >>> found = conclusion(frame, formula="share(a) ~ sex", effect="sex[f] > sex[m]")
    >>> found[0].value
    1.0
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    missing = checked(missing, ("drop", "category"))
    asked = read_formula(formula)
    if regression not in ("linear", "logistic") or (regression == "logistic" and asked.label is None):
        raise MeasureError(
            "a regression that cannot be had here",
            where="regression",
            expected="linear, or logistic for share(LABEL)",
            found=repr(regression),
        )
    frame = frame_of(annotations)
    table = _Table(frame if items is None else frame_of(items, "items"), asked, categories, effect)
    found: list[Estimate] = []
    for cell in cells(
        frame,
        raters=("repeat",),
        within=("model", "decoding", "variant"),
        by=by,
        labels=labels,
        columns=columns,
        group=group,
        gold=True,
    ):
        title = name or f"{formula.strip()}; {effect.strip()}"
        found += _Cell(cell, asked, table, labels, resampling, regression, missing, title).estimates()
    return found


class _Table:
    """The items' columns as a design matrix, and the claim in its terms."""

    def __init__(
        self, items: pl.DataFrame, asked: Regression, categories: Sequence[str], effect: str
    ) -> None:
        if "item" not in items.columns:
            raise UnknownColumn("item", items.columns, where="items")
        for name in asked.columns:
            if name not in items.columns:
                raise UnknownColumn(name, items.columns, where="formula")
        own = items.select("item", *asked.columns).unique(maintain_order=True)
        own = own.with_columns(
            _typed(own[name], name in {*asked.categories, *categories}) for name in asked.columns
        )
        whole = own.drop_nulls()
        if whole["item"].n_unique() < whole.height:
            raise MeasureError(
                "an item with two values of a column",
                where="items",
                expected=f"one value of {', '.join(asked.columns)} an item",
                found=f"item {whole['item'].filter(whole['item'].is_duplicated())[0]}",
            )
        made = design(whole, f"label ~ {asked.right}")
        texts = [
            n for n in asked.columns if not (whole[n].dtype.is_numeric() or whole[n].dtype == pl.Boolean)
        ]
        levels = [f"{n}[{v}]" for n in texts for v in whole[n].unique().cast(pl.String).to_list()]
        self.effect = read_effect(effect, made.names, [one for one in levels if one not in made.names])
        self.names = made.names
        rows = whole["item"].cast(pl.String).to_list()
        self._place = {item: at for at, item in enumerate(rows)}
        self._matrix = made.matrix

    def rows(self, items: Sequence[str]) -> Floats:
        """The design matrix of some items; NaN where a column has no value."""
        padded = np.concatenate([self._matrix, np.full((1, self._matrix.shape[1]), np.nan)])
        return np.asarray(padded[[self._place.get(item, -1) for item in items]])


def _typed(column: pl.Series, category: bool) -> pl.Series:
    """A column as numbers, where all of it are; else as text. Empty cells are null."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return (
            column.cast(pl.String)
            if category
            else column.fill_nan(None)
            if column.dtype.is_float()
            else column
        )
    text = pl.Series(
        column.name, [None if v is None else str(v).strip() or None for v in column], dtype=pl.String
    )
    numbers = text.cast(pl.Float64, strict=False)
    all_numbers = numbers.is_finite().fill_null(False).sum() == text.is_not_null().sum()
    return numbers if all_numbers and not category and text.is_not_null().any() else text


class _Labelled(NamedTuple):
    """Labels of a cell's items: the share of each, shape (items, labels); which items count; who does not."""

    shares: Floats
    known: NDArray[np.bool_]
    excluded: dict[str, int]


class _Cell:
    """One conclusion in one cell."""

    def __init__(
        self,
        cell: Cell,
        asked: Regression,
        table: _Table,
        labels: LabelSet | None,
        resampling: Resampling,
        regression: Literal["linear", "logistic"],
        missing: Missing,
        title: str,
    ) -> None:
        self._cell, self._asked, self._table, self._resampling = cell, asked, table, resampling
        self._regression, self._missing, self._title = regression, missing, title
        self._numbers = _numbers(asked.label, cell.labels, labels)
        self._matrix = table.rows(cell.items)
        self._lacking = int((~np.isfinite(self._matrix).all(1)).sum())

    def estimates(self) -> list[Estimate]:
        """Each variant's, those of all together, the gold labels', and the verdicts counted."""
        cell, labels = self._cell, len(self._cell.labels)
        found = [
            self._one("conclusion", self._labelled(at), {**cell.where, **where})
            for at, where in enumerate(cell.strata)
        ]
        single = len(found)
        if single > 1:
            counts = votes(cell.codes, labels)
            likeliest = dawid_skene(counts).posterior
            known = np.asarray(np.isfinite(likeliest).all(1))
            best = np.eye(labels)[np.where(known[:, None], likeliest, 0).argmax(1)]
            votes_won = majority(counts)
            found.append(self._one("conclusion_majority", _Labelled(votes_won, known, {}), cell.where))
            found.append(self._one("conclusion_dawid_skene", _Labelled(best, known, {}), cell.where))
        if cell.gold is not None and (cell.gold >= 0).any():
            true = label_counts(cell.gold[:, None], labels)
            found.append(self._one(GOLD, _Labelled(true, cell.gold >= 0, {}), cell.where))
        return [*found, *(self._counted(found[:single]) if single > 1 else ())]

    def _labelled(self, at: int) -> _Labelled:
        counts = label_counts(self._cell.codes[:, at], len(self._cell.labels))
        bare = self._cell.unanswered[:, at].sum(1)
        total = counts.sum(1)
        excluded = {"no label": int(bare.sum())} if bare.any() else {}
        if self._missing == "category":
            total, excluded = total + bare, {}
        return _Labelled(counts / np.maximum(total, 1)[:, None], np.asarray(total > 0), excluded)

    def _one(self, measure: str, labelled: _Labelled, where: dict[str, str]) -> Estimate:
        cell, effect = self._cell, self._table.effect
        usable = labelled.known & np.isfinite(self._matrix).all(1)
        outcome = np.where(usable, np.nan_to_num(labelled.shares) @ self._numbers, np.nan)
        excluded = dict(labelled.excluded)
        if self._lacking:
            excluded["no value of a column"] = self._lacking
        known = np.isfinite(outcome)
        ends = (float(self._numbers.min(initial=0.0)), float(self._numbers.max(initial=0.0)))
        claim = Claim(
            measure,
            f"{self._regression} regression, contrast {effect.text}",
            _REFERENCE,
            reason=self._reason(outcome),
            cell={"conclusion": self._title, **where},
            excluded=excluded,
            n=cell.units.touched(known),
            differing=differing(outcome, cell.units),
            details={"effect": effect.text, "threshold": effect.threshold, "above": effect.above},
        )
        if (right := self._accuracy(labelled)) is not None and measure != GOLD:
            claim = replace(claim, details={**(claim.details or {}), "accuracy": right})
        matrix = np.where(np.isfinite(self._matrix), self._matrix, 0.0)
        if not known.any() or (self._regression == "logistic" and np.ptp(outcome[known]) == 0):
            made = undefined(claim, cell.units, self._resampling)
        else:
            fit = linear if self._regression == "linear" else logistic
            draws = bootstrap(fit(matrix, outcome, effect.contrast), cell.units, self._resampling)

            def moves(share: float) -> Interval:
                return contrast_bound(matrix, outcome, effect.contrast, share, ends, self._regression)

            claim = replace(claim, moves=moves)
            if self._regression == "linear":
                value = float(draws.point[0])
                claim = replace(claim, spread=lambda share: Interval(*(value + end for end in moves(share))))
            made = self._of_few(estimate(claim, draws, cell.units, self._resampling), matrix, outcome, ends)
        details = {**made.details, "verdict": effect.verdict(made.low, made.high)}
        lost = details.get("undefined_resamples", 0)
        warnings = made.warnings
        if lost > 0.05 * self._resampling.resamples:
            warnings += (f"{lost} resamples had no solution and are left out: the interval is a rough one",)
        return replace(made, details=details, warnings=warnings)

    def _of_few(self, made: Estimate, matrix: Floats, outcome: Floats, ends: tuple[float, float]) -> Estimate:
        """The estimate with an interval that knows how few items a side of the contrast has."""
        if made.value is None or made.low is None or made.high is None:
            return made
        contrast, clusters = self._table.effect.contrast, self._cell.units.clusters
        confidence = self._resampling.confidence
        few, bound = two_sided_bound(matrix, outcome, contrast, confidence, ends, self._regression, clusters)
        if few >= FEW:
            return made
        told = f"one side of the contrast rests on about {few:.1f} {made.unit}s: its interval is a bound"
        low, high = min(made.low, made.value + bound.low), max(made.high, made.value + bound.high)
        return replace(made, low=low, high=high, warnings=(*made.warnings, told))

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
        for measure, verdict in VERDICTS.items():
            count = verdicts.count(verdict)
            low, high = clopper_pearson(count, len(verdicts), self._resampling.confidence)
            yield Estimate(
                measure=measure,
                value=count / len(verdicts),
                low=low,
                high=high,
                confidence=self._resampling.confidence,
                n=len(verdicts),
                unit="variant",
                method="share of variants by verdict; Clopper-Pearson interval over variants",
                reference=_REFERENCE,
                cell={"conclusion": self._title, **self._cell.where},
                details={"count": count, "undefined": without, "effect": self._table.effect.text},
            )


def _numbers(label: str | None, codes: Sequence[str], labels: LabelSet | None) -> Floats:
    """What each label counts as in the outcome."""
    if label is not None:
        known = labels.codes if labels else codes
        if label not in known:
            raise UnknownName("label", label, known, where="formula")
        return np.array([float(code == label) for code in codes])
    told = labels or label_set_of(codes, "interval") if codes else None
    if told is None:
        return np.zeros(0)
    if told.level == "nominal" or (labels is None and any(one.value is None for one in told.labels)):
        raise MeasureError(
            "labels that are no numbers",
            where="formula",
            expected="share(LABEL) ~ …, or labels of an ordinal or interval level",
            found=", ".join(codes[:5]),
        )
    values = [float(at) if one.value is None else one.value for at, one in enumerate(told.labels)]
    return np.array([values[told.codes.index(code)] for code in codes])


def check_conclusion(
    items: pl.DataFrame, formula: str, effect: str, labels: LabelSet, categories: Sequence[str]
) -> Effect:
    """Find what is wrong with a conclusion before there are labels.

    Raises:
        MeasureError: As `conclusion` does.
        UnknownName: As there.
    """
    asked = read_formula(formula)
    _numbers(asked.label, labels.codes, labels)
    return _Table(items, asked, categories, effect).effect
