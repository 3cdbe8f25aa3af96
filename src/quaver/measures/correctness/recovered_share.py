"""How much of the accuracy that a prompt seems to lose is the parser's doing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import Estimate
from quaver.errors import UnknownName
from quaver.estimation.arrangement import Columns
from quaver.estimation.bootstrap import Floats, Ratio, Weighted
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import Interval, effective
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.correctness.evaluator_flips import labels_by, pairs_of
from quaver.measures.variation.label_shares import ASKING

_METHOD = "(repaired − first) / (mean of the other variants − first), accuracies, no label counted wrong"
_NO_GAP = 1e-9
"""Means of the same accuracies in another order differ in the last digit: that is no gap."""
_MEANS = ("ratio of means", "mean of ratios")
_MAYBE_NO_GAP = "by its own interval there may be no gap, so that the share of it has no interval"


@measure(
    title="How much of a prompt’s gap in accuracy another evaluator closes",
    axis="share of the gap (1: all of it)",
    section="answers",
    better="higher",
    null=0.0,
    compares=("evaluator", "model", "variant"),
    pairs_evaluators=True,
)
def recovered_share(
    data: MeasureInput, *, first: str | None = None, second: str | None = None, variant: str | None = None
) -> Iterator[Estimate]:
    """How much of a prompt's gap in accuracy another evaluator closes.

    For each variant and model, with f the variant's accuracy by the first evaluator, r its accuracy by the
    second (repaired), and m the mean over the other variants of their accuracies by the first:
    (r − f) / (m − f). Over several models, by two means that differ and are named: the ratio of means,
    (mean r − mean f) / (mean m − mean f), and the mean of ratios. Undefined where there is no gap to
    recover (m ≤ f), no other variant, or no gold labels; the mean of ratios leaves out models without a
    gap, counted. An answer without a label is wrong. ``by`` cannot hold the evaluator, the variant or (for
    the means) the model. Intervals are over items, all models and variants together; where the gap itself,
    or one of those whose mean is taken, may be none by its own interval, the share has none, since it may be
    any number (Fieller 1954, Journal of the Royal Statistical Society B 16, 175-185).

    Args:
        first: The evaluator under suspicion; by default the first by name, in a study the study's first.
        second: The evaluator that repairs it; by default each of the others in turn.
        variant: The variant whose gap it is; by default each in turn.

    Returns:
        For each cell, pair of evaluators and variant: ``recovered_share`` for each model, then, of several
        models, ``recovered_share_ratio_of_means`` and ``recovered_share_mean_of_ratios``.

    Raises:
        UnknownName: An evaluator has no rows, or there is no such variant.

    Variant p is right in 1 of 4 by x and in 2 of 4 by y; variant q in 3 of 4 by x: (2 − 1) / (3 − 1).

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4] * 3, "variant": ["p"] * 8 + ["q"] * 4,
    ...     "evaluator": ["x"] * 4 + ["y"] * 4 + ["x"] * 4, "gold": "a", "label": list("abbbaabbaaab")})
    >>> recovered_share(frame, variant="p", resamples=0)[0].value
    0.5
    """
    parts = data.cells(raters=("evaluator",), within=ASKING, gold=True)
    pairs = pairs_of(parts, first, second)
    for cell in parts:
        gaps = _Gaps(cell, data.columns or {})
        if variant is not None and variant not in gaps.variants:
            raise UnknownName("variant", variant, gaps.variants, where="variant")
        if not pairs:
            yield cell.estimated(Statistic(method=_METHOD, n=0, reason="fewer than two evaluators"))
        for pair in pairs:
            for statistic in gaps.statistics(pair, gaps.variants if variant is None else [variant]):
                estimate = cell.estimated(statistic)
                unbounded = _MAYBE_NO_GAP in estimate.warnings
                yield replace(estimate, low=None, high=None) if unbounded else estimate


class _Gaps:
    """A cell's right answers by model, variant and evaluator."""

    def __init__(self, cell: Cell, columns: Columns) -> None:
        self._cell = cell
        models = [_role(stratum, "model", columns) for stratum in cell.strata]
        variants = [_role(stratum, "variant", columns) for stratum in cell.strata]
        self._models, self.variants = sorted(set(models)), sorted(set(variants))
        places = [
            self._models.index(model) * len(self.variants) + self.variants.index(variant)
            for model, variant in zip(models, variants, strict=True)
        ]
        # Strata × (models × variants): sums over decodings and repeats.
        self._of = np.eye(len(self._models) * len(self.variants))[places]

    def statistics(self, pair: tuple[str, str], variants: Sequence[str]) -> Iterator[Statistic]:
        """The shares of each variant: by model, then over models."""
        size, items = len(self._models), len(self._cell.items)
        (right, asked), (repaired, again) = map(self._counts, pair)
        accuracies = _accuracies(Ratio(right, asked), Ratio(repaired, again), size)
        statistic = Statistic(
            method=_METHOD,
            under=_shares(accuracies) if asked.any() else None,
            n=self._cell.units.touched(np.asarray(asked.any(1))),
            reason=self._reason(asked),
        )
        whole = np.full((size, len(self.variants), 3), np.nan)
        sure = np.ones((len(self.variants), size + len(_MEANS)), bool)
        if asked.any():
            whole = accuracies(np.ones((1, items)))[0]
            sure = self._sure_of_gaps(accuracies, sure.shape)
        for variant in variants:
            index = self.variants.index(variant)
            column = index * (size + len(_MEANS))
            where = {"first": pair[0], "second": pair[1], "variant": variant}
            for position, (model, values) in enumerate(zip(self._models, whole[:, index], strict=True)):
                known = zip(("first", "repaired", "others"), values.tolist(), strict=True)
                yield replace(
                    statistic,
                    column=column + position,
                    where={**where, "model": model} if model else where,
                    warnings=() if sure[index, position] else (_MAYBE_NO_GAP,),
                    details={name: value for name, value in known if np.isfinite(value)},
                )
            if size > 1:
                values = whole[:, index] if asked.any() else None
                yield from self._means(
                    replace(statistic, where=where), column + size, values, sure[index, size:]
                )

    def _sure_of_gaps(self, accuracies: Weighted, shape: tuple[int, int]) -> NDArray[np.bool_]:
        """Of each variant, whether the gaps behind each model's share and both means are above 0 for sure."""
        draws, level = self._cell.draws(_gaps(accuracies)), self._cell.resampling.confidence_level
        if len(draws.jackknife) < 2:
            return np.ones(shape, bool)
        each = zip(draws.point, draws.variance, draws.freedom, strict=True)
        ends = [
            effective(float(gap), float(error), float(freedom), level).low for gap, error, freedom in each
        ]
        lowest = np.where(np.isfinite(ends), ends, 0.0).reshape(shape[0], -1)
        there = draws.point.reshape(lowest.shape) > _NO_GAP
        of_ratios = ((lowest[:, :-1] > 0) | ~there[:, :-1]).all(1)
        return np.column_stack([lowest > 0, of_ratios])

    def _means(
        self, statistic: Statistic, column: int, whole: Floats | None, sure: NDArray[np.bool_]
    ) -> Iterator[Statistic]:
        """The two means over models."""
        without = 0 if whole is None else int((~(whole[:, 2] > whole[:, 0])).sum())
        for index, kind in enumerate(_MEANS):
            yield replace(
                statistic,
                part=f"_{kind.replace(' ', '_')}",
                method=f"{_METHOD}; {kind} over models",
                column=column + index,
                warnings=() if sure[index] else (_MAYBE_NO_GAP,),
                excluded={"model without a gap": without} if kind == "mean of ratios" and without else {},
            )

    def _reason(self, asked: Floats) -> str:
        if not self._cell.items:
            return "no annotations"
        if not asked.any():
            return "no gold labels"
        return "no gap to recover" if len(self.variants) > 1 else "no other variant"

    def _counts(self, evaluator: str) -> tuple[Floats, Floats]:
        """Right answers, and answers, by item and model × variant."""
        codes, read = labels_by(self._cell, evaluator)
        gold = (np.full(len(codes), -1) if self._cell.gold is None else self._cell.gold)[:, None]
        judged = read & (gold >= 0)
        return (judged & (codes == gold)) @ self._of, judged @ self._of


def _accuracies(first: Weighted, second: Weighted, models: int) -> Weighted:
    """By model and variant: accuracy by the first, by the second, and the mean of the others by the first."""

    def statistic(weights: Floats) -> Floats:
        by_first = first(weights).reshape(len(weights), models, -1)
        by_second = second(weights).reshape(by_first.shape)
        known = np.isfinite(by_first)
        values = np.where(known, by_first, 0.0)
        others = known.sum(2, keepdims=True) - known
        mean = (values.sum(2, keepdims=True) - values) / np.where(others > 0, others, np.nan)
        return np.stack([by_first, by_second, mean], 3)

    return statistic


def _gaps(accuracies: Weighted) -> Weighted:
    """Of each variant: each model's gap, then that of the means."""

    def statistic(weights: Floats) -> Floats:
        values = accuracies(weights)
        gaps = values[..., 2] - values[..., 0]
        each = np.concatenate([gaps, gaps.mean(1, keepdims=True)], 1)
        return np.asarray(each.transpose(0, 2, 1).reshape(len(weights), -1))

    return statistic


def _shares(accuracies: Weighted) -> Weighted:
    """Of each variant: each model's share, the ratio of means, the mean of ratios."""

    def statistic(weights: Floats) -> Floats:
        values = accuracies(weights)
        shares = _share(values)
        gaps = np.isfinite(shares)
        mean = np.where(gaps, shares, 0.0).sum(1) / np.where(gaps.any(1), gaps.sum(1), np.nan)
        of_means = _share(values.mean(1))
        each = np.concatenate([shares, of_means[:, None], mean[:, None]], 1)
        return np.asarray(each.transpose(0, 2, 1).reshape(len(weights), -1))

    return statistic


def _share(values: Floats) -> Floats:
    first, repaired, others = values[..., 0], values[..., 1], values[..., 2]
    gap = others - first
    return np.asarray(np.where(gap > _NO_GAP, (repaired - first) / np.where(gap > _NO_GAP, gap, 1), np.nan))


def _role(stratum: Mapping[str, str], role: str, columns: Columns) -> str:
    """The value of a role in a stratum; nothing where the role makes the cells or does not exist."""
    names = columns.get(role, role)
    return " | ".join(stratum[n] for n in ((names,) if isinstance(names, str) else names) if n in stratum)


def range_of_others(accuracies: Floats, real: float, confidence_level: float) -> Interval:
    """The interval of the true range of Q accuracies, for prompts like these.

    The variance s² of the accuracies is (σ² + ν) χ²/(Q − 1), and the share of it that is not noise is
    ``real``. The interval is d_Q σ, with d_Q the expected range of Q standard normal numbers, over the
    interval of σ² that χ² and ν leave. Simulated with 100 and 300 items and 3 to 30 prompts whose accuracies
    have standard deviations of 0.015 to 0.14, it covers in 89 to 100%.

    Source: Searle, Casella & McCulloch (1992), Variance Components, sections 3.5 and 3.6.

    Returns:
        Within 0 and 1.

    Two prompts with the accuracies 0.8 and 0.7 say next to nothing of others:

    >>> found = range_of_others(np.array([0.8, 0.7]), 0.9, 0.95)
    >>> round(found.low, 2), found.high
    (0.03, 1.0)
    """
    count, tail = accuracies.size, (1 - confidence_level) / 2
    variance = float(accuracies.var(ddof=1))
    expected, noise, freedom = _normal_range(count), variance * (1 - real), count - 1
    ends = [freedom * variance / float(special.chdtri(freedom, share)) for share in (tail, 1 - tail)]
    least, most = (expected * max(0.0, end - noise) ** 0.5 for end in ends)
    return Interval(min(1.0, least), min(1.0, most))


@lru_cache(maxsize=64)
def _normal_range(count: int) -> float:
    """The expected range of so many standard normal numbers: ∫ 1 − Φ(x)^Q − (1 − Φ(x))^Q dx.

    >>> round(_normal_range(2), 6), round(_normal_range(10), 3)  # 2 / √π, and Tippett's table
    (1.128379, 3.078)
    """
    x = np.linspace(-9, 9, 18_001)
    below = special.ndtr(x)
    return float(np.trapezoid(1 - below**count - (1 - below) ** count, x))
