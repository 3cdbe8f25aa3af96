"""The estimate of a contrast that gold labels correct, with what stands beside it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import Estimate
from quaver.correction.estimators import Corrected, Question, gold_alone, stacked
from quaver.correction.spread import interval
from quaver.correction.strata_interval import strata_interval
from quaver.estimation.answer_grid import Ints
from quaver.estimation.bootstrap import Floats, Resampling, Units, bootstrap
from quaver.estimation.intervals import Interval, Kept, effective
from quaver.estimation.one_thread import one_thread
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Keep

FEW_EVENTS = 6.0
"""With fewer to be expected among the gold labels a contrast has no interval: ``benchmarks/corrected.py``
shows why. What is to be expected decides: a sample that by luck lacks its largest errors shows more."""

FEW_OF_GROUPS = 8.0
"""The same for items in groups, by the events that the sample shows."""

FEW_GROUPS = 10.0
"""Below so many degrees of freedom of groups there is no interval."""

_USUAL = 0.95

SOURCE = (
    "Angelopoulos, Duchi & Zrnic (2024), PPI++, arXiv 2311.01453; cross-fitted as in Zrnic & Candès (2024), "
    "PNAS 121, e2322083121; drawn by design as in Egami, Hinck, Stewart & Wei (2023), NeurIPS 36"
)


def few_events(asked: Question, alone: Corrected | None) -> str | None:
    """Why there is no interval; None where there is one.

    A share from gold labels alone has one however rare its label is.
    """
    if alone is None:
        if asked.sample.gold.size < 2:
            return "fewer than two gold labels"
        return "the gold labels do not determine the regression: too few of them, or columns tell them apart"
    if asked.sample.clusters is not None and alone.spread.freedom < FEW_GROUPS:
        return "too few groups with gold labels"
    spread = alone.spread
    few = spread.expected < FEW_EVENTS if asked.counts_events else spread.events < FEW_OF_GROUPS
    if few and not asked.mean:
        return "too few gold labels of the rarer label on one side"
    if asked.mean and not alone.spread.variance > 0:
        return "no variation among the gold labels"
    return None


def ends(
    asked: Question, made: Corrected, confidence_level: float, bounded: tuple[float, float] | None
) -> Interval:
    """The interval of an estimate; a mean's keeps within its range, and heeds what each stratum may hide."""
    if asked.mean and bounded is not None:
        spread, sample = made.spread, asked.sample
        if sample.strata is not None and sample.clusters is None:
            return strata_interval(made.value, sample, made.contributions, confidence_level, bounded)
        return effective(made.value, spread.variance, spread.freedom, confidence_level, bounded)
    return interval(made.value, made.spread, confidence_level)


def best(
    asked: Question,
    predictions: Floats,
    alone: Corrected,
    seed: int,
    votes: int | None = None,
    bounded: tuple[float, float] | None = None,
) -> Corrected:
    """The corrected estimate; gold alone where nothing corrects it, or where its own interval is narrower.

    Args:
        asked: The question.
        predictions: See `stacked`.
        alone: `gold_alone`.
        seed: See there.
        votes: See there.
        bounded: The least and the largest outcome.
    """
    made = stacked(asked, predictions, seed, votes) if predictions.shape[2] else None
    if made is None:
        return alone._replace(coefficients=np.zeros(predictions.shape[2]))
    (low, high), own = ends(asked, made, _USUAL, bounded), ends(asked, alone, _USUAL, bounded)
    # Near an end of its range a share's interval grows with its value.
    return alone if high - low > own[1] - own[0] else made


def naive_range(given: Floats) -> dict[str, dict[str, float]]:
    """What the predictors say on average, each by itself: the lowest, the highest and their mean.

    Args:
        given: Shape (items, predictors), NaN where one gave no label. One that never did has no mean.
    """
    heard = given[:, np.isfinite(given).any(0)]
    if not heard.size:
        return {}
    each = np.nanmean(heard, 0)
    return {"naive": {"low": float(each.min()), "high": float(each.max()), "mean": float(each.mean())}}


def or_nothing(reading: Reading, found: Iterator[Estimate]) -> Iterator[Estimate]:
    """The estimates; where there are none, one that says why."""
    reason = "no gold labels that were drawn by design" if reading.gathered.height else "no annotations"
    shape = Estimate(reading.measure.name, None, reason=reason, method="a designed gold sample")
    nothing = replace(shape, reference=SOURCE)
    yield from itertools.chain([first], found) if (first := next(found, None)) else [nothing]


class Sampling(NamedTuple):
    """How an estimate is resampled, where it is compared with others of the same items.

    Attributes:
        resampling: How often, and at which level.
        keep: What estimates carry.
        names: The ids of all items.
        kept: Which of these take part.
        clusters: The group of each item.
        unit: What is resampled.
    """

    resampling: Resampling
    keep: frozenset[Keep]
    names: pl.Series
    kept: NDArray[np.bool_]
    clusters: Ints | None
    unit: str

    def draws(self, made: Corrected) -> Kept:
        """The estimate as a sum over items, in the order of their ids: two of the same items pair."""
        each = np.zeros(len(self.names))
        square = float((made.contributions**2).sum())
        # Its variance is that of the interval, with what the choice of predictors costs.
        scale = (made.spread.variance / square) ** 0.5 if square > 0 and self.clusters is None else 1.0
        each[self.kept] = made.contributions * scale
        units = Units(each.size, self.clusters, self.unit)

        def under(weights: Floats) -> Floats:
            return np.asarray(made.value + (weights @ each - each.sum())[:, None])

        return Kept(bootstrap(under, units, self.resampling), 0, units, units.count)


class Correcting:
    """One question, answered from gold labels alone and with all predictions.

    Args:
        asked: The question.
        predictions: Shape (items, outcomes, predictors).
        seed: Of the folds.
        bounded: The least and the largest outcome.
        votes: How many of the first predictors say how likely the outcome is; all if left out.
    """

    def __init__(
        self,
        asked: Question,
        predictions: Floats,
        seed: int,
        bounded: tuple[float, float] | None = None,
        votes: int | None = None,
    ) -> None:
        self.asked, self._bounded = asked, bounded
        self.corrected: Corrected | None = None
        with one_thread():
            self.alone = gold_alone(asked)
            self.reason = few_events(asked, self.alone)
            if self.alone is not None and not self.reason:
                self.corrected = best(asked, predictions, self.alone, seed, votes, bounded)

    def estimate(self, shape: Estimate, made: Corrected | None, sampling: Sampling) -> Estimate:
        """An estimate filled in from a template.

        Args:
            shape: The template: measure, cell, method, details.
            made: What was found.
            sampling: How it is resampled, and what it carries.
        """
        gold, resampling = int(self.asked.sample.gold.size), sampling.resampling
        details: dict[str, Any] = {**shape.details, "gold": gold}
        shape = replace(shape, n=gold, confidence_level=resampling.confidence_level)
        if made is None or self.reason:
            why = self.reason or "the predictions do not determine the regression"
            return replace(shape, value=None, reason=why, details=details)
        details |= {"standard_error": made.spread.variance**0.5, "freedom": made.spread.freedom}
        shape = replace(shape, value=made.value, details=details)
        if not resampling.resamples:
            return shape
        low, high = ends(self.asked, made, resampling.confidence_level, self._bounded)
        carried = sampling.draws(made) if "draws" in sampling.keep else None
        return replace(shape, low=low, high=high, draws=carried)

    def beside(self, resampling: Resampling) -> dict[str, Any]:
        """What the gold labels alone say, and as how many of them the corrected estimate counts."""
        if self.alone is None or self.corrected is None:
            return {}
        low, high = ends(self.asked, self.alone, resampling.confidence_level, self._bounded)
        corrected = self.corrected.spread.variance
        gain = self.alone.spread.variance / corrected if corrected > 0 else 1.0
        return {
            "gold_alone": {"value": self.alone.value, "low": low, "high": high},
            "effective_gold": self.asked.sample.gold.size * gain,
            "tuning": self.corrected.tuning,
        }
