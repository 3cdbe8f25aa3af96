"""Which items and which variants the labels move with: answers that deviate from their item's modal label.

Within a model and a decoding every item has a modal label, over all variants and repeats. An answer with
another label deviates from it, and so does one without a label: were no label one label more, an item that is
seldom labelled would count as well answered, and the few prompts that get a label out of it as bad ones.
Items whose answers often deviate are hard or vague to the model; a variant whose answers often deviate asks
something else than the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np
import polars as pl

from quaver.core.estimate_frame import Deviations
from quaver.core.records import NO_LABEL, Estimate
from quaver.estimation.arrangement import ColumnReader
from quaver.estimation.bootstrap import Floats, Ratio, Resampling, Units
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.gathered import Gathered, frame_of
from quaver.estimation.grouped_items import ItemGroups, item_groups
from quaver.estimation.intervals import Interval
from quaver.estimation.means import quotient
from quaver.estimation.paired_differences import gap, within
from quaver.estimation.statistic import Sampler, Statistic

_KEYS = ("model", "decoding", "item")
_FIFTH = 5


def deviations(annotations: Frame, *, group: str | None = None) -> Deviations | None:
    """Count the answers that deviate from their item's modal label.

    Args:
        annotations: A row an annotation, of one evaluator: ``item``, ``variant``, ``label``, and where they
            are known ``model``, ``decoding`` and ``gold``.
        group: The column whose groups of items `deviation_shares` takes for the units of its intervals.

    Returns:
        None where there are no annotations, or these columns are missing.

    Raises:
        MeasureError: The annotations are of several evaluators.

    Two of three paraphrases agree about the item; the third deviates:

    >>> found = deviations({"item": [1, 1, 1], "variant": ["v", "w", "x"], "label": ["a", "a", "b"]})
    >>> found.variants.select("variant", "share").rows()
    [('x', 1.0), ('v', 0.0), ('w', 0.0)]
    """
    frame = frame_of(annotations)
    ColumnReader(Gathered(frame), {}).one_evaluator(())
    counted = _counted(frame)
    if counted.is_empty():
        return None
    by_item = counted.group_by(*_KEYS, "label").agg(pl.col("len").sum())
    deviates = (pl.col("label") != pl.col("mode")) | (pl.col("label") == NO_LABEL)
    joined = counted.join(_modal(by_item, _KEYS), on=_KEYS, nulls_equal=True).with_columns(
        other=pl.when(deviates).then(pl.col("len")).otherwise(0)
    )
    items, variants, models = (_rates(joined, name) for name in ("item", "variant", "model"))
    whole = by_item.group_by("item", "label").agg(pl.col("len").sum())
    gold = counted.group_by("item").agg(
        pl.col("gold").first(), unlabelled=pl.col("len").filter(pl.col("label") == NO_LABEL).sum()
    )
    items = items.join(_modal(whole, ("item",)), on="item", maintain_order="left")
    items = items.join(gold, on="item", maintain_order="left")
    classes = _rates(joined.filter(pl.col("gold").is_not_null()), "gold")
    sizes = items.group_by("gold").agg(items=pl.len())
    pairs = joined.filter(pl.col("other") > 0).group_by("mode", "label").agg(answers=pl.col("len").sum())
    return Deviations(
        joined,
        items,
        variants,
        models,
        classes.join(sizes, on="gold", maintain_order="left"),
        pairs.sort(["answers", "mode", "label"], descending=[True, False, False]),
        _held(items),
        _held(variants),
        group=group,
        groups=item_groups(frame, group).of,
    )


@guarded
def deviation_shares(found: Deviations, resamples: int = 1000, seed: int = 0) -> list[Estimate]:
    """The share of answers that deviate, of each variant, model and class, as estimates.

    Share = Σ_u o_u / Σ_u m_u over the items u, with m_u a level's answers about u and o_u those that deviate
    from u's modal label. The interval is over items, or groups of them; the modal label stays what it is.
    Shares of variants, of models or of classes are left out where there is only one; ``deviations_held`` is
    undefined, with a reason, where there are fewer than five items or variants, or no answer deviates.

    Args:
        found: What `deviations` found.
        resamples: Random draws behind the intervals; 0 for none.
        seed: Root seed of the draws.

    Returns:
        ``deviation_share``, with ``variant``, ``model`` or ``class`` in the cell, and ``deviations_held``:
        the part of all deviations in the worst fifth of the items, or of the variants (in the cell as
        ``of``). Chance makes some variants look worse than others: their interval inverts a test
        (`gaps.gap`), and the details have its ``p`` and ``even``, the part if all were alike.

    Of two items the second paraphrase has another label for one; of two equally frequent labels the first is
    the modal one:

    >>> found = deviations({"item": [1, 2, 1, 2], "variant": list("vvww"), "label": list("aaab")})
    >>> [(one.cell["variant"], one.value) for one in deviation_shares(found)[:2]]
    [('w', 0.5), ('v', 0.0)]
    """
    resampling = Resampling(resamples=resamples, seed=seed)
    shares = [
        estimate
        for name, frame in (("variant", found.variants), ("model", found.models), ("gold", found.classes))
        if frame.height > 1
        for estimate in _shares(found, frame, name, resampling)
    ]
    return [*shares, *_concentrations(found, resampling)]


class _Table(NamedTuple):
    """Answers and deviating ones by item and level, and what is resampled."""

    units: Units
    deviating: Floats
    answers: Floats


def _table(found: Deviations, levels: Sequence[str], name: str) -> _Table:
    items = sorted(found.items["item"].to_list())
    rows = found.answers.filter(pl.col(name).is_in(levels)).with_columns(
        pl.col(name).cast(pl.Enum(levels)).to_physical().alias("at"),
        pl.col("item").cast(pl.Enum(items)).to_physical().alias("row"),
    )
    summed = rows.group_by("row", "at").agg(pl.col("len").sum(), pl.col("other").sum())
    deviating, answers = np.zeros((2, len(items), len(levels)))
    place = (summed["row"].to_numpy(), summed["at"].to_numpy())
    deviating[place], answers[place] = summed["other"].to_numpy(), summed["len"].to_numpy()
    return _Table(ItemGroups(found.group, found.groups).units(items), deviating, answers)


def _concentrations(found: Deviations, resampling: Resampling) -> Iterator[Estimate]:
    """The part of the deviations in the worst fifth of the items, and of the variants."""
    table = _table(found, found.variants["variant"].to_list(), "variant")
    for of, value in (("item", found.items_held), ("variant", found.variants_held)):
        statistic = Statistic(
            method=f"part of the deviations from the modal label in the worst fifth of the {of}s",
            where={"of": of},
            reason=f"fewer than {_FIFTH} {of}s, or no answer deviates",
            ends=(0.0, 1.0),
        )
        if value is not None:
            statistic = (
                _of_items(statistic, table) if of == "item" else _of_variants(statistic, table, resampling)
            )
        yield Sampler(table.units, resampling, measure="deviations_held").estimated(statistic)


def _of_items(statistic: Statistic, table: _Table) -> Statistic:
    """The worst fifth of the items: a point of a Lorenz curve, and as smooth."""
    each = table.deviating.sum(1)
    order = np.argsort(-each, kind="stable")
    part = ceil(each.size / _FIFTH) / each.size

    def under(weights: Floats) -> Floats:
        ordered = weights[:, order]
        whole = ordered.sum(1, keepdims=True)
        taken = np.clip(part * whole - (ordered.cumsum(1) - ordered), 0.0, ordered)
        total = ordered @ each[order]
        return quotient(taken @ each[order], total)[:, None]

    return replace(statistic, under=under)


def _of_variants(statistic: Statistic, table: _Table, resampling: Resampling) -> Statistic:
    """The worst fifth of the variants, which chance makes look worse than they are."""
    deviating = table.deviating
    variants = deviating.shape[1]
    most = ceil(variants / _FIFTH)
    even = most / variants

    def beyond(parts: Floats) -> Floats:
        return np.asarray(-np.partition(-parts, most - 1, axis=1)[:, :most].sum(1))

    def under(weights: Floats) -> Floats:
        sums = weights @ deviating
        total = sums.sum(1)
        held = quotient(beyond(sums), total)
        return np.asarray(held[:, None])

    apart = (deviating - deviating.mean(1, keepdims=True)) / deviating.sum()
    known = within(0.0, 1 - even, gap(apart, table.units, beyond, resampling, "held"))
    ends = known.interval and Interval(even + known.interval.low, even + known.interval.high)
    return replace(
        statistic,
        under=under,
        interval=ends and (ends, "interval by test inversion"),
        details={"even": even, **({"p": known.details["p"]} if known.details else {})},
    )


def _shares(found: Deviations, frame: pl.DataFrame, name: str, resampling: Resampling) -> Iterator[Estimate]:
    levels = frame[name].to_list()
    units, deviating, answers = _table(found, levels, name)
    sampler, under = Sampler(units, resampling, measure="deviation_share"), Ratio(deviating, answers)
    for index, level in enumerate(levels):
        statistic = Statistic(
            method="share of answers that deviate from their item’s modal label, or have none",
            under=under,
            column=index,
            where={"class" if name == "gold" else name: level},
            ends=(0.0, 1.0),
        )
        yield sampler.estimated(statistic)


def _counted(frame: pl.DataFrame) -> pl.DataFrame:
    """The annotations counted, as text; `NO_LABEL` where there is no label."""
    if frame.is_empty() or not {"item", "label", "variant"} <= set(frame.columns):
        return pl.DataFrame()
    wanted = ("model", "decoding", "variant", "item", "gold", "label")
    there = [name for name in wanted if name in frame.columns]
    text = frame.group_by(there).len().with_columns(pl.col(name).cast(pl.String) for name in there)
    gone = [pl.lit(None, pl.String).alias(name) for name in wanted if name not in there]
    return text.with_columns(*gone, pl.col("label").fill_null(NO_LABEL))


def _held(frame: pl.DataFrame) -> float | None:
    """The part of the deviations in the worst fifth of the rows; None where it says nothing."""
    counts = sorted(map(int, frame["deviating"]), reverse=True)
    total = sum(counts)
    if len(counts) < _FIFTH or not total:
        return None
    return sum(counts[: ceil(len(counts) / _FIFTH)]) / total


def _modal(counted: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The modal label of each part, the first by name of several; no label only where all have none."""
    last = pl.col("label") == NO_LABEL
    ordered = counted.sort([*keys, last, -pl.col("len").cast(pl.Int64), "label"])
    return ordered.group_by(keys, maintain_order=True).first().select(*keys, mode="label")


def _rates(joined: pl.DataFrame, name: str) -> pl.DataFrame:
    added = joined.group_by(name).agg(answers=pl.col("len").sum(), deviating=pl.col("other").sum())
    shares = added.with_columns(share=pl.col("deviating") / pl.col("answers"))
    return shares.sort(["share", "deviating", name], descending=[True, True, False])
