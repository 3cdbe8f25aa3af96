"""A number of a cell as a function of item weights, and the estimate that resampling makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Draws, Floats, Resampling, Units, Weighted, bootstrap
from quaver.estimation.intervals import Claim, Interval, Kept, estimate, undefined

__all__ = ["Keep", "Sampler", "Statistic"]

Keep = Literal["draws", "distribution"]
"""What an estimate can carry beside its numbers: see `Estimate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """One number of a cell, and what is said of it.

    Attributes:
        method: In words for a methods section.
        under: The number as a function of item weights, shape (samples, items) -> (samples, numbers), NaN
            where undefined. None: the number does not exist, and ``reason`` says why.
        column: Which of the function's numbers. Statistics that share one function share its resamples.
        part: The ending of the estimate's name, in a measure that gives several: ``"_accuracy_gain"``.
        where: What the estimate is about beside its cell, by column: ``{"label": "yes"}``.
        reason: Why the number is undefined, should it be.
        n: On how many units it rests; the cell's if left out.
        differing: How many units differ from the rest (disagree, err …); None where that means nothing here.
        spread: From the value, and the largest share of further units that may differ, where the value may
            lie. It makes the interval where the resamples do not vary; without it there is none.
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
    differing: int | None = None
    spread: Callable[[float, float], Interval] | None = None
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
        jackknife: Whether each unit is left out in turn, which a percentile interval does not need.
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
        jackknife: bool = True,
    ) -> None:
        self.units, self.resampling, self._jackknife = units, resampling, jackknife
        self._measure, self._source, self._where, self._keep = measure, source, dict(where or {}), keep
        self._drawn: tuple[Weighted, Draws] | None = None

    def draws(self, under: Weighted) -> Draws:
        """The statistic of the data, of the resamples, and with each unit left out.

        The last function's are remembered: a measure may look at them before it says what it is about.
        """
        if self._drawn is None or self._drawn[0] is not under:
            self._drawn = under, bootstrap(under, self.units, self.resampling, jackknife=self._jackknife)
        return self._drawn[1]

    def estimated(self, statistic: Statistic, draws: Draws | None = None) -> Estimate:
        """The estimate of a statistic, with its interval.

        Args:
            statistic: The statistic.
            draws: Its draws, where they are not those of the units.
        """
        if draws is None and statistic.under is not None:
            draws = self.draws(statistic.under)
        spread = None
        if draws is not None and statistic.spread is not None:
            spread = partial(statistic.spread, float(draws.point[statistic.column]))
        claim = Claim(
            self._measure + statistic.part,
            statistic.method,
            self._source if statistic.source is None else statistic.source,
            reason=statistic.reason,
            cell={**self._where, **statistic.where},
            excluded=statistic.excluded,
            differing=statistic.differing,
            n=statistic.n,
            spread=spread,
            moves=statistic.moves,
            warnings=statistic.warnings,
            details=statistic.details,
        )
        if draws is None:
            return undefined(claim, self.units, self.resampling)
        made = estimate(claim, draws, self.units, self.resampling, statistic.column)
        return self._carrying(made, statistic, draws) if self._keep else made

    def _carrying(self, made: Estimate, statistic: Statistic, draws: Draws) -> Estimate:
        """The estimate with what it was asked to keep."""
        if "draws" in self._keep and made.value is not None:
            of, moves = statistic.column, statistic.moves
            kept = Kept(draws.values[:, of], draws.jackknife[:, of], self.units, moves)
            made = replace(made, draws=kept)
        if "distribution" in self._keep and statistic.values is not None:
            values = statistic.values
            made = replace(made, distribution=values() if callable(values) else values)
        return made
