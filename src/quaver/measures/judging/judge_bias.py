"""What a judge favours: a place, a length, its own answers, high grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

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

    >>> scores_of(["poor", "good"], None).tolist()
    [1.0, 2.0]
    """
    numbers = numbers_of(labels)
    if numbers is None and (label_set is None or label_set.level not in UNORDERED):
        return np.arange(1.0, len(labels) + 1)
    return numbers


def numbers_of(labels: Sequence[str]) -> Floats | None:
    """What labels count as, as numbers; None where one is no number.

    >>> numbers_of(["1", "2.5"]).tolist(), numbers_of(["1", "good"])
    ([1.0, 2.5], None)
    """
    try:
        found = np.array([float(label) for label in labels], np.float64)
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def mean_over_items(
    cell: Cell,
    values: Floats,
    statistic: Statistic,
    ends: tuple[float, float],
    details: Mapping[str, Any] | None = None,
) -> Statistic:
    """The mean of a number that each item has.

    Returns:
        The statistic; undefined where no item has a number.
    """
    known = np.isfinite(values)
    if not known.any():
        return statistic

    return replace(
        statistic,
        reason=None,
        n=None,
        under=Ratio(np.where(known, values, 0.0)[:, None], known.astype(np.float64)[:, None]),
        ends=ends,
        values=values,
        details=details or {},
    )


def shares_at(cell: Cell, levels: Encoded, level: str) -> Floats:
    """Each item's share of each label where a column has one level; NaN where it has no label there."""
    code = levels.values.index(level) if level in levels.values else -2
    at = np.where(cell.rows >= 0, levels.codes[np.maximum(cell.rows, 0)], -3)
    codes = np.where(at == code, cell.codes, -1).reshape(len(cell.items), -1)
    counts = np.stack([(codes == one).sum(1) for one in range(len(cell.labels))], 1).astype(np.float64)
    total = counts.sum(1, keepdims=True)
    return quotient(counts, total)


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
        n=0,
        excluded=cell.counted,
        reason="no item has both a score and a gold score" if cell.items else "no annotations",
    )
    if scores is None or scores.size == 1:
        yield replace(statistic, reason=NO_SCORES if scores is None else ONE_SCORE)
        return
    if not cell.codes.size or cell.gold is None:
        yield statistic
        return
    codes = cell.codes.reshape(len(cell.items), -1)
    given = codes >= 0
    count = given.sum(1)
    judge = np.where(given, scores[np.maximum(codes, 0)], 0.0).sum(1) / np.maximum(count, 1)
    people = scores[np.maximum(cell.gold, 0)]
    used = (count > 0) & (cell.gold >= 0)
    details = {"judge": float(judge[used].mean()), "people": float(people[used].mean())} if used.any() else {}
    wide = float(np.ptp(scores))
    yield mean_over_items(cell, np.where(used, judge - people, np.nan), statistic, (-wide, wide), details)


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
    named = encode(data.gathered[toward], toward, labels=True)
    for cell in data.cells(raters=ASKING, gold=True):
        place = {name: index for index, name in enumerate(cell.labels)}
        codes = np.array([*(place.get(name, -1) for name in named.values), -1])[named.codes]
        yield cell.estimated(_statistic(cell, _of_items(cell, codes), toward))


def _of_items(cell: Cell, codes: np.ndarray) -> np.ndarray:
    """Each item's code in a column of items, -1 where it names no answer."""
    rows = cell.rows.reshape(len(cell.items), -1) if cell.items else np.zeros((0, 1), np.int32)
    known = np.where(rows >= 0, codes[np.maximum(rows, 0)], -1)
    return np.asarray(known.max(1, initial=-1))


def _statistic(cell: Cell, named: np.ndarray, toward: str) -> Statistic:
    labelled = cell.codes.reshape(len(cell.items), -1) if cell.items else np.zeros((0, 1), np.int32)
    count = (labelled >= 0).sum(1)
    gold = cell.gold_codes
    used = (named >= 0) & (gold >= 0) & (count > 0)
    judge = (labelled == named[:, None]).sum(1) / np.maximum(count, 1)
    people = (gold == named).astype(np.float64)
    values: Floats = np.where(used, judge - people, np.nan)
    left = {
        f"item without a label in {toward}": int((named < 0).sum()),
        "item without gold": int(((gold < 0) & (named >= 0)).sum()),
    }
    statistic = Statistic(
        method=f"mean over items of the judge's share of the answer that {toward} names, less people's",
        where={"toward": toward},
        null=0.0,
        n=0,
        excluded={**cell.counted, **{name: lost for name, lost in left.items() if lost}},
        reason=f"no item has a label in {toward}, a gold label and an answer"
        if cell.items
        else "no annotations",
    )
    if not used.any():
        return statistic
    details = {"judge": float(judge[used].mean()), "people": float(people[used].mean())}
    # What people chose is given: the judge's share is what varies, between none and all.
    ends = (-details["people"], 1 - details["people"])
    stray = none_goes_far(values, "item", cell.resampling.confidence_level)
    statistic = replace(statistic, warnings=stray)
    return mean_over_items(cell, values, statistic, ends, details)


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
        yield cell.estimated(_bias_statistic(cell, levels, forward, backward))


def _bias_statistic(cell: Cell, levels: Encoded, forward: str, backward: str) -> Statistic:
    statistic = Statistic(
        method="mean over items of the share that chose the first answer less that which chose the last, "
        "both orders having equal weight",
        null=0.0,
        excluded=cell.counted,
        n=0,
        reason="no item has answers in both orders" if cell.items else "no annotations",
    )
    if not cell.codes.size or len(cell.labels) < 2:
        return statistic
    both = [shares_at(cell, levels, level) for level in (forward, backward)]
    signs = (1.0, -1.0)
    each = sum(0.5 * sign * (one[:, 0] - one[:, -1]) for sign, one in zip(signs, both, strict=True))
    values = np.asarray(each, np.float64)
    known = np.isfinite(values)
    alike = [_sole_most(one[known]) for one in both]
    same = (alike[0] == alike[1]) & (alike[0] >= 0)
    details = {"alike": float(same.mean())} if known.any() else {}
    return mean_over_items(cell, values, statistic, (-1.0, 1.0), details)


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
        made = _scores if graded else _choices
        yield cell.estimated(made(cell, levels, plain, padded))


def _said(cell: Cell, method: str) -> Statistic:
    reason = "no item was graded both plain and padded" if cell.items else "no annotations"
    return Statistic(method=method, null=0.0, excluded=cell.counted, n=0, reason=reason)


def _choices(cell: Cell, levels: Encoded, plain: str, _: str) -> Statistic:
    statistic = _said(
        cell, "mean over items of the share that chose an answer when padded less when not, answers alike"
    )
    tried = [index for index, label in enumerate(cell.labels) if label in levels.values]
    if not tried or not cell.codes.size:
        return statistic
    before = shares_at(cell, levels, plain)[:, tried]
    after = np.stack([shares_at(cell, levels, cell.labels[index])[:, index] for index in tried], 1)
    return _difference(cell, before.mean(1), after.mean(1), statistic, (-1.0, 1.0))


def _scores(cell: Cell, levels: Encoded, plain: str, padded: str) -> Statistic:
    scores = scores_of(cell.labels, cell.label_set)
    statistic = _said(cell, "mean over items of the score of the padded answer less that of the plain one")
    if scores is None or scores.size == 1:
        return replace(statistic, reason=NO_SCORES if scores is None else ONE_SCORE)
    if not cell.codes.size or not scores.size:
        return statistic
    wide = float(np.ptp(scores))
    before, after = (shares_at(cell, levels, level) @ scores for level in (plain, padded))
    return _difference(cell, before, after, statistic, (-wide, wide))


def _difference(
    cell: Cell, before: Floats, after: Floats, statistic: Statistic, ends: tuple[float, float]
) -> Statistic:
    values = after - before
    known = np.isfinite(values)
    details = (
        {"plain": float(before[known].mean()), "padded": float(after[known].mean())} if known.any() else {}
    )
    return mean_over_items(cell, values, statistic, ends, details)
