"""One label an item from several raters: the majority's, and Dawid & Skene's, who weigh raters by errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import LabelSet
from quaver.estimation.cells import Frame, cells, guarded
from quaver.estimation.coded_columns import Columns, label_counts
from quaver.estimation.jackknife import Floats, one_thread

_FLOOR = 1e-10
"""Probabilities are kept above this, so that an error never seen before is unlikely and not impossible."""


class DawidSkene(NamedTuple):
    """What the model of Dawid & Skene makes of raters' labels.

    Attributes:
        posterior: Probability of each label for each item, shape (items, labels); NaN for an item that
            nobody labelled.
        prior: How frequent each label is, shape (labels,).
        errors: How often each rater gives each label (last axis) to items of each true label, shape
            (raters, labels, labels).
        steps: Iterations until the likelihood settled.
    """

    posterior: Floats
    prior: Floats
    errors: Floats
    steps: int


def votes(codes: NDArray[np.int32], labels: int) -> Floats:
    """How often each rater gave each label to each item, from codes of shape (items, raters, repeats).

    Returns:
        Counts, shape (items, raters, labels).
    """
    return label_counts(codes, labels)


def majority(counts: Floats) -> Floats:
    """The most frequent label of each item; a tie is shared evenly.

    Returns:
        Shape (items, labels), rows that sum to 1; NaN for an item without labels.

    >>> majority(np.array([[[1.0, 0], [1, 0], [0, 1]], [[1, 0], [0, 1], [0, 0]]])).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    total = counts.sum(1)
    most = total.max(1, keepdims=True, initial=0.0)
    first = ((total == most) & (most > 0)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(first / first.sum(1, keepdims=True))


@guarded
@one_thread()
def dawid_skene(counts: Floats, *, tolerance: float = 1e-7, most_steps: int = 500) -> DawidSkene:
    r"""The likeliest labels where each rater errs in a way of its own (EM).

    A rater k gives label l to an item of true label j with probability π_kjl, independently of the other
    raters given the truth. From the majority's labels, in turns: π and the labels' frequencies p from the
    items' probabilities T, then T_ij ∝ p_j Π_k Π_l π_kjl^n_ikl, until the likelihood settles.
    Source: Dawid & Skene (1979), Applied Statistics 28(1), 20-28, equations 2.3 to 2.5.

    It can be worse than the majority: with few items or raters (the error rates are then noise), where
    raters err together (prompts to one model do), and where most raters are wrong about a label.

    Args:
        counts: How often each rater gave each label to each item, shape (items, raters, labels).
        tolerance: It has settled when the log-likelihood changes by less than this share.
        most_steps: Iterations at most.

    Returns:
        The posterior, and what was learnt of the raters.

    Two raters who are right set a third aside who says ``b`` to everything:

    >>> says = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 1], [1, 1, 1], [0, 0, 1]])
    >>> found = dawid_skene(np.eye(2)[says])
    >>> found.posterior.round(3).tolist()[1], found.errors[2].round(3).tolist()
    ([1.0, 0.0], [[0.0, 1.0], [0.0, 1.0]])
    """
    known = counts.sum((1, 2)) > 0
    some = counts[known]
    items, raters, labels = some.shape
    posterior = np.full((counts.shape[0], labels), np.nan)
    if not items or not labels:
        return DawidSkene(posterior, np.full(labels, np.nan), np.full((raters, labels, labels), np.nan), 0)
    flat = some.reshape(items, raters * labels)
    truth = some.sum(1) / some.sum((1, 2))[:, None]
    last, steps = -np.inf, 0
    while steps < most_steps:
        steps += 1
        prior = np.maximum(truth.mean(0), _FLOOR)
        given = (truth.T @ flat).reshape(labels, raters, labels)
        total = given.sum(2, keepdims=True)
        errors = np.where(total > 0, given / np.where(total > 0, total, 1), 1 / labels)
        errors = np.maximum(errors, _FLOOR)
        scores = np.log(prior) + flat @ np.log(errors).reshape(labels, -1).T
        top = scores.max(1, keepdims=True)
        chances = np.exp(scores - top)
        truth = chances / chances.sum(1, keepdims=True)
        likelihood = float((top[:, 0] + np.log(chances.sum(1))).sum())
        if abs(likelihood - last) <= tolerance * max(1.0, abs(likelihood)):
            break
        last = likelihood
    posterior[known] = truth
    return DawidSkene(posterior, prior, errors.transpose(1, 0, 2), steps)


@guarded
def consensus(
    annotations: Frame,
    *,
    method: Literal["majority", "dawid_skene"] = "dawid_skene",
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    raters: Sequence[str] = ("model", "decoding", "variant"),
    columns: Columns | None = None,
) -> pl.DataFrame:
    """One label an item from all variants (and models, and decodings, as far as they are not in ``by``).

    Args:
        annotations: A row an annotation, of one evaluator; see `quaver.estimation.cells.Measure`.
        method: See `majority` and `dawid_skene`.
        labels: The label set.
        by: Columns that make the cells.
        raters: The roles whose combinations are raters; repeats count as further labels by the same rater.
        columns: Other names for the frame's columns.

    Returns:
        A row an item and cell: the columns of ``by``, ``item``, ``gold``, ``label`` (the first of the
        label set where several are alike), ``probability`` (of Dawid & Skene's model; of a majority 1, or
        1/2 where two labels tie). Null where nobody labelled the item.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> frame = pl.DataFrame({"item": [1] * 3, "variant": list("uvw"), "label": list("aab")})
    >>> consensus(frame, method="majority").rows()
    [('1', None, 'a', 1.0)]
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    schema = dict.fromkeys((*by, "item", "gold", "label"), pl.String) | {"probability": pl.Float64}
    parts = [pl.DataFrame(schema=schema)]
    for cell in cells(
        annotations, raters=("repeat",), within=raters, by=by, labels=labels, columns=columns, gold=True
    ):
        counts = votes(cell.codes, len(cell.labels))
        found = majority(counts) if method == "majority" else dawid_skene(counts).posterior
        best = [(int(np.argmax(row)), float(row.max())) if np.isfinite(row).all() else None for row in found]
        gold = cell.gold_codes.tolist()
        listed: dict[str, list[object]] = {name: [value] * len(gold) for name, value in cell.where.items()}
        listed["item"] = list(cell.items)
        listed["gold"] = [cell.labels[code] if code >= 0 else None for code in gold]
        listed["label"] = [None if one is None else cell.labels[one[0]] for one in best]
        listed["probability"] = [None if one is None else one[1] for one in best]
        parts.append(pl.DataFrame(listed, schema=schema))
    return pl.concat(parts)
