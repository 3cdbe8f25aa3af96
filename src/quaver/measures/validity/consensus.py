"""One label an item from several raters: the majority's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import LabelSet
from quaver.estimation.cells import Frame, cells, guarded
from quaver.estimation.coded_columns import Columns, label_counts
from quaver.estimation.jackknife import Floats


def majority(codes: NDArray[np.int32], labels: int) -> Floats:
    """The most frequent label of each item; a tie is shared evenly.

    Args:
        codes: Labels' codes, shape (items, raters, repeats); -1 where there is none.
        labels: How many labels there are.

    Returns:
        Shape (items, labels), rows that sum to 1; NaN for an item without labels.

    >>> majority(np.array([[[0], [0], [1]], [[0], [1], [-1]]], np.int32), 2).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    total = label_counts(codes, labels).sum(1)
    most = total.max(1, keepdims=True, initial=0.0)
    first = ((total == most) & (most > 0)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(first / first.sum(1, keepdims=True))


@guarded
def consensus(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    raters: Sequence[str] = ("model", "decoding", "variant"),
    columns: Columns | None = None,
) -> pl.DataFrame:
    """The most frequent label of each item over all variants, models and decodings that are not in ``by``.

    Args:
        annotations: A row an annotation, of one evaluator.
        labels: The label set.
        by: Columns that make the cells.
        raters: The roles whose combinations are raters; repeats count as further labels by the same rater.
        columns: Other names for the frame's columns.

    Returns:
        A row an item and cell: the columns of ``by``, ``item``, ``gold``, ``label`` (the first of the
        label set where several are as frequent) and ``probability`` (1, or 1/2 where two labels tie). Null
        where nobody labelled the item.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> frame = pl.DataFrame({"item": [1] * 3, "variant": list("uvw"), "label": list("aab")})
    >>> consensus(frame).rows()
    [('1', None, 'a', 1.0)]
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    schema = dict.fromkeys((*by, "item", "gold", "label"), pl.String) | {"probability": pl.Float64}
    parts = [pl.DataFrame(schema=schema)]
    for cell in cells(
        annotations, raters=("repeat",), within=raters, by=by, labels=labels, columns=columns, gold=True
    ):
        shares = np.nan_to_num(majority(cell.codes, len(cell.labels)))
        nobody = ~shares.any(1)
        best = np.column_stack([shares, nobody]).argmax(1)
        names = [*cell.labels, None]
        columns_of = {
            **{name: [value] * len(best) for name, value in cell.where.items()},
            "item": list(cell.items),
            "gold": [names[code] for code in cell.gold_codes],
            "label": [names[code] for code in best],
            "probability": np.where(nobody, np.nan, shares.max(1, initial=0.0)),
        }
        frame = pl.DataFrame(columns_of, schema=schema).with_columns(pl.col("probability").fill_nan(None))
        parts.append(frame)
    return pl.concat(parts)
