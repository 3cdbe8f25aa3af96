"""Items with all their labels and a designed sample of gold labels, and what the sample corrects."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.coded_columns import Ints, encode
from quaver.estimation.jackknife import Floats, one_thread
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.corrected.estimators import (
    Corrected,
    GoldRegression,
    corrected,
    ends,
    few_events,
    gold_alone,
    of_mean,
)

SOURCE = (
    "Angelopoulos, Duchi & Zrnic (2024), PPI++, arXiv 2311.01453; drawn by design as in Egami, Hinck, "
    "Stewart & Wei (2023), NeurIPS 36"
)

TOGETHER = ("model", "decoding", "evaluator", "variant", "text")
"""What a study does not take apart by itself: an item has one true label, whatever was asked about it."""

_SAMPLED = ("gold", "gold_drawn", "gold_probability")
_FEWEST_OF_A_STRATUM = 2


def designed(frame: pl.DataFrame) -> bool:
    """Whether annotations hold a designed gold sample of which some labels are there."""
    if not set(frame.columns) >= set(_SAMPLED):
        return False
    return bool(frame.select((pl.col("gold_drawn") & pl.col("gold").is_not_null()).any()).item())


@dataclass(frozen=True)
class GoldCell:
    """A cell's items, and what is known of their gold labels.

    Attributes:
        cell: The labels: a stratum of the cell is a prompt and model.
        shares: The share of each label among an item's labels, by prompt, shape (items, prompts, labels);
            NaN where a prompt gave an item none.
        gold: Each item's gold label as a code, -1 where it was not drawn or has none.
        probability: Of being drawn; NaN outside the sampled population.
        strata: The stratum of each item, where fixed numbers were drawn from several.
        excluded: What was left out, counted.
    """

    cell: Cell
    shares: Floats
    gold: Ints
    probability: Floats
    strata: Ints | None
    excluded: dict[str, int]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which items are of the sampled population."""
        return np.isfinite(self.probability) & (self.probability > 0)

    def predicted(self, numbers: Floats) -> tuple[Floats, dict[str, Any]]:
        """An item's mean number over prompts, without gaps; and the lowest and highest mean of a prompt."""
        each = self.shares @ numbers
        heard = each[self.known][:, np.isfinite(each[self.known]).any(0)]
        if not heard.size:
            return np.zeros(len(each)), {}
        means = np.nanmean(heard, 0)
        said = {"low": float(means.min()), "high": float(means.max()), "mean": float(means.mean())}
        return filled(each), {"naive": said}

    def regression(
        self, outcome: Floats, kept: NDArray[np.bool_], matrix: Floats | None = None, **more: Any
    ) -> GoldRegression:
        """The regression of a true outcome, NaN where it is not known, on some of the items."""
        known, clusters, strata = outcome[kept], self.cell.clusters, self.strata
        if clusters is not None:
            clusters = np.unique(clusters[kept], return_inverse=True)[1].astype(np.int64)
        if strata is not None:
            strata = _with_gold(strata[kept], np.isfinite(known))
        if matrix is None:
            return of_mean(known, self.probability[kept], clusters, strata)
        return GoldRegression(
            matrix[kept], known, self.probability[kept], clusters=clusters, strata=strata, **more
        )


def filled(each: Floats) -> Floats:
    """Numbers of items by prompt, averaged over prompts; where an item has none, the mean of the others."""
    defined = np.isfinite(each)
    mean = quotient(np.where(defined, each, 0.0).sum(1), defined.sum(1))
    return np.where(
        np.isfinite(mean), mean, np.nan_to_num(mean)[defined.any(1)].mean() if defined.any() else 0.0
    )


def gold_cells(data: MeasureInput, *, numbers: tuple[str, ...] = ()) -> Iterator[GoldCell]:
    """The cells of a frame with a designed gold sample; none where nothing was drawn.

    Raises:
        MeasureError: There are no columns of a gold sample.
    """
    frame = data.gathered
    if not set(frame.columns) >= set(_SAMPLED):
        raise MeasureError(
            "there is no gold sample that was drawn by design",
            where="annotations",
            expected="the columns gold, gold_drawn and gold_probability, with gold labels of drawn items",
            found="no such columns",
            fix="draw one: `quaver gold STUDY --n 200`",
        )
    within = ("model", "decoding", "evaluator", "variant")
    cells = data.cells(raters=("evaluator", "text", "repeat"), within=within, gold=True, numbers=numbers)
    for cell in cells if frame["gold_drawn"].any() else ():
        rows = cell.rows.max((1, 2), initial=-1)
        probability = frame["gold_probability"].gather(rows).cast(pl.Float64).fill_null(np.nan).to_numpy()
        drawn = frame["gold_drawn"].gather(rows).fill_null(value=False).to_numpy()
        defined = np.isfinite(probability) & (probability > 0)
        gold, counts = cell.gold_codes, cell.counts()
        excluded = {
            "not in the sampled population": int((~defined).sum()),
            "gold label outside the sample": int((~drawn & (gold >= 0)).sum()),
            "drawn, without a gold label yet": int((drawn & defined & (gold < 0)).sum()),
        }
        strata = (
            _strata(frame["gold_stratum"].gather(rows), probability)
            if "gold_stratum" in frame.columns
            else None
        )
        yield GoldCell(
            cell,
            quotient(counts, counts.sum(2, keepdims=True)),
            np.where(drawn & defined, gold, -1),
            probability,
            strata,
            excluded,
        )


def _strata(column: pl.Series, probability: Floats) -> Ints | None:
    """The strata of which fixed numbers were drawn; None of one, and where items were drawn by themselves."""
    codes = encode(column, "gold_stratum").codes
    defined = np.isfinite(probability)
    if not defined.any() or codes[defined].min() < 0 or np.ptp(codes[defined]) == 0:
        return None
    chances = pl.DataFrame({"stratum": codes[defined], "chance": probability[defined]}).group_by("stratum")
    spread = chances.agg(pl.col("chance").max() - pl.col("chance").min())["chance"]
    return codes.astype(np.int64) if float(spread.max() or 0.0) < 1e-9 else None  # type: ignore[arg-type]


def _with_gold(strata: Ints, gold: NDArray[np.bool_]) -> Ints:
    """Strata from 0 without gaps; those with too few gold items to show a spread are one together."""
    counts = np.bincount(strata[gold], minlength=int(strata.max(initial=0)) + 1)
    small = counts[strata] < _FEWEST_OF_A_STRATUM
    return np.unique(np.where(small, -1, strata), return_inverse=True)[1].astype(np.int64)


class Correcting:
    """A contrast of the true labels, from gold labels alone and corrected by a prediction.

    Args:
        cell: The items.
        kept: Which of these take part.
        asked: The regression on them.
        prediction: Of the outcome of all the cell's items; None where there is none.
        bounded: The least and the largest outcome.
    """

    def __init__(
        self,
        cell: Cell,
        kept: NDArray[np.bool_],
        asked: GoldRegression,
        prediction: Floats | None,
        bounded: tuple[float, float] | None = None,
    ) -> None:
        self._cell, self._kept, self._asked, self._bounded = cell, kept, asked, bounded
        self.corrected: Corrected | None = None
        with one_thread():
            self.alone = gold_alone(asked)
            self.reason = few_events(asked, self.alone)
            if not self.reason:
                made = None if prediction is None else corrected(asked, prediction[kept], bounded=bounded)
                self.corrected = made or self.alone

    def statistic(self, made: Corrected | None, shape: Statistic) -> Statistic:
        """A statistic filled in: an estimate as a sum over items, so that two of the same items pair."""
        gold, resampling = int(self._asked.gold.size), self._cell.resampling
        shape = replace(shape, n=gold, source=SOURCE, details={**shape.details, "gold": gold})
        if made is None or self.reason:
            return replace(shape, reason=self.reason or "no estimate")
        each, square = np.zeros(len(self._cell.items)), float((made.contributions**2).sum())
        # Its variance is that of the interval, with what learning λ costs.
        scale = (made.variance / square) ** 0.5 if square > 0 and self._asked.clusters is None else 1.0
        each[self._kept] = made.contributions * scale

        def under(weights: Floats) -> Floats:
            return np.asarray(made.value + (weights @ each - each.sum())[:, None])

        details = {**shape.details, "standard_error": made.variance**0.5, "freedom": made.freedom}
        interval = ends(self._asked, made, resampling.confidence_level, self._bounded)
        return replace(shape, under=under, interval=(interval, "interval from gold labels"), details=details)

    def beside(self) -> dict[str, Any]:
        """What the gold labels alone say, and as how many of them the corrected estimate counts."""
        if self.alone is None or self.corrected is None:
            return {}
        low, high = ends(self._asked, self.alone, self._cell.resampling.confidence_level, self._bounded)
        gain = self.alone.variance / self.corrected.variance if self.corrected.variance > 0 else 1.0
        return {
            "gold_alone": {"value": self.alone.value, "low": low, "high": high},
            "effective_gold": self._asked.gold.size * gain,
            "tuning": self.corrected.tuning,
        }


def or_nothing(data: MeasureInput, estimates: Iterator[Estimate]) -> Iterator[Estimate]:
    """The estimates; where there are none, one that says why."""
    reason = "no gold labels that were drawn by design" if data.gathered.height else "no annotations"
    nothing = Estimate(
        data.measure.name, None, reason=reason, method="a designed gold sample", reference=SOURCE
    )
    yield from itertools.chain([first], estimates) if (first := next(estimates, None)) else [nothing]
