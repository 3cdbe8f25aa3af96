"""How many items and repeats a bound needs with a model that wavers, and what asking in rounds saves."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from math import ceil, log, log1p
from typing import Any, Final

import numpy as np
import polars as pl
import scipy

from quaver.comparison.alignment import strings_of
from quaver.comparison.bounds import Bound, read_bound
from quaver.comparison.comparing_in_rounds import FIRST
from quaver.comparison.smallest_loss import SEEN
from quaver.core.annotations import FIELD, rows_with
from quaver.core.number_format import count, percent
from quaver.core.rows import Rows
from quaver.errors import MeasureError
from quaver.estimation.intervals import clopper_pearson
from quaver.report.page_templates import template
from quaver.sequential.spent_error import round_sizes, tails_of_rounds
from quaver.study.session import Study

_TAIL: Final = 0.025
_REPEATS: Final = (1, 2, 3, 5, 10)
_LOSSES: Final = (0.02, 0.04, 0.08)
"""Beyond the limit, of a bound that fails where a loss is shown."""
_ASSUMED: Final = (0.02, 0.05, 0.1)
"""Shares of items that are answered differently when asked again, where no item was."""
_PATHS: Final = 4000
_PLANNED: Final = ("accuracy", "compliance", "recall")


@dataclass(frozen=True, slots=True)
class Churn:
    """How many items are answered differently when they are asked again.

    Attributes:
        share: Of the items: right once and wrong once (of compliance: with a label once, once without).
        between: Where the share may lie, at 95%; None where it is assumed.
        items: How many items were asked again.
    """

    share: float
    between: tuple[float, float] | None = None
    items: int = 0

    def __str__(self) -> str:
        """In words."""
        if self.between is None:
            return f"Assumed: {percent(self.share)} of items are answered differently when asked again"
        low, high = map(percent, self.between)
        of = f"{percent(self.share)} of {count(self.items, 'item')}"
        return f"{of} are answered differently when asked again ({low} to {high} of items like these)"


@dataclass(frozen=True, slots=True)
class GuardNeed:
    """What a bound needs.

    Attributes:
        churn: Of which model.
        difference: The true difference at which it must come out rightly.
        repeats: How often each item is asked, of either version.
        items: How many items it takes.
        calls: How many calls a version takes, all at once.
        calls_in_rounds: How many it takes in rounds, in the mean; in rounds there must be more items.
        items_in_rounds: How many there must be.
    """

    churn: Churn
    difference: float
    repeats: int
    items: int
    calls: int
    calls_in_rounds: int
    items_in_rounds: int


@dataclass(frozen=True, slots=True)
class GuardPlan(Rows):
    """What a bound needs to come out rightly in four of five comparisons.

    Attributes:
        bound: The bound.
        needs: By churn, difference and repeats.
    """

    bound: Bound
    needs: tuple[GuardNeed, ...]

    def __str__(self) -> str:
        """A few lines."""
        return template("comparison/guard.txt").render(plan=self, SEEN=SEEN).rstrip()

    __repr__ = __str__

    def rows(self) -> list[dict[str, Any]]:
        """A row for each need."""
        bound = {"bound": self.bound.text}
        return [bound | asdict(one) | {"churn": one.churn.share} for one in self.needs]


def plan_guard(study: Study, text: str) -> GuardPlan:
    """Say what a bound needs, with this study's model.

    Both versions are asked equally often. Where two single answers differ in a share d of the items, the
    difference of n items that are asked r times each has variance (d / r + L) / n, L being the true loss. A
    bound such as ``accuracy > -0.02`` must let a change without a loss pass, one such as ``accuracy < 0``
    must fail for losses of 2, 4 and 8 points, in 80% of comparisons. It never takes fewer items than where no
    label changes.
    """
    bound = read_bound(text, "if")
    worse = (bound.sign == "<") == (bound.limit <= 0)
    if (
        bound.measure not in _PLANNED
        or (bound.sign == ">" and bound.limit >= 0)
        or not worse ^ (bound.sign == ">")
    ):
        raise MeasureError(
            "no plan for this bound",
            where=f"--guard {text!r}",
            expected="accuracy, compliance or recall, and a loss: accuracy > -0.02, accuracy < 0",
            found=bound.text,
        )
    churn = churn_of(study, bound)
    aims = (0.0,) if bound.sign == ">" else tuple(bound.limit - loss for loss in _LOSSES)
    return GuardPlan(
        bound,
        tuple(
            _need(one, aim, bound.limit, repeats)
            for one in ([Churn(share) for share in _ASSUMED] if churn is None else [churn])
            for aim in aims
            for repeats in _REPEATS
        ),
    )


def churn_of(study: Study, bound: Bound) -> Churn | None:
    """How many items a study's model answers differently when asked again; None where none was.

    Of several fields the mean, unless the bound names one.
    """
    frame = strings_of(study)
    if FIELD in frame.columns and FIELD in bound.where:
        frame = rows_with(frame, FIELD, bound.where[FIELD])
    frame = frame.filter(pl.col("evaluator") == frame["evaluator"][0])
    good = pl.col("label").is_not_null()
    if bound.measure != "compliance":
        frame = frame.filter(pl.col("gold").is_not_null())
        good = pl.col("label").eq_missing(pl.col("gold"))
    if "label" in bound.where:
        frame = frame.filter(pl.col("gold") == bound.where["label"])
    keys = [name for name in (FIELD, "model", "decoding", "variant", "item") if name in frame.columns]
    asked = frame.group_by(keys).agg(good.sum().alias("good"), pl.len().alias("asked"))
    asked = asked.filter(pl.col("asked") > 1)
    if asked.is_empty():
        return None
    n, k = pl.col("asked"), pl.col("good")
    pairs = asked.select(differ=2 * k * (n - k) / (n * (n - 1)))["differ"]
    differ, items = float(pairs.sum()), asked["item"].n_unique()
    share = differ / len(pairs)
    ends = clopper_pearson(round(share * items), items, 0.95)
    return Churn(share, (ends.low, ends.high), items)


def _need(churn: Churn, aim: float, limit: float, repeats: int) -> GuardNeed:
    """What it takes that a bound comes out rightly at a true difference."""
    apart = abs(aim - limit)
    variance = churn.share / repeats + abs(aim)
    width = scipy.special.ndtri(1 - _TAIL) + scipy.special.ndtri(SEEN)
    fewest = ceil(log(_TAIL) / log1p(-apart))
    items = max(fewest, ceil(variance * (width / apart) ** 2))
    most, mean = _in_rounds(items, variance, apart)
    return GuardNeed(churn, aim, repeats, items, items * repeats, round(mean * repeats), most)


@lru_cache
def _in_rounds(items: int, variance: float, apart: float) -> tuple[int, float]:
    """How many items there must be where they are asked in rounds, and how many are asked in the mean."""
    fewest = log(_TAIL) / log1p(-apart)
    draws = np.random.default_rng(0).normal(size=(_PATHS, 40))
    most = items
    while True:
        sizes = np.array(round_sizes(FIRST, most, 2.0))
        tails = np.array(tails_of_rounds(sizes.tolist(), 2 * _TAIL))
        steps = np.diff(sizes, prepend=0)
        sums = np.cumsum(apart * steps + np.sqrt(variance * steps) * draws[:, : len(sizes)], axis=1)
        reach = -scipy.special.ndtri(tails) * np.sqrt(variance * sizes)
        shown = (sums > reach) & (sizes >= fewest)
        clear = shown | (sums < -reach)
        if shown.any(1).mean() >= SEEN or most > 50 * items:
            ends = np.where(clear.any(1), clear.argmax(1), len(sizes) - 1)
            return most, float(sizes[ends].mean())
        most = ceil(1.03 * most) + 1
