"""How wide an interval will be with more gold labels, or with fewer."""

from __future__ import annotations

from quaver.correction.estimators import Corrected
from quaver.correction.regressions import GoldSample
from quaver.correction.spread import Spread


def forecast(found: Corrected, alone: Corrected, sample: GoldSample, gold: int) -> Spread:
    """The spread of an estimate, had another number of items been drawn in the same way.

    V(n′) = V∞ + (V(n) − V∞) n / n′, where V∞ is left when every item has a gold label: the variance of the
    items themselves. The degrees of freedom, and how many events there are, grow with the number of labels.

    Args:
        found: The estimate, corrected or not, from a pilot.
        alone: That from the pilot's gold labels alone.
        sample: The pilot.
        gold: The number of gold labels to forecast.

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
    spread, labelled = found.spread, sample.gold.size
    assert alone.residuals is not None, "an estimate from gold labels"
    own = sample.gold_weights @ alone.residuals**2
    whole = min(float(own * (sample.all_weights @ sample.all_weights)), spread.variance)
    grown = gold / labelled
    variance = whole + (spread.variance - whole) / grown
    skewness = spread.skewness * (spread.variance / variance) ** 1.5 / grown**2 if variance > 0 else 0.0
    events, expected = spread.events * grown, spread.expected * grown
    return Spread(variance, max(spread.freedom * grown, 1.0), skewness, events, expected)
