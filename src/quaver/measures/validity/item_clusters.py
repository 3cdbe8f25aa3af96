"""Items that come in groups which the study does not declare: one author's, one day's, copies of a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.gathered import frame_of
from quaver.estimation.intraclass import Likeness, Partition
from quaver.estimation.means import quotient
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
def item_clusters(
    annotations: Frame, columns: Frame, *, group: str | None = None, seed: int = 0
) -> list[Estimate]:
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
    table = pl.DataFrame({"item": items}, schema={"item": pl.String}).join(
        wanted, on="item", how="left", maintain_order="left"
    )
    values, table, settled = _of_units(values, table, group)
    estimates = [
        _blank(name, len(items), reason=grouping)
        if isinstance(grouping, str)
        else _estimate(name, grouping, named, values, derive(seed, "item_clusters", name))
        for name, grouping in _groupings(table.drop({"item", group or "item"}, strict=False), settled)
    ]
    return [_judged(estimate) for estimate in adjusted(estimates)]


def _groupings(table: pl.DataFrame, settled: Mapping[str, str]) -> Iterator[tuple[str, _Grouping | str]]:
    """Each column with its groups, or why it has none of its own."""
    seen: dict[bytes, str] = {}
    for name in table.columns:
        grouping = settled.get(name) or _grouping(table[name])
        if isinstance(grouping, _Grouping):
            known = grouping.codes.tobytes() + grouping.rows.tobytes()
            if known in seen:
                grouping = f"the same groups as {seen[known]}"
            else:
                seen[known] = name
        yield name, grouping


def _judged(estimate: Estimate) -> Estimate:
    if estimate.value is None:
        return estimate
    real = estimate.details["p_holm"] < _CHANCE and estimate.details["effect"] >= WIDER**2
    return _with(estimate, clustered=bool(real))


def _with(estimate: Estimate, **details: Any) -> Estimate:
    return replace(estimate, details={**estimate.details, **details})


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


def _of_units(
    values: Floats, table: pl.DataFrame, group: str | None
) -> tuple[Floats, pl.DataFrame, Mapping[str, str]]:
    """With a declared group, the means of its groups and their columns; and why some columns are settled."""
    if group is None or group not in table.columns:
        return values, table, {}
    series = table[group].cast(pl.String).fill_null("item " + table["item"])
    codes = series.rank("dense").to_numpy().astype(np.int64) - 1
    units = int(codes.max(initial=-1)) + 1
    settled = {}
    for name in table.columns:
        if name in ("item", group):
            continue
        inside = table.group_by(series.alias("unit")).agg(pl.col(name).n_unique().alias("kinds"))
        if (inside["kinds"] > 1).any():
            settled[name] = f"these groups divide or cross those of {group}, which the study declares"
        elif table[name].n_unique() >= units:
            settled[name] = f"the same groups as {group}, which the study declares"
    known = np.isfinite(values)
    sums = np.zeros((units, values.shape[1]))
    counts = np.zeros_like(sums)
    np.add.at(sums, codes, np.where(known, values, 0.0))
    np.add.at(counts, codes, known)
    means = quotient(sums, counts)
    first = np.unique(codes, return_index=True)[1]
    return means, table[first.tolist()], settled


class _Grouping(NamedTuple):
    """A column as groups: the rows that have a value, each one's group, and its number where it is one."""

    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    numbers: Floats | None


def _grouping(column: pl.Series) -> _Grouping | str:
    """A column as groups, or why it is none."""
    text = column.cast(pl.String)
    text = text.set(text.str.strip_chars() == "", None)
    rows = np.flatnonzero(text.is_not_null().to_numpy()).astype(np.int64)
    if not rows.size:
        return "no item has a value"
    series = text.drop_nulls()
    codes = series.rank("dense").to_numpy().astype(np.int64) - 1
    sizes = np.bincount(codes)
    if sizes.size == rows.size:
        return "every item has another value"
    if sizes.size < _FEWEST:
        return f"{sizes.size} values: categories to compare (by), too few to be groups that are resampled"
    if sizes.max() > rows.size / 2:
        return "one value has more than half of the items"
    if rows.size - sizes.size < _REPEATED:
        return "hardly any value occurs twice"
    numbers = series.cast(pl.Float64, strict=False).to_numpy()
    return _Grouping(rows, codes, numbers if np.isfinite(numbers).all() else None)


def _estimate(name: str, of: _Grouping, named: list[str], values: Floats, seed: int) -> Estimate:
    """The estimate of one column that can group items."""
    own = values[of.rows]
    partition = Partition.of(of.codes, of.numbers)
    found = dict(_known(named, partition.likeness(own)))
    if not found:
        return _blank(name, of.rows.size, reason="no quantity of the items varies")
    quantity = min(found, key=lambda one: found[one].p)
    best = found[quantity]
    blank = _blank(name, best.items)
    return Estimate(
        **{field: getattr(blank, field) for field in ("measure", "n", "unit", "method", "reference", "cell")},
        value=best.correlation,
        low=min(best.interval.low, best.correlation),
        high=max(best.interval.high, best.correlation),
        details={
            "quantity": quantity,
            "effect": best.effect,
            "groups": best.groups,
            "p": partition.p(own, seed),
            "quantities": {
                one: {"correlation": like.correlation, "effect": like.effect} for one, like in found.items()
            },
        },
    )


def _known(named: list[str], likeness: list[Likeness | None]) -> Iterator[tuple[str, Likeness]]:
    for one, like in zip(named, likeness, strict=True):
        if like is not None:
            yield one, like


def _blank(name: str, items: int, reason: str | None = None) -> Estimate:
    return Estimate(
        measure="item_clusters",
        value=None,
        n=items,
        method=_METHOD,
        reference=_SOURCE,
        reason=reason,
        cell={"column": name},
    )
