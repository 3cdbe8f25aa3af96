"""A logistic regression with a random intercept of the item: effects on correctness, items allowed for.

The likelihood is integrated by Gauss–Hermite quadrature at each item's mode, with 15 nodes, as lme4's
``glmer(…, nAGQ = 15)`` does it: coefficients agree to 2e-6 and standard errors to 1e-4 of themselves. Where
nearly all answers to an item are right its likelihood is far from a normal curve: Laplace's approximation
then ends up to 2.3 log odds too high.

The effect of a treatment may differ between items too, and a model without that difference takes it for an
effect of the treatment: simulated without a mean effect and with differences of sd 1, the likelihood-ratio
test rejects in 14 to 17% of studies at the 5% level. So intervals and p values rest on the larger of two
variances: the likelihood's, and the sandwich variance of what items (or groups of them) add to its slope,
which holds whatever differs between these (Liang & Zeger 1986, Biometrika 73, 13-22). By t with as many
degrees of freedom as there are items less one, tests then reject in 2 to 5% (10 to 60 items).

The intercept and the standard deviation rise together along a ridge of the likelihood, which is far from a
parabola where nearly all answers are right: an interval by a standard error then holds the intercept in 86
to 89% of studies (200 items × 5, 97% right). Their intervals therefore reach to where the profile likelihood
has fallen, and the intercept's as far as for both at once where the answers do not show that items differ.
Simulated with 59 to 97% right, 50 to 200 items × 5 to 12 answers and sd 0.5 to 3, they hold it in 96 to 100%.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import scipy
from scipy import special

from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.cells import Missing
from quaver.estimation.coded_columns import Ints, UnknownColumn, combine, encode
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Floats
from quaver.estimation.measure_input import MeasureInput, judge, treatment
from quaver.estimation.regression import design, parsed
from quaver.measures.variation.label_shares import ASKING

WIDEST: Final = 10.0
"""A larger standard error, in log odds, is that of a level that is (nearly) always right or wrong."""

_SOURCE = (
    "Adaptive quadrature: Pinheiro & Chao (2006), J. Computational and Graphical Statistics 15, 58-81; "
    "sandwich variance: Liang & Zeger (1986), Biometrika 73, 13-22"
)
_ITEM, _CORRECT = "item", "correct"
_SEPARATED = "always right or always wrong here, or nearly so: the log odds have no finite estimate"
_EVIDENCE: Final = 0.05
"""P of a likelihood-ratio test below which the answers show that items differ."""

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(15)
_STEPS: Final = 60
"""Of Newton's method, to an item's mode; the longest step is halved where one led beyond it."""
_NEAR: Final = 1e-9
_DIFFERENCE: Final = 1e-4
"""Of the parameters, for the Hessian, by central differences of the gradient."""
_BFGS: Final = {"gtol": 1e-6, "maxiter": 500}
_ROUGHLY: Final = {"gtol": 1e-3, "maxiter": 500}
_CLOSE: Final = 1e-3
"""How near the ends of a profile interval are found, in log odds."""
_FURTHEST: Final = 30.0
"""Log odds beyond which a coefficient or a standard deviation has no finite estimate."""
_EVERYWHERE: Final = (-np.inf, np.inf)
"""The ends of an interval that is not made."""


@measure(source=_SOURCE, missing=("wrong", "drop"))
def mixed_effects(
    data: MeasureInput, *, formula: str = "correct ~ 1", missing: Missing
) -> Iterator[Estimate]:
    """Effects on the log odds of a right answer, in a logistic model with a random intercept of the item.

    log odds(right) = X·β + u, u ~ N(0, sd²) of each item, by maximum likelihood. Text columns are compared
    with their first level; numbers are slopes. With ``group``, intervals treat groups as independent.

    One estimate for each coefficient, with an interval by t that allows for effects that differ between items
    (the intercept's by the profile likelihood where that is wider), and in ``details`` ``se``,
    ``adjusted_se``, ``p`` and the ``odds_ratio``; ``mixed_effects_sd``, the standard deviation of the
    intercepts (``details``: ``log_likelihood``); and, where the formula has interactions,
    ``mixed_effects_interactions``, the likelihood-ratio χ² of all of them together (``details``: ``df``,
    ``p_chi2``, and ``p``, the larger of this and that of an F test that allows for interactions that differ
    between items).

    Undefined where the answers are all right or all wrong, a column does not vary, levels were not asked in
    all combinations that the formula needs, a coefficient has no finite estimate (its level is always right
    or always wrong), or the fit fails: the reason says which. The intercept and the standard deviation have
    no interval where few items leave it open on one side, nor without resamples, since the profile likelihood
    takes most of the time.

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
    response, terms = parsed(formula)
    if response != _CORRECT:
        raise MeasureError(
            "a response that is not a column of the annotations",
            where="formula",
            expected=f"{_CORRECT} ~ …",
            found=formula,
        )
    named = list(dict.fromkeys(name for term in terms for name in term))
    for name in named:
        if name not in data.gathered.columns:
            raise UnknownColumn(name, data.gathered.columns, where="formula")
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
            reference=_SOURCE,
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
        profiled = data.resampling.resamples > 0
        yield from _estimates(rows, formula, terms, [*units, _ITEM], blank, profiled=profiled)


def _estimates(
    rows: pl.DataFrame,
    formula: str,
    terms: Sequence[tuple[str, ...]],
    units: Sequence[str],
    blank: Estimate,
    *,
    profiled: bool,
) -> Iterator[Estimate]:
    """The coefficients, the standard deviation, and the test of all interactions, where there are any."""
    groups, level = rows[units[0]].n_unique(), blank.confidence_level
    blank = replace(blank, n=groups)
    alone = [name for (name, *more) in terms if not more]
    try:
        names, whole = _fitted(rows, formula, units)
        only = _fitted(rows, f"{_CORRECT} ~ {' + '.join(alone)}", units) if len(alone) < len(terms) else None
    except UnknownColumn:
        raise
    except MeasureError as error:  # what these answers do not allow
        parts = [error.problem, error.found and f"({error.found})", error.fix and f"; {error.fix}"]
        yield replace(blank, reason=" ".join(part for part in parts if part).replace(" ;", ";"))
        return
    variances = np.diag(whole.covariance).tolist(), np.diag(whole.sandwich).tolist()
    critical = float(special.stdtrit(groups - 1, (1 + level) / 2))
    for index, (name, value, plain, robust) in enumerate(
        zip(names, whole.value.tolist(), *variances, strict=False)
    ):
        wide = max(plain, robust) ** 0.5
        low, high = value - critical * wide, value + critical * wide
        if name == "Intercept":
            ends = whole.ends(index, whole.fall(level, groups)) if profiled else _EVERYWHERE
            low, high = min(low, ends[0]), max(high, ends[1])
        term = replace(blank, cell={**blank.cell, "term": name}, reason=_SEPARATED)
        details = {
            "se": plain**0.5,
            "adjusted_se": wide,
            "odds_ratio": float(np.exp(value)),
            "rows": rows.height,
        }
        details["p"] = float(2 * special.stdtr(groups - 1, -abs(value / wide)))
        profile = " and the profile likelihood, the wider" if name == "Intercept" else ""
        method = f"{blank.method}: log odds, interval by t over {groups} {blank.unit}s{profile}"
        known = replace(_within(replace(term, value=value, reason=None), low, high), details=details)
        yield term if plain**0.5 > WIDEST else replace(known, method=method)
    fixed = replace(
        blank,
        measure="mixed_effects_sd",
        value=float(whole.value[-1]),
        reason=None,
        method=f"{blank.method}: standard deviation, interval by the profile likelihood",
        cell={**blank.cell, "term": f"1 | {_ITEM}"},
        details={"groups": groups, "log_likelihood": whole.log_likelihood},
    )
    yield _within(fixed, *(whole.ends(-1, critical**2) if profiled else _EVERYWHERE))
    if only is not None:
        tested = [index for index, name in enumerate(names) if name not in only[0]]
        chi2 = max(0.0, 2 * (whole.log_likelihood - only[1].log_likelihood))
        about = {"df": len(tested), "p_chi2": float(special.chdtrc(len(tested), chi2))}
        method = f"{blank.method}: likelihood-ratio χ² of the interactions together"
        test = replace(blank, measure="mixed_effects_interactions", value=chi2, reason=None, method=method)
        yield replace(test, details=about | _together(whole, tested, groups, about["p_chi2"]))


def _within(estimate: Estimate, low: float, high: float) -> Estimate:
    """An estimate with its interval; with none where the likelihood leaves one side open."""
    return estimate if np.isinf(high - low) else replace(estimate, low=low, high=high)


def _together(fit: _Fit, tested: Sequence[int], groups: int, least: float) -> dict[str, float]:
    """P of several coefficients being 0 together, by F; none of no more groups than coefficients."""
    q = len(tested)
    if groups <= q:
        return {}
    value, part = fit.value[list(tested)], fit.sandwich[np.ix_(tested, tested)]
    wald = float(value @ np.linalg.pinv(part, hermitian=True) @ value)
    return {"p": max(least, float(special.fdtrc(q, groups - q, wald * (groups - q) / (q * (groups - 1)))))}


_Counted = tuple[Floats, Floats, Floats, Ints]
"""Right answers, and answers, by item and combination of the formula's columns; the terms; the item."""


class _Fit(NamedTuple):
    """What maximises the likelihood: the fixed effects, then the standard deviation of the intercepts.

    Attributes:
        value: The parameters.
        covariance: Of these, by the Hessian.
        sandwich: The same, which holds whatever differs between groups.
        log_likelihood: Of the answers.
        counted: The answers.
    """

    value: Floats
    covariance: Floats
    sandwich: Floats
    log_likelihood: float
    counted: _Counted

    def fall(self, level: float, groups: int) -> float:
        """By how much twice the log likelihood may fall within the intercept's interval.

        As for one parameter by t; where the answers do not show that items differ, as for two by F, since
        the standard deviation may then be anything from 0 up.
        """
        alike = special.chdtrc(1, max(0.0, self._short(-1, 0.0)))
        if alike < _EVIDENCE:
            return float(special.stdtrit(groups - 1, (1 + level) / 2)) ** 2
        return 2 * float(special.fdtri(2, groups - 1, level))

    def ends(self, index: int, fall: float) -> tuple[float, float]:
        """Where twice the profile log likelihood of a parameter has fallen so far; infinite where nowhere."""
        return self._end(index, fall, -1.0), self._end(index, fall, 1.0)

    def _end(self, index: int, fall: float, away: float) -> float:
        near, far = float(self.value[index]), float(self.value[index]) + away / 2
        while abs(far) < 2 * _FURTHEST:
            if index == -1 and far < 0.0:
                far = 0.0
            if self._short(index, far) > fall:
                return float(
                    scipy.optimize.brentq(lambda at: self._short(index, at) - fall, near, far, xtol=_CLOSE)
                )
            if index == -1 and far == 0.0:
                return 0.0
            near, far = far, far + 2 * (far - near)
        return away * np.inf

    def _short(self, index: int, value: float) -> float:
        """By how much twice the log likelihood falls where a parameter has a value, the others their best."""
        free = np.arange(self.value.size) != index % self.value.size
        theta = np.append(self.value[:-1], max(float(self.value[-1]), 0.5))  # at 0 it has no slope
        options = dict[str, object](_ROUGHLY)
        if self.covariance[index, index] > 0 and self.covariance[-1, -1] > 0:  # along the ridge
            ridge = self.covariance[index] / self.covariance[index, index]
            theta = self.value + ridge * (value - self.value[index])
            theta[-1] = max(0.1, theta[-1])
            others = self.covariance - np.outer(ridge, self.covariance[index])
            options["hess_inv0"] = ((others + others.T) / 2)[np.ix_(free, free)]
        theta[index] = value

        def objective(rest: Floats) -> float:
            theta[free] = rest
            return -_likelihood(self.counted, theta)[0]

        # the slope is that of fixed nodes: far from the maximum it is not the likelihood's
        optimum = scipy.optimize.minimize(objective, theta[free], method="BFGS", options=options)
        return 2 * (self.log_likelihood + float(optimum.fun))


def _fitted(rows: pl.DataFrame, formula: str, units: Sequence[str]) -> tuple[Sequence[str], _Fit]:
    """The terms, and the fit of log odds = Xβ + sd·z, z ~ N(0, 1) of each item, by maximum likelihood.

    Bates, Mächler, Bolker & Walker (2015), Journal of Statistical Software 67(1), section 6; Pinheiro & Chao
    (2006), Journal of Computational and Graphical Statistics 15, 58-81.
    """
    y, (names, matrix) = rows[_CORRECT].cast(pl.Float64).to_numpy(), design(rows, formula)
    for problem, some in (("a response that does not vary", _CORRECT), ("too few units", units[0])):
        if rows[some].n_unique() < 2:
            raise MeasureError(
                problem, where="formula", expected="two or more", found=f"only {rows[some][0]}"
            )
    codes_of = [(name, encode(rows[name], name)) for name in units]
    named = dict.fromkeys(name for term in parsed(formula)[1] for name in term)
    codes = combine([*codes_of, *((name, encode(rows[name], name)) for name in named)], rows.height).codes
    first = np.unique(codes, return_index=True)[1]
    item = combine(codes_of, rows.height).codes[first].astype(np.int64)
    right, asked = (np.bincount(codes, weights).astype(np.float64) for weights in (y, np.ones(y.size)))
    counted = (right, asked, matrix[first], item)
    theta, covariance, scores, likelihood = _maximum(counted)
    widest = codes_of[0][1].codes[first][np.unique(item, return_index=True)[1]].astype(np.int64)
    sums = _by_item(widest, scores)
    sandwich = covariance @ (sums.T @ sums * len(sums) / (len(sums) - 1)) @ covariance
    return names, _Fit(theta, covariance, np.asarray(sandwich), likelihood, counted)


def _maximum(counted: _Counted) -> tuple[Floats, Floats, Floats, float]:
    """The parameters, their covariance, what each item adds to the slope there, and the log likelihood."""
    right, asked, matrix, _ = counted
    even = np.full(right.size, special.logit((right.sum() + 0.5) / (asked.sum() + 1)))
    start = np.append(np.linalg.lstsq(matrix, even, rcond=None)[0], 1.0)

    def objective(theta: Floats) -> tuple[float, Floats]:
        likelihood, scores = _likelihood(counted, theta)
        return -likelihood, -scores.sum(0)

    optimum = scipy.optimize.minimize(objective, start, jac=True, method="BFGS", options=_BFGS)
    theta = np.append(optimum.x[:-1], abs(optimum.x[-1]))
    if not np.isfinite(optimum.fun) or np.abs(theta).max() > _FURTHEST:
        raise _unfitted("no finite maximum")
    covariance = np.zeros((theta.size, theta.size))
    # at a standard deviation of 0 it is on the edge of what it can be, and moves no coefficient
    inner = slice(None) if theta[-1] > _DIFFERENCE * 10 else slice(-1)
    try:
        # Of the negative log likelihood
        rows = []
        for index in range(theta.size):
            step = np.zeros(theta.size)
            step[index] = _DIFFERENCE * max(1.0, abs(theta[index]))
            above, below = (_likelihood(counted, theta + sign * step)[1].sum(0) for sign in (1, -1))
            rows.append((below - above) / (2 * step[index]))
        hessian = np.array(rows)
        covariance[inner, inner] = np.linalg.inv(((hessian + hessian.T) / 2)[inner, inner])
    except np.linalg.LinAlgError:
        covariance[:] = np.nan
    if lost := int((~(np.diag(covariance)[:-1] > 0)).sum()):
        raise _unfitted(f"{lost} coefficients have no standard error")
    likelihood, scores = _likelihood(counted, theta)
    return theta, covariance, scores, likelihood


def _unfitted(found: str) -> MeasureError:
    return MeasureError(
        "the model cannot be fitted",
        where="formula",
        expected="a maximum of the likelihood, with finite coefficients and standard errors",
        found=found,
        fix="use fewer terms, or see whether a level is always right or always wrong",
    )


def _by_item(item: Ints, values: Floats) -> Floats:
    """Sums over each item's rows."""
    if (np.diff(item) >= 0).all():
        return np.add.reduceat(values, np.flatnonzero(np.diff(item, prepend=-1)), axis=0)
    sums = np.zeros((int(item.max()) + 1, *values.shape[1:]))
    np.add.at(sums, item, values)
    return sums


def _likelihood(counted: _Counted, theta: Floats) -> tuple[float, Floats]:
    """The log likelihood, and what each item adds to its slope."""
    right, asked, matrix, item = counted
    fixed, sd = matrix @ theta[:-1], float(theta[-1])
    mode, width = _modes(counted, fixed, sd)
    z = mode[:, None] + np.sqrt(2.0) * width[:, None] * _NODES
    eta = fixed[:, None] + sd * z[item]
    fit = _by_item(item, right[:, None] * eta - asked[:, None] * np.logaddexp(0.0, eta))
    terms = fit - z**2 / 2 + np.log(_WEIGHTS) + _NODES**2
    whole = special.logsumexp(terms, axis=1)
    residual = right[:, None] - asked[:, None] * special.expit(eta)
    left = np.exp(terms - whole[:, None])[item] * residual
    slopes = np.column_stack([matrix * left.sum(1)[:, None], (left * z[item]).sum(1)])
    return float((whole + np.log(width) - 0.5 * np.log(np.pi)).sum()), _by_item(item, slopes)


def _modes(counted: _Counted, fixed: Floats, sd: float) -> tuple[Floats, Floats]:
    """Where each item's likelihood times the normal curve is highest, and how wide it is there."""
    right, asked, _, item = counted
    mode, before = np.zeros((2, int(item.max()) + 1))
    furthest = np.full(mode.size, 2.0)
    for _ in range(_STEPS):
        share = special.expit(fixed + sd * mode[item])
        bend = 1 + _by_item(item, sd**2 * asked * share * (1 - share))
        slope = _by_item(item, sd * (right - asked * share)) - mode
        furthest = np.where(slope * before < 0, furthest / 2, furthest)
        step = np.clip(slope / bend, -furthest, furthest)
        if np.abs(step).max(initial=0.0) < _NEAR:
            break
        mode, before = mode + step, slope
    return mode, 1 / np.sqrt(bend)
