"""Recall and precision of each label, and F1, which is both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.agreement.disagreement import members
from quaver.core.records import NO_LABEL, OF_SETS, Estimate, IntervalWarning
from quaver.core.rows import defined
from quaver.estimation.cells import Missing
from quaver.estimation.coded_columns import label_counts
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import no_narrower, none_goes_far
from quaver.estimation.jackknife import FEW, Floats, Weighted
from quaver.estimation.means import mean_defined, quotient, share_of
from quaver.estimation.measure_input import Judged, MeasureInput, judge, treatment
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

UNSEEN = IntervalWarning(
    "one of the labels occurs nowhere here: the interval cannot allow for items that have it"
)


@measure(missing=("wrong", "drop", "category"), estimands=("fixed", "population"), of_classes=True)
def f1(data: MeasureInput, *, missing: Missing) -> Iterator[Estimate]:
    """F1 of the labels against the gold labels: macro, micro, and for each label.

    F1 = 2·TP / (2·TP + FP + FN) of a label, over all answers of a cell. ``f1_macro`` is the mean of the
    labels' F1 over the labels that occur, as gold label or as answer (others have none), of labels that are
    sets over the labels in them; ``f1_micro``
    sums TP, FP and FN over labels first: with every answer labelled it is accuracy. A label that occurs
    and is never right has F1 = 0. Undefined where no item has a gold label or nothing was answered.
    Intervals resample items.

    In the details of ``f1_macro``: ``majority``, the macro F1 of always giving the most frequent gold label,
    and ``with_gold``, how many labels some item has as its gold label. If a label set is long and items are
    few, labels that no item has make ``f1_macro`` far lower than it would be with many items, and no interval
    can show this; a warning says so. In a label's details: ``precision``, ``recall`` (where they have a
    denominator), ``gold`` and ``given`` (counts), ``gold_items``.

    Args:
        missing: An answer without a label counts against its gold label (FN) and for no other
            (``"wrong"``), is left out (``"drop"``), or is an answer of a class of its own, which is always
            wrong (``"category"``): ``f1_micro`` is then accuracy, as Errica et al. (2024,
            arXiv:2406.12334) count N/A.

    Returns:
        For each cell ``f1_macro``, ``f1_micro``, and ``f1_label`` with the label in the cell. Of sets of
        labels also ``f1_sample``, the mean over answers of 2 |A ∩ B| / (|A| + |B|), with A the set and B the
        gold set: 1 where both are empty.

    Gold a a b b, given a b b b: F1(a) = 2/3, F1(b) = 4/5:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("abbb"), "gold": list("aabb")})
    >>> [(e.measure, round(e.value, 6)) for e in f1(frame)]
    [('f1_macro', 0.733333), ('f1_micro', 0.75), ('f1_label', 0.666667), ('f1_label', 0.8)]

    With the last one unanswered, 2 of 3 answers to 4 items are right: 4/7, or 4/8 with a class N/A:

    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "b", "b", None], "gold": list("aabb")})
    >>> [round(f1(frame, missing=missing)[1].value, 6) for missing in ("wrong", "category")]
    [0.571429, 0.5]
    """
    apart = missing == "category"
    treated = "a class of their own (N/A)" if apart else treatment(missing)
    for cell in data.cells(raters=ASKING, gold=True):
        judged = judge(cell, "drop" if missing == "drop" else "wrong")
        statistic = Statistic(
            method=f"F1, unanswered {treated}",
            excluded=judged.excluded,
            n=judged.asked.any((1, 2)),
            reason=judged.reason,
        )
        macro, *rest = map(cell.estimated, _f1(statistic, cell, judged, apart=apart))
        labels = [estimate for estimate in rest if estimate.measure.endswith("_label")]
        yield _with_rare(macro, labels)
        yield from rest


@measure(
    missing=("wrong", "drop"),
    raters=ASKING,
    gold=True,
    estimands=("fixed", "population"),
    of_classes=True,
)
def recall(cell: Cell, *, missing: Missing) -> Iterator[Statistic]:
    """How often the items of each gold label got it.

    Recall of a label = right answers / answers about items with that gold label. Undefined where no item has
    it, or none of them was answered.

    Returns:
        For each cell and label an estimate, with the label in the cell.

    Gold a a b b, given a b b b: one of two for a, two of two for b:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("abbb"), "gold": list("aabb")})
    >>> [(one.cell["label"], one.value) for one in recall(frame)]
    [('a', 0.5), ('b', 1.0)]
    """
    statistic = Statistic(
        method=f"recall, unanswered {treatment(missing)}", reason="no item has this gold label"
    )
    yield from _by_label(cell, judge(cell, missing), statistic, 2)


@measure(raters=ASKING, gold=True, estimands=("fixed", "population"), of_classes=True)
def precision(cell: Cell) -> Iterator[Statistic]:
    """How often each label is right where it is given.

    Precision of a label = right answers with it / answers with it, about items with a gold label. Undefined
    where no answer has it.

    Returns:
        For each cell and label an estimate, with the label in the cell.

    Gold a a b b, given a b b b: a is right, b in two of three answers:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("abbb"), "gold": list("aabb")})
    >>> [(one.cell["label"], round(one.value, 3)) for one in precision(frame)]
    [('a', 1.0), ('b', 0.667)]
    """
    statistic = Statistic(method="precision", reason="no answer has this label")
    yield from _by_label(cell, judge(cell, "drop"), statistic, 1)


def _by_label(cell: Cell, judged: Judged, statistic: Statistic, of: int) -> Iterator[Statistic]:
    """Each label's right answers, as a share of the answers with it (1) or of its gold labels (2)."""
    statistic = replace(statistic, excluded=judged.excluded, reason=judged.reason or statistic.reason)
    if judged.reason:
        yield statistic
        return
    labels, counts = confusion(cell, judged)
    for index, label in enumerate(labels):
        _, given, gold = counts[:, index].sum(0).tolist()
        items, items_found = (int((counts[:, index, which] > 0).sum()) for which in (of, 0))
        details = {"given": int(given), "gold": int(gold), "items": items, "found": items_found}
        here = replace(statistic, where={"label": label}, details=details)
        yield share_of(cell, counts[:, index, 0], counts[:, index, of], here)


def confusion(cell: Cell, judged: Judged) -> tuple[Sequence[str], Floats]:
    """The labels, and true positives, answers and gold labels by item and label, shape (items, labels, 3).

    The answers that `judge` counts; FP = answers − TP, FN = gold labels − TP. Where labels are sets, each
    label of a set counts by itself, so that an answer may be right about one and wrong about another.
    """
    labels, held = _held(cell)
    gold = np.where((cell.gold_codes >= 0)[:, None], held[cell.gold_codes], 0.0)
    answers = _given(cell, judged) @ held
    asked = judged.asked.sum((1, 2))[:, None] * gold
    return labels, np.stack([answers * gold, answers, asked], 2)


def _held(cell: Cell) -> tuple[Sequence[str], Floats]:
    """The single labels, and which of them each label of the cell holds: itself, where labels are no sets."""
    if cell.label_set is not None and cell.label_set.level in OF_SETS:
        return members(cell.labels)
    return cell.labels, np.eye(len(cell.labels))


def _given(cell: Cell, judged: Judged) -> Floats:
    """How often each label of the cell was given to each item, among the answers that count."""
    counted = np.where(judged.asked, cell.codes, -1)
    return label_counts(counted.reshape(len(cell.items), -1), len(cell.labels))


def f1_statistic(counts: Floats) -> Weighted:
    """Macro-F1, micro-F1 and each label's F1 under item weights, shape (samples, 2 + labels)."""
    items, labels, _ = counts.shape

    def statistic(weights: Floats) -> Floats:
        sums = (weights @ counts.reshape(items, -1)).reshape(len(weights), labels, 3)
        right, both = 2 * sums[:, :, 0], sums[:, :, 1] + sums[:, :, 2]
        each = quotient(right, both)
        macro, micro = mean_defined(each), quotient(right.sum(1), both.sum(1))
        return np.column_stack([macro, micro, each])

    return statistic


def _with_rare(macro: Estimate, labels: Sequence[Estimate]) -> Estimate:
    """The macro F1, whose interval holds what the labels allow in which next to nothing differs.

    A label of three items that are all right says little of the next item, and nothing to the variance.
    """
    estimates = defined(labels)
    few = any(estimate.details.get("differing", 0) < FEW for estimate in estimates)
    return no_narrower(macro, estimates, (0.0, 1.0)) if few else macro


def _f1(statistic: Statistic, cell: Cell, judged: Judged, *, apart: bool) -> Iterator[Statistic]:
    if judged.reason:
        yield replace(statistic, part="_macro")
        yield replace(statistic, part="_micro")
        return
    labels, counts = confusion(cell, judged)
    having = np.array(list(map(cell.units.touched, counts[:, :, 2].T > 0)))
    counting = counts[:, :, 1:].any((0, 2))
    if labels is cell.labels:
        counting |= np.isin(np.arange(len(labels)), [*cell.expected])
    unseen = () if having[counting].all() else (UNSEEN,)
    if apart:  # a last label, that of the unanswered: never right, and nobody's gold label
        bare = np.zeros((len(counts), 1, 3))
        bare[:, 0, 1] = (judged.asked & (cell.codes < 0)).sum((1, 2))
        counts, labels, having = np.concatenate([counts, bare], 1), (*labels, NO_LABEL), np.append(having, 0)
    right, given, gold = counts.sum(0).T
    statistic = replace(statistic, under=f1_statistic(counts), ends=(0.0, 1.0))
    share, with_gold = float(gold.max() / gold.sum()), int((gold > 0).sum())
    shared = {"labels": int((given + gold > 0).sum()), "answers": int(gold.sum())}
    details: dict[str, Any] = {"majority": 2 * share / (1 + share) / with_gold, "with_gold": with_gold}
    yield replace(statistic, part="_macro", details=shared | details, warnings=unseen)
    own = quotient(counts[:, :, 0].sum(1), counts[:, :, 2].sum(1))
    stray = none_goes_far(own, "item", cell.resampling.confidence_level)
    yield replace(statistic, part="_micro", column=1, details=shared, warnings=stray)
    precision, recall = quotient(right, given), quotient(right, gold)
    for index, label in enumerate(labels):
        details = {"given": int(given[index]), "gold": int(gold[index]), "gold_items": int(having[index])}
        if given[index]:
            details["precision"] = float(precision[index])
        if gold[index]:
            details["recall"] = float(recall[index])
        yield replace(
            statistic,
            part="_label",
            column=2 + index,
            n=counts[:, index, 1:].any(1),
            where={"label": label},
            warnings=() if having[index] else (UNSEEN,),
            details=details,
            reason="the label does not occur",
        )
    if cell.label_set is not None and cell.label_set.level in OF_SETS:
        yield _sample_f1(statistic, cell, judged)


def _sample_f1(statistic: Statistic, cell: Cell, judged: Judged) -> Statistic:
    """The mean over answers of how far a set is the gold set; an answer without a set that counts has 0."""
    _, held = _held(cell)
    both = held.sum(1)[:, None] + held.sum(1)
    alike = np.where(both > 0, quotient(2 * (held @ held.T), both), 1.0)
    above = (_given(cell, judged) * alike[np.maximum(cell.gold_codes, 0)]).sum(1)
    plain = replace(statistic, under=None, part="_sample", n=None)
    return share_of(cell, above, judged.asked.sum((1, 2)), plain)
