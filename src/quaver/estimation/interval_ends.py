"""The interval of a number at any level of confidence, and the p value that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from quaver.estimation.bootstrap import Floats
from quaver.estimation.intervals import Interval, clopper_pearson
from quaver.estimation.multiple_testing import bootstrap_p, level_of


@dataclass(frozen=True, slots=True)
class Ends:
    """The interval of a number, at any level of confidence.

    Attributes:
        point: The number.
        n: How many independent units it rests on.
        spread: The statistic's.
        few: Whether so few units differ that it is never narrower than if none did.
        how: How it is made, in words.
        made: The interval at a level of confidence, where units make a difference.
        details: Further numbers.
        values: The bootstrap's, where it is made of them.
    """

    point: float
    n: float
    spread: Callable[[float, float], Interval] | None
    few: bool = False
    how: str = ""
    made: Callable[[float], Interval | None] = lambda level: None
    details: Mapping[str, Any] = field(default_factory=dict)
    values: Floats | None = None

    @property
    def varies(self) -> bool:
        """Whether there is more to it than the exact bound."""
        made = self.made(0.5)
        return made is not None and made.high - made.low > 1e-12

    def at(self, level: float) -> Interval | None:
        """The interval, widened to hold the number; None where there is none."""
        made = self.made(level) if self.varies else None
        if made is None or self.few:
            share = clopper_pearson(0, self.n, level).high
            bound = self.spread(self.point, share) if self.spread else None
            if made is None and bound is None:
                return None
            both = [one for one in (made, bound) if one is not None]
            made = Interval(min(one.low for one in both), max(one.high for one in both))
        return Interval(min(made.low, self.point), max(made.high, self.point))

    def p(self, null: float) -> float:
        """P of the number being another one: the level at which the interval just reaches that."""
        if self.values is not None:
            return bootstrap_p(self.point - null, self.values - null, self.n)
        return level_of(self.at, null)
