"""F1: precision and recall of each label, and their means over labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from quaver.core.records import NO_LABEL, Estimate, LabelSet
from quaver.estimation.bootstrap import Draws, Floats, Resampling, Weighted, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells, checked
from quaver.estimation.column_roles import Columns
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.judgements import Judged, judge, treatment
from quaver.estimation.means import differing
from quaver.estimation.measure_protocol import Frame
from quaver.measures.variation.label_shares import ASKING

__all__ = ["confusion", "f1", "f1_statistic"]

_REFERENCE = (
    "van Rijsbergen (1979), Information Retrieval, ch. 7; macro: Opitz & Burst (2019), arXiv:1911.03347"
)


_N_A = "a class of their own (N/A)"


def f1(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    missing: Missing = "wrong",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """F1 of the labels against the gold labels: macro, micro, and of each label.

    F1 = 2·TP / (2·TP + FP + FN) of a label, over all answers of a cell. ``f1_macro`` is the mean of the
    labels' F1 over the labels that occur, as gold label or as answer (others have none); ``f1_micro``
    sums TP, FP and FN over labels first: with every answer labelled it is accuracy. A label that occurs
    and is never right has F1 = 0. An unanswered item counts against its gold label (FN) and for no other,
    is left out, or (``"category"``) is an answer of a class of its own, which is always wrong: ``f1_micro``
    is then accuracy, as Errica et al. (2024) count N/A. Undefined where no item has a gold label or nothing
    was answered. Intervals resample items.

    In the details of ``f1_macro``: ``majority``, the macro-F1 of always giving the commonest gold label; in a
    label's: ``precision``, ``recall`` (where they have a denominator), ``gold`` and ``given`` (counts).

    Source: van Rijsbergen (1979), Information Retrieval, ch. 7; macro: Opitz & Burst (2019),
    arXiv:1911.03347; N/A as a class: Errica et al. (2024), arXiv:2406.12334.

    Args:
        annotations: A row an annotation, with ``gold``; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        missing: ``"wrong"``, ``"drop"`` or ``"category"``.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        For each cell ``f1_macro``, ``f1_micro``, and ``f1_label`` with the label in the cell.

    Raises:
        MeasureError: The frame or an option cannot be used.

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
    resampling = Resampling(confidence, resamples, seed, interval)
    told = _N_A if checked(missing, ("wrong", "drop", "category")) == "category" else treatment(missing)
    found: list[Estimate] = []
    for cell in cells(
        annotations, raters=ASKING, by=by, labels=labels, columns=columns, group=group, gold=True
    ):
        judged = judge(cell, "drop" if missing == "drop" else "wrong")
        claim = Claim(
            "f1",
            f"F1, unanswered {told}",
            _REFERENCE,
            cell=cell.where,
            excluded=judged.excluded,
            n=cell.units.touched(np.asarray(judged.asked.any((1, 2)))),
        )
        found += _f1(claim, cell, judged, resampling, apart=missing == "category")
    return found


def confusion(cell: Cell, judged: Judged) -> Floats:
    """True positives, answers and gold labels by item and label, shape (items, labels, 3).

    The answers that `judge` counts; FP = answers − TP, FN = gold labels − TP.
    """
    shape = (len(cell.items), len(cell.labels))
    size = shape[0] * shape[1]
    item = np.broadcast_to(np.arange(shape[0])[:, None, None], cell.codes.shape)
    gold = np.zeros(shape[0], np.int64) if cell.gold is None else cell.gold.astype(np.int64)
    truth = item * shape[1] + gold[:, None, None]
    given = judged.asked & (cell.codes >= 0)
    answer = item * shape[1] + cell.codes
    parts = [truth[judged.right], answer[given], truth[judged.asked]]
    counts = [np.bincount(part, minlength=size).reshape(shape) for part in parts]
    return np.stack(counts, 2).astype(np.float64)


def f1_statistic(counts: Floats) -> Weighted:
    """Macro-F1, micro-F1 and each label's F1 under item weights, shape (samples, 2 + labels)."""
    items, labels, _ = counts.shape

    def statistic(weights: Floats) -> Floats:
        sums = (weights @ counts.reshape(items, -1)).reshape(len(weights), labels, 3)
        right, both = sums[:, :, 0], sums[:, :, 1] + sums[:, :, 2]
        occurs = both > 0
        each = np.where(occurs, 2 * right / np.where(occurs, both, 1), np.nan)
        number = occurs.sum(1)
        total = np.where(occurs, each, 0).sum(1)
        macro = np.where(number > 0, total / np.maximum(number, 1), np.nan)
        whole = both.sum(1)
        micro = np.where(whole > 0, 2 * right.sum(1) / np.where(whole > 0, whole, 1), np.nan)
        return np.concatenate([macro[:, None], micro[:, None], each], 1)

    return statistic


def _with_unanswered(counts: Floats, cell: Cell, judged: Judged) -> Floats:
    """The counts with a last label, that of the unanswered: never right, and nobody's gold label."""
    own = np.zeros((len(counts), 1, 3))
    own[:, 0, 1] = (judged.asked & (cell.codes < 0)).sum((1, 2))
    return np.concatenate([counts, own], 1)


def _f1(claim: Claim, cell: Cell, judged: Judged, resampling: Resampling, *, apart: bool) -> list[Estimate]:
    if judged.reason:
        return [
            undefined(replace(claim, measure=kind), cell.units, resampling, judged.reason)
            for kind in ("f1_macro", "f1_micro")
        ]
    counts, labels = confusion(cell, judged), cell.labels
    if apart:
        counts, labels = _with_unanswered(counts, cell, judged), (*labels, NO_LABEL)
    draws = bootstrap(f1_statistic(counts), cell.units, resampling)
    sums = counts.sum(0)
    right, asked = counts[:, :, 0].sum(1), counts[:, :, 2].sum(1)
    own = np.where(asked > 0, right / np.maximum(asked, 1), np.nan)
    claim = replace(claim, differing=differing(own, cell.units))
    occurs = int((sums[:, 1:].sum(1) > 0).sum())
    share = float(sums[:, 2].max() / sums[:, 2].sum())
    shared = {"labels": occurs, "answers": int(sums[:, 2].sum())}
    majority = {"majority": 2 * share / (1 + share) / int((sums[:, 2] > 0).sum())}
    found = [
        _one(replace(claim, measure="f1_macro", details={**shared, **majority}), cell, draws, resampling, 0),
        _one(replace(claim, measure="f1_micro", details=shared), cell, draws, resampling, 1),
    ]
    for index, label in enumerate(labels):
        right, given, gold = (float(value) for value in sums[index])
        details: dict[str, Any] = {"given": int(given), "gold": int(gold)}
        details |= {"precision": right / given} if given else {}
        details |= {"recall": right / gold} if gold else {}
        one = replace(
            claim,
            measure="f1_label",
            cell={**cell.where, "label": label},
            details=details,
            reason="the label does not occur",
        )
        found.append(_one(one, cell, draws, resampling, 2 + index))
    return found


def _one(claim: Claim, cell: Cell, draws: Draws, resampling: Resampling, index: int) -> Estimate:
    value = float(draws.point[index])
    claim = replace(claim, spread=partial(mean_within, value))
    return estimate(claim, draws, cell.units, resampling, index)
