"""Robustness: how far accuracy lies apart between variants, beside what noise alone would show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from quaver.core.records import Estimand, Estimate
from quaver.core.rows import Presentation
from quaver.errors import UnknownName
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats, Resampling, Units
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import Ints
from quaver.estimation.grouped_items import level_deviations
from quaver.estimation.intervals import Interval
from quaver.estimation.means import over_strata, quotient
from quaver.estimation.measure_input import MeasureInput, judge, treatment
from quaver.estimation.paired_differences import Gap, gap
from quaver.estimation.rank_correlation import covariate_correlation
from quaver.estimation.statistic import Cell, Statistic


@measure(
    title="How far accuracy varies between the prompts: highest minus lowest",
    axis="highest minus lowest accuracy",
    section="accuracy",
    unit="share",
    better="lower",
    source="Sclar, Choi, Tsvetkov & Suhr (2024), ICLR, arXiv:2310.11324, section 3 (performance spread)",
    missing=("wrong", "drop"),
    compares=("variant",),
    estimands=("fixed", "population"),
    of_a_set=True,
    parts={
        "_size_correlation": Presentation(
            title="Whether larger models spread less: correlation of spread with size",
            axis="Spearman’s ρ",
            null=0.0,
            ends=(-1.0, 1.0),
        )
    },
)
def spread(
    data: MeasureInput,
    *,
    variants: Sequence[str] | None = None,
    sizes: Mapping[str, float] | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """Prompt-perturbation spread: the highest less the lowest accuracy among variants.

    max_v accuracy(v) − min_v accuracy(v), within each model and decoding, averaged over a cell's. Undefined
    where fewer than two variants have answers to items with a gold label. ``columns={"variant": "format"}``
    compares formats.

    A maximum less a minimum is biased upwards, the more so the more variants and the fewer items. The
    interval is of the true spread (`paired_differences.gap`) and reaches 0 where variants may not differ; for
    other prompts it is `range_of_others`. In ``details``: ``corrected`` (see
    `corrected_spread`); ``floor`` and ``floor_high``, the mean and upper quantile of the spread when each
    item's (or group's) deviations from the variants' mean get a sign at random (as many times as there are
    resamples, less often where the data are large; variants may differ in their noise), and ``p`` of the
    value among these; ``lowest`` and ``highest``, the variants.

    Args:
        variants: The names of those to compare (a name is the values of the variant's columns, joined by
            ``" | "``); by default all.
        sizes: Each model's size (parameters, say): then, with ``by=["model"]``, the last estimate is
            ``spread_size_correlation``, Spearman's correlation of the models' spreads with their sizes
            (`rank_correlation.covariate_correlation`; undefined for fewer than three models).

    Raises:
        UnknownName: A variant does not occur.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4] * 2, "variant": ["v"] * 4 + ["w"] * 4,
    ...                       "label": list("aaaa" "aaab"), "gold": ["a"] * 8})
    >>> spread(frame)[0].value
    0.25
    """
    role = (data.columns or {}).get("variant", "variant")
    of = (role,) if isinstance(role, str) else tuple(role)
    estimates = []
    # Where the variants' columns are in ``by`` there is one variant a cell, and the reason says so.
    for cell in data.cells(raters=("repeat",), within=("model", "decoding", "variant"), gold=True):
        answers = _Accuracies(cell, of, missing, variants)
        statistic = Statistic(
            method=f"highest less lowest accuracy of {answers.variants} variants, "
            f"unanswered {treatment(missing)}",
            excluded=answers.excluded,
            n=answers.n,
            reason=answers.reason,
        )
        estimate = cell.estimated(statistic if answers.reason else _spread(statistic, answers, cell))
        estimates.append(
            answers.of_others(estimate, data.estimand, cell.units) if estimate.low is not None else estimate
        )
    yield from estimates
    if sizes is not None:
        confidence_level, seed = data.resampling.confidence_level, data.resampling.seed
        correlation = covariate_correlation(estimates, sizes, confidence_level=confidence_level, seed=seed)
        yield replace(correlation, measure="spread_size_correlation")


class _Part(NamedTuple):
    """The variants of one model and decoding: their names and their columns."""

    names: tuple[str, ...]
    columns: Ints


class _Accuracies:
    """Right and counted answers of each item to each variant, within each model and decoding."""

    def __init__(
        self, cell: Cell, of: Sequence[str], missing: Missing, variants: Sequence[str] | None
    ) -> None:
        judged = judge(cell, missing)
        self.right = judged.right.sum(2).astype(np.float64)
        self.asked = judged.asked.sum(2).astype(np.float64)
        self.excluded = judged.excluded
        self.parts = list(self._split(cell, of, variants))
        used = np.concatenate([np.zeros(0, np.int64), *(part.columns for part in self.parts)])
        self.n = cell.units.touched(self.asked[:, used].any(1)) if used.size else 0
        self.variants = max((part.columns.size for part in self.parts), default=0)
        self.reason = judged.reason or (None if self.parts else "fewer than two variants")

    def _split(self, cell: Cell, of: Sequence[str], variants: Sequence[str] | None) -> Iterator[_Part]:
        rest = [tuple(v for k, v in where.items() if k not in of) for where in cell.strata]
        names = [" | ".join(v for k, v in where.items() if k in of) for where in cell.strata]
        for name in variants or ():
            if name not in names and cell.strata:
                raise _unknown(name, names)
        wanted = set(names) if variants is None else set(variants)
        for one in dict.fromkeys(rest):
            columns = [
                index
                for index, other in enumerate(rest)
                if other == one and names[index] in wanted and self.asked[:, index].any()
            ]
            if len(columns) > 1:
                yield _Part(tuple(names[index] for index in columns), np.array(columns))

    def accuracies(self, weights: Floats) -> Floats:
        """Accuracy of each column under item weights; NaN where nothing was asked."""
        total = weights @ self.asked
        return quotient(weights @ self.right, total)

    def spreads(self, accuracies: Floats) -> Floats:
        """The spread in each part, shape (samples, parts)."""
        with np.errstate(invalid="ignore"):
            each = [_range(accuracies[:, part.columns]) for part in self.parts]
        return np.stack(each, 1)

    def extremes(self) -> dict[str, Any]:
        """The variants at either end; of several parts how many there are."""
        if len(self.parts) > 1:
            return {"averaged_over": len(self.parts)}
        part = self.parts[0]
        each = self.accuracies(np.ones((1, self.right.shape[0])))[0, part.columns]
        low, high = int(each.argmin()), int(each.argmax())
        return {
            "lowest": part.names[low],
            "lowest_accuracy": float(each[low]),
            "highest": part.names[high],
            "highest_accuracy": float(each[high]),
        }

    def of_others(self, estimate: Estimate, estimand: Estimand, units: Units) -> Estimate:
        """The estimate with the interval for other prompts than these, the mean of the parts'."""
        if estimand == "fixed":
            return estimate
        every = self.accuracies(np.ones((1, self.right.shape[0])))[0]
        intervals = []
        for part in self.parts:
            own = every[part.columns]
            wide = float(np.ptp(own))
            corrected = corrected_spread(self.right[:, part.columns], self.asked[:, part.columns], units)
            real = (corrected / wide) ** 2 if wide else 0.0
            intervals.append(range_of_others(own, real, estimate.confidence_level))
        low, high = np.mean(intervals, axis=0).tolist()
        said = f"{estimate.method.rpartition('; ')[0]}; interval of the range of normal numbers"
        ends = [estimate.low or 0.0, estimate.high or 1.0]
        details = {**estimate.details, "fixed": tuple(ends)}
        low, high = min(low, ends[0]), max(high, ends[1])
        return replace(estimate, low=low, high=high, estimand=estimand, method=said, details=details)

    def corrected(self, units: Units) -> float:
        """The mean corrected spread over the parts."""
        each = [
            corrected_spread(self.right[:, part.columns], self.asked[:, part.columns], units)
            for part in self.parts
        ]
        return float(np.mean(each))

    def gap(self, units: Units, resampling: Resampling) -> Gap:
        """The noise in the mean spread over the parts."""
        parts = [
            level_deviations(self.right[:, part.columns, None], self.asked[:, part.columns, None])
            for part in self.parts
        ]
        ends = np.cumsum([part.shape[1] for part in parts])[:-1]

        def spread(shares: Floats) -> Floats:
            each = [np.ptp(part, axis=1)[:, 0] for part in np.split(shares, ends, axis=1)]
            return np.asarray(np.mean(each, axis=0))

        return gap(np.concatenate(parts, 1), units, spread, resampling, "spread")


def _unknown(name: str, names: Sequence[str]) -> UnknownName:
    return UnknownColumn(name, dict.fromkeys(names), where="variants")


def _range(values: Floats) -> Floats:
    """Largest less smallest along the last axis, of those that are defined."""
    high = np.where(np.isfinite(values), values, -np.inf).max(1)
    low = np.where(np.isfinite(values), values, np.inf).min(1)
    return np.asarray(np.where(np.isfinite(high), high - low, np.nan))


def corrected_spread(right: Floats, asked: Floats, units: Units | None = None) -> float:
    """The spread less what noise adds to it: spread × √max(0, 1 − 1/F).

    F compares the variance of the variants' accuracies with the sampling variance that items give it (the
    item × variant F test, by linearised ratios where items are unevenly asked), and √(1 − 1/F) is the
    share of their standard deviation that is not noise. It is 0 where accuracies differ no more than noise
    would have it. Method of moments, as in a random-effects analysis of variance (Searle, Casella &
    McCulloch 1992, Variance Components, section 3.5); ``docs/measures-correctness.md`` compares it with
    the bootstrap's correction and with the floor taken off.

    Two variants, four items, of which one variant gets all right and one none: items do not matter, F = ∞:

    >>> corrected_spread(np.array([[1.0, 0]] * 4), np.ones((4, 2)))
    1.0
    >>> corrected_spread(np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]]), np.ones((4, 2)))
    0.0
    """
    total = asked.sum(0)
    accuracy = right.sum(0) / total
    wide = float(np.ptp(accuracy))
    between = float(((accuracy - accuracy.mean()) ** 2).sum())
    influence = (right - asked * accuracy) / total
    influence = influence - influence.mean(1, keepdims=True)
    if units is not None and units.clusters is not None:
        influence = np.stack([np.bincount(units.clusters, column) for column in influence.T], 1)
    of = units or Units(len(asked))
    count = of.touched(asked.sum(1) > 0)
    noise = float((influence**2).sum()) * count / (count - 1) if count > 1 else np.inf
    if noise <= 1e-15:
        return wide
    return wide * float(np.sqrt(max(0.0, 1 - noise / between))) if between > 1e-15 else 0.0


def _spread(statistic: Statistic, answers: _Accuracies, cell: Cell) -> Statistic:
    under = over_strata(lambda weights: answers.spreads(answers.accuracies(weights)))
    value, resampling = float(cell.draws(under).point[0]), cell.resampling
    known, corrected = answers.gap(cell.units, resampling), answers.corrected(cell.units)
    details: dict[str, Any] = {
        "corrected": corrected,
        "variants": answers.variants,
        **known.details,
        **answers.extremes(),
    }
    warnings: tuple[str, ...] = ()
    if details.get("floor_high", -1.0) >= value:
        warnings = (
            f"no more than noise gives when variants do not matter (mean {details['floor']:.3g}, "
            f"up to {details['floor_high']:.3g})",
        )
    return replace(
        statistic,
        under=under,
        details=details,
        warnings=warnings,
        ends=(0.0, 1.0),
        reach=known.reach,
    )


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
