"""A logistic regression with a random intercept for the item: effects on correctness, items allowed for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cells import frame_of
from quaver.estimation.column_roles import UnknownColumn
from quaver.estimation.encoding import Encoded, encode
from quaver.estimation.formula import design
from quaver.estimation.measure_protocol import Frame, guarded

REFERENCE = (
    "Laplace approximation: Breslow & Clayton (1993), JASA 88, 9-25; fitted by gpboost: Sigrist (2022), "
    "J. Machine Learning Research 23(232)"
)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One fixed effect, in log odds.

    Attributes:
        value: The estimate.
        se: Its standard error.
        z: ``value / se``.
        p: Two-sided, from the normal distribution.
        low: Lower end of the Wald interval.
        high: Upper end.
    """

    value: float
    se: float
    z: float
    p: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MixedLogit:
    """A fitted model.

    Attributes:
        formula: What was fitted.
        group: The column whose values have a random intercept each.
        coefficients: By name, the intercept first.
        sd: Standard deviation of the random intercept, in log odds.
        log_likelihood: Marginal, by Laplace's approximation.
        parameters: How many were estimated: the coefficients and the standard deviation.
        n: Rows.
        groups: Values of the group.
        confidence_level: Level of the coefficients' intervals.
        excluded: Rows that were left out, by kind.
        method: In words for a methods section.
        reference: Where the method is described.
    """

    formula: str
    group: str
    coefficients: Mapping[str, Coefficient]
    sd: float
    log_likelihood: float
    parameters: int
    n: int
    groups: int
    confidence_level: float
    excluded: Mapping[str, int]
    method: str = "logistic regression with a random intercept, Laplace approximation"
    reference: str = REFERENCE


@guarded
def mixed_logit(
    frame: Frame, formula: str, *, group: str = "item", confidence_level: float = 0.95
) -> MixedLogit:
    """Fit a logistic mixed model: log odds of the response = X·β + u_group, u ~ N(0, sd²).

    The response is a column of 0 and 1 (or booleans). A response ``correct`` that the frame does not have is
    made of ``label`` and ``gold``: an answer without a label is wrong, one without a gold label is left out.

    Maximum likelihood by Laplace's approximation, as lme4's ``glmer(…, nAGQ = 1)``: coefficients agree to
    1e-3 and standard errors to 0.5 % (the two take second derivatives in different ways). Text columns are
    coded by treatment contrasts with the first level as reference.

    Args:
        frame: A row an answer.
        formula: ``"correct ~ treatment * temperature"``; see `formula.parsed` for what it may hold.
        group: The column with a random intercept.
        confidence_level: Level of the intervals.

    Returns:
        The fit: its coefficients with intervals, the spread between groups, and the log likelihood.

    Raises:
        MeasureError: The formula or a column cannot be used; the response does not vary; there is one group;
            gpboost is not installed, or does not converge.
    """
    if not 0 < confidence_level < 1:
        raise MeasureError(
            "not a level of confidence",
            where="confidence_level",
            expected="a number between 0 and 1, for instance 0.95",
            found=repr(confidence_level),
        )
    rows, excluded = _rows(frame_of(frame, "frame"), formula)
    # Columns of text in the same order of levels, whatever order the rows are in.
    of = design(rows, formula)
    y = _response(rows, of.response)
    groups = _groups(rows, group)
    model = _fit(y, of.matrix, groups.codes)
    value, se = _table(model)
    z = float(special.ndtri((1 + confidence_level) / 2))
    coefficients = {
        name: Coefficient(b, s, b / s, float(2 * special.ndtr(-abs(b / s))), b - z * s, b + z * s)
        for name, b, s in zip(of.names, value.tolist(), se.tolist(), strict=True)
    }
    variance = float(np.asarray(model.get_cov_pars(std_err=False)).ravel()[0])
    return MixedLogit(
        formula=formula,
        group=group,
        coefficients=coefficients,
        sd=math.sqrt(max(0.0, variance)),
        log_likelihood=-float(model.get_current_neg_log_likelihood()),
        parameters=len(coefficients) + 1,
        n=y.size,
        groups=len(groups.values),
        confidence_level=confidence_level,
        excluded=excluded,
    )


@guarded
def likelihood_ratio(smaller: MixedLogit, larger: MixedLogit) -> dict[str, float]:
    """The likelihood-ratio test of a model against one that it is part of.

    Args:
        smaller: The fit of the smaller model.
        larger: The fit of the larger one, on the same rows.

    Returns:
        ``chi2`` = 2·(logLik of the larger − of the smaller), ``df`` and ``p``.

    Raises:
        MeasureError: They are not of the same rows and group, or the larger has no more parameters.

    >>> from dataclasses import replace
    >>> one = MixedLogit("y ~ a", "item", {}, 1.0, -100.0, 3, 90, 9, 0.95, {})
    >>> found = likelihood_ratio(one, replace(one, formula="y ~ a + b", log_likelihood=-98.0, parameters=4))
    >>> found["chi2"], found["df"], round(found["p"], 6)  # χ² = 4 with one degree of freedom
    (4.0, 1, 0.0455)
    """
    if (smaller.n, smaller.group, smaller.groups) != (larger.n, larger.group, larger.groups):
        raise MeasureError(
            "models of different data",
            where="larger",
            expected=f"{smaller.n} rows in {smaller.groups} of {smaller.group}",
            found=f"{larger.n} rows in {larger.groups} of {larger.group}",
        )
    freedom = larger.parameters - smaller.parameters
    if freedom < 1:
        raise MeasureError(
            "a model that is not the larger one",
            where="larger",
            expected=f"more than {smaller.parameters} parameters",
            found=f"{larger.parameters}: {larger.formula}",
        )
    chi2 = max(0.0, 2 * (larger.log_likelihood - smaller.log_likelihood))
    return {"chi2": chi2, "df": freedom, "p": float(special.chdtrc(freedom, chi2))}


def _rows(frame: pl.DataFrame, formula: str) -> tuple[pl.DataFrame, dict[str, int]]:
    """The rows to fit, with ``correct`` made where it is wanted and not there."""
    wanted = formula.partition("~")[0].strip() == "correct" and "correct" not in frame.columns
    if not wanted or not {"label", "gold"} <= set(frame.columns):
        return frame, {}
    known = frame["gold"].is_not_null()
    rows = frame.filter(known)
    same = pl.col("label").cast(pl.String) == pl.col("gold").cast(pl.String)
    excluded = {"item without gold": int((~known).sum())} if not known.all() else {}
    return rows.with_columns(correct=same.fill_null(value=False)), excluded


def _groups(rows: pl.DataFrame, group: str) -> Encoded:
    """Each row's group."""
    if group not in rows.columns:
        raise UnknownColumn(group, rows.columns, where="group")
    groups = encode(rows[group], group)
    if (groups.codes < 0).any() or len(groups.values) < 2:
        raise MeasureError(
            "a column that does not group the rows",
            where="group",
            expected="a value in every row, two or more in all",
            found=f"{len(groups.values)} values, {int((groups.codes < 0).sum())} rows without",
        )
    return groups


def _response(frame: pl.DataFrame, name: str) -> Floats:
    if name not in frame.columns:
        raise UnknownColumn(name, frame.columns, where="formula")
    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise MeasureError(
            "a response that is not 0 or 1", where="formula", expected="0 and 1", found=str(column.dtype)
        )
    y = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if not np.isin(y, (0.0, 1.0)).all():
        strange = y[~np.isin(y, (0.0, 1.0))][0]
        raise MeasureError(
            "a response that is not 0 or 1", where="formula", expected="0 and 1", found=f"{strange:g}"
        )
    if not y.size or np.ptp(y) == 0:
        found = f"only {y[0]:g}" if y.size else "no rows"
        raise MeasureError("a response that does not vary", where="formula", expected="0 and 1", found=found)
    return np.asarray(y)


def _fit(y: Floats, matrix: Floats, groups: Any) -> Any:
    try:
        import gpboost
    except (ImportError, OSError) as error:
        raise MeasureError(
            "mixed models need gpboost, which cannot be loaded",
            where="mixed_logit",
            found=str(error),
            fix="install it with: pip install 'quaver[stats]'",
        ) from error
    # Columns of very different sizes slow the optimiser down; gpboost is given them as they are, since its
    # standard errors are differentiated in these units, and the tolerance is what makes it exact: its
    # default is 0.016 off where this one is 4e-5 off.
    params = {
        "optimizer_cov": "lbfgs",
        "optimizer_coef": "lbfgs",
        "delta_rel_conv": 1e-12,
        "maxit": 1000,
        "trace": False,
    }
    try:
        model = gpboost.GPModel(
            group_data=groups.reshape(-1, 1), likelihood="bernoulli_logit", num_parallel_threads=1
        )
        model.fit(y=y, X=matrix, params=params)
    except gpboost.basic.GPBoostError as error:
        raise MeasureError(
            "gpboost cannot fit the model",
            where="mixed_logit",
            found=" ".join(str(error).split()),
            fix="use fewer terms, or see whether a level is always right or always wrong",
        ) from error
    return model


def _table(model: Any) -> tuple[Floats, Floats]:
    """Coefficients and their standard errors."""
    table = np.asarray(model.get_coef(std_err=True), np.float64)
    value, se = table[0], table[1]
    if not (np.isfinite(value).all() and np.isfinite(se).all() and (se > 0).all()):
        raise MeasureError(
            "the fit did not converge",
            where="mixed_logit",
            expected="finite coefficients and standard errors",
            found=f"{int((~np.isfinite(se) | (se <= 0)).sum())} without a standard error",
            fix="use fewer terms, or see whether a level is always right or always wrong",
        )
    return value, se
