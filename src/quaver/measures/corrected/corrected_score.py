"""The mean score of what a model graded, corrected for the model's errors by a designed gold sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.correction.estimators import Question
from quaver.estimation.declaration import measure
from quaver.estimation.reading import Reading
from quaver.measures.corrected.corrected_estimate import SOURCE, Correcting, Sampling, naive_range, or_nothing
from quaver.measures.corrected.labelled_items import TOGETHER, LabelledItems, filled, populations_apart
from quaver.measures.judging.judged_scores import NO_SCORES, scores_of


@measure(
    title="The mean score, corrected for the judge's errors",
    axis="score",
    section="accuracy",
    compares=TOGETHER,
    source=SOURCE,
)
def corrected_score(reading: Reading) -> Iterator[Estimate]:
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
    yield from or_nothing(reading, (_score(reading, one) for one in populations_apart(reading)))


def _score(reading: Reading, population: LabelledItems) -> Estimate:
    numbers, items = scores_of(population.labels, reading.labels), len(population.gold)
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
    seed = derive(reading.resampling.seed, "folds")
    ends = float(numbers.min()), float(numbers.max())
    found = Correcting(Question(sample, np.ones((1, 1))), predictions[:, :, varying], seed, ends)
    sampling = Sampling(
        reading.resampling,
        reading.keep,
        population.names,
        np.ones(items, bool),
        population.clusters,
        population.unit,
    )
    whole = replace(shape, reason=None, details={**naive_range(given), **found.beside(reading.resampling)})
    return found.estimate(whole, found.corrected, sampling)
