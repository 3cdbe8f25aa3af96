"""The estimate of a contrast that gold labels correct, with what stands beside it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.agreement.set_distance import members
from quaver.core.records import OF_SETS, Estimate, LabelSet
from quaver.core.seeds import derive
from quaver.correction.estimators import Corrected, Question, gold_alone, stacked, strata_interval
from quaver.correction.spread import interval
from quaver.estimation.bootstrap import Floats, Resampling, Units, jackknife, one_thread
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import Ints
from quaver.estimation.intervals import Interval, Kept, effective
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Keep
from quaver.measures.corrected.labelled_items import TOGETHER, LabelledItems, filled, populations_apart
from quaver.measures.judging.judge_bias import NO_SCORES, scores_of

FEW_EVENTS = 3.0
"""With fewer to be expected among the gold labels a contrast has no interval: it would hold the truth, and be
up to four times as wide as an oracle's. What is to be expected decides: a sample that by luck lacks its
largest errors shows more. Between 3 and 8, intervals held the truth in 96% of 343 simulated studies with a
heavy-tailed covariate, and were 1.2 times as wide as an oracle's. Of items in groups, those that are seen."""

FEW_GROUPS = 3.0
"""Below so many degrees of freedom of groups there is no interval."""

_OUTLYING = "for numbers of which a few, far from the others, decide the estimate"

_USUAL = 0.95

SOURCE = (
    "Angelopoulos, Duchi & Zrnic (2024), PPI++, arXiv 2311.01453; cross-fitted as in Zrnic & Candès (2024), "
    "PNAS 121, e2322083121; drawn by design as in Egami, Hinck, Stewart & Wei (2023), NeurIPS 36"
)


def few_events(question: Question, alone: Corrected | None) -> str | None:
    """Why there is no interval; None where there is one.

    A share from gold labels alone has one however rare its label is.
    """
    if alone is None:
        if question.sample.gold.size < 2:
            return "fewer than two gold labels"
        return "the gold labels do not determine the regression: too few of them, or columns tell them apart"
    if question.sample.clusters is not None and alone.spread.freedom < FEW_GROUPS:
        return "too few groups with gold labels"
    events = alone.spread.expected if question.counts_events else alone.spread.events
    if events < FEW_EVENTS and not question.mean:
        labels = set(np.unique(question.sample.outcome[question.sample.gold])) <= {0.0, 1.0}
        return f"too few gold labels {'of the rarer label on one side' if labels else _OUTLYING}"
    if question.mean and not alone.spread.variance > 0:
        return "no variation among the gold labels"
    return None


def ends(
    question: Question, corrected: Corrected, confidence_level: float, bounded: tuple[float, float] | None
) -> Interval:
    """The interval of an estimate; a mean's keeps within its range, and heeds what each stratum may hide."""
    if question.mean and bounded is not None:
        spread, sample = corrected.spread, question.sample
        if sample.strata is not None and sample.clusters is None:
            return strata_interval(
                corrected.value, sample, corrected.contributions, confidence_level, bounded
            )
        return effective(corrected.value, spread.variance, spread.freedom, confidence_level, bounded)
    return interval(corrected.value, corrected.spread, confidence_level)


def best(
    question: Question,
    predictions: Floats,
    alone: Corrected,
    seed: int,
    votes: int | None = None,
    bounded: tuple[float, float] | None = None,
) -> Corrected:
    """The corrected estimate; gold alone where nothing corrects it, or where its own interval is narrower."""
    corrected = stacked(question, predictions, seed, votes) if predictions.shape[2] else None
    if corrected is None:
        return alone._replace(coefficients=np.zeros(predictions.shape[2]))
    (low, high), own = ends(question, corrected, _USUAL, bounded), ends(question, alone, _USUAL, bounded)
    # Near an end of its range a share's interval grows with its value.
    return alone if high - low > own[1] - own[0] else corrected


def naive_range(given: Floats) -> dict[str, dict[str, float]]:
    """What the predictors say on average, each by itself: the lowest, the highest and their mean."""
    heard = given[:, np.isfinite(given).any(0)]
    if not heard.size:
        return {}
    each = np.nanmean(heard, 0)
    return {"naive": {"low": float(each.min()), "high": float(each.max()), "mean": float(each.mean())}}


def or_nothing(data: MeasureInput, estimates: Iterator[Estimate]) -> Iterator[Estimate]:
    """The estimates; where there are none, one that says why."""
    reason = "no gold labels that were drawn by design" if data.gathered.height else "no annotations"
    shape = Estimate(data.measure.name, None, reason=reason, method="a designed gold sample")
    nothing = replace(shape, reference=SOURCE)
    yield from itertools.chain([first], estimates) if (first := next(estimates, None)) else [nothing]


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

    def draws(self, corrected: Corrected) -> Kept:
        """The estimate as a sum over items, in the order of their ids: two of the same items pair."""
        each = np.zeros(len(self.names))
        square = float((corrected.contributions**2).sum())
        # Its variance is that of the interval, with what the choice of predictors costs.
        scale = (corrected.spread.variance / square) ** 0.5 if square > 0 and self.clusters is None else 1.0
        each[self.kept] = corrected.contributions * scale
        units = Units(each.size, self.clusters, self.unit)

        def under(weights: Floats) -> Floats:
            return np.asarray(corrected.value + (weights @ each - each.sum())[:, None])

        return Kept(jackknife(under, units, self.resampling), 0, units, units.count)


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
        question: Question,
        predictions: Floats,
        seed: int,
        bounded: tuple[float, float] | None = None,
        votes: int | None = None,
    ) -> None:
        self.asked, self._bounded = question, bounded
        self.corrected: Corrected | None = None
        with one_thread():
            self.alone = gold_alone(question)
            self.reason = few_events(question, self.alone)
            if self.alone is not None and not self.reason:
                self.corrected = best(question, predictions, self.alone, seed, votes, bounded)

    def estimate(self, shape: Estimate, corrected: Corrected | None, sampling: Sampling) -> Estimate:
        """An estimate filled in from a template."""
        gold, resampling = int(self.asked.sample.gold.size), sampling.resampling
        details: dict[str, Any] = {**shape.details, "gold": gold}
        shape = replace(shape, n=gold, confidence_level=resampling.confidence_level)
        if corrected is None or self.reason:
            why = self.reason or "the predictions do not determine the regression"
            return replace(shape, value=None, reason=why, details=details)
        details |= {"standard_error": corrected.spread.variance**0.5, "freedom": corrected.spread.freedom}
        shape = replace(shape, value=corrected.value, details=details)
        if not resampling.resamples:
            return shape
        low, high = ends(self.asked, corrected, resampling.confidence_level, self._bounded)
        carried = sampling.draws(corrected) if "draws" in sampling.keep else None
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


@measure(
    title="The mean score, corrected for the judge's errors",
    axis="score",
    section="accuracy",
    compares=TOGETHER,
    source=SOURCE,
)
def corrected_score(data: MeasureInput) -> Iterator[Estimate]:
    """The mean score that people would give all items, from a judge's scores and a designed sample of theirs.

    The mean of the gold scores, each weighted by one over its probability of being drawn, less what the
    scores of all prompts and models say of these items beyond what they say of all items. Labels that are no
    numbers count by their places, from 1. With ``by: [system]``, a column of items, it is each system's
    score. Undefined where the labels are no numbers and the label set has no order, and where the gold scores
    do not vary. In ``details``: ``naive`` (the judge's own mean under each
    prompt: the lowest, the highest and their mean), ``gold_alone``, ``effective_gold``.

    Raises:
        MeasureError: There are no columns of a gold sample.

    Of 80 answers 40 were drawn, and the judge gives each one point too many. People gave half of the drawn
    answers 2 and half 3; the judge's scores show that of the other 40 only a quarter deserve 3:

    >>> import polars as pl
    >>> true = [2, 3] * 20 + [2, 2, 2, 3] * 10
    >>> frame = pl.DataFrame({"item": range(80), "label": [str(one + 1) for one in true],
    ...     "gold": [str(one) for one in true], "gold_probability": 0.5,
    ...     "gold_drawn": [True] * 40 + [False] * 40})
    >>> found = corrected_score(frame)[0]
    >>> round(found.value, 2), found.details["naive"]["mean"]
    (2.38, 3.375)
    """
    yield from or_nothing(data, (_score(data, one) for one in populations_apart(data)))


def _score(data: MeasureInput, population: LabelledItems) -> Estimate:
    numbers, items = scores_of(population.labels, data.labels), len(population.gold)
    shape = Estimate(
        measure="corrected_score",
        value=None,
        unit=population.unit,
        method="mean of gold scores drawn by design, corrected by the judge's, stacked and cross-fitted",
        reference=SOURCE,
        cell=dict(population.where),
        excluded=population.excluded,
        reason=NO_SCORES,
    )
    if numbers is None:
        return shape
    given = population.valued(numbers)
    predictions = filled(given)[:, None]
    varying = np.ptp(predictions, axis=0)[0] > 0
    true = np.where(population.gold >= 0, numbers[np.maximum(population.gold, 0)], np.nan)
    sample = population.sample(np.ones((items, 1)), true[:, None])
    seed = derive(data.resampling.seed, "folds")
    ends = float(numbers.min()), float(numbers.max())
    found = Correcting(Question(sample, np.ones((1, 1))), predictions[:, :, varying], seed, ends)
    sampling = Sampling(
        data.resampling,
        data.keep,
        population.names,
        np.ones(items, bool),
        population.clusters,
        population.unit,
    )
    whole = replace(shape, reason=None, details={**naive_range(given), **found.beside(data.resampling)})
    return found.estimate(whole, found.corrected, sampling)


_ENDS = (0.0, 1.0)


@measure(
    title="How often each label is true",
    axis="share of items",
    section="accuracy",
    unit="share",
    compares=TOGETHER,
    source=SOURCE,
    of_classes=True,
)
def corrected_share(data: MeasureInput) -> Iterator[Estimate]:
    """The share of items whose true label is each label, or holds it, corrected by a designed gold sample.

    The mean over gold items of 1[y = label], each weighted by one over its probability of being drawn, less
    what the labels and confidences of all prompts and models say of these items beyond what they say of all
    items. With few gold items of a label only the weight of all prompts' votes is learned (`stacked`).
    Undefined where all gold labels, or none, are that label. ``by`` may hold columns of items: their groups
    are populations of their own. In ``details``: ``naive`` (the share of the label under each prompt, and
    its range), ``gold_alone``, ``effective_gold`` (as many gold labels alone would be as precise).

    Raises:
        MeasureError: There are no columns of a gold sample.

    Of 80 items 40 were drawn, and 24 of these are ``a``; the model's labels are all right, 44 being ``a``:

    >>> import polars as pl
    >>> true = list("aaaaaabbbb") * 4 + list("aaaaabbbbb") * 4
    >>> frame = pl.DataFrame({"item": range(80), "label": true, "gold": true, "gold_probability": 0.5,
    ...     "gold_drawn": [True] * 40 + [False] * 40})
    >>> [(one.cell["label"], round(one.value, 2)) for one in corrected_share(frame)]
    [('a', 0.55), ('b', 0.45)]
    """
    yield from or_nothing(
        data,
        (
            _share(data, population, numbers, label)
            for population in populations_apart(data)
            for label, numbers in _counted(population, data.labels)
        ),
    )


def _counted(population: LabelledItems, labels: LabelSet | None) -> Iterable[tuple[str, Floats]]:
    """Each label, and which of the answers' labels count as it: itself, or the sets that hold it."""
    if labels is not None and labels.level in OF_SETS:
        single, held = members(population.labels)
        return zip(single, held.T, strict=True)
    return zip(population.labels, np.eye(len(population.labels)), strict=True)


def _share(data: MeasureInput, population: LabelledItems, numbers: Floats, label: str) -> Estimate:
    given = population.valued(numbers)
    sure = population.probable(numbers)
    tables = [filled(one) for one in (given, sure) if one is not None]
    predictions = np.concatenate(tables, 1)[:, None]
    varying = np.ptp(predictions, axis=0)[0] > 0
    true = np.where(population.gold >= 0, numbers[population.gold], np.nan)
    items = len(population.gold)
    sample = population.sample(np.ones((items, 1)), true[:, None])
    seed = derive(data.resampling.seed, "folds")
    found = Correcting(Question(sample, np.ones((1, 1))), predictions[:, :, varying], seed, _ENDS)
    shape = Estimate(
        measure="corrected_share",
        value=None,
        unit=population.unit,
        method=f"share among gold labels drawn by design, corrected by {int(varying.sum())} predictors, "
        "stacked and cross-fitted",
        reference=SOURCE,
        cell={**population.where, "label": label},
        excluded=population.excluded,
        details={**naive_range(given), **found.beside(data.resampling)},
    )
    sampling = Sampling(
        data.resampling,
        data.keep,
        population.names,
        np.ones(items, bool),
        population.clusters,
        population.unit,
    )
    return found.estimate(shape, found.corrected, sampling)
