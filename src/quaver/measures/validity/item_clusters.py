"""Items that come in groups which the study does not declare: one author's, one day's, copies of a text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.coded_columns import Ints, frame_of
from quaver.estimation.intraclass import Partition
from quaver.estimation.multiple_testing import adjusted

_METHOD = (
    "intraclass correlation by one-way analysis of variance, tested by permuting items, with Holm's "
    "correction over the columns"
)
_SOURCE = (
    "Donner (1986), International Statistical Review 54, 67-82; Kish (1965), Survey Sampling, section 5.4"
)

_FEWEST = 10
"""With fewer groups a column's values are categories: an interval over so few groups is hardly one."""

_REPEATED = 5
"""So many items at least must share a value with an earlier one."""

_CHANCE = 0.05
WIDER = 1.05
"""Groups that make an interval no wider than this factor are not worth a word."""


@guarded
def item_clusters(annotations: Frame, columns: Frame, *, seed: int = 0) -> list[Estimate]:
    """Whether the items of one author (day, thread, source …) are labelled more alike than others.

    For each column, ρ of the item-level quantity in which its values differ most: accuracy (the share of an
    item's answers that are its gold label), disagreement (the share that are not its modal label), and the
    share of the most frequent label. ρ = (F − 1) / (F − 1 + m₀), with F from one-way analysis of variance
    over the column's values and m₀ their size (`estimation.intraclass`). Intervals that resample items are
    too narrow by √(1 + (m − 1) ρ), m being the mean size of the group that an item lies in. The p value is
    that of the largest F over the three, with items permuted; ``p_holm`` allows for the number of columns.
    Numbers are judged by what no straight line or curve explains: that age moves a label makes no groups
    of one age.

    Undefined, with the reason, where a column cannot group items: every item has another value, hardly any
    value occurs twice, fewer than 10 values, one value has most items.

    Returns:
        An estimate a column, with ``column`` in the cell. In its details: ``quantity``; ``effect``, the
        design effect; ``groups``; ``p``; ``p_holm``; ``clustered``, whether the groups are real (p_holm <
        0.05) and make intervals wider by 5% or more; and ``quantities``, each one's ρ and design effect.

    Ten pairs of items, each pair labelled alike:

    >>> items, authors = list(range(20)), [at // 2 for at in range(20)]
    >>> frame = pl.DataFrame({"item": items, "label": ["ab"[author % 2] for author in authors]})
    >>> found = item_clusters(frame, pl.DataFrame({"item": items, "author": [f"a{at}" for at in authors]}))[0]
    >>> round(found.value, 3), round(found.details["effect"], 3), found.details["clustered"]
    (1.0, 2.0, True)
    """
    items, named, values = _quantities(frame_of(annotations))
    wanted = frame_of(columns).with_columns(pl.col("item").cast(pl.String))
    order = pl.DataFrame({"item": items}, schema={"item": pl.String})
    table = order.join(wanted, on="item", how="left", maintain_order="left").drop("item")
    estimates, seen = [], dict[bytes, str]()
    for name in table.columns:
        grouping = _grouping(table[name])
        if not isinstance(grouping, str):
            same = seen.setdefault(b"".join(one.tobytes() for one in grouping[:2]), name)
            grouping = grouping if same == name else f"the same groups as {same}"
        estimates.append(_estimate(name, grouping, named, values, derive(seed, "item_clusters", name)))
    found = []
    for one in adjusted(estimates):
        if one.value is not None:
            real = one.details["p_holm"] < _CHANCE and one.details["effect"] >= WIDER**2
            one = replace(one, details={**one.details, "clustered": bool(real)})
        found.append(one)
    return found


def _quantities(frame: pl.DataFrame) -> tuple[list[str], list[str], Floats]:
    """The items, and the item-level quantities that vary, with their names."""
    label, item = pl.col("label").cast(pl.String), pl.col("item").cast(pl.String)
    gold = pl.col("gold").cast(pl.String) if "gold" in frame.columns else pl.lit(None, pl.String)
    rows = frame.select(item.alias("item"), label.alias("label"), gold.alias("gold"))
    counts = rows.group_by("item", "label", "gold").len()
    labelled = counts.filter(pl.col("label").is_not_null())
    if labelled.is_empty():
        return [], [], np.zeros((0, 0))
    top = labelled.group_by("label").agg(pl.col("len").sum()).sort("len", "label", descending=[True, False])
    usual, n = str(top["label"][0]), pl.col("len")
    right = pl.col("label").eq_missing(pl.col("gold")) & pl.col("gold").is_not_null()
    by_item = (
        counts.group_by("item")
        .agg(
            accuracy=pl.when(pl.col("gold").is_not_null().any()).then((n * right).sum() / n.sum()),
            labels=n.filter(pl.col("label").is_not_null()).sum(),
            modal=n.filter(pl.col("label").is_not_null()).max(),
            usual=n.filter(pl.col("label") == usual).sum(),
        )
        .sort("item")
    )
    several = pl.when(pl.col("labels") > 1)
    asked = pl.when(pl.col("labels") > 0)
    found = by_item.select(
        "accuracy",
        several.then(1 - pl.col("modal") / pl.col("labels")).alias("disagreement"),
        asked.then(pl.col("usual") / pl.col("labels")).alias(f"share of {usual}"),
    ).cast(pl.Float64)
    varying = [name for name in found.columns if (found[name].drop_nulls().n_unique()) > 1]
    values = found.fill_null(np.nan).to_numpy()  # a frame without columns has no rows either
    return by_item["item"].to_list(), varying, values[:, [found.columns.index(name) for name in varying]]


def _grouping(column: pl.Series) -> tuple[Ints, Ints, Floats | None] | str:
    """The rows with a value, each one's group, and its number where all are numbers; or why it has none."""
    text = column.cast(pl.String)
    text = text.set(text.str.strip_chars() == "", None)
    rows = np.flatnonzero(text.is_not_null().to_numpy()).astype(np.int64)
    series = text.drop_nulls()
    codes = series.rank("dense").to_numpy().astype(np.int64) - 1
    sizes = np.bincount(codes)
    if sizes.size == rows.size:
        return "every item has another value" if rows.size else "no item has a value"
    if sizes.size < _FEWEST:
        return f"{sizes.size} values: categories to compare (by), too few to be groups that are resampled"
    if sizes.max() > rows.size / 2:
        return "one value has more than half of the items"
    if rows.size - sizes.size < _REPEATED:
        return "hardly any value occurs twice"
    numbers = series.cast(pl.Float64, strict=False).to_numpy()
    return rows, codes, numbers if np.isfinite(numbers).all() else None


def _estimate(
    name: str, grouping: tuple[Ints, Ints, Floats | None] | str, named: list[str], values: Floats, seed: int
) -> Estimate:
    """The estimate of one column; undefined where it groups no items."""
    blank = Estimate(
        measure="item_clusters",
        value=None,
        n=len(values),
        method=_METHOD,
        reference=_SOURCE,
        cell={"column": name},
    )
    if isinstance(grouping, str):
        return replace(blank, reason=grouping)
    rows, codes, numbers = grouping
    partition = Partition.of(codes, numbers)
    likeness = dict(zip(named, partition.likeness(values[rows]), strict=True))
    known = {one: like for one, like in likeness.items() if like is not None}
    if not known:
        return replace(blank, reason="no quantity of the items varies")
    quantity = min(known, key=lambda one: known[one].p)
    best = known[quantity]
    return replace(
        blank,
        n=best.items,
        value=best.correlation,
        low=min(best.interval.low, best.correlation),
        high=max(best.interval.high, best.correlation),
        details={
            "quantity": quantity,
            "effect": best.effect,
            "groups": best.groups,
            "p": partition.p(values[rows], seed),
            "quantities": {
                one: {"correlation": like.correlation, "effect": like.effect} for one, like in known.items()
            },
        },
    )
