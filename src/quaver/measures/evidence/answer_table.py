"""One model's answers, counted by item, prompt and label: what the estimates behind a verdict are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
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

_COLUMNS: Final = ("item", "model", "decoding", "variant", "gold", "label", "status")
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
    def gold(self) -> Floats:
        """Each item's gold label as ones and zeros, shape (items, labels); zeros where it is unknown."""
        of = dict(self.frame.select("item", "gold").unique("item").iter_rows())
        codes = {code: index for index, code in enumerate(self.labels.codes)}
        ones = np.zeros((len(self.items), len(codes)))
        for row, item in enumerate(self.items):
            if of[item] in codes:
                ones[row, codes[of[item]]] = 1.0
        return ones

    @cached_property
    def judged(self) -> Mask:
        """Which items have a gold label, one of the set or another."""
        of = dict(self.frame.select("item", "gold").unique("item").iter_rows())
        return np.array([of[item] is not None for item in self.items], bool)

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

    def estimated(self, name: str, statistic: Statistic, *, together: int = 1) -> Estimate:
        """An estimate whose interval is one of so many that hold at once (Bonferroni)."""
        level = 1 - (1 - self.resampling.confidence_level) / together
        where = {"model": self.model, **statistic.where}
        sampler = Sampler(self.units, replace(self.resampling, confidence_level=level), where=where)
        return sampler.estimated(replace(statistic, part=name))

    def share(
        self,
        name: str,
        method: str,
        above: Floats | Mask,
        below: Floats | Mask,
        *,
        together: int = 1,
        ends: tuple[float, float] = (0.0, 1.0),
        reason: str | None = None,
        where: Mapping[str, str] = MappingProxyType({}),
        details: Mapping[str, Any] = MappingProxyType({}),
    ) -> Estimate:
        """A ratio of sums over items."""
        ratio = Ratio(np.asarray(above, float)[:, None], np.asarray(below, float)[:, None])
        statistic = Statistic(
            method=method, under=ratio, ends=ends, where=dict(where), details=details, reason=reason
        )
        return self.estimated(name, statistic, together=together)

    def number(self, name: str, method: str, under: Weighted | None, **given: Any) -> Estimate:
        """A number that is a function of item weights; None: it is undefined."""
        together = given.pop("together", 1)
        return self.estimated(name, Statistic(method=method, under=under, **given), together=together)


def answer_tables(
    frame: pl.DataFrame, labels: LabelSet, group: str | None = None, seed: int = 0
) -> Iterator[AnswerTable]:
    """The answers of each model, counted."""
    groups, resampling = item_groups(frame, group), Resampling(seed=seed)
    absent = {"gold": None, "status": None, "label": None}
    columns = [
        pl.col(name).cast(pl.String)
        if name in frame.columns
        else pl.lit(absent.get(name, ""), pl.String).alias(name)
        for name in _COLUMNS
    ]
    others = [
        pl.col(name).cast(pl.String)
        for name, kind in frame.schema.items()
        if name not in _COLUMNS and not kind.is_nested()
    ]
    known = pl.when(pl.col("label").is_in(list(labels.codes))).then(pl.col("label"))
    for (model,), part in frame.select(*columns, *others).group_by("model", maintain_order=True):
        calls = part.with_columns(label=known.otherwise(pl.lit(_UNLABELLED)))
        items = calls["item"].unique().sort().to_list()
        prompts = calls["variant"].unique(maintain_order=True).to_list()
        codes = (*labels.codes, _UNLABELLED)
        answered = calls.filter(pl.col("status").ne_missing("error"))
        strata = tuple(
            tabulated(answers, item=items, variant=prompts, label=codes)
            for _, answers in answered.group_by("decoding", maintain_order=True)
        )
        empty = np.zeros((len(items), len(prompts), len(codes)))
        yield AnswerTable(calls, str(model), labels, items, prompts, strata or (empty,), groups, resampling)
