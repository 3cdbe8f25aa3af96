"""How often each label is true: shares that a designed gold sample corrects."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.correction.estimators import Question
from quaver.estimation.declaration import measure
from quaver.estimation.reading import Reading
from quaver.measures.corrected.corrected_estimate import SOURCE, Correcting, Sampling, naive_range, or_nothing
from quaver.measures.corrected.labelled_items import TOGETHER, LabelledItems, filled, populations_apart

_ENDS = (0.0, 1.0)


@measure(
    title="How often each label is true",
    axis="share of items",
    section="accuracy",
    unit="share",
    compares=TOGETHER,
    source=SOURCE,
)
def corrected_share(reading: Reading) -> Iterator[Estimate]:
    """The share of items whose true label is each label, corrected by a designed gold sample.

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
        reading,
        (
            _share(reading, population, code, label)
            for population in populations_apart(reading)
            for code, label in enumerate(population.labels)
        ),
    )


def _share(reading: Reading, population: LabelledItems, code: int, label: str) -> Estimate:
    numbers = np.eye(len(population.labels))[code]
    given = population.valued(numbers)
    sure = population.probable(numbers)
    tables = [filled(one) for one in (given, sure) if one is not None]
    predictions = np.concatenate(tables, 1)[:, None]
    varying = np.ptp(predictions, axis=0)[0] > 0
    true = np.where(population.gold >= 0, (population.gold == code).astype(np.float64), np.nan)
    items = len(population.gold)
    sample = population.sample(np.ones((items, 1)), true[:, None])
    seed = derive(reading.resampling.seed, "folds")
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
        details={**naive_range(given), **found.beside(reading.resampling)},
    )
    sampling = Sampling(
        reading.resampling,
        reading.keep,
        population.names,
        np.ones(items, bool),
        population.clusters,
        population.unit,
    )
    return found.estimate(shape, found.corrected, sampling)
