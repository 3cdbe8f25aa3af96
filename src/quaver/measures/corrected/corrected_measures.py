"""Shares, accuracy and scores on all items, corrected by a designed sample of gold labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from quaver.agreement.disagreement import members
from quaver.core.records import OF_SETS, UNORDERED, Estimate, LabelSet
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import clopper_pearson
from quaver.estimation.jackknife import Floats
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Statistic
from quaver.measures.corrected.gold_cells import (
    SOURCE,
    TOGETHER,
    Correcting,
    GoldCell,
    filled,
    gold_cells,
    or_nothing,
)

_ENDS = (0.0, 1.0)


def scores_of(labels: Sequence[str], label_set: LabelSet | None) -> Floats | None:
    """What each label counts as: its number, or its place where labels are ordered; None where nothing.

    >>> scores_of(["1", "2.5"], None).tolist(), scores_of(["poor", "good"], None).tolist()
    ([1.0, 2.5], [1.0, 2.0])
    """
    try:
        numbers = np.array(list(map(float, labels)), np.float64)
    except ValueError:
        numbers = np.array([np.nan])
    if np.isfinite(numbers).all():
        return numbers
    in_order = label_set is None or label_set.level not in UNORDERED
    return np.arange(1.0, len(labels) + 1) if in_order else None


@measure(compares=TOGETHER, source=SOURCE, of_classes=True)
def corrected_share(data: MeasureInput) -> Iterator[Estimate]:
    """The share of items with each label, or whose set has it, corrected by a designed gold sample.

    The mean over gold items of 1[y = label], each weighted by the inverse of its probability of being drawn,
    minus λ times a correction. With s the share of an item's labels, over all prompts, that are this label,
    the correction is the same weighted mean of s over gold items minus the mean of s over all items. λ, from
    0 to 1, minimises the variance. Undefined where all gold labels, or none, are that label. ``by`` may name
    columns of items, whose groups are then separate populations. In ``details``: ``naive`` (the share of the
    label under each prompt, and its range), ``gold_alone``, ``effective_gold`` (the number of gold labels
    that would be as precise by themselves).

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
    yield from or_nothing(data, _shares(data))


def _shares(data: MeasureInput) -> Iterator[Estimate]:
    for gold in gold_cells(data):
        names, held = list(gold.cell.labels), np.eye(len(gold.cell.labels))
        if data.labels is not None and data.labels.level in OF_SETS:
            names, held = members(names)
        for label, numbers in zip(names, held.T, strict=True):
            shape = Statistic(
                method="share among gold labels drawn by design, corrected", where={"label": label}
            )
            yield _mean(gold, numbers, _ENDS, shape)


def _mean(gold: GoldCell, numbers: Floats, ends: tuple[float, float], shape: Statistic) -> Estimate:
    """The mean over all items of what their true labels count as."""
    prediction, naive = gold.predicted(numbers)
    true = np.where(gold.gold >= 0, numbers[gold.gold], np.nan)
    made = Correcting(gold.cell, gold.known, gold.regression(true, gold.known), prediction, ends)
    shape = replace(shape, excluded=gold.excluded, details={**naive, **made.beside()})
    return gold.cell.estimated(made.statistic(made.corrected, shape))


@measure(compares=TOGETHER, source=SOURCE)
def corrected_score(data: MeasureInput) -> Iterator[Estimate]:
    """The mean score that people would give all items, from a judge's scores and a designed sample of theirs.

    The mean of the gold scores, each weighted by the inverse of its probability of being drawn, minus λ times
    a correction: the same weighted mean of the items' mean scores over all prompts and models, minus their
    mean over all items. Labels that are not numbers count by their place in the label set, from 1. With
    ``by: [system]``, a column of items, it is each system's score. Undefined where the labels are not numbers
    and the label set has no order, and where the gold scores do not vary. In ``details``: ``naive`` (the
    judge's own mean under each prompt: the lowest, the highest and their mean), ``gold_alone``,
    ``effective_gold``.

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
    yield from or_nothing(data, _scores(data))


def _scores(data: MeasureInput) -> Iterator[Estimate]:
    for gold in gold_cells(data):
        numbers = scores_of(gold.cell.labels, data.labels)
        shape = Statistic(
            method="mean of gold scores drawn by design, corrected by the judge's", source=SOURCE
        )
        if numbers is None:
            yield gold.cell.estimated(
                replace(shape, reason="the labels are not numbers", excluded=gold.excluded)
            )
        else:
            ends = float(numbers.min(initial=np.inf)), float(numbers.max(initial=-np.inf))
            yield _mean(gold, numbers, ends, shape)


@measure(missing=("wrong", "drop"), compares=TOGETHER, source=SOURCE)
def corrected_accuracy(data: MeasureInput, *, missing: Missing) -> Iterator[Estimate]:
    """The share of a model's labels that are right, on all items and not only on those with a gold label.

    For each prompt and model: the mean over gold items of 1[label = gold label], each weighted by the inverse
    of its probability of being drawn, minus λ times a correction: the same weighted mean of the label's
    agreement with the other prompts and models (with one prompt alone: of its confidence), minus the mean of
    this over all items. Undefined where every gold item, or none, is labelled right: the exact bound is then
    in ``details``. An answer without a label is wrong, or (``missing="drop"``) its item is left out.

    Raises:
        MeasureError: There are no columns of a gold sample.

    Of 80 items 40 were drawn and labelled by two prompts, which agree where the first is right: 30 of the 40
    drawn, but 50 of all 80.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"item": range(80), "gold": "a", "gold_probability": 0.5,
    ...     "gold_drawn": [True] * 40 + [False] * 40})
    >>> said = pl.Series("label", list("aaab") * 10 + list("ab") * 20)
    >>> first = rows.with_columns(said, variant=pl.lit("p"))
    >>> second = rows.with_columns(label=pl.lit("a"), variant=pl.lit("q"))
    >>> found = corrected_accuracy(pl.concat([first, second], how="diagonal"))[0]
    >>> found.cell["variant"], round(found.details["gold_alone"]["value"], 3), round(found.value, 3)
    ('p', 0.75, 0.625)
    """
    yield from or_nothing(data, _accuracies(data, missing))


def _accuracies(data: MeasureInput, missing: Missing) -> Iterator[Estimate]:
    for gold in gold_cells(data, numbers=("confidence",)):
        shares = np.nan_to_num(gold.shares)
        together = shares.sum(1)
        for prompt in range(shares.shape[1]):
            here, prediction = shares[:, prompt], filled(gold.cell.numbers["confidence"][:, prompt])
            if shares.shape[1] > 1:
                prediction = (here * (together - here)).sum(1) / (shares.shape[1] - 1)
            cell = gold.cell
            answered = (cell.codes[:, prompt] >= 0).sum(1)
            every = answered + (cell.unanswered[:, prompt].sum(1) if missing == "wrong" else 0)
            right = here[np.arange(len(here)), gold.gold] * answered / np.maximum(every, 1)
            right = np.where(gold.gold >= 0, right, np.nan)
            kept = gold.known & (every > 0)
            made = Correcting(cell, kept, gold.regression(right, kept), prediction, _ENDS)
            details, known = made.beside(), right[kept & np.isfinite(right)]
            if known.size and np.ptp(known) == 0 and known[0] in _ENDS:
                level = cell.resampling.confidence_level
                details["exact_bound"] = tuple(clopper_pearson(int(known.sum()), known.size, level))
            shape = Statistic(
                method="share of right labels among gold labels drawn by design, corrected by agreement with "
                "other prompts",
                where=cell.strata[prompt],
                excluded=gold.excluded,
                details=details,
            )
            yield cell.estimated(made.statistic(made.corrected, shape))
