"""What a judge favours: a place, a length, its own answers, high grades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from quaver.core.records import UNORDERED, Estimate, LabelSet
from quaver.estimation.bootstrap import Floats, Ratio
from quaver.estimation.coded_columns import Encoded, UnknownColumn, encode
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import none_goes_far
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

NO_SCORES = "the labels are no numbers"
ONE_SCORE = "there is only one score"


def scores_of(labels: Sequence[str], label_set: LabelSet | None) -> Floats | None:
    """What each label counts as: its number, or its place where labels are ordered; None where nothing.

    >>> scores_of(["1", "2.5"], None).tolist(), scores_of(["poor", "good"], None).tolist()
    ([1.0, 2.5], [1.0, 2.0])
    """
    try:
        numbers = np.array([float(label) for label in labels], np.float64)
    except ValueError:
        numbers = np.array([np.nan])
    if np.isfinite(numbers).all():
        return numbers
    in_order = label_set is None or label_set.level not in UNORDERED
    return np.arange(1.0, len(labels) + 1) if in_order else None


def _mean(
    cell: Cell,
    statistic: Statistic,
    sides: tuple[Floats, Floats],
    ends: tuple[float, float],
    names: tuple[str, str] | None = None,
) -> Statistic:
    """The mean over items of the second of two numbers less the first, where an item has both."""
    values = sides[1] - sides[0]
    known = np.isfinite(values)
    if not known.any():
        return replace(statistic, n=0)
    means = [float(side[known].mean()) for side in sides]
    return replace(
        statistic,
        reason=None,
        under=Ratio(np.where(known, values, 0.0)[:, None], known.astype(np.float64)[:, None]),
        ends=ends,
        details=dict(statistic.details) | (dict(zip(names, means, strict=True)) if names else {}),
    )


def _labelled(cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    """Each item's labels, and how many it has."""
    codes = cell.codes.reshape(len(cell.items), -1) if cell.items else np.zeros((0, 1), np.int32)
    return codes, (codes >= 0).sum(1)


def _shares_at(cell: Cell, levels: Encoded, level: str) -> Floats:
    """Each item's share of each label where a column has one level; NaN where it has no label there."""
    code = levels.values.index(level) if level in levels.values else -2
    there = np.where(cell.rows >= 0, levels.codes[np.maximum(cell.rows, 0)], -3) == code
    codes = np.where(there, cell.codes, -1).reshape(len(cell.items), -1)
    counts = np.stack([(codes == one).sum(1) for one in range(len(cell.labels))], 1).astype(np.float64)
    return quotient(counts, counts.sum(1, keepdims=True))


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
    statistic = Statistic(
        method="mean over items of the judge's scores less the gold score",
        null=0.0,
        excluded=cell.counted,
        reason="no item has both a score and a gold score" if cell.items else "no annotations",
    )
    if scores is None or scores.size < 2 or not cell.codes.size:
        why = NO_SCORES if scores is None else ONE_SCORE if scores.size == 1 else statistic.reason
        yield replace(statistic, n=0, reason=why)
        return
    codes, count = _labelled(cell)
    judge = quotient(np.where(codes >= 0, scores[np.maximum(codes, 0)], 0.0).sum(1), count)
    people = np.where(cell.gold_codes >= 0, scores[np.maximum(cell.gold_codes, 0)], np.nan)
    wide = float(np.ptp(scores))
    both = np.where(np.isfinite(judge), people, np.nan), judge
    yield _mean(cell, statistic, both, (-wide, wide), ("people", "judge"))


@measure(
    title="How much more often the judge chooses such answers than people do",
    axis="the judge's share less people's",
    section="accuracy",
    unit="difference",
    null=0.0,
    ends=(-1.0, 1.0),
    source="Panickssery, Bowman & Feng (2024), NeurIPS, arXiv:2404.13076; Dubois, Galambosi, Liang & "
    "Hashimoto (2024), COLM, arXiv:2404.04475",
)
def partiality(data: MeasureInput, *, toward: str) -> Iterator[Estimate]:
    """How much more often a judge chooses the answer that a column names than people choose it.

    For each item whose column names one of its answers and that has a gold label: the share of the judge's
    labels that are this answer, less 1 if the gold label is this answer too. The measure is the mean over
    these items. 0: the judge chooses such answers as often as people do; above 0, more often. With a column
    that names the longer of two answers it measures a preference for length, with one that names the answer
    that the judge wrote, self-preference. Undefined without such an item. In ``details``: ``judge`` and
    ``people``, the two shares.

    Args:
        toward: The column: a label for each item, and nothing where it says nothing.

    Raises:
        UnknownColumn: There is no such column.

    The judge chose the longer of two answers three times in four, people once:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "gold": list("abab"),
    ...                       "longer": list("aaba")})
    >>> partiality(frame, toward="longer")[0].value
    0.5
    """
    if toward not in data.gathered.columns:
        raise UnknownColumn(toward, data.gathered.columns, where="toward")
    column = encode(data.gathered[toward], toward, labels=True)
    for cell in data.cells(raters=ASKING, gold=True):
        place = {name: index for index, name in enumerate(cell.labels)}
        codes = np.array([*(place.get(name, -1) for name in column.values), -1])[column.codes]
        rows = cell.rows.reshape(len(cell.items), -1) if cell.items else np.zeros((0, 1), np.int32)
        named = np.where(rows >= 0, codes[np.maximum(rows, 0)], -1).max(1, initial=-1)
        labelled, count = _labelled(cell)
        gold = cell.gold_codes
        used = (named >= 0) & (gold >= 0) & (count > 0)
        judge = np.where(used, quotient((labelled == named[:, None]).sum(1), count), np.nan)
        people = np.where(used, gold == named, np.nan)
        left = {
            f"item without a label in {toward}": int((named < 0).sum()),
            "item without gold": int(((gold < 0) & (named >= 0)).sum()),
        }
        statistic = Statistic(
            method=f"mean over items of the judge's share of the answer that {toward} names, less people's",
            where={"toward": toward},
            null=0.0,
            excluded={**cell.counted, **{name: lost for name, lost in left.items() if lost}},
            reason=f"no item has a label in {toward}, a gold label and an answer"
            if cell.items
            else "no annotations",
        )
        if used.any():
            stray = none_goes_far(judge - people, "item", cell.resampling.confidence_level)
            statistic = replace(statistic, warnings=stray)
        # What people chose is given: the judge's share is what varies, between none and all.
        chosen = float(people[used].mean()) if used.any() else 0.0
        names = ("people", "judge")
        yield cell.estimated(_mean(cell, statistic, (people, judge), (-chosen, 1 - chosen), names))


@measure(
    title="How much more often the answer that stands first is chosen",
    axis="share of the first less share of the last",
    section="stability",
    unit="difference",
    null=0.0,
    ends=(-1.0, 1.0),
    compares=("variant",),
    source="Zheng et al. (2023), NeurIPS Datasets and Benchmarks, arXiv:2306.05685, section 3.3",
)
def position_bias(
    data: MeasureInput,
    *,
    order: str = "option_order",
    forward: str = "original",
    backward: str = "reversed",
) -> Iterator[Estimate]:
    """How much more often a judge chooses the answer that stands first than the one that stands last.

    For each item, with p the shares among its answers that have a label: ½ [(p(A) − p(Z)) asked forward
    + (p(Z) − p(A)) asked backward], where A is the first label of the label set and Z the last. The measure
    is the mean over the items that have answers in both orders. 0: the order does not matter; 1: whatever
    stands first wins; −1: whatever stands last. Of two answers it is p(A) forward less p(A) backward.
    Undefined without an item that has answers in both orders. In ``details``: ``alike``, the share of these
    items whose most frequent choice is the same answer in both orders (ties count as different).

    Args:
        order: The column that says in which order the answers stood: the factor of ``option_order``.
        forward: Its level with the label set's own order.
        backward: Its level with the order reversed.

    Raises:
        UnknownColumn: There is no such column.

    Asked in both orders about two items, the judge chooses the same answer of the first and whichever stands
    first of the second, so that the items have 0 and 1:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "option_order": ["original", "reversed"] * 2,
    ...                       "variant": ["v", "w"] * 2, "label": list("aaab")})
    >>> position_bias(frame)[0].value, position_bias(frame)[0].details["alike"]
    (0.5, 0.5)
    """
    if order not in data.gathered.columns:
        raise UnknownColumn(order, data.gathered.columns, where="order")
    levels = encode(data.gathered[order], order)
    for cell in data.cells(raters=ASKING):
        statistic = Statistic(
            method="mean over items of the share that chose the first answer less that which chose the last, "
            "both orders having equal weight",
            null=0.0,
            excluded=cell.counted,
            reason="no item has answers in both orders" if cell.items else "no annotations",
        )
        if not cell.codes.size or len(cell.labels) < 2:
            yield cell.estimated(replace(statistic, n=0))
            continue
        plain, turned = (_shares_at(cell, levels, level) for level in (forward, backward))
        first, last = (plain[:, 0] + turned[:, -1]) / 2, (plain[:, -1] + turned[:, 0]) / 2
        known = np.isfinite(first)
        alike = [_sole_most(some[known]) for some in (plain, turned)]
        same = (alike[0] == alike[1]) & (alike[0] >= 0)
        statistic = replace(statistic, details={"alike": float(same.mean())} if known.any() else {})
        yield cell.estimated(_mean(cell, statistic, (last, first), (-1.0, 1.0)))


def _sole_most(shares: Floats) -> np.ndarray:
    """The label with the largest share; -1 where several have it."""
    if not shares.size:
        return np.zeros(0, np.int64)
    top = shares.max(1, keepdims=True)
    return np.where((shares == top).sum(1) == 1, shares.argmax(1), -1)


@measure(
    title="How much padding an answer raises its grade",
    axis="padded less plain: share of choices, or score",
    section="stability",
    null=0.0,
    compares=("variant",),
    source="Zheng et al. (2023), NeurIPS Datasets and Benchmarks, arXiv:2306.05685, section 3.3",
)
def verbosity_bias(
    data: MeasureInput, *, padding: str = "padding", plain: str = "original", padded: str = "padded"
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
        padding: The column that says what was padded: ``factor_text`` where it is a template of the text.
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
    if padding not in data.gathered.columns:
        raise UnknownColumn(padding, data.gathered.columns, where="padding")
    levels = encode(data.gathered[padding], padding)
    for cell in data.cells(raters=ASKING):
        graded = padded in levels.values and padded not in cell.labels
        scores = scores_of(cell.labels, cell.label_set) if graded else np.zeros(0)
        what = (
            "the score of the padded answer less that of the plain one"
            if graded
            else "the share that chose an answer when padded less when not, answers alike"
        )
        statistic = Statistic(
            method=f"mean over items of {what}",
            null=0.0,
            excluded=cell.counted,
            reason="no item was graded both plain and padded" if cell.items else "no annotations",
        )
        tried = [index for index, label in enumerate(cell.labels) if label in levels.values]
        if scores is None or scores.size == 1:
            yield cell.estimated(replace(statistic, n=0, reason=NO_SCORES if scores is None else ONE_SCORE))
        elif not cell.codes.size or not (scores.size if graded else tried):
            yield cell.estimated(replace(statistic, n=0))
        else:
            before = _shares_at(cell, levels, plain)
            if graded:
                sides, wide = (
                    (before @ scores, _shares_at(cell, levels, padded) @ scores),
                    float(np.ptp(scores)),
                )
            else:
                after = [_shares_at(cell, levels, cell.labels[index])[:, index] for index in tried]
                sides, wide = (before[:, tried].mean(1), np.stack(after, 1).mean(1)), 1.0
            yield cell.estimated(_mean(cell, statistic, sides, (-wide, wide), ("plain", "padded")))
