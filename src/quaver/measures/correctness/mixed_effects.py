"""The mixed logistic model as a measure: what factors do to correctness, items allowed for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from quaver.core.presentation import Presentation
from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.column_roles import UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.formula import parsed
from quaver.estimation.judgements import judge, treatment
from quaver.estimation.reading import Reading
from quaver.measures.correctness.mixed_logit import REFERENCE, MixedLogit, likelihood_ratio, mixed_logit
from quaver.measures.variation.label_shares import ASKING

WIDEST: Final = 10.0
"""A larger standard error, in log odds, is that of a level that is (nearly) always right or wrong."""

_ITEM, _CORRECT = "item", "correct"
_SEPARATED = "always right or always wrong here, or nearly so: the log odds have no finite estimate"


@measure(
    title="What each term does to the odds of a correct answer: mixed logistic model",
    axis="log odds (above 0: more often correct)",
    section="accuracy",
    null=0.0,
    source=REFERENCE,
    missing=("wrong", "drop"),
    parts={
        "_sd": Presentation(
            title="How much the items differ in difficulty, by the mixed model",
            axis="standard deviation, in log odds",
        ),
        "_interactions": Presentation(
            title="Whether the mixed model’s effects depend on each other", axis="likelihood-ratio χ²"
        ),
    },
)
def mixed_effects(reading: Reading, *, formula: str = "correct ~ 1", missing: Missing) -> Iterator[Estimate]:
    """Effects on the log odds of a right answer, in a logistic model with a random intercept an item.

    log odds(right) = X·β + u, u ~ N(0, sd²) of each item (or of each of the groups that ``group`` names), by
    maximum likelihood (see `mixed_logit`, which takes any frame). Text columns are compared with their first
    level; numbers are slopes. One estimate for each coefficient, with its Wald interval (nothing is
    resampled) and, in ``details``, ``se``, ``z``, ``p`` and the ``odds_ratio``; ``mixed_effects_sd``, the
    items' standard deviation; and, where the formula has interactions, ``mixed_effects_interactions``, the
    likelihood-ratio χ² of all of them together (``details``: ``df``, ``p``).

    Undefined where the answers are all right or all wrong, a column does not vary, levels were not asked in
    all combinations that the formula needs, a coefficient has no finite estimate (its level is always right
    or always wrong), the fit fails, or gpboost (the extra ``stats``) is not installed: the reason says
    which.

    Args:
        formula: ``"correct ~ treatment * temperature"``, of the frame's columns; by default the intercept
            alone.

    Returns:
        Estimates for each cell; the cell holds the coefficient's name under ``"term"``.

    Of two items' 20 answers half are right, so that the log odds are 0:

    >>> frame = pl.DataFrame({"item": [1] * 10 + [2] * 10, "repeat": [*range(10)] * 2,
    ...                       "label": ["a", "b"] * 10, "gold": "a"})
    >>> [abs(round(one.value, 3)) for one in mixed_effects(frame)]
    [0.0, 0.0]
    """
    frame = reading.frame
    response, terms = parsed(formula)
    if response != _CORRECT:
        raise MeasureError(
            "a response that annotations do not have",
            where="formula",
            expected=f"{_CORRECT} ~ …",
            found=formula,
            fix="quaver.measures.mixed_logit takes any frame and any response",
        )
    for name in dict.fromkeys(name for term in terms for name in term):
        if name not in frame.columns:
            raise UnknownColumn(name, frame.columns, where="formula")
    model = f"{formula}, unanswered {treatment(missing)}"
    for cell in reading.cells(raters=ASKING, gold=True):
        blank = Estimate(
            "mixed_effects",
            None,
            confidence_level=reading.resampling.confidence_level,
            n=cell.units.count,
            unit=cell.unit,
            method=f"logistic regression, random intercept by {cell.unit}, {model}",
            reference=REFERENCE,
            cell=cell.where,
        )
        yield from _fitted(frame, cell, blank, formula, terms, missing)


def _fitted(
    frame: pl.DataFrame,
    cell: Cell,
    blank: Estimate,
    formula: str,
    terms: tuple[tuple[str, ...], ...],
    missing: Missing,
) -> list[Estimate]:
    judged = judge(cell, missing)
    blank = replace(blank, excluded=judged.excluded)
    if judged.reason:
        return [replace(blank, reason=judged.reason)]
    items = np.arange(len(cell.items)) if cell.clusters is None else cell.clusters
    place = np.nonzero(judged.asked)
    rows = frame[cell.rows[place]].with_columns(
        pl.Series(_CORRECT, judged.right[place]), pl.Series(_ITEM, items[place[0]])
    )
    blank = replace(blank, n=len(np.unique(items[place[0]])))
    try:
        whole = mixed_logit(rows, formula, group=_ITEM, confidence_level=blank.confidence_level)
        return [*_coefficients(whole, blank), *_interactions(rows, whole, terms, blank)]
    except UnknownColumn:
        raise
    except MeasureError as error:  # what these answers do not allow; and gpboost, which others may have
        return [replace(blank, reason=_reason(error))]


def _coefficients(whole: MixedLogit, blank: Estimate) -> list[Estimate]:
    made = []
    for name, one in whole.coefficients.items():
        where = replace(blank, cell={**blank.cell, "term": name})
        if one.se > WIDEST:
            made.append(replace(where, reason=_SEPARATED))
            continue
        details = {
            "se": one.se,
            "z": one.z,
            "p": one.p,
            "odds_ratio": float(np.exp(one.value)),
            "rows": whole.n,
        }
        how = f"{blank.method}: log odds, Wald interval"
        made.append(replace(where, value=one.value, low=one.low, high=one.high, method=how, details=details))
    method = f"{blank.method}: standard deviation of the intercepts"
    return [*made, replace(blank, measure="mixed_effects_sd", value=whole.sd, method=method)]


def _interactions(
    rows: pl.DataFrame, whole: MixedLogit, terms: tuple[tuple[str, ...], ...], blank: Estimate
) -> list[Estimate]:
    """The test of all interactions together, where there are any."""
    alone = [name for (name, *more) in terms if not more]
    if len(alone) == len(terms):
        return []
    method = f"{blank.method}: likelihood-ratio χ² of the interactions together"
    blank = replace(blank, measure="mixed_effects_interactions", method=method)
    try:
        plain = mixed_logit(
            rows, f"{_CORRECT} ~ {' + '.join(alone)}", group=_ITEM, confidence_level=blank.confidence_level
        )
    except MeasureError as error:
        return [replace(blank, reason=_reason(error))]
    found = likelihood_ratio(plain, whole)
    return [replace(blank, value=found["chi2"], details={"df": found["df"], "p": found["p"]})]


def _reason(error: MeasureError) -> str:
    """What an error says, on one line."""
    parts = [error.problem, error.found and f"({error.found})", error.fix and f"; {error.fix}"]
    return " ".join(part for part in parts if part).replace(" ;", ";")
