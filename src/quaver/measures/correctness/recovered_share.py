"""How much of the accuracy that a prompt seems to lose is the parser's doing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy import special

from quaver.core.records import Estimand, Estimate
from quaver.errors import UnknownName
from quaver.estimation.arrangement import Columns
from quaver.estimation.bootstrap import Floats, Ratio, Weighted
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import Interval
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.correctness.evaluator_flips import labels_by, pairs_of
from quaver.measures.variation.label_shares import ASKING

_METHOD = "(repaired − first) / (mean of the other variants − first), accuracies, no label counted wrong"
_NO_GAP = 1e-9
"""Means of the same accuracies in another order differ in the last digit: that is no gap."""
_MEANS = ("ratio of means", "mean of ratios")


@measure(
    title="How much of a prompt’s gap in accuracy another evaluator closes",
    axis="share of the gap (1: all of it)",
    section="answers",
    better="higher",
    null=0.0,
    compares=("evaluator", "model", "variant"),
    pairs_evaluators=True,
    interval="bca",  # a ratio, whose denominator may be 0: its resamples show it
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
    the means) the model. Intervals resample items, all models and variants together; where more resamples
    have no gap than an end of the interval may leave out, the share is unbounded and has none.

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
                yield _bounded(cell.estimated(statistic), cell)


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
        if asked.any():
            whole = accuracies(np.ones((1, items)))[0]
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
                    details={name: value for name, value in known if np.isfinite(value)},
                )
            if size > 1:
                statistic = replace(statistic, where=where)
                yield from self._means(statistic, column + size, whole[:, index] if asked.any() else None)

    def _means(self, statistic: Statistic, column: int, whole: Floats | None) -> Iterator[Statistic]:
        """The two means over models."""
        without = 0 if whole is None else int((~(whole[:, 2] > whole[:, 0])).sum())
        for index, kind in enumerate(_MEANS):
            yield replace(
                statistic,
                part=f"_{kind.replace(' ', '_')}",
                method=f"{_METHOD}; {kind} over models",
                column=column + index,
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


def _bounded(estimate: Estimate, cell: Cell) -> Estimate:
    """No interval where the gap may be none: a share of next to nothing may be any number (Fieller 1954)."""
    lost, resampling = estimate.details.get("undefined_resamples", 0), cell.resampling
    if lost <= resampling.tail * resampling.resamples:
        return estimate
    warning = (
        f"in {lost} of {resampling.resamples} resamples there is no gap, so that its share has no interval"
    )
    return replace(estimate, low=None, high=None, warnings=(*estimate.warnings, warning))


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


_DRAWS = 40_000


def range_of_others(accuracies: Floats, real: float, estimand: Estimand, confidence_level: float) -> Interval:
    """The interval of the true range of Q accuracies, for other prompts.

    The variance s² of the accuracies is (σ² + ν) χ²/(Q − 1), and the share of it that is not noise is
    ``real``. For prompts like these: d_Q σ, with d_Q the expected range of Q standard normal numbers, over
    the interval of σ² that χ² and ν leave. For the next set of Q: s times the quantiles of the studentized
    range of Q numbers over an independent deviation of Q − 1 degrees of freedom, its low end less the noise,
    √(low² − d_Q² ν). Simulated with 100 and 300 items and 3 to 30 prompts whose accuracies have standard
    deviations of 0.015 to 0.14, it covers in 89 to 100%.

    Source: Searle, Casella & McCulloch (1992), Variance Components, sections 3.5 and 3.6; the studentized
    range: Tukey (1949), Biometrics 5, 99-114.

    Returns:
        Within 0 and 1.

    Two prompts with the accuracies 0.8 and 0.7 say next to nothing of others:

    >>> found = range_of_others(np.array([0.8, 0.7]), 0.9, "population", 0.95)
    >>> round(found.low, 2), found.high
    (0.03, 1.0)
    """
    count, tail = accuracies.size, (1 - confidence_level) / 2
    variance = float(accuracies.var(ddof=1))
    expected, low, high = _normal_range(count, tail)
    noise, freedom = variance * (1 - real), count - 1
    if estimand == "next":
        least = max(0.0, low**2 * variance - expected**2 * noise) ** 0.5
        return Interval(min(1.0, least), min(1.0, high * variance**0.5))
    ends = [freedom * variance / float(special.chdtri(freedom, share)) for share in (tail, 1 - tail)]
    least, most = (expected * max(0.0, end - noise) ** 0.5 for end in ends)
    return Interval(min(1.0, least), min(1.0, most))


@lru_cache(maxsize=64)
def _normal_range(count: int, tail: float) -> tuple[float, float, float]:
    """The expected range of so many standard normal numbers, and the ends of the studentized range."""
    rng = np.random.default_rng(0)
    ranges = np.concatenate([np.ptp(rng.normal(size=(1000, count)), axis=1) for _ in range(_DRAWS // 1000)])
    studentized = ranges / np.sqrt(rng.chisquare(count - 1, _DRAWS) / (count - 1))
    low, high = np.quantile(studentized, [tail, 1 - tail])
    return float(ranges.mean()), float(low), float(high)
