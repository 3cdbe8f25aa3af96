"""One model's answers, counted by item, prompt and label: what the estimates behind a verdict are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.agreement.disagreement import scale
from quaver.core.records import OF_SETS, Estimate, LabelSet
from quaver.estimation.grouped_items import ItemGroups, item_groups, tabulated
from quaver.estimation.jackknife import Floats, Ratio, Resampling, Units, Weighted
from quaver.estimation.statistic import Sampler, Statistic

Mask = NDArray[np.bool_]

_UNLABELLED: Final = ""
"""Stands for the label of an answer that has none."""


def likeness(labels: LabelSet) -> Floats | None:
    """How alike two labels are, by their level of measurement: 1 − δ² / max δ², shape (labels, labels).

    δ is the number of steps between two labels of an ordinal scale, the difference of two values, or for a
    ratio scale (a − b) / (a + b); a label without a value has its place. Of labels that are sets it is
    1 − their distance. None for nominal labels, which are the same or not.

    >>> from quaver.core.records import Label
    >>> likeness(LabelSet(tuple(Label(code, code) for code in "123"), "ordinal"))[0].tolist()
    [1.0, 0.75, 0.0]
    """
    if labels.level == "nominal" or len(labels.codes) < 2:
        return None
    values = scale(labels.codes, labels.level, labels)
    if labels.level in OF_SETS and values is not None:
        return np.asarray(1 - values)
    at = np.arange(len(labels.codes), dtype=np.float64) if values is None else values
    apart = at[:, None] - at[None, :]
    if labels.level == "ratio":
        total = np.abs(at)[:, None] + np.abs(at)[None, :]
        apart = apart / np.where(total > 0, total, 1.0)
    return np.asarray(1 - apart**2 / (apart**2).max())


@dataclass(frozen=True)
class AnswerTable:
    """One model's answers.

    Attributes:
        frame: A row a call, as text; a label outside the set is none.
        model: The model.
        labels: The label set.
        items: The items that calls are about.
        prompts: The variants, in the frame's order.
        strata: Answers of each decoding, shape (items, prompts, labels + 1); the last label is none. Calls
            that failed are not among them.
        groups: What is resampled.
        resampling: How intervals are made.
    """

    frame: pl.DataFrame
    model: str
    labels: LabelSet
    items: Sequence[str]
    prompts: Sequence[str]
    strata: tuple[Floats, ...]
    groups: ItemGroups
    resampling: Resampling

    @cached_property
    def alike(self) -> Floats | None:
        """How alike two labels are (`likeness`)."""
        return likeness(self.labels)

    @cached_property
    def units(self) -> Units:
        """What is resampled."""
        return self.groups.units(self.items)

    @cached_property
    def counts(self) -> Floats:
        """The answers of all decodings."""
        return np.asarray(sum(self.strata))

    @property
    def answered(self) -> AnswerTable:
        """The items and prompts with an answer."""
        some = self.of_items(np.asarray(self.counts.any((1, 2))))
        return some.of_prompts(np.flatnonzero(some.counts.any((0, 2))).tolist())

    @property
    def labelled(self) -> AnswerTable:
        """The items with a label."""
        return self.of_items(np.asarray(self.given.any(1)))

    @cached_property
    def given(self) -> Floats:
        """The labels that each item got, shape (items, labels)."""
        return np.asarray(self.counts.sum(1)[:, :-1])

    @cached_property
    def _true(self) -> pl.Series:
        """Each item's gold label."""
        known = self.frame.select("item", "gold").unique("item")
        items = pl.DataFrame({"item": self.items}, schema={"item": pl.String})
        return items.join(known, on="item", how="left", maintain_order="left")["gold"]

    @cached_property
    def gold(self) -> Floats:
        """Each item's gold label as ones and zeros, shape (items, labels); zeros where it is unknown."""
        return np.stack([(self._true == code).fill_null(value=False) for code in self.labels.codes], 1) * 1.0

    @cached_property
    def judged(self) -> Mask:
        """Which items have a gold label, one of the set or another."""
        return self._true.is_not_null().to_numpy()

    @cached_property
    def failed(self) -> Floats:
        """How many calls about each item failed."""
        failed = self.frame.filter(pl.col("status") == "error")
        return tabulated(failed, item=self.items)

    def of_items(self, mask: Mask) -> AnswerTable:
        """The answers about some items."""
        if mask.all():
            return self
        items = [item for item, kept in zip(self.items, mask, strict=True) if kept]
        strata = tuple(stratum[mask] for stratum in self.strata)
        return replace(self, items=items, strata=strata, frame=self.frame.filter(pl.col("item").is_in(items)))

    def of_prompts(self, prompts: Sequence[int]) -> AnswerTable:
        """The answers to some prompts, about the items that they were asked about."""
        names = [self.prompts[index] for index in prompts]
        strata = tuple(stratum[:, list(prompts)] for stratum in self.strata)
        chosen = replace(
            self, prompts=names, strata=strata, frame=self.frame.filter(pl.col("variant").is_in(names))
        )
        return chosen.of_items(np.asarray(chosen.counts.any((1, 2))))

    def number(self, name: str, method: str, under: Weighted | None, **given: Any) -> Estimate:
        """A number that is a function of item weights; None: it is undefined.

        Args:
            name: What it is called.
            method: In words.
            under: The function.
            **given: What else there is of `Statistic`; and ``together``, how many intervals are to hold at
                once (Bonferroni).
        """
        level = 1 - (1 - self.resampling.confidence_level) / given.pop("together", 1)
        resampling = replace(self.resampling, confidence_level=level)
        sampler = Sampler(self.units, resampling, where={"model": self.model})
        return sampler.estimated(Statistic(part=name, method=method, under=under, **given))

    def share(
        self, name: str, method: str, above: Floats | Mask, below: Floats | Mask, **given: Any
    ) -> Estimate:
        """A ratio of sums over items, from 0 to 1 if nothing else is ``given``."""
        ratio = Ratio(np.asarray(above, float)[:, None], np.asarray(below, float)[:, None])
        return self.number(name, method, ratio, **{"ends": (0.0, 1.0), **given})


def answer_tables(
    frame: pl.DataFrame, labels: LabelSet, group: str | None = None, seed: int = 0
) -> Iterator[AnswerTable]:
    """The answers of each model, counted."""
    groups, resampling = item_groups(frame, group), Resampling(seed=seed)
    flat = [name for name, kind in frame.schema.items() if not kind.is_nested()]
    texts = frame.select(pl.col(flat).cast(pl.String))
    missing = {"model": "", "decoding": "", "variant": "", "gold": None, "status": None, "label": None}
    absent = [pl.lit(value, pl.String).alias(name) for name, value in missing.items() if name not in flat]
    known = pl.col("label").is_in(list(labels.codes))
    calls = texts.with_columns(absent).with_columns(label=pl.when(known).then("label").otherwise(pl.lit("")))
    codes = (*labels.codes, _UNLABELLED)
    for (model,), part in calls.group_by("model", maintain_order=True):
        items = part["item"].unique().sort().to_list()
        prompts = part["variant"].unique(maintain_order=True).to_list()
        answered = part.filter(pl.col("status").ne_missing("error"))
        strata = [
            tabulated(answers, item=items, variant=prompts, label=codes)
            for _, answers in answered.group_by("decoding", maintain_order=True)
        ]
        empty = np.zeros((len(items), len(prompts), len(codes)))
        yield AnswerTable(
            part, str(model), labels, items, prompts, tuple(strata or [empty]), groups, resampling
        )
