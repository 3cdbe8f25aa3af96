"""The fit of a logistic model with one random intercept, its likelihood integrated by quadrature.

Gauss–Hermite quadrature at each item's mode, with 15 nodes, and the whole Hessian, the standard deviation's
row among it. Where nearly all answers to an item are right its likelihood is far from a normal curve:
Laplace's approximation then ends up to 2.3 log odds too high.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy
from scipy import special

from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(15)
_STEPS: Final = 60
"""Of Newton's method, to an item's mode; from a bad start a step is halved."""
_NEAR: Final = 1e-9
_DIFFERENCE: Final = 1e-4
"""Of the parameters, for the Hessian, by central differences of the gradient."""
_FURTHEST: Final = 30.0
"""Log odds beyond which a coefficient or a standard deviation has no finite estimate."""


class Counted(NamedTuple):
    """Answers, counted by item and combination of the columns that a formula names.

    Attributes:
        right: How many of them are right.
        asked: How many there are.
        matrix: The terms, shape (combinations, terms).
        item: The item of each combination, from 0.
    """

    right: Floats
    asked: Floats
    matrix: Floats
    item: Ints

    def by_item(self, values: Floats) -> Floats:
        """Sums over each item's combinations."""
        sums = np.zeros((int(self.item.max()) + 1, *values.shape[1:]))
        np.add.at(sums, self.item, values)
        return sums


class Integrated(NamedTuple):
    """What maximises the likelihood.

    Attributes:
        value: The fixed effects, then the standard deviation of the intercepts.
        covariance: Of these, by the Hessian; NaN where it has none.
        scores: What each item adds to the slope of the likelihood, shape (items, parameters).
        log_likelihood: Of the answers.
        trouble: Why it is none; empty where it is a maximum.
    """

    value: Floats
    covariance: Floats
    scores: Floats
    log_likelihood: float
    trouble: str = ""


def integrated(counted: Counted) -> Integrated:
    """Fit by maximum likelihood: log odds = Xβ + sd·z, z ~ N(0, 1) of each item.

    Bates, Mächler, Bolker & Walker (2015), Journal of Statistical Software 67(1), section 6; Pinheiro & Chao
    (2006), Journal of Computational and Graphical Statistics 15, 58-81.
    """
    share = (counted.right.sum() + 0.5) / (counted.asked.sum() + 1)
    even = np.full(counted.right.size, special.logit(share))
    start = np.append(np.linalg.lstsq(counted.matrix, even, rcond=None)[0], 1.0)

    def objective(theta: Floats) -> tuple[float, Floats]:
        likelihood, scores = _likelihood(counted, theta)
        return -likelihood, -scores.sum(0)

    options = {"gtol": 1e-6, "maxiter": 500}
    found = scipy.optimize.minimize(objective, start, jac=True, method="BFGS", options=options)
    theta = np.append(found.x[:-1], abs(found.x[-1]))
    nothing = np.full((theta.size, theta.size), np.nan)
    likelihood, scores = _likelihood(counted, theta)
    if not np.isfinite(found.fun) or np.abs(theta).max() > _FURTHEST:
        return Integrated(theta, nothing, scores, np.nan, "no finite maximum")
    covariance = np.zeros_like(nothing)
    # at a standard deviation of 0 it is on the edge of what it can be, and moves no coefficient
    inner = slice(None) if theta[-1] > _DIFFERENCE * 10 else slice(-1)
    try:
        covariance[inner, inner] = np.linalg.inv(_hessian(counted, theta)[inner, inner])
    except np.linalg.LinAlgError:
        covariance = nothing
    lost = int((~(np.diag(covariance)[:-1] > 0)).sum())
    trouble = f"{lost} coefficients have no standard error" if lost else ""
    return Integrated(theta, covariance, scores, likelihood, trouble)


def _likelihood(counted: Counted, theta: Floats) -> tuple[float, Floats]:
    """The log likelihood, and what each item adds to its slope."""
    fixed, sd = counted.matrix @ theta[:-1], float(theta[-1])
    mode, width = _modes(counted, fixed, sd)
    z = mode[:, None] + np.sqrt(2.0) * width[:, None] * _NODES
    eta = fixed[:, None] + sd * z[counted.item]
    fit = counted.by_item(counted.right[:, None] * eta - counted.asked[:, None] * np.logaddexp(0.0, eta))
    terms = fit - z**2 / 2 + np.log(_WEIGHTS) + _NODES**2
    whole = special.logsumexp(terms, axis=1)
    residual = counted.right[:, None] - counted.asked[:, None] * special.expit(eta)
    left = np.exp(terms - whole[:, None])[counted.item] * residual
    slopes = np.column_stack([counted.matrix * left.sum(1)[:, None], (left * z[counted.item]).sum(1)])
    return float((whole + np.log(width) - 0.5 * np.log(np.pi)).sum()), counted.by_item(slopes)


def _modes(counted: Counted, fixed: Floats, sd: float) -> tuple[Floats, Floats]:
    """Where each item's likelihood times the normal curve is highest, and how wide it is there."""
    mode = np.zeros(int(counted.item.max()) + 1)
    for _ in range(_STEPS):
        share = special.expit(fixed + sd * mode[counted.item])
        bend = 1 + counted.by_item(sd**2 * counted.asked * share * (1 - share))
        slope = counted.by_item(sd * (counted.right - counted.asked * share))
        step = np.clip((slope - mode) / bend, -2.0, 2.0)
        if np.abs(step).max(initial=0.0) < _NEAR:
            break
        mode = mode + step
    return mode, 1 / np.sqrt(bend)


def _hessian(counted: Counted, theta: Floats) -> Floats:
    """Of the negative log likelihood."""
    rows = []
    for index in range(theta.size):
        step = np.zeros(theta.size)
        step[index] = _DIFFERENCE * max(1.0, abs(theta[index]))
        above, below = (_likelihood(counted, theta + sign * step)[1].sum(0) for sign in (1, -1))
        rows.append((below - above) / (2 * step[index]))
    hessian = np.array(rows)
    return np.asarray((hessian + hessian.T) / 2)
