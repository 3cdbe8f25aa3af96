"""Whether a judge prefers the answer that stands first, whichever that is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.column_roles import UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import Encoded, encode
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic
from quaver.measures.judging.signed_mean import mean_over_items, shares_at
from quaver.measures.variation.label_shares import ASKING


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
    reading: Reading,
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
    if order not in reading.gathered.columns:
        raise UnknownColumn(order, reading.gathered.columns, where="order")
    levels = encode(reading.gathered[order], order)
    for cell in reading.cells(raters=ASKING):
        yield cell.estimated(_statistic(cell, levels, forward, backward))


def _statistic(cell: Cell, levels: Encoded, forward: str, backward: str) -> Statistic:
    said = Statistic(
        method="mean over items of the share that chose the first answer less that which chose the last, "
        "both orders having equal weight",
        null=0.0,
        excluded=cell.counted,
        n=0,
        reason="no item has answers in both orders" if cell.items else "no annotations",
    )
    if not cell.codes.size or len(cell.labels) < 2:
        return said
    both = [shares_at(cell, levels, level) for level in (forward, backward)]
    signs = (1.0, -1.0)
    each = sum(0.5 * sign * (one[:, 0] - one[:, -1]) for sign, one in zip(signs, both, strict=True))
    values = np.asarray(each, np.float64)
    known = np.isfinite(values)
    alike = [_sole_most(one[known]) for one in both]
    same = (alike[0] == alike[1]) & (alike[0] >= 0)
    details = {"alike": float(same.mean())} if known.any() else {}
    return mean_over_items(cell, values, said, (-1.0, 1.0), details)


def _sole_most(shares: Floats) -> np.ndarray:
    """The label with the largest share; -1 where several have it."""
    if not shares.size:
        return np.zeros(0, np.int64)
    top = shares.max(1, keepdims=True)
    return np.where((shares == top).sum(1) == 1, shares.argmax(1), -1)
