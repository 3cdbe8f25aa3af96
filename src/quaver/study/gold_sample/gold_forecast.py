"""How large a gold sample is to be, and what it is expected to bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from quaver.core.rows import Rows
from quaver.errors import QuaverError
from quaver.gold.gold_draw import Design

FEWEST_EVENTS: Final = 8
"""Gold labels of the rarer label that a corrected interval takes, about."""


@dataclass(frozen=True, slots=True)
class Wish:
    """How large a sample is wanted; one of the first four.

    Attributes:
        n: Items in the whole sample.
        more: Items beyond those that were drawn.
        target: The width of the 95% interval, from end to end.
        budget: What the labels may cost, in any currency.
        label_cost: What one label costs.
    """

    n: int | None = None
    more: int | None = None
    target: float | None = None
    budget: float | None = None
    label_cost: float | None = None

    def check(self) -> None:
        """Refuse wishes that contradict each other.

        Raises:
            QuaverError: They do.
        """
        named = {name: value for name in ("n", "more", "target", "budget") if (value := getattr(self, name))}
        if len(named) != 1 or any(value <= 0 for value in named.values()):
            raise QuaverError(
                "how large is the sample to be?",
                where="gold",
                expected="one of n (items), more (items), target (a width) or budget, above 0",
                found=", ".join(f"{name}={value:g}" for name, value in named.items()) or "none of them",
                fix="quaver gold STUDY --n 200",
            )
        if self.budget and not (self.label_cost and self.label_cost > 0):
            raise QuaverError(
                "what does a label cost?",
                where="label_cost",
                expected="the price of one label, in the currency of the budget",
                found=repr(self.label_cost),
                fix="quaver gold STUDY --budget 300 --label-cost 0.75",
            )

    def document(self) -> dict[str, Any]:
        """What was asked for."""
        names = ("n", "more", "target", "budget", "label_cost")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class GoldForecast(Rows):
    """What a sample is expected to bring, before its labels are there.

    Attributes:
        design: How items are drawn.
        by: What tells its strata apart.
        population: How many items there are.
        size: How many items the whole sample has; its mean with ``poisson``.
        labels: How many labels people give for it, with those of several coders.
        cost: What the labels cost; None where the price is unknown.
        width: The width that is expected of the interval.
        of: Which interval: that of a conclusion, or the widest of the labels' corrected shares.
        simple: How many items simple sampling needs for an interval as wide, with the same correction.
        alone: How many it needs without the models' labels; None where all items are not enough.
        rests_on: What this rests on.
        rarer: How many gold labels are expected of the rarest label, or of the rarer side of a conclusion;
            None where an outcome is no share.
    """

    design: Design
    by: tuple[str, ...]
    population: int
    size: int
    labels: int
    cost: float | None
    width: float
    of: str
    simple: int | None
    alone: int | None
    rests_on: str
    rarer: float | None = None

    @property
    def saved(self) -> int | None:
        """How many labels the design saves against simple sampling; below 0 where it costs some."""
        return None if self.simple is None else self.simple - self.size

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        names = (
            "design",
            "population",
            "size",
            "labels",
            "cost",
            "width",
            "of",
            "simple",
            "alone",
            "rests_on",
            "rarer",
        )
        return [{name: getattr(self, name) for name in names} | {"by": ", ".join(self.by)}]

    def __str__(self) -> str:
        """A few sentences."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        about = "about " if self.design == "poisson" else ""
        cost = "" if self.cost is None else f" for {self.cost:,.2f}"
        lines = [
            f"{about}{self.size:,} of {self.population:,} items, {self.design} sampling{by}: "
            f"{self.labels:,} labels{cost}.",
            f"The {self.of} is expected to be {self.width:.3f} wide ({self.rests_on}).",
        ]
        if self.rarer is not None and self.rarer < FEWEST_EVENTS:
            lines.append(
                f"Only about {self.rarer:.0f} of them will have the rarer label: with fewer than "
                f"{FEWEST_EVENTS}, there may be no interval at all."
            )
        if self.saved is not None and self.design != "simple":
            saves = f"{self.saved:,} of them" if self.saved > 0 else "nothing"
            lines.append(
                f"For an interval as wide, simple sampling needs {self.simple:,} items: "
                f"this design saves {saves}."
            )
        if self.alone is not None:
            lines.append(f"Without the models' labels it would take {self.alone:,}.")
        return "\n".join(lines)
