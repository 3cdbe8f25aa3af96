"""A number of a cell as a function of item weights, and the estimate that leaving units out makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate, IntervalWarning, LabelSet
from quaver.estimation.coded_columns import Ints, Small, label_counts
from quaver.estimation.intervals import (
    Interval,
    clopper_pearson,
    effective,
    level_of,
    mean_within,
    none_goes_far,
    skewed,
)
from quaver.estimation.jackknife import Floats, Jackknife, Ratio, Resampling, Units, Weighted, jackknife

FEW_OF_A_MEAN, FEW_GROUPS = 3, 6
"""With fewer units that make its error (`Jackknife.moving`), and with fewer groups, an interval is flagged.

A mean needs three units, since how far a further one can move it is known; any other number needs five
(`Units.enough`). In simulated studies with a label that 2 to 5% of 40 to 150 items have, the intervals of
alpha and F1 that five units or more make held the truth in 93 to 100%, with three or more in 85 to 98%
(``benchmarks/coverage.py``). Groups count as one more than their degrees of freedom."""

Tails = Literal["few", "skewed", "correlation"]
"""How an interval follows an error that few units may make, whose variance therefore has at most twice as
many degrees of freedom as it counts units (`Jackknife.events`): no further (``few``), by the skewness of the
error (``skewed``), or by half of it, on the scale of Fisher's z (``correlation``)."""

_FOLLOWED: Mapping[Tails | None, float] = {"skewed": 1.0, "correlation": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """One number of a cell, with its method, reasons, warnings and counts.

    Attributes:
        method: In words for a methods section.
        under: The number as a function of item weights, shape (samples, items) -> (samples, numbers), NaN
            where undefined. None: the number does not exist, and ``reason`` says why.
        column: Which of the function's numbers. Statistics that share one function are taken together.
        part: The ending of the estimate's name, in a measure that gives several: ``"_accuracy_gain"``.
        where: What the estimate is about beside its cell, by column: ``{"label": "yes"}``.
        reason: Why the number is undefined, should it be.
        n: On how many units it rests, or on which items; if left out, those that count in the denominator of
            a `Ratio`, otherwise the cell's.
        ends: The smallest and the largest value that it can have, which its interval keeps to; the largest
            may be infinite. None: it has no range.
        step: How far one event takes it from the smallest value (`intervals.effective`).
        tails: How its interval follows an error that few units may make, as those of numbers without bounds
            are; None where that is not so.
        null: The value that a test holds it against: its ``p``, in the details, is the level at which the
            interval just reaches it.
        spread: From the value, and the largest share of further units that may differ, where the value may
            lie. It makes the interval where no unit differs. If left out, it is a mean's within the range;
            without a range there is none.
        interval: An interval that the measure has made itself, and its name for the method; it takes the
            place of the jackknife's.
        reach: How far noise may have lifted the number, of one that it pushes up (a maximum, a sum of
            absolute values): the lower end is no nearer than that.
        width: How far it may move if all units are labelled differently; 1 of a mean within 0 and 1.
        excluded: What was left out, counted by kind.
        warnings: What a reader must know.
        details: Further numbers.
        source: Where the number is defined; the measure's source if left out.
    """

    method: str
    under: Weighted | None = None
    column: int = 0
    part: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    n: int | NDArray[np.bool_] | np.bool_ | None = None
    ends: tuple[float, float] | None = None
    step: float = 0.0
    tails: Tails | None = None
    null: float | None = None
    spread: Callable[[float, float], Interval] | None = None
    interval: tuple[Interval, str] | None = None
    reach: float | None = None
    width: float = 1.0
    excluded: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None


class Number:
    """A number that exists, and its interval at any level, from its values with each unit left out.

    Attributes:
        statistic: What it is.
        jackknife: Its value, and the values with each unit left out.
        n: On how many units it rests.
        freedom: The degrees of freedom of its variance.
        moving: How many units make its error.
        varies: Whether there is more to its interval than the exact bound.
    """

    def __init__(self, statistic: Statistic, left_out: Jackknife, n: int) -> None:
        self.statistic, self.jackknife, self.n = statistic, left_out, n
        self.moving = min(left_out.moving, n)
        self.freedom = self._tail_freedom = min(left_out.freedom, n - 1.0)
        self._errors = left_out.as_z() if statistic.tails == "correlation" else left_out
        if statistic.tails is not None:
            self._tail_freedom = min(self.freedom, 2 * self._errors.events)
        half = self._resampled(0.5)
        self.varies = half is not None and half.high - half.low > 1e-12

    def at(self, level: float) -> Interval | None:
        """The interval, widened to hold the number; None where there is none.

        Where no unit makes a difference it is the exact bound alone, and where few do it is no narrower.
        """
        interval, point = self._resampled(level) if self.varies else None, self.jackknife.point
        if interval is None or (self.moving < FEW_OF_A_MEAN and self.statistic.interval is None):
            bound = self._bound(level)
            if interval is None or bound is None:
                interval = interval or bound
            else:
                interval = Interval(min(interval.low, bound.low), max(interval.high, bound.high))
        if interval is None:
            return None
        return Interval(min(interval.low, point), max(interval.high, point))

    def _resampled(self, level: float) -> Interval | None:
        """The measure's own interval, or the jackknife's; None where too few units have a value."""
        statistic, errors, freedom = self.statistic, self._errors, self._tail_freedom
        if statistic.interval is not None:
            return statistic.interval[0]
        if not np.isfinite(errors.variance):
            return None
        followed = _FOLLOWED.get(statistic.tails)
        if followed is None:
            ends, step = statistic.ends, statistic.step
            return effective(errors.point, errors.variance, freedom, level, ends, step)
        interval = skewed(errors.point, errors.variance, freedom, followed * errors.skewness, level)
        return Interval(*np.tanh(interval).tolist()) if statistic.tails == "correlation" else interval

    def _bound(self, level: float) -> Interval | None:
        """Where the number may lie if as many further units differ as the exact bound allows."""
        share, point, ends = self.differing_at_most(level), self.jackknife.point, self.statistic.ends
        if self.statistic.spread is not None:
            return self.statistic.spread(point, share)
        return mean_within(point, share, *ends) if ends and np.isfinite(ends).all() else None

    def differing_at_most(self, level: float) -> float:
        """Which share of further units may differ where none of these does."""
        units = self.jackknife.units
        items = units.independent / max(1, units.count)  # of a unit
        return clopper_pearson(0, self.n * items, level).high

    def details(self, level: float) -> dict[str, Any]:
        """What is behind the interval: how many units make the error, its size, its degrees of freedom."""
        if self.statistic.interval is not None or self.jackknife.left.size < 2:
            return {}
        share = tuple(clopper_pearson(self.moving, self.n, level))
        details: dict[str, Any] = {"differing": self.moving, "share_differing": share}
        if np.isfinite(self.jackknife.variance):
            details |= {"standard_error": self.jackknife.variance**0.5, "freedom": self._tail_freedom}
        return details

    @property
    def how(self) -> str:
        """How the interval is made, in words."""
        if not self.varies:
            return "exact binomial interval"
        units, left = self.jackknife.units, self.jackknife.left.size
        over = f"over {units.count} {units.name}s"
        if self.statistic.interval is not None:
            return f"{self.statistic.interval[1]} {over}"
        return f"jackknife interval {over}" + (f" in {left} groups" if left < units.count else "")

    def warnings(self, level: float) -> Iterator[str]:
        """What a reader of the interval must know."""
        under, units = self.statistic.under, self.jackknife.units
        enough = FEW_OF_A_MEAN if isinstance(under, Ratio) else units.enough
        if not self.varies and self._bound(level) is None:
            yield "no unit makes a difference, so there is no interval"
        elif not self.varies:
            yield IntervalWarning(
                f"none of these {self.n} units makes a difference; the interval is what an exact binomial "
                f"bound allows: up to {self.differing_at_most(level):.3g} of further units may differ"
            )
        elif self.moving < enough and self.statistic.interval is None:
            low, high = clopper_pearson(self.moving, self.n, level)
            yield IntervalWarning(
                f"only {self.moving} of {self.n} units make the error of this number: the interval is a "
                f"rough one; an exact interval for the share of such units is {low:.3g} to {high:.3g}"
            )
        if isinstance(under, Ratio) and self.statistic.ends == (0.0, 1.0):
            yield from none_goes_far(under.of_items(self.statistic.column), "item", level)
        if units.clusters is not None and units.freedom + 1 < FEW_GROUPS:
            yield IntervalWarning(
                f"{units.count} groups ({units.name}) are as informative as {units.freedom + 1:.3g} of equal "
                "size: the interval rests on a rough estimate of how groups differ"
            )


class Sampler:
    """Leaves out the units of one cell in turn.

    Args:
        units: What is left out.
        resampling: How.
        measure: The measure that the estimates are of.
        source: Where it is defined.
        where: The cell.
        keep_draws: Whether the estimates carry the numbers behind their intervals.
    """

    def __init__(
        self,
        units: Units,
        resampling: Resampling,
        *,
        measure: str = "",
        source: str = "",
        where: Mapping[str, str] | None = None,
        keep_draws: bool = False,
    ) -> None:
        self.units, self.resampling = units, resampling
        self._measure, self._source, self._where, self._keeps = measure, source, where or {}, keep_draws
        self._last: tuple[Weighted, Floats, Floats] | None = None

    def jackknifed(self, under: Weighted, column: int = 0) -> Jackknife:
        """One of a function's numbers, with each unit left out; those of the last function are remembered."""
        if self._last is None or self._last[0] is not under:
            self._last = (under, *jackknife(under, self.units, self.resampling))
        _, point, left = self._last
        return Jackknife(float(point[column]), left[:, column], self.units)

    def estimated(self, statistic: Statistic, left_out: Jackknife | None = None) -> Estimate:
        """The estimate of a statistic, with its interval.

        Args:
            statistic: The statistic.
            left_out: The number with each unit left out, where no function of item weights makes it.
        """
        estimate = Estimate(
            measure=self._measure + statistic.part,
            value=None,
            confidence_level=self.resampling.confidence_level,
            n=self._counted(statistic),
            unit=self.units.name,
            method=statistic.method,
            reference=self._source if statistic.source is None else statistic.source,
            reason=statistic.reason or "undefined",
            cell={**self._where, **statistic.where},
            excluded={kind: count for kind, count in statistic.excluded.items() if count},
            warnings=statistic.warnings,
            details=dict(statistic.details),
        )
        if left_out is None and statistic.under is not None:
            left_out = self.jackknifed(statistic.under, statistic.column)
        if left_out is None or not np.isfinite(left_out.point):
            return estimate
        number = Number(statistic, left_out, estimate.n)
        estimate = replace(estimate, value=left_out.point, reason=None)
        if self._keeps:  # without the function, which may hold all of the data
            kept = Number(replace(statistic, under=None), left_out, estimate.n)
            estimate = replace(estimate, draws=kept)
        return _with_interval(estimate, number) if self.resampling.resamples else estimate

    def _counted(self, statistic: Statistic) -> int:
        """On how many units a statistic rests."""
        under = statistic.under
        if isinstance(statistic.n, int):
            return statistic.n
        if statistic.n is not None:
            return self.units.touched(statistic.n)
        if isinstance(under, Ratio):
            return self.units.touched(under.denominator[:, under.below(statistic.column)] > 0)
        return self.units.count


def _with_interval(estimate: Estimate, number: Number) -> Estimate:
    """The estimate of a number, with its interval, its p value and what there is to say of them."""
    level, statistic = estimate.confidence_level, number.statistic
    details = {**statistic.details, **number.details(level)}
    if statistic.null is not None:
        details["p"] = level_of(number.at, statistic.null)
    warnings = (*estimate.warnings, *number.warnings(level))
    estimate = replace(estimate, warnings=warnings, details=details)
    interval = number.at(level)
    if interval is None:
        return estimate
    low, method = interval.low, f"{statistic.method}; {number.how}"
    if statistic.reach is not None:
        least = statistic.ends[0] if statistic.ends else -np.inf
        low = max(least, min(low, estimate.number - statistic.reach))
        method = f"{method}, less what noise may add"
    return replace(estimate, low=low, high=interval.high, method=method)


UNANSWERED, UNDECIDED = 1, 2
"""Marks of an answer without a label, and of one that is valid all the same; both stand together."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The annotations of one cell, as an array.

    Attributes:
        where: The cell: the value of each column in ``by``.
        grid: The code of the label that each rater gave to each item, shape (items, strata, raters);
            -1 where there is none. In as few bytes as it takes.
        labels: The label of each code. With ``missing="category"`` the last is `NO_LABEL`.
        items: The items' ids, sorted.
        strata: What each stratum is, by column.
        raters: The raters' names, sorted.
        marks: `UNANSWERED` and `UNDECIDED`, shape as ``grid``; None where nothing is marked.
        rows: The frame's row of each annotation, shape as ``grid``, -1 where there is none: further columns
            (a confidence, a factor's level) are arranged by it. Empty where there is no frame.
        gold: Code of each item's true label, -1 where unknown; None where the frame has no gold.
        clusters: The group of each item, as integers from 0; None where items are resampled.
        unit: What is resampled: ``"item"`` or the group's column.
        counted: How many answers are not a label, by status or kind; whether they were left out is the
            measure's affair.
        label_set: The label set that was given.
        numbers: Columns of numbers that the measure reads, by role, shape as ``grid``; NaN where there is
            none.
        sampler: What resamples its units.
    """

    where: dict[str, str]
    grid: Small
    labels: tuple[str, ...]
    items: tuple[str, ...]
    strata: tuple[dict[str, str], ...]
    raters: tuple[str, ...]
    marks: NDArray[np.int8] | None = None
    rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0, 0), np.int32))
    gold: NDArray[np.int32] | None = None
    clusters: Ints | None = None
    unit: str = "item"
    counted: dict[str, int] = field(default_factory=dict)
    label_set: LabelSet | None = None
    numbers: Mapping[str, Floats] = field(default_factory=dict)
    sampler: Sampler | None = field(default=None, repr=False, compare=False)

    @property
    def bytes(self) -> int:
        """The memory that its answers take, in bytes."""
        return self.grid.nbytes + self.rows.nbytes + (0 if self.marks is None else self.marks.nbytes)

    @property
    def gold_codes(self) -> NDArray[np.int32]:
        """Code of each item's true label, -1 where unknown, as it is of all without gold labels."""
        return np.full(len(self.items), -1, np.int32) if self.gold is None else self.gold

    @property
    def _sampler(self) -> Sampler:
        assert self.sampler is not None, "only the cells of a reading are resampled"
        return self.sampler

    def estimated(self, statistic: Statistic) -> Estimate:
        """The estimate of a statistic of this cell."""
        return self._sampler.estimated(statistic)

    @property
    def resampling(self) -> Resampling:
        """How this cell is resampled."""
        return self._sampler.resampling

    @property
    def expected(self) -> set[int]:
        """The codes of the labels that the label set has, whether or not they occur; none without a set."""
        asked = () if self.label_set is None else self.label_set.codes
        return {self.labels.index(label) for label in asked if label in self.labels}

    @property
    def units(self) -> Units:
        """What is resampled."""
        return Units(len(self.items), self.clusters, self.unit)

    @property
    def codes(self) -> NDArray[np.int32]:
        """Label codes, shape (items, strata, raters); -1 where there is none."""
        return self.grid.astype(np.int32)

    def _marked(self, mark: int) -> NDArray[np.bool_]:
        return np.zeros(self.grid.shape, bool) if self.marks is None else (self.marks & mark) > 0

    @property
    def unanswered(self) -> NDArray[np.bool_]:
        """True where an answer came without a label, shape as ``codes``."""
        return self._marked(UNANSWERED)

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """True where such an answer is valid all the same, as tied scores are, shape as ``codes``."""
        return self._marked(UNDECIDED)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """True where an answer did as it was asked, shape as ``codes``."""
        return (self.codes >= 0) & ~self.unanswered | self.undecided

    def counts(self) -> NDArray[np.float64]:
        """How many raters gave each label to each item, shape (items, strata, labels)."""
        return label_counts(self.grid, len(self.labels))


def never_labelled(cell: Cell) -> tuple[str, ...]:
    """A warning where items have no label at all, and so agree perfectly where that is one more label.

    Args:
        cell: Read with ``missing="category"``.
    """
    asked = (cell.codes >= 0).any((1, 2))
    never = int((asked & ~((cell.codes >= 0) & ~cell.unanswered).any((1, 2))).sum())
    if not never:
        return ()
    return (
        f"{never:,} of {int(asked.sum()):,} items never got a label: having none every time counts as "
        "agreement",
    )
