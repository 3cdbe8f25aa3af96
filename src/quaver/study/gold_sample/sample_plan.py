"""What a gold sample of a study would be: design, strata, and the intervals to expect from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import ceil
from typing import Any, Final

import numpy as np
import polars as pl

from quaver.core.rows import Rows
from quaver.errors import MeasureError, QuaverError, StoreError, UnknownName
from quaver.gold.coder_sheet import labels_per_item
from quaver.gold.gold_draw import (
    DISAGREEMENT,
    PREDICTED,
    Design,
    Floats,
    Predicted,
    first_draw,
    joined,
    predicted_labels,
    probabilities,
    strata_of,
)
from quaver.gold.width_forecast import (
    Residuals,
    multinomial_residuals,
    needed,
    observed_scale,
    regression_residuals,
    residuals,
)
from quaver.report.page_templates import template
from quaver.study.analysis.annotation_frame import scan
from quaver.study.gold_sample.gold_options import GoldOptions
from quaver.study.sources.gold_files import GoldState
from quaver.study.sources.study_source import StudySource

FEWEST_EVENTS: Final = 8
"""Gold labels of the rarer label that a corrected interval takes, about."""


SIZES: Final = ("n", "more", "target", "budget")
"""The options that say how large a sample is wanted, one of them."""


def check_size(given: GoldOptions) -> None:
    """Refuse sizes that contradict each other."""
    named = {name: value for name in SIZES if (value := given[name])}
    if len(named) != 1 or any(value <= 0 for value in named.values()):
        raise QuaverError(
            "how large is the sample to be?",
            where="gold",
            expected="one of n (items), more (items), target (a width) or budget, above 0",
            found=", ".join(f"{name}={value:g}" for name, value in named.items()) or "none of them",
            fix="quaver gold STUDY --n 200",
        )
    if given["budget"] and not (given["label_cost"] and given["label_cost"] > 0):
        raise QuaverError(
            "what does a label cost?",
            where="label_cost",
            expected="the price of one label, in the currency of the budget",
            found=repr(given["label_cost"]),
            fix="quaver gold STUDY --budget 300 --label-cost 0.75",
        )


@dataclass(frozen=True, slots=True)
class GoldForecast(Rows):
    """What a sample is expected to bring, before its labels are there.

    Attributes:
        design: How items are drawn.
        by: What tells its strata apart.
        population: How many items there are.
        size: How many items the whole sample has; its mean with ``poisson``.
        labels: How many labels people give for it, with those of several coders.
        cost: What the labels cost; None where the price is unknown.
        width: The width that is expected of the interval.
        of: Which interval: that of a conclusion, or the widest of the labels' corrected shares.
        simple: How many items simple sampling needs for an interval as wide, with the same correction.
        alone: How many it needs without the models' labels; None where all items are not enough.
        rests_on: What this rests on.
        rarer: How many gold labels are expected of the rarest label, or of the rarer side of a conclusion;
            None where an outcome is no share.
    """

    design: Design
    by: tuple[str, ...]
    population: int
    size: int
    labels: int
    cost: float | None
    width: float
    of: str
    simple: int | None
    alone: int | None
    rests_on: str
    rarer: float | None = None

    @property
    def saved(self) -> int | None:
        """How many labels the design saves against simple sampling; below 0 where it costs some."""
        return None if self.simple is None else self.simple - self.size

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        return [{**{one.name: getattr(self, one.name) for one in fields(self)}, "by": ", ".join(self.by)}]

    def __str__(self) -> str:
        """A few sentences."""
        text = template("terminal/gold_forecast.txt").render(plan=self, fewest=FEWEST_EVENTS)
        return text.rstrip("\n")


SHARES: Final = "shares"
"""What a forecast is of that is of no conclusion."""


class SamplePlan:
    """The population of a study with what is known of it before more gold labels are drawn.

    Args:
        source: The study.
        state: Its gold sample now.
        design: How to draw; the first round's where there was one. By default ``stratified`` where models
            gave labels, else ``simple``.
        by: What tells strata apart; by default the models' label and whether they disagree.
        size: About how large the sample will be, for strata that are too small.
        of: The conclusion whose interval is forecast, or ``shares``; by default the study's first conclusion,
            else the labels' shares.
    """

    def __init__(
        self,
        source: StudySource,
        state: GoldState,
        design: Design | None,
        by: Sequence[str] | None,
        size: float,
        of: str | None = None,
    ) -> None:
        self.source = source
        self.items = [item.id for item in source.experiment.items]
        self.predicted = self._predict()
        self.has_labels = bool(self.predicted.answers.any())
        self.design, self.by = self._chosen(state, design, by)
        strata = strata_of(self.by, self.predicted, self._columns(), size)
        if state.draw is None:
            self.before = first_draw(self.items, strata)
        else:
            self.before = joined(state.draw, self.items, strata, len(state.design["rounds"]) + 1)  # type: ignore[index]
        place = {item: index for index, item in enumerate(self.before["item"])}
        self._order = np.array([place[item] for item in self.items])
        self.had = int(self.before["drawn"].sum())
        self._numbers: Floats | None = None
        self.residuals, self.rests_on = self._expected(state, of)

    @property
    def _what(self) -> str:
        """What the forecast's interval is of."""
        if self.residuals.names == tuple(self.predicted.labels):
            return "widest 95% interval of a label's corrected share"
        return f"95% interval of the corrected effect ({self.residuals.names[0]})"

    @property
    def worth(self) -> Floats | None:
        """What probabilities are in proportion to, for the rows of ``before``; None where all are alike."""
        if self.design == "simple":
            return None
        if self.before["item"].to_list() == self.items:
            return self.predicted.doubt
        doubt = pl.DataFrame({"item": self.items, "doubt": self.predicted.doubt})
        there = self.before.join(doubt, on="item", how="left", maintain_order="left")["doubt"]
        return there.fill_null(there.mean()).to_numpy()

    def forecast(self, given: GoldOptions, coders: int, overlap: float) -> GoldForecast:
        """What a sample of the size that options come down to is expected to bring."""
        each = labels_per_item(coders, overlap)
        size = self._size(given, each)
        width = self._width(size, self.residuals)
        ends = min(1.0, width * (1 + 1e-9))
        simple = needed(self.residuals, self._simple, ends)
        alone = needed(self.residuals.alone, self._simple, ends) if self.has_labels else None
        labels = ceil((size - self.had) * each - 1e-9)
        return GoldForecast(
            self.design,
            self.by,
            len(self.items),
            size,
            labels,
            None if given["label_cost"] is None else labels * given["label_cost"],
            width,
            self._what,
            simple,
            alone,
            self.rests_on,
            self._rarer(size),
        )

    def probabilities(self, size: float) -> Floats:
        """Each item's probability in a sample of a size, in the order of ``before``."""
        return probabilities(self.before, size, self.design, self.worth)

    def _simple(self, size: float) -> Floats:
        return np.full(len(self.items), size / len(self.items))

    def _width(self, size: float, found: Residuals) -> float:
        return found.width(self.probabilities(size)[self._order])

    def _rarer(self, size: float) -> float | None:
        """How many gold labels are expected of the rarest label, or of a conclusion's rarer side."""
        chances, p = self.probabilities(size)[self._order], self.predicted.probabilities
        if self._numbers is None:
            return float((chances @ p).min())
        if not set(self._numbers.tolist()) <= {0.0, 1.0}:
            return None
        share = p @ self._numbers
        return float(min(chances @ share, chances @ (1 - share)))

    def _size(self, given: GoldOptions, each: float) -> int:
        check_size(given)
        most, target, price = len(self.items), given["target"], given["label_cost"]
        if given["budget"] is not None and price is not None:
            size = self.had + int(given["budget"] / (price * each) + 1e-9)
        elif target is not None:
            low, high = 2, most
            if self._width(most, self.residuals) > target:
                raise MeasureError(
                    "no gold sample of these items makes the interval as narrow",
                    where="target",
                    expected=f"a width of {self._width(most, self.residuals):.3f} or more, which labels of "
                    f"all {most:,} items lead to",
                    found=f"{target:g}",
                    fix="collect more items, or accept a wider interval",
                )
            while low < high:
                middle = (low + high) // 2
                enough = self._rarer(middle)
                fits = self._width(middle, self.residuals) <= target
                fits = fits and (enough is None or enough >= FEWEST_EVENTS)
                low, high = (low, middle) if fits else (middle + 1, high)
            size = low
        else:
            size = self.had + (given["more"] or 0) if given["n"] is None else given["n"]
        if size < 2 or (size <= self.had < most):
            raise QuaverError(
                "this is no larger than the sample that there is" if self.had else "this is no sample",
                where="gold",
                expected=f"more than {max(self.had, 1):,} items",
                found=f"{size:,}",
                fix="name a larger sample, or leave the sample as it is",
            )
        return min(size, most)

    def _predict(self) -> Predicted:
        frame = None
        if not self.source.can_ask or self.source.files.responses.exists():
            try:
                frame = scan(self.source).select("item", "evaluator", "label").collect()
            except StoreError:
                frame = None
        return predicted_labels(frame, self.items, self.source.experiment.labels.codes)

    def _columns(self) -> dict[str, list[str]]:
        items = self.source.experiment.items
        names = dict.fromkeys(name for item in items for name in item.groups)
        return {name: [item.groups.get(name, "") for item in items] for name in names}

    def _chosen(
        self, state: GoldState, design: Design | None, by: Sequence[str] | None
    ) -> tuple[Design, tuple[str, ...]]:
        """The design and its strata, as the first round had them."""
        if state.design is not None:
            first, same = state.design["design"], tuple(state.design["by"])
            if (design not in (None, first)) or (by is not None and tuple(by) != same):
                raise QuaverError(
                    "a later round is drawn like the first",
                    where="gold",
                    expected=f"{first} sampling" + (f" by {', '.join(same)}" if same else ""),
                    found=f"{design or first} sampling" + (f" by {', '.join(by)}" if by else ""),
                    fix="leave the design out; it is recorded in gold/design.json",
                )
            return first, same
        usual: Design = "stratified" if self.has_labels or by else "simple"
        chosen = design or usual
        strata = tuple(by) if by else (PREDICTED, DISAGREEMENT) if chosen == "stratified" else ()
        known = [*self._columns(), PREDICTED, DISAGREEMENT]
        for name in strata:
            if name not in known:
                raise UnknownName("column", name, known, where="by")
        needs = chosen == "poisson" or PREDICTED in strata or DISAGREEMENT in strata
        if (needs and not self.has_labels) or (strata and chosen != "stratified"):
            raise QuaverError(
                "no model has labelled these items yet"
                if chosen == "stratified" or not strata
                else f"{chosen} sampling has no strata",
                where="design" if not strata else "by",
                expected="simple sampling, or strata of the items' groups" if needs else "no `by`",
                found=f"{chosen} sampling" + (f" by {', '.join(strata)}" if strata else ""),
                fix="collect labels first (`quaver run`), or draw a simple sample",
            )
        return chosen, strata

    def _of(self, of: str | None) -> Residuals:
        """What the interval depends on that is forecast: a conclusion's, or those of the labels' shares."""
        tables = {table.name: table for table in self.source.conclusions.tables()}
        if of is not None and of not in (SHARES, *tables):
            raise UnknownName("conclusion", of, [SHARES, *tables], where="of")
        if of == SHARES or not tables:
            return residuals(self.predicted)
        table = tables[of] if of else next(iter(tables.values()))
        self._numbers = table.numbers[:, int(np.abs(table.contrast).sum(1).argmax())]
        if table.regression == "multinomial":
            given = (table.matrix, table.contrast, table.numbers, table.name, table.weights)
            return multinomial_residuals(self.predicted, *given)
        return regression_residuals(
            self.predicted,
            table.matrix,
            table.contrast.ravel(),
            table.numbers[:, 0],
            table.name,
            logistic=table.regression == "logistic",
            weights=table.weights,
        )

    def _expected(self, state: GoldState, of: str | None) -> tuple[Residuals, str]:
        found = self._of(of)
        if not self.has_labels:
            return found, "in the worst case: no model has labelled the items yet"
        gold = state.settled.gold
        if state.draw is None or len(gold) < 10:
            return found, "from how far the prompts' labels agree"
        scale = observed_scale(residuals(self.predicted), self.predicted, state.draw, gold)
        return found.scaled(scale), f"from {len(gold):,} gold labels and the prompts' labels"
