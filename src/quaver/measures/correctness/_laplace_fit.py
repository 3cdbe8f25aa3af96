"""The fit of a mixed logistic model by gpboost: of counted answers, and without a word on the screen."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import special

from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints

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
        log_likelihood: Of the answers, by Laplace's approximation.
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
    """Fit the model by maximum likelihood, with Laplace's approximation.

    Args:
        counted: The answers.
        components: The random effects, independent of each other.
        tolerance: Where the optimiser stops: the relative change of the log likelihood.
        start: Where it begins.
        errors: Whether standard errors are wanted.

    Raises:
        MeasureError: gpboost is not installed, or (`GPBoostFailure`) cannot fit the model.
    """
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
    for one in components:
        group = one.groups(item)
        at = next((at for at, known in enumerate(groups) if np.array_equal(known, group)), len(groups))
        if at == len(groups):
            groups.append(group)
        of.append(at)
    intercepts = {of[at]: at for at, one in enumerate(components) if one.slope is None}
    slopes = [(at, one.slope) for at, one in enumerate(components) if one.slope is not None]
    arguments: dict[str, Any] = {"group_data": np.stack(groups, 1)}
    if slopes:
        arguments["group_rand_coef_data"] = np.stack([slope for _, slope in slopes], 1)
        arguments["ind_effect_group_rand_coef"] = [of[at] + 1 for at, _ in slopes]
        arguments["drop_intercept_group_rand_effect"] = [at not in intercepts for at in range(len(groups))]
    order = [intercepts[at] for at in range(len(groups)) if at in intercepts]
    return arguments, order + [at for at, _ in slopes]


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
