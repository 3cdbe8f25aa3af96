"""A logistic regression with a random intercept of the item: effects on correctness, items allowed for.

The likelihood is integrated by adaptive quadrature, as lme4's ``glmer(…, nAGQ = 15)`` does it: coefficients
agree to 2e-6 and standard errors to 1e-4 of themselves.

The effect of a treatment may differ between items too, and a model without that difference takes it for an
effect of the treatment: simulated without a mean effect and with differences of sd 1, the likelihood-ratio
test rejects in 14 to 17% of studies at the 5% level. So intervals and p values rest on the larger of two
variances: the likelihood's, and the sandwich variance of what items (or groups of them) add to its slope,
which holds whatever differs between these (Liang & Zeger 1986, Biometrika 73, 13-22). By t with as many
degrees of freedom as there are items less one, tests then reject in 2 to 5% (10 to 60 items).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special

from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats, Resampling
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.encoding import combine, encode
from quaver.estimation.gathered import frame_of
from quaver.estimation.regression import design, parsed
from quaver.measures.correctness._quadrature_fit import Counted, Integrated, integrated

REFERENCE = (
    "Adaptive quadrature: Pinheiro & Chao (2006), J. Computational and Graphical Statistics 15, 58-81; "
    "sandwich variance: Liang & Zeger (1986), Biometrika 73, 13-22"
)
_NO_SD = 0.05
"""An estimated standard deviation below this, in log odds, has no interval of its own."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One fixed effect, in log odds.

    Attributes:
        value: The estimate.
        se: Its standard error by maximum likelihood, as lme4 gives it.
        adjusted_se: The larger of it and the sandwich one, of which interval and p are.
        p: Two-sided.
        low: Lower end of the interval.
        high: Upper end.
    """

    value: float
    se: float
    adjusted_se: float
    p: float
    low: float
    high: float


class Data(NamedTuple):
    """What a model was fitted to.

    Attributes:
        fitted: The fit.
        sandwich: The covariance of its parameters that holds whatever differs between groups.
    """

    fitted: Integrated
    sandwich: Floats


@dataclass(frozen=True, slots=True)
class MixedLogit:
    """A fitted model.

    Attributes:
        formula: What was fitted.
        group: The column of the items; of groups and items ``author/item``.
        coefficients: By name, the intercept first.
        sd: Standard deviation of the random intercept, in log odds.
        sd_ends: The ends of its interval; None where it is next to 0.
        log_likelihood: Marginal.
        n: Rows.
        groups: Items, or groups of them.
        confidence_level: Level of the intervals.
        excluded: Rows that were left out, by kind.
        data: What it was fitted to.
        reference: Where the method is described.
    """

    formula: str
    group: str
    coefficients: Mapping[str, Coefficient]
    sd: float
    sd_ends: tuple[float, float] | None
    log_likelihood: float
    n: int
    groups: int
    confidence_level: float
    excluded: Mapping[str, int]
    data: Data = field(repr=False, compare=False)
    reference: str = REFERENCE

    def p_of(self, names: Sequence[str]) -> float | None:
        """P of several coefficients being 0 together, by F; None of no more groups than coefficients."""
        at = [index for index, name in enumerate(self.coefficients) if name in names]
        q, most = len(at), self.groups
        if most <= q:
            return None
        value, part = self.data.fitted.value[at], self.data.sandwich[np.ix_(at, at)]
        wald = float(value @ np.linalg.pinv(part, hermitian=True) @ value)
        return float(special.fdtrc(q, most - q, wald * (most - q) / (q * (most - 1))))


@guarded
def mixed_logit(
    frame: Frame, formula: str, *, group: str | Sequence[str] = "item", confidence_level: float = 0.95
) -> MixedLogit:
    """Fit a logistic mixed model: log odds of the response = X·β + u, u ~ N(0, sd²) of each item.

    The response is a column of 0 and 1 (or booleans). A response ``correct`` that the frame does not have is
    made of ``label`` and ``gold``: an answer without a label is wrong, one without a gold label is left out.
    Text columns are coded by treatment contrasts with the first level as reference.

    Args:
        frame: A row an answer.
        formula: ``"correct ~ treatment * temperature"``; see `formula.parsed` for what it may hold.
        group: The column of the items; or of groups and then of the items in them: ``["author", "item"]``.
            Groups are what intervals take for independent.
        confidence_level: Level of the intervals.

    Returns:
        The fit.

    Raises:
        MeasureError: The formula or a column cannot be used; the response does not vary; there is one group;
            there is no maximum.
    """
    level = Resampling(confidence_level).confidence_level
    rows, excluded = _with_response(frame_of(frame, "frame"), formula)
    response, terms = parsed(formula)
    y = _right_or_wrong(rows, response)
    kinds = [group] if isinstance(group, str) else list(group)
    of = design(rows, formula)
    units = [(name, encode(rows[name], name)) for name in _grouping(rows, kinds)]
    named = dict.fromkeys(name for term in terms for name in term)
    codes = combine([*units, *((name, encode(rows[name], name)) for name in named)], rows.height).codes
    first = np.unique(codes, return_index=True)[1]
    item = combine(units, rows.height).codes[first].astype(np.int64)
    right, asked = (np.bincount(codes, one).astype(np.float64) for one in (y, np.ones(y.size)))
    fitted = integrated(Counted(right, asked, of.matrix[first], item))
    if fitted.trouble:
        raise MeasureError(
            "the model cannot be fitted",
            where="mixed_logit",
            expected="a maximum of the likelihood, with finite coefficients and standard errors",
            found=fitted.trouble,
            fix="use fewer terms, or see whether a level is always right or always wrong",
        )
    widest = units[0][1].codes[first][np.unique(item, return_index=True)[1]]
    sums = np.zeros((int(widest.max()) + 1, fitted.value.size))
    np.add.at(sums, widest, fitted.scores)
    groups = len(sums)
    meat = sums.T @ sums * groups / (groups - 1)
    sandwich = np.asarray(fitted.covariance @ meat @ fitted.covariance)
    error, sd = float(np.sqrt(fitted.covariance[-1, -1])), float(fitted.value[-1])
    reach = np.exp(-special.ndtri((1 - level) / 2) * error / max(sd, _NO_SD))
    return MixedLogit(
        formula=formula,
        group="/".join(kinds),
        coefficients=_coefficients(of.names, fitted, sandwich, groups - 1, level),
        sd=sd,
        sd_ends=(sd / float(reach), sd * float(reach)) if sd > _NO_SD and error > 0 else None,
        log_likelihood=fitted.log_likelihood,
        n=y.size,
        groups=groups,
        confidence_level=level,
        excluded=excluded,
        data=Data(fitted, sandwich),
    )


def _coefficients(
    names: Sequence[str], fitted: Integrated, sandwich: Floats, freedom: int, level: float
) -> dict[str, Coefficient]:
    """Each term with its interval."""
    result = {}
    variances = np.diag(fitted.covariance).tolist(), np.diag(sandwich).tolist()
    for name, value, plain, robust in zip(names, fitted.value.tolist(), *variances, strict=False):
        wide = max(plain, robust) ** 0.5
        reach = float(special.stdtrit(freedom, (1 + level) / 2)) * wide
        p = float(2 * special.stdtr(freedom, -abs(value / wide)))
        result[name] = Coefficient(value, plain**0.5, wide, p, value - reach, value + reach)
    return result


def _with_response(frame: pl.DataFrame, formula: str) -> tuple[pl.DataFrame, dict[str, int]]:
    """The rows to fit, with ``correct`` made where it is wanted and not there."""
    wanted = formula.partition("~")[0].strip() == "correct" and "correct" not in frame.columns
    if not wanted or not {"label", "gold"} <= set(frame.columns):
        return frame, {}
    series = frame["gold"].is_not_null()
    same = pl.col("label").cast(pl.String) == pl.col("gold").cast(pl.String)
    excluded = {"item without gold": int((~series).sum())} if not series.all() else {}
    return frame.filter(series).with_columns(correct=same.fill_null(value=False)), excluded


def _grouping(rows: pl.DataFrame, names: Sequence[str]) -> Sequence[str]:
    """The columns of groups and items, checked."""
    if not names:
        raise MeasureError("no column of items", where="group", expected="one or more", found="none")
    for name in names:
        if name not in rows.columns:
            raise UnknownColumn(name, rows.columns, where="group")
        values, without = rows[name].n_unique(), rows[name].null_count()
        if without or values < 2:
            raise MeasureError(
                "a column that does not group the rows",
                where="group",
                expected="a value in every row, two or more in all",
                found=f"{values - bool(without)} values, {without} rows without",
            )
    return names


def _right_or_wrong(frame: pl.DataFrame, name: str) -> Floats:
    """The response, 1 or 0 in each row."""
    if name not in frame.columns:
        raise UnknownColumn(name, frame.columns, where="formula")
    column = frame[name]
    fits = column.dtype.is_numeric() or column.dtype == pl.Boolean
    y = column.cast(pl.Float64).fill_null(float("nan")).to_numpy() if fits else np.empty(0)
    other = y[~np.isin(y, (0.0, 1.0))]
    problem, found = "a response that is not 0 or 1", f"{other[0]:g}" if other.size else str(column.dtype)
    if fits and not other.size:
        if y.size and np.ptp(y) > 0:
            return np.asarray(y)
        problem, found = "a response that does not vary", f"only {y[0]:g}" if y.size else "no rows"
    raise MeasureError(problem, where="formula", expected="0 and 1", found=found)
