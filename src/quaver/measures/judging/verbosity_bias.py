"""Whether a judge grades an answer higher when it is padded with words that say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.column_roles import UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import Encoded, encode
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic
from quaver.measures.judging.judged_scores import NO_SCORES, ONE_SCORE, scores_of
from quaver.measures.judging.signed_mean import mean_over_items, shares_at
from quaver.measures.variation.label_shares import ASKING


@measure(
    title="How much padding an answer raises its grade",
    axis="padded less plain: share of choices, or score",
    section="stability",
    null=0.0,
    compares=("variant",),
    source="Zheng et al. (2023), NeurIPS Datasets and Benchmarks, arXiv:2306.05685, section 3.3",
)
def verbosity_bias(
    reading: Reading, *, padding: str = "padding", plain: str = "original", padded: str = "padded"
) -> Iterator[Estimate]:
    """How much more often a judge chooses an answer, or how much higher it grades one, because it is padded.

    Padding says nothing, so it should change nothing; no gold label is needed. Of answers to choose from, of
    which one is padded at a time: for each item, the share that chose an answer when it was padded less the
    share that chose it when nothing was, mean over the answers that were padded. Of single answers: the
    mean score of the padded answer less that of the plain one; labels that are no numbers count by their
    places, as in `leniency`. The measure is the mean over the items that were graded in all of these ways.
    0: padding does nothing; above 0, it helps. Undefined without such an item. In ``details``: ``plain`` and
    ``padded``, the two means.

    Args:
        padding: The column that says what was padded: the factor of the family ``padding``.
        plain: Its level where nothing is.
        padded: Its level where the answer that is graded alone is; else the levels are labels.

    Raises:
        UnknownColumn: There is no such column.

    Asked about one pair, the judge chooses A; with B padded it chooses B, with A padded still A. Padding
    helped B, and not A:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 1], "padding": ["original", "a", "b"], "variant": list("uvw"),
    ...                       "label": list("aab")})
    >>> verbosity_bias(frame)[0].value
    0.5
    """
    if padding not in reading.gathered.columns:
        raise UnknownColumn(padding, reading.gathered.columns, where="padding")
    levels = encode(reading.gathered[padding], padding)
    for cell in reading.cells(raters=ASKING):
        graded = padded in levels.values and padded not in cell.labels
        made = _scores if graded else _choices
        yield cell.estimated(made(cell, levels, plain, padded))


def _said(cell: Cell, method: str) -> Statistic:
    reason = "no item was graded both plain and padded" if cell.items else "no annotations"
    return Statistic(method=method, null=0.0, excluded=cell.counted, n=0, reason=reason)


def _choices(cell: Cell, levels: Encoded, plain: str, _: str) -> Statistic:
    said = _said(
        cell, "mean over items of the share that chose an answer when padded less when not, answers alike"
    )
    tried = [at for at, label in enumerate(cell.labels) if label in levels.values]
    if not tried or not cell.codes.size:
        return said
    before = shares_at(cell, levels, plain)[:, tried]
    after = np.stack([shares_at(cell, levels, cell.labels[at])[:, at] for at in tried], 1)
    return _difference(cell, before.mean(1), after.mean(1), said, (-1.0, 1.0))


def _scores(cell: Cell, levels: Encoded, plain: str, padded: str) -> Statistic:
    scores = scores_of(cell.labels, cell.label_set)
    said = _said(cell, "mean over items of the score of the padded answer less that of the plain one")
    if scores is None or scores.size == 1:
        return replace(said, reason=NO_SCORES if scores is None else ONE_SCORE)
    if not cell.codes.size or not scores.size:
        return said
    wide = float(np.ptp(scores))
    before, after = (shares_at(cell, levels, level) @ scores for level in (plain, padded))
    return _difference(cell, before, after, said, (-wide, wide))


def _difference(
    cell: Cell, before: Floats, after: Floats, said: Statistic, ends: tuple[float, float]
) -> Statistic:
    values = after - before
    known = np.isfinite(values)
    details = (
        {"plain": float(before[known].mean()), "padded": float(after[known].mean())} if known.any() else {}
    )
    return mean_over_items(cell, values, said, ends, details)
