"""One model's answers counted by item, prompt and label, with its answers that have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.bootstrap import Floats, Resampling, Units
from quaver.estimation.intervals import mean_within
from quaver.estimation.item_groups import ItemGroups
from quaver.estimation.means import differing, ratio
from quaver.estimation.statistic import Sampler, Statistic
from quaver.measures.stability.label_pairs import tabulated

NO_LABEL_CODE = ""
"""The label of an answer that has none."""


def prepared(frame: pl.DataFrame, labels: LabelSet) -> pl.DataFrame:
    """The columns that are needed, as text; a label outside the set is none; without calls that failed."""
    wanted = ("item", "model", "decoding", "variant", "gold", "label", "status")
    there = [pl.col(name).cast(pl.String) for name in wanted if name in frame.columns]
    gone = [
        pl.lit(None if name in ("gold", "status") else "", pl.String).alias(name)
        for name in wanted
        if name not in frame.columns
    ]
    kept = frame.select(*there, *gone).filter(pl.col("status").ne_missing("error"))
    known = pl.col("label").is_in(list(labels.codes)).fill_null(value=False)
    return kept.with_columns(label=pl.when(known).then(pl.col("label")).otherwise(pl.lit(NO_LABEL_CODE)))


@dataclass(frozen=True)
class PromptAnswers:
    """One model's answers, counted.

    Attributes:
        frame: A row an answer.
        labels: The codes, and that of none at the end.
        groups: What is resampled.
        model: The model.
        resampling: How intervals are made.
    """

    frame: pl.DataFrame
    labels: Sequence[str]
    groups: ItemGroups
    model: str
    resampling: Resampling

    @cached_property
    def items(self) -> list[str]:
        """Those that were asked about."""
        return self.frame["item"].unique().sort().to_list()

    @cached_property
    def variants(self) -> list[str]:
        """The prompts, in the frame's order."""
        return self.frame["variant"].unique(maintain_order=True).to_list()

    @cached_property
    def units(self) -> Units:
        """What is resampled."""
        return self.groups.units(self.items)

    @cached_property
    def strata(self) -> list[Floats]:
        """Answers of each decoding, shape (items, prompts, labels and none)."""
        parts = self.frame.group_by("decoding", maintain_order=True)
        return [tabulated(part, self.items, self.variants, self.labels) for _, part in parts]

    @cached_property
    def counts(self) -> Floats:
        """Those of all decodings."""
        return np.asarray(sum(self.strata))

    @cached_property
    def gold(self) -> Floats | None:
        """Each item's gold label as ones and zeros, NaN where it is not known; None where none is."""
        of = dict(self.frame.select("item", "gold").unique("item").iter_rows())
        if not any(of.values()):
            return None
        rows = [
            [float(of[item] == code) if of[item] else np.nan for code in self.labels] for item in self.items
        ]
        return np.array(rows)

    def estimated(self, part: str, statistic: Statistic, *, prompts: int = 1) -> Estimate:
        """An estimate whose interval holds for so many prompts at once."""
        level = 1 - (1 - self.resampling.confidence_level) / prompts
        sampler = Sampler(
            self.units,
            replace(self.resampling, confidence_level=level),
            where={"model": self.model, **statistic.where},
        )
        return sampler.estimated(replace(statistic, part=part))

    def share(self, above: Floats, below: Floats, method: str) -> Statistic:
        """A ratio of sums over items."""
        own = np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)
        return Statistic(
            method=method,
            under=ratio(above[:, None], below[:, None]),
            n=self.units.touched(below > 0),
            differing=differing(own, self.units),
            ends=(0.0, 1.0),
            spread=mean_within,
        )
