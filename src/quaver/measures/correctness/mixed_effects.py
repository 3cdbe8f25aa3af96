"""The mixed logistic model as a measure: what factors do to correctness, items allowed for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from quaver.core.records import Estimate
from quaver.core.rows import Presentation
from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.measure_input import MeasureInput, judge, treatment
from quaver.estimation.regression import parsed
from quaver.estimation.statistic import Cell
from quaver.measures.correctness.likelihood_ratio import DRAWS, FEW_ITEMS, likelihood_ratio
from quaver.measures.correctness.mixed_logit import REFERENCE, MixedLogit, Structure, mixed_logit
from quaver.measures.correctness.random_effects import described
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
            title="How much items differ, by the mixed model: in difficulty, and in what a term does",
            axis="standard deviation, in log odds",
        ),
        "_interactions": Presentation(
            title="Whether the mixed model’s effects depend on each other", axis="likelihood-ratio χ²"
        ),
    },
)
def mixed_effects(
    data: MeasureInput, *, formula: str = "correct ~ 1", random: Structure = "auto", missing: Missing
) -> Iterator[Estimate]:
    """Effects on the log odds of a right answer, in a logistic model with random effects of the item.

    log odds(right) = X·β + Z·u, every u ~ N(0, sd²) of its own sd, by maximum likelihood (see `mixed_logit`,
    which takes any frame and says which random effects there are). Text columns are compared with their first
    level; numbers are slopes. With ``group``, groups and the items within them have random effects.

    One estimate for each coefficient, with its interval by t with Satterthwaite's freedom (nothing is
    resampled) and, in ``details``, ``se``, ``z``, ``freedom``, ``p``, the ``odds_ratio`` and the random
    effects that were ``left_out``, with the reason; ``mixed_effects_sd``, the standard deviation of each
    random effect, undefined for those left out; and, where the formula has interactions,
    ``mixed_effects_interactions``, the likelihood-ratio χ² of all of them together (``details``: ``df``,
    ``p``, by simulation with fewer than 50 items, ``p_chi2``, ``freedom`` and ``draws``; see
    `likelihood_ratio`).

    Undefined where the answers are all right or all wrong, a column does not vary, levels were not asked in
    all combinations that the formula needs, a coefficient has no finite estimate (its level is always right
    or always wrong), the fit fails, or gpboost (the extra ``stats``) is not installed: the reason says
    which.

    Args:
        formula: ``"correct ~ treatment * temperature"``, of the frame's columns; by default the intercept
            alone.
        random: The random effects. ``"intercept"``: one for each item; ``"slopes"``: for every term of the
            formula too; ``"auto"``: of these, all that are not singular and let the fit converge.

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
    factors = [data.gathered[name] for name in named if name in data.gathered.columns]
    for cell in data.cells(raters=ASKING, gold=True):
        wide = f"{cell.unit}, as group" if cell.unit in named else cell.unit
        units = (_ITEM,) if cell.clusters is None else (wide, _ITEM)
        asked = _Asked(formula, terms, random, units, data.resampling)
        model = f"{formula}, unanswered {treatment(missing)}"
        blank = Estimate(
            "mixed_effects",
            None,
            confidence_level=data.resampling.confidence_level,
            n=cell.units.count,
            unit=cell.unit,
            method=f"logistic regression, random effects by {cell.unit}, {model}",
            reference=REFERENCE,
            cell=cell.where,
        )
        yield from _fitted(factors, cell, blank, asked, missing)


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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for.

    Attributes:
        formula: The formula.
        terms: Its terms.
        random: The random effects.
        units: The columns of what has them, the widest first.
        resampling: For the test of the interactions.
    """

    formula: str
    terms: tuple[tuple[str, ...], ...]
    random: Structure
    units: tuple[str, ...]
    resampling: Resampling

    def fit(self, rows: pl.DataFrame, formula: str) -> MixedLogit:
        level = self.resampling.confidence_level
        return mixed_logit(rows, formula, group=self.units, random=self.random, confidence_level=level)


def _fitted(
    factors: Sequence[pl.Series], cell: Cell, blank: Estimate, asked: _Asked, missing: Missing
) -> list[Estimate]:
    judged = judge(cell, missing)
    blank = replace(blank, excluded=judged.excluded)
    if judged.reason:
        return [replace(blank, reason=judged.reason)]
    place = np.nonzero(judged.asked)
    units = [place[0]] if cell.clusters is None else [cell.clusters[place[0]], place[0]]
    where = cell.rows[place] if factors else np.empty(0, np.int32)
    rows = pl.DataFrame(
        {
            **{series.name: series.gather(where) for series in factors},
            _CORRECT: judged.right[place],
            **dict(zip(asked.units, units, strict=True)),
        }
    )
    blank = replace(blank, n=len(np.unique(units[0])))
    try:
        whole = asked.fit(rows, asked.formula)
    except UnknownColumn:
        raise
    except MeasureError as error:  # what these answers do not allow; and gpboost, which others may have
        return [replace(blank, reason=_reason(error))]
    effects = described([effect.name for effect in whole.random])
    blank = replace(blank, method=f"{blank.method}: {effects}")
    return [
        *_coefficients(whole, blank),
        *_deviations(whole, blank),
        *_interactions(rows, whole, asked, blank),
    ]


def _coefficients(whole: MixedLogit, blank: Estimate) -> list[Estimate]:
    estimates = []
    for name, coefficient in whole.coefficients.items():
        where = replace(blank, cell={**blank.cell, "term": name})
        if coefficient.se > WIDEST:
            estimates.append(replace(where, reason=_SEPARATED))
            continue
        details: dict[str, Any] = {
            "se": coefficient.se,
            "z": coefficient.z,
            "freedom": coefficient.freedom,
            "p": coefficient.p,
            "odds_ratio": float(np.exp(coefficient.value)),
            "rows": whole.n,
        }
        if whole.left_out:
            details["left_out"] = dict(whole.left_out)
        how = f"{blank.method}: log odds, interval by t with Satterthwaite's freedom"
        estimates.append(
            replace(
                where,
                value=coefficient.value,
                low=coefficient.low,
                high=coefficient.high,
                method=how,
                details=details,
            )
        )
    return estimates


def _deviations(whole: MixedLogit, blank: Estimate) -> list[Estimate]:
    """The standard deviation of each random effect, and of those that were left out the reason."""
    blank = replace(blank, measure="mixed_effects_sd", method=f"{blank.method}: standard deviation")
    estimates = [
        replace(
            blank,
            value=effect.sd,
            cell={**blank.cell, "term": effect.name},
            details={"groups": effect.groups},
        )
        for effect in whole.random
    ]
    return estimates + [
        replace(blank, cell={**blank.cell, "term": name}, reason=f"left out of the model: {reason}")
        for name, reason in whole.left_out.items()
    ]


def _interactions(rows: pl.DataFrame, whole: MixedLogit, asked: _Asked, blank: Estimate) -> list[Estimate]:
    """The test of all interactions together, where there are any."""
    alone = [name for (name, *more) in asked.terms if not more]
    if len(alone) == len(asked.terms):
        return []
    method = f"{blank.method}: likelihood-ratio χ² of the interactions together"
    blank = replace(blank, measure="mixed_effects_interactions", method=method)
    resampling = asked.resampling
    draws = min(DRAWS, resampling.resamples) if whole.groups < FEW_ITEMS else 0
    try:
        plain = mixed_logit(rows, f"{_CORRECT} ~ {' + '.join(alone)}", group=asked.units, random="intercept")
        found = likelihood_ratio(plain, whole, draws=draws, seed=resampling.seed)
    except MeasureError as error:
        return [replace(blank, reason=_reason(error))]
    if found["draws"]:
        blank = replace(blank, method=f"{method}, p from {found['draws']} simulated sets of answers")
    elif draws and found["p"] < 1:
        least = f"p at most 1/{1 + draws}, the least that {draws} simulated sets of answers would give"
        blank = replace(blank, method=f"{method}, {least}")
    details = {name: found[name] for name in ("df", "p", "p_chi2", "freedom", "draws")}
    return [replace(blank, value=found["chi2"], details=details)]


def _reason(error: MeasureError) -> str:
    """What an error says, on one line."""
    parts = [error.problem, error.found and f"({error.found})", error.fix and f"; {error.fix}"]
    return " ".join(part for part in parts if part).replace(" ;", ";")
