"""The mixed logistic model as a measure: what factors do to correctness, items allowed for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import special

from quaver.core.records import Estimate
from quaver.core.rows import Presentation
from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.measure_input import MeasureInput, judge, treatment
from quaver.estimation.regression import parsed
from quaver.measures.correctness.mixed_logit import REFERENCE, MixedLogit, mixed_logit
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
            title="How much items differ in difficulty, by the mixed model",
            axis="standard deviation, in log odds",
        ),
        "_interactions": Presentation(
            title="Whether the mixed model’s effects depend on each other", axis="likelihood-ratio χ²"
        ),
    },
)
def mixed_effects(
    data: MeasureInput, *, formula: str = "correct ~ 1", missing: Missing
) -> Iterator[Estimate]:
    """Effects on the log odds of a right answer, in a logistic model with a random intercept of the item.

    log odds(right) = X·β + u, u ~ N(0, sd²) of each item, by maximum likelihood (see `mixed_logit`, which
    takes any frame). Text columns are compared with their first level; numbers are slopes. With ``group``,
    groups are what intervals take for independent.

    One estimate for each coefficient, with its interval by t, which holds though effects differ between
    items, and in ``details`` ``se``, ``adjusted_se``, ``p`` and the ``odds_ratio``; ``mixed_effects_sd``,
    the standard deviation of the intercepts; and, where the formula has interactions,
    ``mixed_effects_interactions``, the likelihood-ratio χ² of all of them together (``details``: ``df``,
    ``p_chi2``, and ``p``, the larger of this and that of an F test that holds though they differ between
    items).

    Undefined where the answers are all right or all wrong, a column does not vary, levels were not asked in
    all combinations that the formula needs, a coefficient has no finite estimate (its level is always right
    or always wrong), or the fit fails: the reason says which.

    Args:
        formula: ``"correct ~ treatment * temperature"``, of the frame's columns; by default the intercept
            alone.

    Returns:
        Estimates for each cell; the cell holds the name of the coefficient or random effect under
        ``"term"``.

    Of two items' 20 answers half are right, so that the log odds are 0:

    >>> frame = pl.DataFrame({"item": [1] * 10 + [2] * 10, "repeat": [*range(10)] * 2,
    ...                       "label": ["a", "b"] * 10, "gold": "a"})
    >>> [abs(round(one.value, 3)) for one in mixed_effects(frame)]
    [0.0, 0.0]
    """
    terms = _terms(formula, data.gathered.columns)
    named = dict.fromkeys(name for term in terms for name in term)
    factors = [data.gathered[name] for name in named]
    for cell in data.cells(raters=ASKING, gold=True):
        judged = judge(cell, missing)
        blank = Estimate(
            "mixed_effects",
            None,
            confidence_level=data.resampling.confidence_level,
            n=cell.units.count,
            unit=cell.unit,
            method=f"logistic regression, random intercept of the item, {formula}, "
            f"unanswered {treatment(missing)}",
            reference=REFERENCE,
            reason=judged.reason,
            cell=cell.where,
            excluded=judged.excluded,
        )
        if judged.reason:
            yield blank
            continue
        wide = f"{cell.unit}, as group" if cell.unit in named else cell.unit
        place = np.nonzero(judged.asked)
        units = {wide: cell.clusters[place[0]]} if cell.clusters is not None else {}
        where = cell.rows[place] if factors else np.empty(0, np.int32)
        columns = {series.name: series.gather(where) for series in factors}
        rows = pl.DataFrame({**columns, _CORRECT: judged.right[place], **units, _ITEM: place[0]})
        yield from _fitted(rows, formula, terms, [*units, _ITEM], blank)


def _terms(formula: str, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The formula's terms, of the frame's columns."""
    response, terms = parsed(formula)
    if response != _CORRECT:
        raise MeasureError(
            "a response that is not a column of the annotations",
            where="formula",
            expected=f"{_CORRECT} ~ …",
            found=formula,
            fix="quaver.measures.mixed_logit takes any frame and any response",
        )
    for name in dict.fromkeys(name for term in terms for name in term):
        if name not in columns:
            raise UnknownColumn(name, columns, where="formula")
    return terms


def _fitted(
    rows: pl.DataFrame,
    formula: str,
    terms: Sequence[tuple[str, ...]],
    group: Sequence[str],
    blank: Estimate,
) -> Iterator[Estimate]:
    """The coefficients, the standard deviation, and the test of all interactions, where there are any."""
    blank, level = replace(blank, n=rows[group[0]].n_unique()), blank.confidence_level
    alone = [name for (name, *more) in terms if not more]
    try:
        whole = mixed_logit(rows, formula, group=group, confidence_level=level)
        several = len(alone) < len(terms)
        plain = mixed_logit(rows, f"{_CORRECT} ~ {' + '.join(alone)}", group=group) if several else None
    except UnknownColumn:
        raise
    except MeasureError as error:  # what these answers do not allow
        yield replace(blank, reason=_reason(error))
        return
    yield from _coefficients(whole, blank)
    low, high = whole.sd_ends or (None, None)
    method = f"{blank.method}: standard deviation"
    where = {**blank.cell, "term": f"1 | {_ITEM}"}
    sd = replace(blank, measure="mixed_effects_sd", value=whole.sd, reason=None, method=method)
    yield replace(sd, low=low, high=high, cell=where, details={"groups": whole.groups})
    if plain is not None:
        tested = [name for name in whole.coefficients if name not in plain.coefficients]
        chi2 = max(0.0, 2 * (whole.log_likelihood - plain.log_likelihood))
        details: dict[str, Any] = {"df": len(tested), "p_chi2": float(special.chdtrc(len(tested), chi2))}
        if (p := whole.p_of(tested)) is not None:
            details["p"] = max(p, details["p_chi2"])
        method = f"{blank.method}: likelihood-ratio χ² of the interactions together"
        test = replace(blank, measure="mixed_effects_interactions", value=chi2, reason=None, method=method)
        yield replace(test, details=details)


def _coefficients(whole: MixedLogit, blank: Estimate) -> Iterator[Estimate]:
    for name, coefficient in whole.coefficients.items():
        where = replace(blank, cell={**blank.cell, "term": name})
        if coefficient.se > WIDEST:
            yield replace(where, reason=_SEPARATED)
            continue
        yield replace(
            where,
            value=coefficient.value,
            low=coefficient.low,
            high=coefficient.high,
            reason=None,
            method=f"{blank.method}: log odds, interval by t over {whole.groups} {blank.unit}s",
            details={
                "se": coefficient.se,
                "adjusted_se": coefficient.adjusted_se,
                "p": coefficient.p,
                "odds_ratio": float(np.exp(coefficient.value)),
                "rows": whole.n,
            },
        )


def _reason(error: MeasureError) -> str:
    """What an error says, on one line."""
    parts = [error.problem, error.found and f"({error.found})", error.fix and f"; {error.fix}"]
    return " ".join(part for part in parts if part).replace(" ;", ";")
