"""A conclusion about the true labels: a regression on a designed gold sample, corrected by all labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import special

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.correction.estimators import Corrected, Question
from quaver.correction.prediction_powered import dsl, ppi
from quaver.correction.regressions import Kind
from quaver.estimation.declaration import measure
from quaver.estimation.gathered import frame_of
from quaver.estimation.measure_input import MeasureInput
from quaver.measures.corrected.corrected_estimate import SOURCE, Correcting, Sampling
from quaver.measures.corrected.labelled_items import LabelledItems, filled, label_names, populations
from quaver.measures.validity.claims import Effect
from quaver.measures.validity.conclusion_formula import (
    ItemTable,
    Regression,
    outcome_numbers,
    read_regression,
)

CORRECTED, DSL, PPI = "conclusion_corrected", "conclusion_dsl", "conclusion_ppi"
"""The estimates: all prompts together, and each by itself in two ways."""

_DSL_SOURCE = "Egami, Hinck, Stewart & Wei (2023), NeurIPS 36"
_PPI_SOURCE = "Angelopoulos, Duchi & Zrnic (2024), PPI++, arXiv 2311.01453"

_ENDS = (0.0, 1.0)


@measure(source=SOURCE, section="conclusions")
def corrected_conclusion(
    data: MeasureInput,
    *,
    formula: str,
    effect: str,
    items: Any = None,
    name: str | None = None,
    regression: Literal["linear", "logistic", "multinomial"] = "linear",
    categories: Sequence[str] = (),
    weights: str | None = None,
    each: bool = True,
) -> Iterator[Estimate]:
    """A conclusion about the true labels, whatever the errors of the model's labels lean on.

    The regression is on the gold labels of a sample that was drawn by design, each weighted by one over its
    probability. What the labels of all prompts, models and confidences say beyond the columns is subtracted
    where it is known to sum to zero, so that errors cancel and precision is gained. Undefined where the rarer
    label has too few gold labels on one side of the contrast: an interval would then cover too rarely.

    Returns:
        For each population (``by`` columns that belong to items) ``conclusion_corrected``, with ``verdict``,
        ``gold_alone``, ``effective_gold`` (how many gold labels alone would be as precise) and ``p`` in
        ``details``; ``conclusion_gold``, from gold labels alone; for each prompt ``conclusion_ppi`` (PPI++)
        and ``conclusion_dsl``.

    Of 80 items 40 were drawn, and 24 of these are ``a``; the model's labels are all right, 44 in all being
    ``a``. Gold alone says 0.6, the corrected estimate 0.55:

    >>> import polars as pl
    >>> true = list("aaaaaabbbb") * 4 + list("aaaaabbbbb") * 4
    >>> frame = pl.DataFrame({"item": range(80), "label": true, "gold": true, "gold_probability": 0.5,
    ...     "gold_drawn": [True] * 40 + [False] * 40})
    >>> found = corrected_conclusion(frame, formula="share(a) ~ 1", effect="Intercept > 0.5")
    >>> [(one.measure.removeprefix("conclusion_"), round(one.value, 2)) for one in found]
    [('corrected', 0.55), ('gold', 0.6), ('ppi', 0.55), ('dsl', 0.55)]
    """
    asked = read_regression(formula, regression)
    rows = data.frame if items is None else frame_of(items, "items")
    title = name or f"{formula.strip()}; {effect.strip()}"
    outcomes = label_names(data)[1:] if regression == "multinomial" else ()
    table = ItemTable(rows, asked, categories, effect, outcomes, weights)
    for population in populations(data):
        concluding = Concluding(data, population, table, asked, regression)
        for estimate in concluding.estimates(each=each):
            yield replace(estimate, cell={"conclusion": title, **estimate.cell})


class Concluding:
    """One conclusion in one population.

    Args:
        reading: What it is drawn from.
        population: The items.
        table: Their columns, and the claim.
        asked: The formula.
        regression: Its kind.
    """

    def __init__(
        self,
        data: MeasureInput,
        population: LabelledItems,
        table: ItemTable,
        asked: Regression,
        regression: Kind,
    ) -> None:
        self._reading, self._population = data, population
        self._effect, self._regression = table.effect, regression
        matrix = table.rows(population.names)
        self._complete = np.isfinite(matrix).all(1)
        labels, known_set = population.labels, data.labels
        self._numbers = outcome_numbers(asked, regression, labels, known_set, table.outcomes)
        known = (population.gold >= 0)[:, None]
        true = np.where(known, self._numbers[population.gold], np.nan)
        weights = table.weights(population.names)
        self._complete &= np.isfinite(weights) & (weights > 0)
        sample = population.sample(matrix, true, self._complete, weights)
        contrast = self._effect.contrast.reshape(self._numbers.shape[1], -1)
        self._question = Question(sample, contrast, regression)
        self._seed = derive(data.resampling.seed, "folds")
        groups = (population.clusters, population.unit)
        self._sampling = Sampling(data.resampling, data.keep, population.names, self._complete, *groups)

    def estimates(self, *, each: bool) -> Iterator[Estimate]:
        """All together, gold alone, and, where asked, each prompt by itself."""
        tables = [self._population.valued(numbers)[self._complete] for numbers in self._numbers.T]
        sure = [self._population.probable(numbers) for numbers in self._numbers.T]
        own = np.stack([filled(table) for table in tables], 1)
        more = [one[self._complete] for one in sure if one is not None]
        together = np.concatenate([own, np.stack([filled(one) for one in more], 1)], 2) if more else own
        varying = np.ptp(together, axis=0).max(0) > 0 if together.size else np.zeros(together.shape[2], bool)
        bounded = _ENDS if set(np.unique(self._numbers)) <= {0.0, 1.0} else None
        found = Correcting(self._question, together[:, :, varying], self._seed, bounded)
        method = f"{self._regression} regression on gold labels drawn by design, contrast {self._effect.text}"
        beside = found.beside(self._reading.resampling)
        corrected = f"{method}; corrected by {int(varying.sum())} predictors, stacked and cross-fitted"
        yield self._judged(found, CORRECTED, found.corrected, corrected, SOURCE, {}, beside)
        yield self._judged(found, "conclusion_gold", found.alone, method, SOURCE, {}, {})
        if not each or found.reason:
            return
        for index, where in enumerate(self._population.raters):
            prediction = own[:, :, index]
            made = ppi(self._question, prediction)
            said = f"{method}; PPI++ with one prompt"
            yield self._judged(found, PPI, made, said, _PPI_SOURCE, where, {})
            made = dsl(self._question, prediction[:, :, None], self._seed)
            yield self._judged(found, DSL, made, f"{method}; DSL with one prompt", _DSL_SOURCE, where, {})

    def _judged(
        self,
        found: Correcting,
        measured: str,
        corrected: Corrected | None,
        method: str,
        source: str,
        where: dict[str, str],
        details: dict[str, Any],
    ) -> Estimate:
        """An estimate with its verdict."""
        effect: Effect = self._effect
        excluded = dict(self._population.excluded)
        if lacking := int((~self._complete).sum()):
            excluded["no value of a column"] = lacking
        shape = Estimate(
            measure=measured,
            value=None,
            unit=self._population.unit,
            method=method,
            reference=source,
            cell={**self._population.where, **where},
            excluded=excluded,
            details={"effect": effect.text, "threshold": effect.threshold, "above": effect.above, **details},
        )
        estimate = found.estimate(shape, corrected, self._sampling)
        more: dict[str, Any] = {"verdict": effect.verdict(estimate.low, estimate.high)}
        if estimate.value is not None and corrected is not None and corrected.spread.variance > 0:
            statistic = abs(estimate.value - effect.threshold) / corrected.spread.variance**0.5
            more["p"] = float(2 * special.stdtr(corrected.spread.tail_freedom, -statistic))
        return replace(estimate, details={**estimate.details, **more})
