"""The fit of a logistic model with one random intercept, its likelihood integrated by quadrature.

Laplace's approximation takes an item's likelihood for a normal curve at its mode. Where nearly all answers to
an item are right it is far from one, and the fit runs away: of 97% right answers, 5 to each of 200 items, the
intercept ends 2.3 log odds too high. Gauss–Hermite quadrature at the mode, with 15 nodes, has no such error,
and the standard errors come from the whole Hessian, the standard deviation's row among them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy
from scipy import special

from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints

NODES: Final = 15
_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(NODES)

_STEPS: Final = 60
"""Of Newton's method, to an item's mode; from a bad start a step is halved."""

_NEAR: Final = 1e-9
_DIFFERENCE: Final = 1e-4
"""Of the parameters, for the Hessian, by central differences of the gradient."""

_FURTHEST: Final = 30.0
"""Log odds beyond which a coefficient or a standard deviation has no finite estimate."""


class Integrated(NamedTuple):
    """What maximises the likelihood.

    Attributes:
        value: The fixed effects.
        se: Their standard errors.
        sd: Standard deviation of the intercepts.
        log_likelihood: Of the counts.
        trouble: Why it is none; empty where it is a maximum.
    """

    value: Floats
    se: Floats
    sd: float
    log_likelihood: float
    trouble: str = ""


class _Answers(NamedTuple):
    """Right answers and all, with the terms and the item of each combination."""

    right: Floats
    asked: Floats
    matrix: Floats
    item: Ints
    items: int


def integrated(right: Floats, asked: Floats, matrix: Floats, item: Ints) -> Integrated:
    """Fit by maximum likelihood: log odds = Xβ + sd·z, z ~ N(0, 1) of each item.

    Bates, Mächler, Bolker & Walker (2015), Journal of Statistical Software 67(1), section 6; Pinheiro & Chao
    (2006), Journal of Computational and Graphical Statistics 15, 58-81.

    Args:
        right: Right answers of each combination.
        asked: Answers of each combination.
        matrix: The terms, shape (combinations, terms).
        item: The item of each combination, numbered from 0.
    """
    answers = _Answers(right, asked, matrix, item, int(item.max()) + 1)
    share = (right.sum() + 0.5) / (asked.sum() + 1)
    start = np.append(np.linalg.lstsq(matrix, np.full(right.size, special.logit(share)), rcond=None)[0], 1.0)

    def objective(theta: Floats) -> tuple[float, Floats]:
        likelihood, slope = _likelihood(answers, theta)
        return -likelihood, -slope

    found = scipy.optimize.minimize(
        objective, start, jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 500}
    )
    theta = np.append(found.x[:-1], abs(found.x[-1]))
    if not np.isfinite(found.fun) or np.abs(theta).max() > _FURTHEST:
        return Integrated(
            theta[:-1], np.full(theta.size - 1, np.nan), float(theta[-1]), np.nan, "no finite maximum"
        )
    hessian = _hessian(answers, theta)
    # at a standard deviation of 0 it is on the edge of what it can be, and moves no coefficient
    inner = hessian if theta[-1] > _DIFFERENCE * 10 else hessian[:-1, :-1]
    try:
        variances = np.diag(np.linalg.inv(inner))[: theta.size - 1]
    except np.linalg.LinAlgError:
        variances = np.full(theta.size - 1, np.nan)
    lost = int((~(variances > 0)).sum())
    trouble = f"{lost} coefficients have no standard error" if lost else ""
    se = np.sqrt(np.where(variances > 0, variances, np.nan))
    return Integrated(theta[:-1], se, float(theta[-1]), float(-found.fun), trouble)


def _likelihood(answers: _Answers, theta: Floats) -> tuple[float, Floats]:
    """The log likelihood and its slope, at the fixed effects and the standard deviation."""
    fixed, sd = answers.matrix @ theta[:-1], float(theta[-1])
    mode, width = _modes(answers, fixed, sd)
    z = mode[:, None] + np.sqrt(2.0) * width[:, None] * _NODES
    eta = fixed[:, None] + sd * z[answers.item]
    fit = answers.right[:, None] * eta - answers.asked[:, None] * np.logaddexp(0.0, eta)
    of_item = np.zeros((answers.items, NODES))
    np.add.at(of_item, answers.item, fit)
    log_terms = of_item - z**2 / 2 + np.log(_WEIGHTS) + _NODES**2
    whole = special.logsumexp(log_terms, axis=1)
    likelihood = float((whole + np.log(width) - 0.5 * np.log(np.pi)).sum())
    weight = np.exp(log_terms - whole[:, None])[answers.item]
    residual = answers.right[:, None] - answers.asked[:, None] * special.expit(eta)
    slope = answers.matrix.T @ (weight * residual).sum(1)
    return likelihood, np.append(slope, (weight * residual * z[answers.item]).sum())


def _modes(answers: _Answers, fixed: Floats, sd: float) -> tuple[Floats, Floats]:
    """Where each item's likelihood times the normal curve is highest, and how wide it is there."""
    mode = np.zeros(answers.items)
    for _ in range(_STEPS):
        share = special.expit(fixed + sd * mode[answers.item])
        slope, bend = np.zeros(answers.items), np.ones(answers.items)
        np.add.at(slope, answers.item, sd * (answers.right - answers.asked * share))
        np.add.at(bend, answers.item, sd**2 * answers.asked * share * (1 - share))
        step = np.clip((slope - mode) / bend, -2.0, 2.0)
        mode = mode + step
        if np.abs(step).max(initial=0.0) < _NEAR:
            break
    share = special.expit(fixed + sd * mode[answers.item])
    bend = np.ones(answers.items)
    np.add.at(bend, answers.item, sd**2 * answers.asked * share * (1 - share))
    return mode, 1 / np.sqrt(bend)


def _hessian(answers: _Answers, theta: Floats) -> Floats:
    """Of the negative log likelihood."""
    rows = []
    for index in range(theta.size):
        step = np.zeros(theta.size)
        step[index] = _DIFFERENCE * max(1.0, abs(theta[index]))
        above, below = (_likelihood(answers, theta + sign * step)[1] for sign in (1, -1))
        rows.append((below - above) / (2 * step[index]))
    hessian = np.array(rows)
    return np.asarray((hessian + hessian.T) / 2)
