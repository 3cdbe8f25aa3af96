"""Would the conclusion be another with another prompt? A regression on the items, for every specification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from quaver.core.records import Estimate
from quaver.correction.regressions import Kind
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.gathered import frame_of
from quaver.estimation.measure_input import MeasureInput
from quaver.measures.corrected.labelled_items import designed, label_names, populations
from quaver.measures.validity.conclusion_cell import ConclusionCell
from quaver.measures.validity.conclusion_formula import ItemTable, Regression, read_regression
from quaver.measures.validity.corrected_conclusion import CORRECTED, DSL, PPI, Concluding

GOLD = "conclusion_gold"
"""The estimate from the gold labels."""

ESTIMATED = (CORRECTED, "conclusion", "conclusion_majority", "conclusion_dawid_skene", GOLD, PPI, DSL)
"""The measures that are estimates of the effect."""


@measure(
    missing=("drop", "category"),
    source="specification curve: Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4, 1208-1214",
)
def conclusion(
    data: MeasureInput,
    *,
    formula: str,
    effect: str,
    items: Any = None,
    name: str | None = None,
    regression: Literal["linear", "logistic", "multinomial"] = "linear",
    categories: Sequence[str] = (),
    weights: str | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """A conclusion under every specification: what is claimed of a regression of the labels on the items.

    An item's outcome is the share of its labels over repeats that are LABEL (``share(LABEL)``), or the mean
    of its labels' numbers (``label``). The interval of a linear or logistic regression inverts a score test
    (`quaver.estimation.score_tests`); that of a multinomial or weighted one is a sandwich interval (HC3). The
    claim *holds* where the whole interval is on its side, *reverses* where it is all on the other, and is
    *not distinguishable* else.

    Returns:
        With a gold sample that was drawn by design, first what `corrected_conclusion` gives, about the true
        labels. For each cell and variant a ``conclusion`` (``details``: ``verdict``, ``effect``,
        ``threshold``, its two-sided ``p``, ``accuracy`` against the gold labels). Of all variants' labels
        ``conclusion_majority`` and ``conclusion_dawid_skene``; of the gold labels ``conclusion_gold``; the
        shares of variants by verdict, ``conclusion_holds``, ``_reverses`` and ``_undecided``, with Clopper &
        Pearson's interval.

    Of two items in each group, 2 and 0 are labelled ``a``, so the shares differ by 1:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "sex": list("ffmm")})
    >>> round(conclusion(frame, formula="share(a) ~ sex", effect="sex[f] > sex[m]")[0].value, 9)
    1.0
    """
    asked = read_regression(formula, regression)
    rows = data.frame if items is None else frame_of(items, "items")
    outcomes = label_names(data)[1:] if regression == "multinomial" else ()
    table = ItemTable(rows, asked, categories, effect, outcomes, weights)
    title = name or f"{formula.strip()}; {effect.strip()}"
    for estimate in _estimates(data, asked, table, regression, missing):
        yield replace(estimate, cell={"conclusion": title, **estimate.cell})


def _estimates(
    data: MeasureInput, asked: Regression, table: ItemTable, regression: Kind, missing: Missing
) -> Iterator[Estimate]:
    """Those of the true labels, where they were drawn by design; those of each cell."""
    known = designed(data.frame)
    for population in populations(data) if known else ():
        yield from Concluding(data, population, table, asked, regression).estimates(each=True)
    for cell in data.cells(raters=("repeat",), within=("model", "decoding", "variant"), gold=True):
        given = (cell, asked, table, regression, missing)
        yield from ConclusionCell(*given, designed=known, source=conclusion.source).estimates()
