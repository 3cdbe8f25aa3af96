"""Whether a judge's scores are higher than people's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from quaver.estimation.cell import Cell
from quaver.estimation.declaration import measure
from quaver.estimation.statistic import Statistic
from quaver.measures.judging.judged_scores import NO_SCORES, ONE_SCORE, scores_of
from quaver.measures.judging.signed_mean import mean_over_items
from quaver.measures.variation.label_shares import ASKING


@measure(
    title="How far the judge's scores are above people's",
    axis="the judge's score less people's",
    section="accuracy",
    null=0.0,
    raters=ASKING,
    gold=True,
    source="Zheng et al. (2023), NeurIPS Datasets and Benchmarks, arXiv:2306.05685, section 3.3",
)
def leniency(cell: Cell) -> Iterator[Statistic]:
    """How far a judge's scores are above those that people gave the same answers, on average.

    The mean over items of the mean of the judge's scores less the gold score. 0: as strict as people; above
    0, more lenient. By a column of items (``by: [model, longer]``, ``by: [model, own]``) it shows which
    answers are favoured. Labels that are no numbers count by their places, from 1: poor, fair, good are 1, 2,
    3. Undefined without an item that has scores and a gold score, where there is only one score, and where
    the labels are no numbers and the label set has no order. In ``details``: ``judge`` and ``people``, the
    two means.

    Scores of 4 and 5 where people gave 3 and 5: (1 + 0) / 2.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2], "label": ["4", "5"], "gold": ["3", "5"]})
    >>> leniency(frame)[0].value
    0.5
    """
    scores = scores_of(cell.labels, cell.label_set)
    said = Statistic(
        method="mean over items of the judge's scores less the gold score",
        null=0.0,
        n=0,
        excluded=cell.counted,
        reason="no item has both a score and a gold score" if cell.items else "no annotations",
    )
    if scores is None or scores.size == 1:
        yield replace(said, reason=NO_SCORES if scores is None else ONE_SCORE)
        return
    if not cell.codes.size or cell.gold is None:
        yield said
        return
    codes = cell.codes.reshape(len(cell.items), -1)
    given = codes >= 0
    count = given.sum(1)
    judge = np.where(given, scores[np.maximum(codes, 0)], 0.0).sum(1) / np.maximum(count, 1)
    people = scores[np.maximum(cell.gold, 0)]
    used = (count > 0) & (cell.gold >= 0)
    details = {"judge": float(judge[used].mean()), "people": float(people[used].mean())} if used.any() else {}
    wide = float(np.ptp(scores))
    yield mean_over_items(cell, np.where(used, judge - people, np.nan), said, (-wide, wide), details)
