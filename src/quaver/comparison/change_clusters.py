"""Items that change together, by a column that no study declares as their group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from quaver.comparison.alignment import Pair, modal_labels
from quaver.core.seeds import derive
from quaver.measures.validity.item_clusters import item_clusters
from quaver.report.findings.quality import clusters
from quaver.study.analysis.hidden_clusters import item_columns
from quaver.study.session import Study
from quaver.study.sources.study_plugins import Measurement


def in_groups(pair: Pair, study: Study, notes: list[str]) -> Pair:
    """A pair whose intervals resample the groups of items that change together, if there are any.

    Whether an item is lost, gained, changed or the same is screened by `item_clusters`, over the columns of
    the items. What is found goes to ``notes``, in words.
    """
    if study.spec.group is not None or (table := item_columns(study.source)).width == 1:
        return pair
    judged, seed = pair.judged, derive(study.spec.seed, "permutations", "changes")
    widest = next(iter(clusters(item_clusters(_moves(judged), table, seed=seed))), None)
    if widest is None:
        return pair
    column = widest.cell["column"]
    alone = pl.concat_str(pl.lit("of its own: "), "item")
    groups = table.select("item", pl.coalesce(column, alone).alias(column))
    before, after = (
        frame.drop(column, strict=False).join(groups, on="item", how="left", maintain_order="left")
        for frame in (pair.before, pair.after)
    )
    notes.append(
        f"Items of one {column} change together (design effect {widest.details['effect']:.1f}): intervals "
        f"resample its {widest.details['groups']:,} groups, as if the study declared `group: {column}`."
    )
    asked, family = (_resampling(measurements, column) for measurements in (pair.asked, pair.family))
    return replace(pair, before=before, after=after, asked=asked, family=family)


def _resampling(measurements: Sequence[Measurement], column: str) -> list[Measurement]:
    """The measures, whose intervals resample groups where they resampled items."""
    return [
        measurement._replace(options={**measurement.options, "group": column})
        if "group" in measurement.options
        else measurement
        for measurement in measurements
    ]


def _moves(pair: Pair) -> pl.DataFrame:
    """What became of each item in each cell, as a label."""
    both = modal_labels(pair)
    gold = pair.before.group_by("item").agg(
        pl.col("gold").first() if "gold" in pair.before.columns else pl.lit(None, pl.String).alias("gold")
    )
    move = (
        pl.when(pl.col("before").eq_missing(pl.col("after")))
        .then(pl.lit("same"))
        .when(pl.col("before") == pl.col("gold"))
        .then(pl.lit("lost"))
        .when(pl.col("after") == pl.col("gold"))
        .then(pl.lit("gained"))
        .otherwise(pl.lit("changed"))
    )
    return both.join(gold, on="item", how="left").select("item", move.alias("label"))
