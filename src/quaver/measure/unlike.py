"""Which items and which variants the labels move with: answers unlike their item's commonest label.

Within a model and a decoding every item has a commonest label, over all variants and repeats. An answer that
has another is unlike it, and so is one without a label: were no label one label more, an item that is seldom
labelled would count as well answered, and the few prompts that get a label out of it as bad ones. Items
whose answers are often unlike are hard or vague to the model; a variant whose answers are often unlike asks
something else than the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

import numpy as np
import polars as pl

from quaver.measure import Frame
from quaver.measure.table import MISSING, frame_of
from quaver.records import Estimate, Unlike

__all__ = ["unlike_answers", "unlike_shares"]

_KEYS = ("model", "decoding", "item")
_FIFTH = 5
_CHUNK = 100
_HOW = "share of answers that differ from their item’s commonest label, or have none"


def unlike_answers(annotations: Frame) -> Unlike | None:
    """Count the answers that are unlike their item's commonest label.

    Args:
        annotations: A row an annotation, of one evaluator: ``item``, ``variant``, ``label``, and where they
            are known ``model``, ``decoding`` and ``gold``.

    Returns:
        None where there are no annotations, or these columns are missing.

    Two of three wordings agree about the item; the third is unlike them:

    >>> found = unlike_answers({"item": [1, 1, 1], "variant": ["v", "w", "x"], "label": ["a", "a", "b"]})
    >>> found.variants.select("variant", "share").rows()
    [('x', 1.0), ('v', 0.0), ('w', 0.0)]
    """
    counted = _counted(frame_of(annotations))
    if counted.is_empty():
        return None
    by_item = counted.group_by(*_KEYS, "label").agg(pl.col("len").sum())
    unlike_it = (pl.col("label") != pl.col("mode")) | (pl.col("label") == MISSING)
    joined = counted.join(_commonest(by_item, _KEYS), on=_KEYS, nulls_equal=True).with_columns(
        other=pl.when(unlike_it).then(pl.col("len")).otherwise(0)
    )
    items, variants, models = (_rates(joined, name) for name in ("item", "variant", "model"))
    whole = by_item.group_by("item", "label").agg(pl.col("len").sum())
    told = counted.group_by("item").agg(
        pl.col("gold").first(), unlabelled=pl.col("len").filter(pl.col("label") == MISSING).sum()
    )
    items = items.join(_commonest(whole, ("item",)), on="item", maintain_order="left")
    items = items.join(told, on="item", maintain_order="left")
    classes = _rates(joined.filter(pl.col("gold").is_not_null()), "gold")
    sizes = items.group_by("gold").agg(items=pl.len())
    pairs = joined.filter(pl.col("other") > 0).group_by("mode", "label").agg(answers=pl.col("len").sum())
    return Unlike(
        joined,
        items,
        variants,
        models,
        classes.join(sizes, on="gold", maintain_order="left"),
        pairs.sort(["answers", "mode", "label"], descending=[True, False, False]),
        _held(items),
        _held(variants),
    )


def unlike_shares(found: Unlike, resamples: int = 1000, seed: int = 0) -> list[Estimate]:
    """The shares of unlike answers as estimates: of each variant, model and class.

    Args:
        found: What `unlike_answers` found.
        resamples: Bootstrap resamples of items for the intervals.
        seed: Root seed of the bootstrap.

    Returns:
        ``unlike_share``, with ``variant``, ``model`` or ``class`` in the cell, and ``unlike_held``: the part
        of all unlike answers in the worst fifth of the items, or of the variants (in the cell as ``of``).
    """
    shares = [
        one
        for name, frame in (("variant", found.variants), ("model", found.models), ("gold", found.classes))
        if frame.height > 1
        for one in _shares(found, frame, name, resamples, seed)
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


def _shares(found: Unlike, frame: pl.DataFrame, name: str, resamples: int, seed: int) -> list[Estimate]:
    levels, items = frame[name].to_list(), found.items["item"].to_list()
    rows = found.answers.filter(pl.col(name).is_in(levels)).with_columns(
        pl.col(name).cast(pl.Enum(levels)).to_physical().alias("at"),
        pl.col("item").cast(pl.Enum(items)).to_physical().alias("row"),
    )
    summed = rows.group_by("row", "at").agg(pl.col("len").sum(), pl.col("other").sum())
    counts = np.zeros((2, len(items), len(levels)))
    place = (summed["row"].to_numpy(), summed["at"].to_numpy())
    counts[0][place], counts[1][place] = summed["other"].to_numpy(), summed["len"].to_numpy()
    generator = np.random.default_rng([abs(seed), 0x756E6C69])
    draws = np.empty((resamples, len(levels)))
    for start in range(0, resamples, _CHUNK):
        size = min(_CHUNK, resamples - start)
        weights = generator.multinomial(len(items), np.full(len(items), 1 / len(items)), size)
        unlike, answers = weights @ counts[0], weights @ counts[1]
        draws[start : start + size] = np.where(answers > 0, unlike / np.maximum(answers, 1), np.nan)
    where = "class" if name == "gold" else name
    asked, shares = (counts[1] > 0).sum(0), frame["share"].to_list()
    return [
        _with_interval(
            Estimate("unlike_share", shares[at], n=int(asked[at]), cell={where: level}, method=_HOW),
            draws[:, at],
        )
        for at, level in enumerate(levels)
    ]


def _with_interval(one: Estimate, draws: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Estimate:
    known = draws[np.isfinite(draws)]
    low, high = np.quantile(known, [0.025, 0.975]) if known.size > 1 else (0.0, 0.0)
    if high - low <= 1e-12:
        return replace(one, warnings=("the bootstrap does not vary, so there is no interval",))
    low, high = min(float(low), one.value or 0.0), max(float(high), one.value or 0.0)
    method = f"{one.method}; percentile interval, {draws.size} resamples of items"
    return replace(one, low=low, high=high, method=method)


def _counted(frame: pl.DataFrame) -> pl.DataFrame:
    """The annotations counted, as text; `MISSING` where there is no label."""
    if frame.is_empty() or not {"item", "label", "variant"} <= set(frame.columns):
        return pl.DataFrame()
    wanted = ("model", "decoding", "variant", "item", "gold", "label")
    there = [name for name in wanted if name in frame.columns]
    text = frame.group_by(there).len().with_columns(pl.col(name).cast(pl.String) for name in there)
    gone = [pl.lit(None, pl.String).alias(name) for name in wanted if name not in there]
    return text.with_columns(*gone, pl.col("label").fill_null(MISSING))


def _held(frame: pl.DataFrame) -> float | None:
    """The part of the unlike answers in the worst fifth of the rows; None where it says nothing."""
    counts = sorted(map(int, frame["unlike"]), reverse=True)
    total = sum(counts)
    if len(counts) < _FIFTH or not total:
        return None
    return sum(counts[: ceil(len(counts) / _FIFTH)]) / total


def _commonest(counted: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The commonest label of each part, the first by name of several; no label only where all have none."""
    last = pl.col("label") == MISSING
    ordered = counted.sort([*keys, last, -pl.col("len").cast(pl.Int64), "label"])
    return ordered.group_by(keys, maintain_order=True).first().select(*keys, mode="label")


def _rates(joined: pl.DataFrame, name: str) -> pl.DataFrame:
    added = joined.group_by(name).agg(answers=pl.col("len").sum(), unlike=pl.col("other").sum())
    shares = added.with_columns(share=pl.col("unlike") / pl.col("answers"))
    return shares.sort(["share", "unlike", name], descending=[True, True, False])
