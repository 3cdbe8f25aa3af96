"""One model's answers, and the measures that are taken of them, with intervals that hold at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import polars as pl

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.cells import cells
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.declaration import Measure
from quaver.estimation.jackknife import Resampling
from quaver.estimation.statistic import Cell
from quaver.measures.validity.answer_quality import compliance

LEVEL = Resampling().confidence_level


class ModelAnswers:
    """One model's answers.

    Args:
        calls: A row a call; a label outside the set is none.
        model: The model.
        labels: The label set.
        group: The column that groups the items.
        seed: Root seed.
    """

    def __init__(
        self, calls: pl.DataFrame, model: str, labels: LabelSet, group: str | None, seed: int
    ) -> None:
        self.calls, self.model, self.labels = calls, model, labels
        self.group, self.seed = group, seed

    def where(self, condition: pl.Expr) -> ModelAnswers:
        """Some of the answers."""
        some = self.calls.filter(condition)
        return self if some.height == self.calls.height else self._of(some)

    def _of(self, calls: pl.DataFrame) -> ModelAnswers:
        return ModelAnswers(calls, self.model, self.labels, self.group, self.seed)

    @cached_property
    def answered(self) -> ModelAnswers:
        """The calls that did not fail."""
        return self.where(pl.col("status").ne_missing("error"))

    @cached_property
    def labelled(self) -> ModelAnswers:
        """The answers with a label."""
        return self.where(pl.col("label").is_not_null())

    @cached_property
    def prompts(self) -> list[str]:
        """The variants, in the frame's order."""
        return self.calls["variant"].unique(maintain_order=True).to_list()

    @cached_property
    def has_gold(self) -> bool:
        """Whether the gold label of an item is known."""
        return self.calls["gold"].is_not_null().any()

    @cached_property
    def _gathered(self) -> Gathered:
        return Gathered(self.calls)

    def take(self, measure: Measure, frame: pl.DataFrame | None = None, **options: Any) -> list[Estimate]:
        """A measure of the answers, or of another frame of the same items."""
        asked: dict[str, Any] = {"labels": self.labels, "group": self.group, "seed": self.seed, **options}
        data = self._gathered if frame is None else frame
        estimates = measure(data, keep_draws=True, **asked)
        return [replace(estimate, cell={"model": self.model, **estimate.cell}) for estimate in estimates]

    def by_prompt(self) -> Cell:
        """The answers as an array, shape (items, prompts, answers)."""
        asked: dict[str, Any] = {"labels": self.labels, "group": self.group, "gold": True}
        (cell,) = cells(self._gathered, raters=("decoding", "repeat"), within=("variant",), **asked)
        return cell

    def shares(
        self,
        name: str,
        method: str,
        which: pl.Expr,
        frame: pl.DataFrame | None = None,
        *,
        by: Sequence[str] = (),
        together: int = 1,
    ) -> Iterator[Estimate]:
        """The share of rows of which something is so: of those, as `compliance` has it, without a label."""
        rows = self.calls if frame is None else frame
        kept = dict.fromkeys(("item", self.group or "item", *by))
        label = pl.when(which).then(None).otherwise(pl.lit("other"))
        marked = rows.select(*kept, repeat=pl.int_range(pl.len()).over("item"), label=label)
        for others in at_once(self.take(compliance, marked, labels=None, by=by), together):
            yield replace(complement(others, name), method=method, details={})


def complement(estimate: Estimate, name: str) -> Estimate:
    """1 less a share."""
    value, low, high = (
        None if end is None else 1 - end for end in (estimate.value, estimate.high, estimate.low)
    )
    method = f"1 less the {estimate.method}"
    return replace(estimate, measure=name, value=value, low=low, high=high, method=method, draws=None)


def at_once(estimates: Sequence[Estimate], together: int) -> Iterator[Estimate]:
    """Estimates with intervals that all of so many hold at once (Bonferroni)."""
    level = 1 - (1 - LEVEL) / max(1, together)
    for estimate in estimates:
        interval = (
            estimate.draws.at(level) if estimate.draws is not None and estimate.low is not None else None
        )
        low, high = interval or (None, None)
        yield replace(estimate, low=low, high=high, confidence_level=level)
