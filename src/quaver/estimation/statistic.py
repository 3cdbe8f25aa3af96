"""A number of a cell as a function of item weights, and the estimate that resampling makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate, IntervalWarning, LabelSet
from quaver.estimation.bootstrap import Draws, Floats, Ratio, Resampling, Units, Weighted, jackknife
from quaver.estimation.coded_columns import Ints, Small, label_counts
from quaver.estimation.intervals import (
    Interval,
    Kept,
    Tails,
    clopper_pearson,
    effective,
    level_of,
    mean_within,
    none_goes_far,
    skewed,
)


@dataclass(frozen=True, slots=True)
class Ends:
    """The interval of a number, at any level of confidence.

    Attributes:
        point: The number.
        n: How many independent units it rests on.
        spread: The statistic's.
        few: Whether so few units make its error that it is never narrower than if none did.
        how: How it is made, in words.
        made: The interval at a level of confidence, where units make a difference.
        details: Further numbers.
    """

    point: float
    n: float
    spread: Callable[[float, float], Interval] | None
    few: bool = False
    how: str = ""
    made: Callable[[float], Interval | None] = lambda level: None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def varies(self) -> bool:
        """Whether there is more to it than the exact bound."""
        interval = self.made(0.5)
        return interval is not None and interval.high - interval.low > 1e-12

    def at(self, level: float) -> Interval | None:
        """The interval, widened to hold the number; None where there is none."""
        interval = self.made(level) if self.varies else None
        if interval is None or self.few:
            share = clopper_pearson(0, self.n, level).high
            bound = self.spread(self.point, share) if self.spread else None
            if interval is None and bound is None:
                return None
            both = [one for one in (interval, bound) if one is not None]
            interval = Interval(min(one.low for one in both), max(one.high for one in both))
        return Interval(min(interval.low, self.point), max(interval.high, self.point))

    def p(self, null: float) -> float:
        """P of the number being another one: the level at which the interval just reaches that."""
        return level_of(self.at, null)


FEW_OF_A_MEAN, FEW_GROUPS = 3, 6
"""With fewer units that make its error (`Draws.moving`), and with fewer groups, an interval is flagged.

A mean needs three units, since how far a further one can move it is known; any other number needs five
(`Units.enough`). In simulated studies with a label that 2 to 5% of 40 to 150 items have, the intervals of
alpha and F1 that five units or more make held the truth in 93 to 100%, with three or more in 85 to 98%
(``benchmarks/coverage.py``). Groups count as one more than their degrees of freedom."""

Keep = Literal["draws", "distribution"]
"""What an estimate can carry beside its numbers: see `Estimate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """One number of a cell, and what is said of it.

    Attributes:
        method: In words for a methods section.
        under: The number as a function of item weights, shape (samples, items) -> (samples, numbers), NaN
            where undefined. None: the number does not exist, and ``reason`` says why.
        column: Which of the function's numbers. Statistics that share one function are taken together.
        part: The ending of the estimate's name, in a measure that gives several: ``"_accuracy_gain"``.
        where: What the estimate is about beside its cell, by column: ``{"label": "yes"}``.
        reason: Why the number is undefined, should it be.
        n: On how many units it rests; if left out, those that count in the denominator of a `Ratio`,
            otherwise the cell's.
        ends: The smallest and the largest value that it can have, which its interval keeps to; one may be
            infinite. None: it has no range.
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
        moves: From a share of units, how far the value moves at most where these are labelled differently;
            None of a mean within 0 and 1.
        excluded: What was left out, counted by kind.
        warnings: What a reader must know.
        details: Further numbers.
        source: Where the number is defined; the measure's source if left out.
        values: Each item's own value, for charts of their distribution; NaN where an item has none. Or what
            makes them, should they be asked for.
    """

    method: str
    under: Weighted | None = None
    column: int = 0
    part: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    n: int | None = None
    ends: tuple[float, float] | None = None
    step: float = 0.0
    tails: Tails | None = None
    null: float | None = None
    spread: Callable[[float, float], Interval] | None = None
    interval: tuple[Interval, str] | None = None
    reach: float | None = None
    moves: Callable[[float], Interval] | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    values: Floats | Callable[[], Floats] | None = None


class Sampler:
    """Resamples the units of one cell.

    Args:
        units: What is resampled.
        resampling: How.
        measure: The measure that the estimates are of.
        source: Where it is defined.
        where: The cell.
        keep: What the estimates are to carry.
    """

    def __init__(
        self,
        units: Units,
        resampling: Resampling,
        *,
        measure: str = "",
        source: str = "",
        where: Mapping[str, str] | None = None,
        keep: frozenset[Keep] = frozenset(),
    ) -> None:
        self.units, self.resampling = units, resampling
        self._measure, self._source, self._where, self._keep = measure, source, dict(where or {}), keep
        self._drawn: tuple[Weighted, Draws] | None = None

    def draws(self, under: Weighted) -> Draws:
        """The statistic of the data, and with each unit left out.

        The last function's are remembered: a measure may look at them before it says what it is about.
        """
        if self._drawn is None or self._drawn[0] is not under:
            self._drawn = under, jackknife(under, self.units, self.resampling)
        return self._drawn[1]

    def estimated(self, statistic: Statistic, draws: Draws | None = None) -> Estimate:
        """The estimate of a statistic, with its interval.

        Args:
            statistic: The statistic.
            draws: Its draws, where they are not those of the units.
        """
        if draws is None and statistic.under is not None:
            draws = self.draws(statistic.under)
        blank = self._blank(statistic)
        if draws is None or not np.isfinite(draws.point[statistic.column]):
            return blank
        estimate = self._valued(blank, statistic, draws)
        if "draws" in self._keep:
            of, ends, step = statistic.column, statistic.ends, statistic.step
            estimate = replace(
                estimate, draws=Kept(draws, of, self.units, estimate.n, statistic.moves, ends, step)
            )
        if "distribution" in self._keep and statistic.values is not None:
            values = statistic.values
            estimate = replace(estimate, distribution=values() if callable(values) else values)
        return estimate

    def _blank(self, statistic: Statistic) -> Estimate:
        """The estimate of a number that does not exist."""
        under, n = statistic.under, statistic.n
        if n is None:
            n = self.units.count
            if isinstance(under, Ratio):
                n = self.units.touched(under.denominator[:, under.below(statistic.column)] > 0)
        return Estimate(
            measure=self._measure + statistic.part,
            value=None,
            confidence_level=self.resampling.confidence_level,
            n=n,
            unit=self.units.name,
            method=statistic.method,
            reference=self._source if statistic.source is None else statistic.source,
            reason=statistic.reason or "undefined",
            cell={**self._where, **statistic.where},
            excluded=dict(statistic.excluded),
            warnings=statistic.warnings,
            details=dict(statistic.details),
        )

    def _valued(self, blank: Estimate, statistic: Statistic, draws: Draws) -> Estimate:
        """The estimate with its value and interval.

        The interval is the jackknife's, widened where needed until the value lies in it. Where no unit makes
        a difference, it is the statistic's ``spread`` of the exact upper bound on the share of differing
        units, and a warning says so. Where few do, it is never narrower than where none does.
        """
        resampling, n, point = self.resampling, blank.n, float(draws.point[statistic.column])
        estimate = replace(blank, value=point, reason=None)
        if not resampling.resamples:
            return estimate
        interval = self._interval(statistic, draws, n)
        chosen, warnings = interval.at(resampling.confidence_level), blank.warnings
        details = {**statistic.details, **interval.details}
        if statistic.null is not None:
            details["p"] = interval.p(statistic.null)
        how = interval.how
        if not interval.varies:
            how = "exact binomial interval"
            share = clopper_pearson(0, interval.n, resampling.confidence_level).high
            warnings += (
                IntervalWarning(
                    f"none of these {n} units makes a difference; the interval is what an exact binomial "
                    f"bound allows: up to {share:.3g} of further units may differ"
                )
                if chosen
                else _NO_INTERVAL,
            )
        elif details.get("differing", np.inf) < self._enough(statistic):
            few, bound = details["differing"], details["share_differing"]
            few_differing = IntervalWarning(
                f"only {few} of {n} units make the error of this number: the interval is a rough one; "
                f"an exact interval for the share of such units is {bound[0]:.3g} to {bound[1]:.3g}"
            )
            warnings += (few_differing,)
        warnings += self._stray(statistic) + self._few_groups()
        estimate = replace(estimate, warnings=warnings, details=details)
        if chosen is None:
            return estimate
        low, method = chosen.low, f"{statistic.method}; {how}"
        if statistic.reach is not None:
            least = statistic.ends[0] if statistic.ends else -np.inf
            low, method = max(least, min(low, point - statistic.reach)), f"{method}, less what noise may add"
        return replace(estimate, low=low, high=chosen.high, method=method)

    def _enough(self, statistic: Statistic) -> int:
        """How many units must make a number's error for its interval not to be a rough one."""
        if isinstance(statistic.under, Ratio):
            return FEW_OF_A_MEAN
        return self.units.enough

    def _stray(self, statistic: Statistic) -> tuple[str, ...]:
        """Why a share of answers may be further from its end than its items show."""
        under, column = statistic.under, statistic.column
        if not isinstance(under, Ratio) or statistic.ends != (0.0, 1.0):
            return ()
        return none_goes_far(under.of_items(column), "item", self.resampling.confidence_level)

    def _few_groups(self) -> tuple[str, ...]:
        """Why the interval may cover too rarely whatever the groups say: there are few."""
        worth = self.units.freedom + 1
        if self.units.clusters is None or worth >= FEW_GROUPS:
            return ()
        few_groups = IntervalWarning(
            f"{self.units.count} groups ({self.units.name}) that tell as much as {worth:.3g} of one size: "
            "the interval rests on a rough estimate of how groups differ"
        )
        return (few_groups,)

    def _interval(self, statistic: Statistic, draws: Draws, n: int) -> Ends:
        """The interval of a number of n units, at any level, and how it was made."""
        resampling, of, unit = self.resampling, statistic.column, self.units.name
        point = float(draws.point[of])
        worth = self.units.independent / max(1, self.units.count)  # of a unit, in items
        spread = statistic.spread
        if spread is None and statistic.ends is not None and np.isfinite(statistic.ends).all():
            spread = partial(mean_within, low=statistic.ends[0], high=statistic.ends[1])
        ends = Ends(point, n * worth, spread)
        if statistic.interval is not None:
            interval, name = statistic.interval
            return replace(ends, how=f"{name} over {self.units.count} {unit}s", made=lambda level: interval)
        if len(draws.jackknife) < 2:
            return ends
        moving = min(draws.moving(of), n)
        about: dict[str, Any] = {"differing": moving}
        about["share_differing"] = tuple(clopper_pearson(moving, n, resampling.confidence_level))
        groups = "" if len(draws.jackknife) == self.units.count else f" in {len(draws.jackknife)} groups"
        how = f"jackknife interval over {self.units.count} {unit}s{groups}"
        ends = replace(ends, few=moving < FEW_OF_A_MEAN, how=how, details=about)
        variance, freedom = float(draws.variance[of]), min(float(draws.freedom[of]), n - 1)
        if not np.isfinite(variance):
            return ends
        made: Callable[[float], Interval]
        made = partial(effective, point, variance, freedom, ends=statistic.ends, step=statistic.step)
        if statistic.tails is not None:
            made, freedom = _with_tails(statistic.tails, draws, statistic, freedom)
        return replace(ends, made=made, details=about | {"standard_error": variance**0.5, "freedom": freedom})


def _with_tails(
    tails: Tails, draws: Draws, statistic: Statistic, freedom: float
) -> tuple[Callable[[float], Interval], float]:
    """The interval of a number whose error few units may make, by level, and its degrees of freedom."""
    of, draws = statistic.column, draws.as_z() if tails.correlation else draws
    point, variance = float(draws.point[of]), float(draws.variance[of])
    freedom = min(freedom, 2 * float(draws.events[of]))
    if not tails.skewed:
        made = partial(effective, point, variance, freedom, ends=statistic.ends, step=statistic.step)
        return made, freedom
    made = partial(skewed, point, variance, freedom, tails.skewed * float(draws.skewness[of]))
    return (lambda level: Interval(*np.tanh(made(level)).tolist())) if tails.correlation else made, freedom


_NO_INTERVAL = "no unit makes a difference, so there is no interval"


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
        """What its answers take in memory."""
        return self.grid.nbytes + self.rows.nbytes + (0 if self.marks is None else self.marks.nbytes)

    @property
    def gold_codes(self) -> NDArray[np.int32]:
        """Code of each item's true label, -1 where unknown, as it is of all without gold labels."""
        return np.full(len(self.items), -1, np.int32) if self.gold is None else self.gold

    @property
    def _sampler(self) -> Sampler:
        assert self.sampler is not None, "only the cells of a reading are resampled"
        return self.sampler

    def draws(self, under: Weighted) -> Draws:
        """A function of item weights on the data, and with each unit left out."""
        return self._sampler.draws(under)

    def estimated(self, statistic: Statistic, draws: Draws | None = None) -> Estimate:
        """The estimate of a statistic of this cell; ``draws`` where they are not those of its units."""
        return self._sampler.estimated(statistic, draws)

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
