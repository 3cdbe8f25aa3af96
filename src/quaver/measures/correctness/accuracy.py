"""How often the labels are the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.bootstrap import Resampling, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells
from quaver.estimation.column_roles import Columns
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.judgements import treatment
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import Frame
from quaver.measures.sensitivity.label_shares import ASKING

__all__ = ["accuracy"]


def accuracy(
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
    """The share of answers whose label is the item's gold label, beside what guessing would give.

    Accuracy = right answers / answers about items with a gold label. In ``details``: ``chance`` (one over
    the number of labels), ``majority`` (the share of these items that have the commonest gold label,
    ``majority_label``), and the accuracy under the other treatment of the unanswered. Undefined where no
    item has a gold label or nothing was answered. The interval resamples items.

    Source: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, section 8.3.

    Args:
        annotations: A row an annotation, with a ``gold`` column; see `Measure`.
        labels: The label set; without it, the labels and gold labels that occur.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        missing: ``"wrong"``: an answer without a label is wrong; ``"drop"``: it is left out.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", None, "a", "b"], "gold": list("aaab")})
    >>> found = accuracy(frame)[0]
    >>> found.value, found.details["chance"], found.details["majority"], found.details["left_out"]
    (0.75, 0.5, 0.75, 1.0)
    """
    treatment(missing)
    resampling = Resampling(confidence, resamples, seed, interval)
    found = cells(annotations, raters=ASKING, by=by, labels=labels, columns=columns, group=group, gold=True)
    return [_accuracy(cell, resampling, missing) for cell in found]


def _accuracy(cell: Cell, resampling: Resampling, missing: Missing) -> Estimate:
    units = cell.units
    gold = np.full(len(cell.items), -1) if cell.gold is None else cell.gold
    known = gold >= 0
    answered = np.where(known, (cell.codes >= 0).sum((1, 2)), 0).astype(float)
    bare = np.where(known, cell.unanswered.sum((1, 2)), 0).astype(float)
    right = np.where(known, (cell.codes == gold[:, None, None]).sum((1, 2)), 0).astype(float)
    asked = answered + bare if missing == "wrong" else answered
    n = units.touched(asked > 0)
    excluded = {"item without gold": int((~known).sum())} if not known.all() else {}
    if missing == "drop" and bare.any():
        excluded["unanswered"] = int(bare.sum())
    claim = Claim(
        "accuracy",
        f"share of right answers, unanswered {treatment(missing)}",
        cell=cell.where,
        excluded=excluded,
        n=n,
        reason="no annotations" if not cell.items else "no gold labels" if not known.any() else "no answers",
    )
    if not n:
        return undefined(claim, units, resampling)
    truths = np.bincount(gold[known & (asked > 0)], minlength=len(cell.labels))
    wrong, left = right.sum() / (answered + bare).sum(), right.sum() / max(1.0, answered.sum())
    details = {
        "chance": 1 / len(cell.labels),
        "majority": float(truths.max() / truths.sum()),
        "majority_label": cell.labels[int(truths.argmax())],
        "answers": int(asked.sum()),
        "unanswered": int(bare.sum()),
        "counted_wrong": float(wrong),
        "left_out": float(left) if answered.any() else None,
    }
    draws = bootstrap(ratio(right[:, None], asked[:, None]), units, resampling)
    own = np.where(asked > 0, right / np.maximum(asked, 1), np.nan)
    value = float(draws.point[0])
    claim = replace(
        claim,
        details=details,
        differing=differing(own, units),
        spread=partial(mean_within, value),
    )
    return estimate(claim, draws, units, resampling)
