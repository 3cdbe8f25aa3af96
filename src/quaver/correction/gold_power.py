"""What more gold labels would bring: a narrower interval, a likelier decision; and how many it takes."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from scipy import special

from quaver.correction.estimators import Corrected
from quaver.correction.regressions import GoldSample
from quaver.correction.spread import Spread, interval


def forecast(corrected: Corrected, alone: Corrected, sample: GoldSample, gold: int) -> Spread:
    """The spread of an estimate, had another number of items been drawn in the same way.

    V(n′) = V∞ + (V(n) − V∞) n / n′, where V∞ is left when every item has a gold label: the variance of the
    items themselves. The degrees of freedom, and how many events there are, grow with the number of labels.

    Of 4 gold labels among 1,000 items, half of them 1: V = 1 / 9 in all (HC3), 0.25 / 1000 in the
    items, and with 400 labels (1 / 9 − 0.00025) / 100 + 0.00025.

    >>> import numpy as np
    >>> from quaver.correction.estimators import Question, gold_alone
    >>> from quaver.correction.regressions import of_share
    >>> outcome = np.r_[1.0, 1.0, 0.0, 0.0, np.full(996, np.nan)]
    >>> sample = of_share(outcome, np.full(1000, 0.004))
    >>> alone = gold_alone(Question(sample, np.ones((1, 1))))
    >>> round(alone.spread.variance, 4), round(forecast(alone, alone, sample, 400).variance, 6)
    (0.1111, 0.001359)
    """
    spread, labelled = corrected.spread, sample.gold.size
    assert alone.residuals is not None, "an estimate from gold labels"
    own = sample.gold_weights @ alone.residuals**2
    whole = min(float(own * (sample.all_weights @ sample.all_weights)), spread.variance)
    grown = gold / labelled
    variance = whole + (spread.variance - whole) / grown
    skewness = spread.skewness * (spread.variance / variance) ** 1.5 / grown**2 if variance > 0 else 0.0
    events, expected = spread.events * grown, spread.expected * grown
    return Spread(variance, max(spread.freedom * grown, 1.0), skewness, events, expected)


MORE: Final = 20
"""Labels of which it is said what they would bring."""

POWER: Final = 0.8
"""How likely a decision is to be with the labels that it takes."""


class Foreseen(NamedTuple):
    """A conclusion with another number of gold labels.

    Attributes:
        gold: The number.
        width: Of its interval, from end to end.
        decided: How likely the interval is to lie on one side of the threshold, as far as this sample tells:
            the estimate is expected where it is, and to move as far as the labels to come allow.
        power: How likely it is in another sample of this size, were the estimate the truth.
    """

    gold: int
    width: float
    decided: float
    power: float


class Pilot(NamedTuple):
    """An estimate from gold labels, as a pilot of more of them.

    Attributes:
        found: The estimate.
        alone: That from the gold labels alone.
        sample: The items.
        threshold: What the conclusion holds the estimate against.
        confidence_level: Of its interval.
    """

    found: Corrected
    alone: Corrected
    sample: GoldSample
    threshold: float
    confidence_level: float = 0.95

    def with_gold(self, gold: int) -> Foreseen:
        """The conclusion with another number of gold labels, drawn in the same way.

        A pilot of 100 labels of very many items, V = 0.01, at 2.5 standard errors from the threshold: four
        times the labels halve the interval.

        >>> import numpy as np
        >>> from quaver.correction.estimators import Question, gold_alone
        >>> from quaver.correction.regressions import of_share
        >>> outcome = np.r_[np.ones(70), np.zeros(30), np.full(10**6, np.nan)]
        >>> sample = of_share(outcome, np.full(outcome.size, 1e-4))
        >>> alone = gold_alone(Question(sample, np.ones((1, 1))))
        >>> pilot = Pilot(alone, alone, sample, 0.5)
        >>> now, then = pilot.with_gold(100), pilot.with_gold(400)
        >>> round(then.width / now.width, 2), then.power > now.power
        (0.49, True)
        """
        now, then = self.found.spread, forecast(self.found, self.alone, self.sample, gold)
        ends = interval(0.0, then, self.confidence_level)
        apart = self.found.value - self.threshold
        moved = max(now.variance - then.variance, 0.0) ** 0.5
        error = then.variance**0.5
        return Foreseen(
            gold,
            ends[1] - ends[0],
            _beyond(apart, moved, ends),
            _beyond(apart, error, ends),
        )

    def needed(self, power: float = POWER) -> int | None:
        """The fewest gold labels that decide with this power, were the estimate the truth.

        None where a gold label of every item would not be enough.
        """
        most = int(self.sample.probability.size)
        if self.with_gold(most).power < power:
            return None
        low, high = 2, most
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.with_gold(middle).power >= power else (middle + 1, high)
        return low

    def details(self) -> dict[str, Any]:
        """What a report says of it: the labels that it takes, and what twenty more would bring."""
        labelled, most = int(self.sample.gold.size), int(self.sample.probability.size)
        if labelled >= most:
            return {}
        more = self.with_gold(min(labelled + MORE, most))
        return {"more_gold": more._asdict(), "gold_needed": self.needed()}


def _beyond(apart: float, moves: float, ends: tuple[float, float]) -> float:
    """How likely an interval that moves is to lie on one side of zero."""
    low, high = apart + ends[0], apart + ends[1]
    if moves <= 0:
        return float(low > 0 or high < 0)
    return float(special.ndtr(low / moves) + special.ndtr(-high / moves))
