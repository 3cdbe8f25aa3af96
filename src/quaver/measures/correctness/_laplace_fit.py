"""The fit of a mixed logistic model of counted answers, and its items' degrees of freedom."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import special

from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints
from quaver.measures.correctness._quadrature_fit import integrated

EXACT: Final = 1e-12
"""Tolerance of a fit whose numbers are reported: gpboost's default is 0.016 off where this is 4e-5 off."""

_TRIES: Final = 1000
_CALLS: Final = Lock()
_IGNORED: Final = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda message: None)


class Counted(NamedTuple):
    """Answers, counted by item and combination of the columns that a formula names.

    Attributes:
        right: How many of them are right.
        asked: How many there are.
        matrix: The design matrix of the fixed effects, a row a combination.
        item: The item of each combination.
    """

    right: Floats
    asked: Floats
    matrix: Floats
    item: Ints

    @property
    def constant(self) -> float:
        """By how much the log likelihood of the counts exceeds that of the answers in their order."""
        ways = special.gammaln(self.asked + 1) - special.gammaln(self.right + 1)
        return float((ways - special.gammaln(self.asked - self.right + 1)).sum())


class Component(NamedTuple):
    """One random effect, for each combination of `Counted`.

    Attributes:
        part: The part of its item whose effect it has, from 0; 0 throughout where that is the whole item.
        slope: What the effect is multiplied by; None for an intercept.
    """

    part: Ints
    slope: Floats | None = None

    def groups(self, item: Ints) -> Ints:
        """The items' parts, numbered."""
        return item * (int(self.part.max()) + 1) + self.part


class Fitted(NamedTuple):
    """What maximises the likelihood.

    Attributes:
        value: The fixed effects.
        se: Their standard errors; none where they were not asked for.
        variances: Of the random effects, in order.
        log_likelihood: Of the answers, by quadrature or Laplace's approximation.
        trouble: Why it is none: the optimiser gave up, or gpboost's error. Empty where it found a maximum.
    """

    value: Floats
    se: Floats | None
    variances: Floats
    log_likelihood: float
    trouble: str = ""


def fit(
    counted: Counted,
    components: Sequence[Component],
    *,
    tolerance: float = EXACT,
    start: Fitted | None = None,
    errors: bool = True,
) -> Fitted:
    """Fit the model by maximum likelihood: one intercept by quadrature, more by Laplace's approximation."""
    if len(components) == 1 and components[0].slope is None:
        return _by_quadrature(counted, components[0], errors=errors)
    gpboost = _gpboost()
    params = {
        "optimizer_cov": "lbfgs",
        "optimizer_coef": "lbfgs",
        "delta_rel_conv": tolerance,
        "maxit": _TRIES,
        "trace": False,
    }
    arguments, order = _random_effects(components, counted.item)
    if start is not None:
        # It optimises the logarithm: from a variance of 0 it would never leave.
        params |= {"init_coef": start.value, "init_cov_pars": np.maximum(start.variances, 0.1)[order]}
    try:
        with silenced(gpboost):
            model = gpboost.GPModel(
                likelihood="binomial_logit",
                weights=counted.asked,
                num_parallel_threads=1,
                matrix_inversion_method="cholesky",  # the default draws random numbers for nested groups
                **arguments,
            )
            model.fit(y=counted.right / counted.asked, X=counted.matrix, params=params)
            table = np.atleast_2d(np.asarray(model.get_coef(std_err=errors), np.float64))
            variances = np.asarray(model.get_cov_pars(std_err=False), np.float64).ravel()
            likelihood = -float(model.get_current_neg_log_likelihood())
            tries = model._get_num_optim_iter()
    except gpboost.basic.GPBoostError as error:
        nothing = np.full(len(components), np.nan)
        return Fitted(nothing, None, nothing, float("nan"), " ".join(str(error).split()))
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    found = Fitted(table[0], table[1] if errors else None, variances[back], likelihood - counted.constant)
    return found._replace(trouble=_trouble(found, tries))


def _by_quadrature(counted: Counted, component: Component, *, errors: bool) -> Fitted:
    """The model with one random intercept and nothing else."""
    groups = np.unique(component.groups(counted.item), return_inverse=True)[1]
    found = integrated(counted.right, counted.asked, counted.matrix, groups)
    variances, se = np.array([found.sd**2]), found.se if errors else None
    return Fitted(found.value, se, variances, found.log_likelihood, found.trouble)


def _trouble(found: Fitted, tries: int) -> str:
    if tries >= _TRIES:
        return f"no maximum after {tries} steps"
    if not all(np.isfinite(one).all() for one in (found.value, found.variances, found.log_likelihood)):
        return "it ends at numbers that are not finite"
    if found.se is not None and (lost := int((~np.isfinite(found.se) | (found.se <= 0)).sum())):
        return f"{lost} coefficients have no standard error"
    return ""


def failed(fitted: Fitted) -> MeasureError:
    """The error about a model that cannot be fitted."""
    return MeasureError(
        "the model cannot be fitted",
        where="mixed_logit",
        expected="a maximum of the likelihood, with finite coefficients and standard errors",
        found=fitted.trouble,
        fix="use fewer terms, or see whether a level is always right or always wrong",
    )


def _random_effects(components: Sequence[Component], item: Ints) -> tuple[dict[str, Any], list[int]]:
    """How gpboost takes random effects, and in which order it then gives their variances.

    Groups come first, each with its intercept unless that is dropped; then the slopes, each with the number
    of its group.
    """
    groups: list[Ints] = []
    of = []
    for component in components:
        group = component.groups(item)
        index = next(
            (index for index, known in enumerate(groups) if np.array_equal(known, group)), len(groups)
        )
        if index == len(groups):
            groups.append(group)
        of.append(index)
    intercepts = {of[index]: index for index, component in enumerate(components) if component.slope is None}
    slopes = [
        (index, component.slope) for index, component in enumerate(components) if component.slope is not None
    ]
    arguments: dict[str, Any] = {"group_data": np.stack(groups, 1)}
    if slopes:
        arguments["group_rand_coef_data"] = np.stack([slope for _, slope in slopes], 1)
        arguments["ind_effect_group_rand_coef"] = [of[index] + 1 for index, _ in slopes]
        arguments["drop_intercept_group_rand_effect"] = [
            index not in intercepts for index in range(len(groups))
        ]
    order = [intercepts[index] for index in range(len(groups)) if index in intercepts]
    return arguments, order + [index for index, _ in slopes]


def _gpboost() -> Any:
    try:
        import gpboost
    except (ImportError, OSError) as error:
        raise MeasureError(
            "mixed models need gpboost, which cannot be loaded",
            where="mixed_logit",
            found=str(error),
            fix="install it with: pip install 'quaver[stats]'",
        ) from error
    return gpboost


@contextmanager
def silenced(gpboost: Any) -> Iterator[None]:
    """Keep gpboost from writing, in this thread, and let everybody else's output through.

    It writes warnings through a callback that each thread has to itself (a thread without one writes them to
    the standard output, from C), and fatal errors, which it also raises, to the standard error, from C. The
    callback is replaced; the standard error is kept in a file and written afterwards, less gpboost's lines.
    """
    library = gpboost.basic._LIB
    with _CALLS:
        library.LGBM_RegisterLogCallback(_IGNORED)
        try:
            with _without_fatal_lines():
                yield
        finally:
            library.LGBM_RegisterLogCallback(library.callback)


@contextmanager
def _without_fatal_lines() -> Iterator[None]:
    try:
        own = os.dup(2)
    except OSError:  # nowhere to write to
        yield
        return
    with TemporaryFile() as kept:
        _flush()
        os.dup2(kept.fileno(), 2)
        try:
            yield
        finally:
            _flush()
            os.dup2(own, 2)
            os.close(own)
            kept.seek(0)
            others = [line for line in kept if not line.startswith(b"[GPBoost]")]
            if others:
                os.write(2, b"".join(others))


def _flush() -> None:
    if sys.stderr is not None:
        sys.stderr.flush()


_MOST_EFFECTS: Final = 100
"""Random effects an item, beyond which the exact freedom would take minutes."""

_AT_ONCE: Final = 4_000_000
"""Numbers in the matrices of the items that are worked on together."""


class Freedom(NamedTuple):
    """How sure each term's standard error is.

    Attributes:
        freedom: Degrees of freedom of the error's square, for each term.
        widening: What the square lacks, since maximum likelihood finds variances too small where items are
            few.
    """

    freedom: Floats
    widening: Floats


class _Block(NamedTuple):
    """What some items add to the sums: q random effects an item, p terms.

    Attributes:
        effects: Z'V⁻¹Z, shape (items, q, q).
        cross: Z'V⁻¹X, shape (items, q, p).
        information: X'V⁻¹X, summed, shape (p, p).
    """

    effects: Floats
    cross: Floats
    information: Floats


def freedom(counted: Counted, components: Sequence[Component], fitted: Fitted) -> Freedom:
    """Satterthwaite's freedom of each term in the linear mixed model that Laplace's approximation ends with.

    With the weights n·p·(1 − p) at the items' modes, V = W⁻¹ + Σ θ_k Z_k Z_k' and Φ = (X'V⁻¹X)⁻¹, a term's
    error has the square Φ_jj and the gradient g_k = (Φ X'V⁻¹Z_k Z_k'V⁻¹X Φ)_jj in the variances θ, whose
    restricted information is I. Freedom = 2 Φ_jj² / g'I⁻¹g (Giesbrecht & Burns 1985, Biometrics 41, 477-486).
    One step from the maximum of the likelihood to that of the restricted one changes θ by I⁻¹h, with
    h_k = ½ tr(Φ X'V⁻¹Z_k Z_k'V⁻¹X), and Φ_jj by g'I⁻¹h: the widening, where it is positive.

    Returns:
        Freedom, never more than the answers leave nor less than 1, and the widening. Items − 1 and no
        widening where an item has more than a hundred random effects.
    """
    answers, terms = float(counted.asked.sum()), counted.matrix.shape[1]
    most = max(1.0, answers - terms)
    sizes = [int(component.part.max()) + 1 for component in components]
    if sum(sizes) > _MOST_EFFECTS:
        items = np.unique(counted.item).size
        return Freedom(np.full(terms, min(most, max(1.0, items - 1.0))), np.zeros(terms))
    ends = np.cumsum([0, *sizes])
    of = [slice(low, high) for low, high in pairwise(ends)]
    blocks = list(_blocks(counted, components, fitted, np.repeat(fitted.variances, sizes), ends[:-1]))
    phi = np.asarray(np.linalg.inv(_sum(block.information for block in blocks)))
    squares = [_sum(_product(block.cross[:, k], block.cross[:, k]) for block in blocks) for k in of]
    through = [phi @ one @ phi for one in squares]
    gradient = np.stack([np.diag(one) for one in through], 1)
    pull = np.array([np.trace(phi @ one) / 2 for one in squares])
    inverse = np.asarray(np.linalg.pinv(_information(blocks, of, phi, squares), hermitian=True))
    spread = np.einsum("jk,kl,jl->j", gradient, inverse, gradient)
    with np.errstate(divide="ignore"):
        found = 2 * np.diag(phi) ** 2 / np.maximum(spread, 0.0)
    return Freedom(np.clip(found, 1.0, most), np.maximum(0.0, gradient @ inverse @ pull))


def _information(
    blocks: Sequence[_Block], of: Sequence[slice], phi: Floats, squares: Sequence[Floats]
) -> Floats:
    """The restricted information of the variances: ½ tr(P Z_k Z_k' P Z_l Z_l')."""
    result = np.empty((len(of), len(of)))
    for k, first in enumerate(of):
        for m, second in enumerate(of):
            plain, mixed = 0.0, np.zeros_like(phi)
            for block in blocks:
                between = block.effects[:, first, second]
                plain += float((between**2).sum())
                mixed += _product(block.cross[:, first], between @ block.cross[:, second])
            both = np.trace(phi @ squares[k] @ phi @ squares[m])
            result[k, m] = (plain - 2 * np.trace(phi @ mixed) + both) / 2
    return result


def _product(left: Floats, right: Floats) -> Floats:
    """The sum over items of left' · right."""
    return np.asarray(np.einsum("nqp,nqr->pr", left, right, optimize=True))


def _sum(parts: Iterable[Floats]) -> Floats:
    return np.asarray(np.sum(list(parts), axis=0))


def _blocks(
    counted: Counted, components: Sequence[Component], fitted: Fitted, prior: Floats, first: Floats
) -> Iterator[_Block]:
    """The items' sums, as many items at a time as fit."""
    positions = np.stack([at + component.part for at, component in zip(first, components, strict=True)], 1)
    ones = np.ones(counted.item.size)
    times = np.stack([ones if component.slope is None else component.slope for component in components], 1)
    order = np.argsort(counted.item, kind="stable")
    items = np.unique(counted.item[order], return_inverse=True)[1]
    fixed = counted.matrix @ fitted.value
    step = max(1, _AT_ONCE // prior.size**2)
    for low in range(0, int(items.max()) + 1, step):
        rows = order[(items >= low) & (items < low + step)]
        item = items[np.searchsorted(counted.item[order], counted.item[rows])] - low
        weights, effects = _modes(counted, rows, item, fixed, positions, times, prior)
        terms = counted.matrix[rows]
        cross = np.zeros((effects.shape[0], prior.size, terms.shape[1]))
        for k in range(len(components)):
            np.add.at(cross, (item, positions[rows, k]), (weights * times[rows, k])[:, None] * terms)
        inner = np.eye(prior.size) + effects * prior
        solved = np.linalg.solve(inner, cross)
        information = (terms * weights[:, None]).T @ terms - _product(cross, prior[:, None] * solved)
        yield _Block(np.asarray(np.linalg.solve(inner, effects)), np.asarray(solved), information)


def _modes(
    counted: Counted, rows: Ints, item: Ints, fixed: Floats, positions: Ints, times: Floats, prior: Floats
) -> tuple[Floats, Floats]:
    """The answers' weights at the modes of some items' random effects, and Z'WZ of each item, by Newton."""
    right, asked, positions, times = counted.right[rows], counted.asked[rows], positions[rows], times[rows]
    count = int(item.max()) + 1
    modes = np.zeros((count, prior.size))
    for _ in range(50):
        eta = fixed[rows] + (times * modes[item[:, None], positions]).sum(1)
        share = special.expit(eta)
        weights = asked * share * (1 - share)
        effects = np.zeros((count, prior.size, prior.size))
        slope = np.zeros((count, prior.size))
        for k in range(positions.shape[1]):
            np.add.at(slope, (item, positions[:, k]), (right - asked * share) * times[:, k])
            for m in range(positions.shape[1]):
                np.add.at(
                    effects, (item, positions[:, k], positions[:, m]), weights * times[:, k] * times[:, m]
                )
        step = np.linalg.solve(
            np.eye(prior.size) + prior[:, None] * effects, (prior * slope - modes)[..., None]
        )
        modes += np.clip(step[..., 0], -5.0, 5.0)  # a step from far away may leap
        if np.abs(step).max() < 1e-9:
            break
    return weights, effects
