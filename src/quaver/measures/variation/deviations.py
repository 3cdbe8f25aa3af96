"""Which items and which variants the labels move with: answers that deviate from their item's modal label.

Within a model and a decoding every item has a modal label, over all variants and repeats. An answer with
another label deviates from it, and so does one without a label: were no label one label more, an item that is
seldom labelled would count as well answered, and the few prompts that get a label out of it as bad ones.
Items whose answers often deviate are hard or vague to the model; a variant whose answers often deviate asks
something else than the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from quaver.core.estimate_frame import Deviations
from quaver.core.records import NO_LABEL, Estimate
from quaver.estimation.arrangement import ColumnReader
from quaver.estimation.bootstrap import Ratio, Resampling
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.gathered import Gathered, frame_of
from quaver.estimation.grouped_items import ItemGroups, item_groups, tabulated
from quaver.estimation.statistic import Sampler, Statistic

_KEYS = ("model", "decoding", "item")


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
    >>> found.items.select("mode", "answers", "deviating").rows()
    [('a', 3, 1)]
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
    whole = by_item.group_by("item", "label").agg(pl.col("len").sum())
    bare = pl.col("len").filter(pl.col("label") == NO_LABEL).sum()
    gold = counted.group_by("item").agg(pl.col("gold").first(), unlabelled=bare)
    items = _rates(joined, "item").join(_modal(whole, ("item",)), on="item", maintain_order="left")
    items = items.join(gold, on="item", maintain_order="left")
    return Deviations(joined, items, _rates(joined, "variant"), group, item_groups(frame, group).of)


@guarded
def deviation_shares(found: Deviations) -> list[Estimate]:
    """The share of answers that deviate, of each variant, model and class, as estimates.

    Share = Σ_u o_u / Σ_u m_u over the items u, with m_u a level's answers about u and o_u those that deviate
    from u's modal label. The interval is over items, or groups of them; the modal label stays what it is.
    Shares of variants, of models or of classes are left out where there is only one.

    Args:
        found: What `deviations` found.

    Returns:
        ``deviation_share``, with ``variant``, ``model`` or ``class`` in the cell, the largest first.

    Of two items the second paraphrase has another label for one; of two equally frequent labels the first is
    the modal one:

    >>> found = deviations({"item": [1, 2, 1, 2], "variant": list("vvww"), "label": list("aaab")})
    >>> [(one.cell["variant"], one.value) for one in deviation_shares(found)[:2]]
    [('w', 0.5), ('v', 0.0)]
    """
    shares = []
    items = sorted(found.items["item"].to_list())
    for name in ("variant", "model", "gold"):
        levels = _rates(found.answers.filter(pl.col(name).is_not_null()), name)[name].to_list()
        if len(levels) < 2:
            continue
        axes = {"item": items, name: levels}
        deviating, answers = (tabulated(found.answers, of, **axes) for of in ("other", "len"))
        units = ItemGroups(found.group, found.groups).units(items)
        sampler, under = Sampler(units, Resampling(), measure="deviation_share"), Ratio(deviating, answers)
        for index, level in enumerate(levels):
            share = Statistic(
                method="share of answers that deviate from their item’s modal label, or have none",
                under=under,
                column=index,
                where={"class" if name == "gold" else name: level},
                ends=(0.0, 1.0),
            )
            shares.append(sampler.estimated(share))
    return shares


def _counted(frame: pl.DataFrame) -> pl.DataFrame:
    """The annotations counted, as text; `NO_LABEL` where there is no label."""
    if frame.is_empty() or not {"item", "label", "variant"} <= set(frame.columns):
        return pl.DataFrame()
    wanted = ("model", "decoding", "variant", "item", "gold", "label")
    there = [name for name in wanted if name in frame.columns]
    text = frame.group_by(there).len().with_columns(pl.col(name).cast(pl.String) for name in there)
    gone = [pl.lit(None, pl.String).alias(name) for name in wanted if name not in there]
    return text.with_columns(*gone, pl.col("label").fill_null(NO_LABEL))


def _modal(counted: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The modal label of each part, the first by name of several; no label only where all have none."""
    last = pl.col("label") == NO_LABEL
    ordered = counted.sort([*keys, last, -pl.col("len").cast(pl.Int64), "label"])
    return ordered.group_by(keys, maintain_order=True).first().select(*keys, mode="label")


def _rates(joined: pl.DataFrame, name: str) -> pl.DataFrame:
    added = joined.group_by(name).agg(answers=pl.col("len").sum(), deviating=pl.col("other").sum())
    shares = added.with_columns(share=pl.col("deviating") / pl.col("answers"))
    return shares.sort(["share", "deviating", name], descending=[True, True, False])
