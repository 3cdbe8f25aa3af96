"""Which texts go wrong, and which texts people labelled: what a study's table knows of its items, screened.

Every column, the length of the texts and their place in the table are looked at, whether the study declares
them or not (`validity.item_clusters`). A column that surely explains errors is then treated as one whose
groups the study compares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import numpy as np
import polars as pl

from quaver.core.records import Estimate
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.measures.validity.item_clusters import (
    CHANGES,
    LENGTH,
    ROW,
    Mask,
    Trait,
    associated,
    items_at,
    traits,
)
from quaver.study.analysis.hidden_clusters import item_columns
from quaver.study.sources.study_source import StudySource

CHOSEN: Final = 0.001
"""With this chance texts drawn at random seem to be chosen."""

NAMES: Final = {LENGTH: "length", ROW: "place"}
"""What groups of texts by their length or their place in the table are called."""

OTHERS: Final = "other"


def item_table(study: StudySource) -> pl.DataFrame:
    """A row an item in the table's order: its id, its columns, how many words it has and where it stands."""
    items, table = study.experiment.items, item_columns(study)
    if study.has_texts:
        writer = PromptWriter(study.experiment.variants[0], study.experiment.labels)
        try:
            words = [len(writer.text(item).split()) for item in items]
        except QuaverError:  # an item has no text, which asking about it reports
            words = []
        if words:
            table = table.with_columns(pl.Series(LENGTH, words))
    return table.with_columns(pl.Series(ROW, np.arange(1, len(items) + 1)))


def items_of(study: StudySource, column: str, level: str) -> list[str]:
    """The ids of the items in a group that a verdict names: of a column, a length or a place."""
    table = item_table(study)
    for measured in (name for name in NAMES if NAMES[name] == column and name in table.columns):
        named = items_at(measured, level, table[measured].to_numpy().astype(np.float64))
        return table["item"].filter(pl.Series(named)).to_list()
    items = study.experiment.items
    return [item.id for item in items if level in (item.groups.get(column), str(item.fields.get(column)))]


def explaining_columns(frame: pl.DataFrame, table: pl.DataFrame, declared: Collection[str]) -> pl.DataFrame:
    """The columns of the items that surely explain which of them are labelled wrong.

    Without gold labels there are none. An item is wrong where more than half of a model's labels for it are
    not its gold label. The trait that explains most surely comes first; another one must explain errors among
    the items that have none of those before it.

    Returns:
        ``item``, and a column for each that explains errors of a model, but for those that are declared; of a
        length or a place, whose values are numbers, the part that goes wrong and ``other``.
    """
    columns = dict[str, pl.Series]()
    looked_at = list(traits(table.drop("item")))
    for items, wrong in _wrong(frame):
        known = table.join(pl.DataFrame({"item": items, "wrong": wrong}), on="item", how="left")
        is_wrong = known["wrong"].fill_null(value=False).to_numpy()
        left = known["wrong"].is_not_null().to_numpy()
        while worse := [
            association
            for association in associated(is_wrong, left, looked_at)
            if association.inside > association.outside
        ]:
            trait = worse[0]
            left = left & ~trait.items
            if trait.column not in declared:
                columns.setdefault(NAMES.get(trait.column, trait.column), _values(table, trait))
    return table.select("item", *(column.alias(name) for name, column in columns.items()))


def _values(table: pl.DataFrame, trait: Trait) -> pl.Series:
    if trait.column not in NAMES:
        return table[trait.column].cast(pl.String)
    return pl.Series(np.where(trait.items, trait.level, OTHERS))


def _wrong(frame: pl.DataFrame) -> Iterator[tuple[list[str], Mask]]:
    """For each model the items with a gold label and a label, and which of them are labelled wrong."""
    if "gold" not in frame.columns:
        return
    judged = frame.select(pl.col("item", "model", "label", "gold").cast(pl.String)).drop_nulls()
    for _, part in judged.group_by("model", maintain_order=True):
        share = part.group_by("item", maintain_order=True).agg(
            wrong=(pl.col("label") != pl.col("gold")).mean() > 1 / 2
        )
        yield share["item"].to_list(), share["wrong"].to_numpy()


def hand_labelled(frame: pl.DataFrame, table: pl.DataFrame, drawn: str | None) -> list[Estimate]:
    """Whether the texts that people labelled differ from the others, model by model.

    Beside the table's columns, the modal label and whether a prompt or a repeat changes it are looked at.

    Returns:
        For each model ``hand_labels``: the chance that texts drawn at random seem to differ so much, with the
        trait that differs most (``trait``, ``inside``: its share among the gold labels, ``outside``: among
        the others), ``bare``, the other traits of its column without a gold label, ``drawn``, what the study
        declares, and the ``group`` and ``level`` of texts of which too few have gold labels. None where all
        texts or none have a gold label.
    """
    if "gold" not in frame.columns or ("gold_drawn" in frame.columns and frame["gold_drawn"].any()):
        return []  # the draw's own design is known
    columns = frame.select(pl.col("item", "model", "label", "gold").cast(pl.String))
    estimates = []
    for (model,), part in columns.group_by("model", maintain_order=True):
        several = pl.when(pl.col("label").drop_nulls().n_unique() > 1)
        of_items = part.group_by("item").agg(
            several.then(pl.lit("whose label changes"))
            .otherwise(pl.lit("whose label never changes"))
            .alias(CHANGES),
            by_hand=pl.col("gold").is_not_null().any(),
            label=pl.col("label").drop_nulls().mode().sort().first(),
        )
        known = table.join(of_items, on="item", how="inner", maintain_order="left")
        by_hand = known["by_hand"].to_numpy()
        if by_hand.all() or not by_hand.any():
            continue
        looked_at = list(traits(known.drop("item", "by_hand")))
        everyone = np.ones(len(by_hand), bool)
        differing = associated(by_hand, everyone, looked_at, CHOSEN)
        details: dict[str, object] = {"drawn": drawn or "", "texts": int(by_hand.sum()), "of": len(by_hand)}
        if differing:
            trait = next(
                (association for association in differing if association.inside > association.outside),
                differing[0],
            )
            inside, outside = float(trait.items[by_hand].mean()), float(trait.items[~by_hand].mean())
            details |= {"trait": trait.words, "inside": inside, "outside": outside}
            values = [
                value for value in looked_at if value.column == trait.column and value.column not in NAMES
            ]
            details["bare"] = [value.words for value in values if not (by_hand & value.items).any()]
            rare = next(
                (association for association in differing if association.inside < association.outside), None
            )
            if rare is not None:
                details |= {"group": NAMES.get(rare.column, rare.column), "level": rare.level}
        estimates.append(
            Estimate(
                "hand_labels",
                differing[0].p if differing else 1.0,
                n=len(by_hand),
                unit="item",
                method="Fisher's exact tests of each trait of the items, with Bonferroni's correction",
                cell={"model": str(model)},
                details=details,
            )
        )
    return estimates
