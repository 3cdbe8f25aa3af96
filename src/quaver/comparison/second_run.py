"""Whether two sides differ by more than a second run of the same model would: repeats against the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from quaver.comparison.alignment import Sides
from quaver.core.column_names import column_of
from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.grouped_items import item_groups
from quaver.estimation.intervals import Interval
from quaver.estimation.means import ratio
from quaver.estimation.statistic import Sampler, Statistic

BEYOND: Final = "beyond_repeats"
"""What the estimate is called."""


def beyond_repeats(sides: Sides, group: str | None, resampling: Resampling) -> Estimate | None:
    """How much more often two answers differ if one is of either side than if both are of one side.

    Of an item in a cell, ``b`` is the share of pairs of an answer before and an answer after with different
    labels, and ``w`` the mean of both sides' shares of pairs of their own repeats (without replacement).
    Where the model is the same, ``b - w`` is 0 in expectation, however noisy it is: it is half the squared
    distance between the distributions of labels (Rao 1982). An item's cells are averaged, and items or
    groups of them resampled.

    Returns:
        The mean of ``b - w`` with an interval, ``between`` and ``within`` in its details; None where there
        are no items of which both sides have repeats in a cell.
    """
    keys = [*sides.keys, *(name for name in sides.compared if name not in sides.keys), "item"]
    before, after = (_counted(frame, keys) for frame in (sides.before, sides.after))
    both = before.join(
        after, on=[*keys, "label"], how="full", coalesce=True, suffix="_after", nulls_equal=True
    )
    both = both.with_columns(pl.col("n", "n_after").fill_null(0))
    count, count_after = pl.col("n").sum(), pl.col("n_after").sum()
    alike = (pl.col("n") * pl.col("n_after")).sum() / (count * count_after)
    shares = (
        both.group_by(keys)
        .agg(
            count.alias("all"),
            count_after.alias("all_after"),
            (1 - alike).alias("between"),
            ((_within("n") + _within("n_after")) / 2).alias("within"),
        )
        .filter((pl.col("all") > 1) & (pl.col("all_after") > 1))
        .group_by("item")
        .agg(pl.col("between", "within").mean())
        .sort("item")
    )
    if shares.is_empty():
        return None
    between, within = shares["between"].to_numpy(), shares["within"].to_numpy()
    units = item_groups(sides.before, group and column_of("group", group)).units(shares["item"].to_list())
    statistic = Statistic(
        method="different labels between two sides, less those between repeats of one side",
        under=ratio((between - within)[:, None], np.ones((len(between), 1))),
        spread=lambda value, share: Interval(max(-1.0, value - share), min(1.0, value + share)),
        details={"between": float(between.mean()), "within": float(within.mean())},
    )
    return Sampler(units, resampling, measure=BEYOND).estimated(statistic)


def _counted(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """How often each label was given, of each item in each cell."""
    return (
        frame.group_by(*keys, pl.col("label").fill_null("")).len("n").with_columns(pl.col("n").cast(pl.Int64))
    )


def _within(name: str) -> pl.Expr:
    """The share of pairs of an item's own repeats whose labels differ."""
    count = pl.col(name).sum()
    return 1 - (pl.col(name) * (pl.col(name) - 1)).sum() / (count * (count - 1))
