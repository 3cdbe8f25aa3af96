"""Whether a judge prefers some answers more than people do: longer ones, say, or its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.column_roles import UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import encode_labels
from quaver.estimation.means import none_goes_far
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic
from quaver.measures.judging.signed_mean import mean_over_items
from quaver.measures.variation.label_shares import ASKING


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
def partiality(reading: Reading, *, toward: str) -> Iterator[Estimate]:
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
    if toward not in reading.gathered.columns:
        raise UnknownColumn(toward, reading.gathered.columns, where="toward")
    named = encode_labels(reading.gathered[toward], toward)
    for cell in reading.cells(raters=ASKING, gold=True):
        place = {name: at for at, name in enumerate(cell.labels)}
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
    gold = np.full(len(cell.items), -1) if cell.gold is None else cell.gold
    used = (named >= 0) & (gold >= 0) & (count > 0)
    judge = (labelled == named[:, None]).sum(1) / np.maximum(count, 1)
    people = (gold == named).astype(np.float64)
    values: Floats = np.where(used, judge - people, np.nan)
    left = {
        f"item without a label in {toward}": int((named < 0).sum()),
        "item without gold": int(((gold < 0) & (named >= 0)).sum()),
    }
    said = Statistic(
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
        return said
    details = {"judge": float(judge[used].mean()), "people": float(people[used].mean())}
    # What people chose is given: the judge's share is what varies, between none and all.
    ends = (-details["people"], 1 - details["people"])
    chosen = [cell.units.touched(used & (people == one)) for one in (0.0, 1.0)]
    stray = none_goes_far(values, "item", cell.resampling.confidence_level)
    said = replace(said, rarest=min(chosen), warnings=stray)
    return mean_over_items(cell, values, said, ends, details)
