"""The smallest loss that a comparison could have seen: the size that its interval would show often enough."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import scipy

from quaver.core.records import Estimate
from quaver.estimation.intervals import effective

SEEN: Final = 0.8
"""In which share of runs a loss is shown that counts as one that can be seen."""

_COUNTS = 60
"""Over how many numbers of changed items probabilities are added up, at most."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run can see with: what changes in it, and when a loss counts as shown."""

    units: int
    groups: int
    step: float
    limit: float
    confidence_level: float
    freedom: float
    ends: tuple[float, float] | None

    def shows(self, changed: int, worse: int) -> bool:
        """Whether so many changes, so many of them for the worse, show a loss."""
        by_chance = 0.5 ** min(changed, self.groups)  # that all of them go one way
        if by_chance > (1 - self.confidence_level) / 2:
            return False
        value = (changed - 2 * worse) / self.units
        variance = max(0.0, changed / self.units - value**2) / max(1, self.units - 1)
        level, scaled = self.confidence_level, variance * self.step**2
        return effective(value * self.step, scaled, self.freedom, level, self.ends).high < -self.limit

    def seen(self, loss: float, noise: float) -> float:
        """The probability that a true loss is shown."""
        worse, better = loss + noise / 2, noise / 2
        changing = min(1.0, worse + better)
        spread = 6 * (self.units * changing * (1 - changing)) ** 0.5 + 3
        first = max(0, int(self.units * changing - spread))
        last = min(self.units, int(self.units * changing + spread) + 1)
        every = max(1, (last - first) // _COUNTS)
        counts = np.arange(first, last + 1, every)
        least = np.array([_least(self, int(count)) for count in counts])
        possible = least <= counts
        shown = np.zeros(len(counts))
        shown[possible] = scipy.special.betainc(
            least[possible], counts[possible] - least[possible] + 1, worse / max(changing, 1e-12)
        )  # the probability of so many or more for the worse
        log = scipy.special.xlogy(counts, changing) + scipy.special.xlog1py(self.units - counts, -changing)
        log -= scipy.special.gammaln(counts + 1) + scipy.special.gammaln(self.units - counts + 1)
        weight = np.exp(log - log.max())
        return float((shown * weight).sum() / weight.sum())


@lru_cache(maxsize=2**16)
def _least(run: _Run, changed: int) -> int:
    """Of so many changes, the fewest for the worse that show a loss; one more than all where none do."""
    fewest, most = changed // 2, changed + 1
    while most - fewest > 1:
        middle = (fewest + most) // 2
        fewest, most = (fewest, middle) if run.shows(changed, middle) else (middle, most)
    return most


def smallest_loss(estimate: Estimate, *, limit: float = 0.0) -> float | None:
    """The smallest true loss that four of five runs like this one show.

    A run like this one has as many items, and as many of them change either way without a loss; a loss makes
    further items worse. With N items, L that get worse and G that get better are multinomial. Each pair
    (L, G) has its difference, its variance and thereby its interval, which shows a loss beyond the limit or
    not: the result is the loss at which the pairs that do have a probability of 0.8. What this run itself
    shows to have moved (the end of its interval next to zero) is not noise.

    Returns:
        Its size. None where such a run shows no loss however large, or the estimate is no paired difference
        with an interval.

    Of 40 items six must change, all for the worse; where 19% do, six or more of 40 do so in 80% of runs:

    >>> details = {"standard_error": 0.0, "freedom": 39.0, "units": 40.0, "step": 1.0, "range": (-1.0, 1.0)}
    >>> one = Estimate("accuracy", 0.0, -0.088, 0.088, n=40, details=details)
    >>> round(smallest_loss(one), 3)
    0.19
    """
    known = estimate.details
    if (
        estimate.value is None
        or estimate.low is None
        or estimate.high is None
        or not known.keys() >= {"step", "freedom"}
    ):
        return None
    units, step = max(1, round(known["units"])), float(known["step"])
    freedom = min(float(known["freedom"]), estimate.n - 1.0)
    run = _Run(units, estimate.n, step, limit, estimate.confidence_level, freedom, known["range"])
    discordant = known["standard_error"] ** 2 * (units - 1) / step**2 + (estimate.value / step) ** 2
    shown = max(0.0, estimate.low, -estimate.high) / step
    noise = min(1.0, max(0.0, discordant - shown))
    found = _found(run, noise)
    return None if found is None else found * step


@lru_cache(maxsize=2**12)
def _found(run: _Run, noise: float) -> float | None:
    """The smallest loss that is seen often enough, in steps."""
    most = 1 - noise
    if run.seen(most, noise) < SEEN:
        return None
    return float(scipy.optimize.brentq(lambda loss: run.seen(loss, noise) - SEEN, 0.0, most, xtol=1e-5))
