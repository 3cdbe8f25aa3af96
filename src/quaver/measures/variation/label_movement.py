"""What the labels move with: answers that deviate from their item's modal label, and what factors do.

Within a model and a decoding every item has a modal label, over all variants and repeats. An answer with
another label deviates from it, and so does one without a label: were no label one label more, an item that is
seldom labelled would count as well answered, and the few prompts that get a label out of it as bad ones.
Items whose answers often deviate are hard or vague to the model; a variant whose answers often deviate asks
something else than the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from quaver.core.estimate_frame import Deviations
from quaver.core.records import NO_LABEL, Estimate, LabelSet
from quaver.estimation.cells import ColumnReader, Frame, guarded
from quaver.estimation.coded_columns import Gathered, UnknownColumn, frame_of
from quaver.estimation.grouped_items import item_groups, level_deviations, tabulated, units_of
from quaver.estimation.jackknife import Floats, Ratio, Resampling
from quaver.estimation.paired_differences import gap
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

    >>> observed = deviations({"item": [1, 1, 1], "variant": ["v", "w", "x"], "label": ["a", "a", "b"]})
    >>> observed.items.select("mode", "answers", "deviating").rows()
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
    return Deviations(joined, items, _rates(joined, "variant"), group, item_groups(frame, group))


@guarded
def deviation_shares(observed: Deviations) -> list[Estimate]:
    """The share of answers that deviate, of each variant, model and class, as estimates.

    Share = Σ_u o_u / Σ_u m_u over the items u, with m_u a level's answers about u and o_u those that deviate
    from u's modal label. The interval is over items, or groups of them; the modal label stays what it is.
    Shares of variants, of models or of classes are left out where there is only one.

    Args:
        observed: What `deviations` counted.

    Returns:
        ``deviation_share``, with ``variant``, ``model`` or ``class`` in the cell, the largest first.

    Of two items the second paraphrase has another label for one; of two equally frequent labels the first is
    the modal one:

    >>> observed = deviations({"item": [1, 2, 1, 2], "variant": list("vvww"), "label": list("aaab")})
    >>> [(share.cell["variant"], share.value) for share in deviation_shares(observed)[:2]]
    [('w', 0.5), ('v', 0.0)]
    """
    shares = []
    items = sorted(observed.items["item"].to_list())
    for name in ("variant", "model", "gold"):
        levels = _rates(observed.answers.filter(pl.col(name).is_not_null()), name)[name].to_list()
        if len(levels) < 2:
            continue
        axes = {"item": items, name: levels}
        deviating, answers = (tabulated(observed.answers, of, **axes) for of in ("other", "len"))
        units = units_of(items, observed.group, observed.groups)
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


@guarded
def label_movement(
    annotations: Frame,
    factors: Mapping[str, Sequence[str]],
    *,
    labels: LabelSet,
    group: str | None = None,
    seed: int = 0,
) -> list[Estimate]:
    """How far each factor moves the labels.

    Answers without a label count as a label of their own. Measures: ``level_shares`` (the share of a
    label at a level; cell: ``factor``, ``level``, ``label``) and ``label_range`` (for each factor the
    largest minus the smallest share of the label that moves most, an answer without a label being none;
    cell: ``factor``, ``label``). The items take part as ``gold``, where two gold labels occur.
    Noise alone makes a range larger than 0: its interval allows for that (`paired_differences.gap`), and its
    details have ``floor``, ``floor_high`` and ``p``.

    Args:
        annotations: A row an annotation, of one evaluator: ``item``, ``label``, a column for each factor,
            and ``gold`` where it is known.
        factors: The levels of each factor, in the order in which to report them.
        labels: The label set.
        group: The column whose groups of items are the units of the intervals, instead of items.
        seed: Root seed of the draws of the floor.

    Returns:
        The estimates; none where there are no annotations.

    Raises:
        MeasureError: A column is missing, or the annotations are of several evaluators.

    Two items, each asked in two formats; both are a by letters, and one of them by names:

    >>> from quaver.core.records import Label
    >>> layouts = ["letters", "names", "letters", "names"]
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "format": layouts, "label": list("aaab")})
    >>> codes = LabelSet((Label("a", "A"), Label("b", "B")))
    >>> moved = label_movement(frame, {"format": ["letters", "names"]}, labels=codes)
    >>> [(e.cell["level"], e.value) for e in moved if e.measure == "level_shares" and e.cell["label"] == "a"]
    [('letters', 1.0), ('names', 0.5)]
    >>> [e.value for e in moved if e.measure == "label_range"]
    [0.5]
    """
    given = frame_of(annotations)
    if given.is_empty():
        return []
    ColumnReader(Gathered(given), {}).one_evaluator(())
    for column in ("item", "label", *factors):
        if column not in given.columns:
            where = "factors" if column in factors else "annotations"
            raise UnknownColumn(column, given.columns, where=where)
    names = dict.fromkeys(("item", *factors, *(["gold"] if "gold" in given.columns else [])))
    label = pl.col("label").cast(pl.String)
    answered = pl.when(label.is_in(list(labels.codes))).then(label).otherwise(pl.lit(NO_LABEL))
    frame = given.select(*(pl.col(name).cast(pl.String) for name in names), label=answered)
    true = set(frame["gold"].drop_nulls()) if "gold" in frame.columns else ()
    items, codes = frame["item"].unique().sort().to_list(), [*labels.codes, NO_LABEL]
    sampler = Sampler(units_of(items, group, item_groups(given, group)), Resampling(seed=seed))
    statistics: list[Statistic] = []
    for factor, every in {**factors, "gold": [code for code in labels.codes if code in true]}.items():
        if len(every) > 1:
            counts = tabulated(frame, **{"item": items, factor: list(every), "label": codes})
            statistics += _shares(factor, every, codes, counts)
            if (answers := counts.sum((0, 2)) > 0).any():
                statistics.append(_range(factor, codes, counts[:, answers], sampler))
    return list(map(sampler.estimated, statistics))


def _shares(factor: str, levels: Sequence[str], labels: Sequence[str], counts: Floats) -> Iterator[Statistic]:
    """The share of each label at each level."""
    under = Ratio(counts.reshape(len(counts), -1), np.repeat(counts.sum(2), len(labels), axis=1))
    for column, (level, label) in enumerate((level, label) for level in levels for label in labels):
        yield Statistic(
            part="level_shares",
            method="share of all answers at this level",
            under=under,
            column=column,
            where={"factor": factor, "level": level, "label": label},
            reason="no answers",
            ends=(0.0, 1.0),
        )


def _range(factor: str, labels: Sequence[str], counts: Floats, sampler: Sampler) -> Statistic:
    """The range of the label that moves most, over the levels with answers."""
    whole = counts.sum(2, keepdims=True)
    most = int(np.argmax(np.ptp(counts.sum(0) / whole.sum(0), axis=0)[:-1]))  # the last is no label
    apart, levels = level_deviations(counts, whole)[..., :-1], Ratio(counts[..., most], whole[..., 0])
    reach, floor = gap(apart, sampler.units, lambda x: np.ptp(x, 1).max(1), sampler.resampling, factor)
    return Statistic(
        part="label_range",
        method="largest minus smallest share over the factor's levels, for the label that moves most",
        under=lambda weights: np.ptp(levels(weights), axis=1)[:, None],
        where={"factor": factor, "label": labels[most]},
        details=floor,
        ends=(0.0, 1.0),
        reach=reach,
    )
