"""Which items and which variants the labels move with: answers unlike their item's commonest label.

Within a model and a decoding every item has a commonest label, over all variants and repeats. An answer that
has another is unlike it, and so is one without a label: were no label one label more, an item that is seldom
labelled would count as well answered, and the few prompts that get a label out of it as bad ones. Items
whose answers are often unlike are hard or vague to the model; a variant whose answers are often unlike asks
something else than the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import ceil

import numpy as np
import polars as pl

from quaver.core.deviation_tables import Deviations
from quaver.core.records import NO_LABEL, Estimate
from quaver.estimation.bootstrap import Resampling, Units, bootstrap
from quaver.estimation.cells import frame_of
from quaver.estimation.column_roles import ColumnReader
from quaver.estimation.intervals import Claim, estimate, mean_within
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import Frame, guarded

__all__ = ["unlike_answers", "unlike_shares"]

_KEYS = ("model", "decoding", "item")
_FIFTH = 5
_HOW = "share of answers that differ from their item’s commonest label, or have none"


def unlike_answers(annotations: Frame) -> Deviations | None:
    """Count the answers that are unlike their item's commonest label.

    Args:
        annotations: A row an annotation, of one evaluator: ``item``, ``variant``, ``label``, and where they
            are known ``model``, ``decoding`` and ``gold``.

    Returns:
        None where there are no annotations, or these columns are missing.

    Raises:
        MeasureError: The annotations are of several evaluators.

    Two of three paraphrases agree about the item; the third is unlike them:

    >>> found = unlike_answers({"item": [1, 1, 1], "variant": ["v", "w", "x"], "label": ["a", "a", "b"]})
    >>> found.variants.select("variant", "share").rows()
    [('x', 1.0), ('v', 0.0), ('w', 0.0)]
    """
    frame = frame_of(annotations)
    ColumnReader(frame, {}).one_evaluator(())
    counted = _counted(frame)
    if counted.is_empty():
        return None
    by_item = counted.group_by(*_KEYS, "label").agg(pl.col("len").sum())
    unlike_it = (pl.col("label") != pl.col("mode")) | (pl.col("label") == NO_LABEL)
    joined = counted.join(_commonest(by_item, _KEYS), on=_KEYS, nulls_equal=True).with_columns(
        other=pl.when(unlike_it).then(pl.col("len")).otherwise(0)
    )
    items, variants, models = (_rates(joined, name) for name in ("item", "variant", "model"))
    whole = by_item.group_by("item", "label").agg(pl.col("len").sum())
    told = counted.group_by("item").agg(
        pl.col("gold").first(), unlabelled=pl.col("len").filter(pl.col("label") == NO_LABEL).sum()
    )
    items = items.join(_commonest(whole, ("item",)), on="item", maintain_order="left")
    items = items.join(told, on="item", maintain_order="left")
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
    )


@guarded
def unlike_shares(found: Deviations, resamples: int = 1000, seed: int = 0) -> list[Estimate]:
    """The shares of unlike answers as estimates: of each variant, model and class.

    Share = Σ_u o_u / Σ_u m_u over the items u, with m_u a level's answers about u and o_u those unlike u's
    commonest label. The interval resamples items. The shares of variants, of models or of classes are not
    there where there is one only; ``unlike_held`` is undefined, with a reason, where there are fewer than
    five items or variants, or no answer is unlike. An answer's commonest label is not resampled.

    Args:
        found: What `unlike_answers` found.
        resamples: Bootstrap resamples of items for the intervals.
        seed: Root seed of the bootstrap.

    Returns:
        ``unlike_share``, with ``variant``, ``model`` or ``class`` in the cell, and ``unlike_held``: the part
        of all unlike answers in the worst fifth of the items, or of the variants (in the cell as ``of``).

    Of two items the second paraphrase has another label for one; the first of two equally common labels is
    the commonest:

    >>> found = unlike_answers({"item": [1, 2, 1, 2], "variant": list("vvww"), "label": list("aaab")})
    >>> [(one.cell["variant"], one.value) for one in unlike_shares(found)[:2]]
    [('w', 0.5), ('v', 0.0)]
    """
    resampling = Resampling(resamples=resamples, seed=seed)
    shares = [
        one
        for name, frame in (("variant", found.variants), ("model", found.models), ("gold", found.classes))
        if frame.height > 1
        for one in _shares(found, frame, name, resampling)
    ]
    held = [
        Estimate(
            "unlike_held",
            value,
            n=found.items.height,
            cell={"of": of},
            method=f"part of the answers unlike their item’s in the worst fifth of the {of}s",
            reason=None if value is not None else f"fewer than {_FIFTH} {of}s, or no answer is unlike",
        )
        for of, value in (("item", found.items_held), ("variant", found.variants_held))
    ]
    return [*shares, *held]


def _shares(found: Deviations, frame: pl.DataFrame, name: str, resampling: Resampling) -> list[Estimate]:
    levels, items = frame[name].to_list(), sorted(found.items["item"].to_list())
    rows = found.answers.filter(pl.col(name).is_in(levels)).with_columns(
        pl.col(name).cast(pl.Enum(levels)).to_physical().alias("at"),
        pl.col("item").cast(pl.Enum(items)).to_physical().alias("row"),
    )
    summed = rows.group_by("row", "at").agg(pl.col("len").sum(), pl.col("other").sum())
    unlike, answers = np.zeros((2, len(items), len(levels)))
    place = (summed["row"].to_numpy(), summed["at"].to_numpy())
    unlike[place], answers[place] = summed["other"].to_numpy(), summed["len"].to_numpy()
    units = Units(len(items))
    draws = bootstrap(ratio(unlike, answers), units, resampling)
    asked = answers > 0
    own = np.where(asked, unlike / np.maximum(answers, 1), np.nan)
    where = "class" if name == "gold" else name
    return [
        estimate(
            Claim(
                "unlike_share",
                _HOW,
                cell={where: level},
                n=units.touched(asked[:, at]),
                differing=differing(own[:, at], units),
                spread=partial(mean_within, float(draws.point[at])),
            ),
            draws,
            units,
            resampling,
            at,
        )
        for at, level in enumerate(levels)
    ]


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
    """The part of the unlike answers in the worst fifth of the rows; None where it says nothing."""
    counts = sorted(map(int, frame["unlike"]), reverse=True)
    total = sum(counts)
    if len(counts) < _FIFTH or not total:
        return None
    return sum(counts[: ceil(len(counts) / _FIFTH)]) / total


def _commonest(counted: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The commonest label of each part, the first by name of several; no label only where all have none."""
    last = pl.col("label") == NO_LABEL
    ordered = counted.sort([*keys, last, -pl.col("len").cast(pl.Int64), "label"])
    return ordered.group_by(keys, maintain_order=True).first().select(*keys, mode="label")


def _rates(joined: pl.DataFrame, name: str) -> pl.DataFrame:
    added = joined.group_by(name).agg(answers=pl.col("len").sum(), unlike=pl.col("other").sum())
    shares = added.with_columns(share=pl.col("unlike") / pl.col("answers"))
    return shares.sort(["share", "unlike", name], descending=[True, True, False])
