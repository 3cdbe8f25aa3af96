"""A logistic regression with random effects of the item: effects on correctness, items allowed for.

Every item has a random intercept. The effect of a treatment may differ between items too, and a model without
that difference takes it for an effect of the treatment: simulated without a mean effect and with differences
of sd 1, it rejects in 22.5% of studies at the 5% level. A model therefore has a random effect for every term
of the formula: an intercept for each item × combination of levels where the term is text
(``1 | item:treatment``: compound symmetry), a slope where it is a number (``temperature | item``, the number
less its mean), all independent of each other. What the answers cannot tell apart is left out: one answer by
item and level, a column that does not vary within items; by default also what is singular (a standard
deviation below 0.01 log odds) and, last term first, what keeps the fit from converging.

Maximum likelihood. A random intercept alone is integrated by adaptive quadrature, as lme4's
``glmer(…, nAGQ = 15)``: coefficients agree to 2e-6 and standard errors to 1e-4 of themselves. More random
effects take Laplace's approximation, as ``nAGQ = 1``: coefficients agree to 1e-3 and standard errors to 0.5%
(the two take second derivatives in different ways).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from quaver.errors import MeasureError
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.gathered import frame_of
from quaver.estimation.regression import parsed
from quaver.measures.correctness._laplace_fit import Counted, Fitted, failed, fit, freedom
from quaver.measures.correctness.accuracy import answer_rows, combinations, grouped, right_or_wrong
from quaver.measures.correctness.random_effects import (
    SINGULAR,
    Candidate,
    RandomEffect,
    candidates,
    described,
    nested,
)

REFERENCE = (
    "Adaptive quadrature: Pinheiro & Chao (2006), J. Computational and Graphical Statistics 15, 58-81; "
    "Laplace approximation: Breslow & Clayton (1993), JASA 88, 9-25; fitted by gpboost: Sigrist (2022), "
    "J. Machine Learning Research 23(232); random slopes: Barr, Levy, Scheepers & Tily (2013), J. Memory and "
    "Language 68, 255-278; Scandola & Tidoni (2024), Advances in Methods and Practices in Psychological "
    "Science 7(1)"
)

Structure = Literal["auto", "intercept", "slopes"]
"""Which random effects a model has: see `mixed_logit`."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One fixed effect, in log odds.

    Attributes:
        value: The estimate.
        se: Its standard error by maximum likelihood, as lme4 gives it.
        z: ``value / se``.
        freedom: Satterthwaite's degrees of freedom: near items − 1 where the effect differs between items,
            many where it does not.
        p: Two-sided, from the t distribution with this freedom and the standard error for few items.
        low: Lower end of the interval from the same distribution.
        high: Upper end.
        adjusted_se: The standard error for few items, at least ``se``: maximum likelihood finds the variance
            between items too small.
    """

    value: float
    se: float
    z: float
    freedom: float
    p: float
    low: float
    high: float
    adjusted_se: float


class Data(NamedTuple):
    """What a model was fitted to, for tests that fit it again.

    Attributes:
        counted: The answers.
        effects: The random effects.
        fitted: The fit.
    """

    counted: Counted
    effects: tuple[Candidate, ...]
    fitted: Fitted


@dataclass(frozen=True, slots=True)
class MixedLogit:
    """A fitted model.

    Attributes:
        formula: What was fitted.
        group: The column whose values have random effects; of several, the widest first: ``author/item``.
        coefficients: By name, the intercept first.
        random: The random effects, the intercept first.
        left_out: The random effects that were left out, by name, with the reason.
        log_likelihood: Marginal: of one random intercept by quadrature, of more effects by Laplace's
            approximation.
        parameters: How many were estimated: the coefficients and the random effects' standard deviations.
        n: Rows.
        groups: Values of the group, of the widest one.
        confidence_level: Level of the coefficients' intervals.
        excluded: Rows that were left out, by kind.
        data: What it was fitted to.
        reference: Where the method is described.
    """

    formula: str
    group: str
    coefficients: Mapping[str, Coefficient]
    random: tuple[RandomEffect, ...]
    left_out: Mapping[str, str]
    log_likelihood: float
    n: int
    groups: int
    confidence_level: float
    excluded: Mapping[str, int]
    data: Data = field(repr=False, compare=False)
    reference: str = REFERENCE

    @property
    def sd(self) -> float:
        """Standard deviation of the random intercept, in log odds."""
        return self.random[0].sd

    @property
    def parameters(self) -> int:
        """How many were estimated."""
        return len(self.coefficients) + len(self.random)

    @property
    def method(self) -> str:
        """In words for a methods section."""
        effects = described([effect.name for effect in self.random])
        alone = len(self.random) == 1
        how = "adaptive Gauss–Hermite quadrature with 15 nodes" if alone else "Laplace approximation"
        return f"logistic regression with random effects {effects}, {how}"


@guarded
def mixed_logit(
    frame: Frame,
    formula: str,
    *,
    group: str | Sequence[str] = "item",
    random: Structure = "auto",
    confidence_level: float = 0.95,
) -> MixedLogit:
    """Fit a logistic mixed model: log odds of the response = X·β + Z·u, each u ~ N(0, sd²) of its own sd.

    The response is a column of 0 and 1 (or booleans). A response ``correct`` that the frame does not have is
    made of ``label`` and ``gold``: an answer without a label is wrong, one without a gold label is left out.

    Every item has a random intercept and, by default, random slopes: an effect for every term of the formula
    that the answers can tell apart (the module says which, and why).

    Text columns are coded by treatment contrasts with the first level as reference. Intervals and p values
    are from t with Satterthwaite's freedom.

    Args:
        frame: A row an answer.
        formula: ``"correct ~ treatment * temperature"``; see `formula.parsed` for what it may hold.
        group: The column of the items; or of groups and then of the items in them: ``["author", "item"]``.
        random: ``"intercept"``: one for each item and nothing else; ``"slopes"``: all that the answers can
            tell apart; ``"auto"``: those of them that are not singular and converge.
        confidence_level: Level of the intervals.

    Returns:
        The fit.

    Raises:
        MeasureError: The formula or a column cannot be used; the response does not vary; there is one group;
            gpboost is not installed, or does not converge.
    """
    _check_level(confidence_level)
    rows, excluded = answer_rows(frame_of(frame, "frame"), formula)
    response, terms = parsed(formula)
    y = right_or_wrong(rows, response)
    kinds = [group] if isinstance(group, str) else list(group)
    groups = grouped(rows, kinds)
    names, counted, first = combinations(rows, formula, y, groups)
    units = nested(kinds, [codes.codes[first] for codes in groups])
    effects, left_out = candidates(rows[first], terms if random != "intercept" else (), units, counted.asked)
    fitted, effects = _settled(counted, effects, left_out, simplify=random == "auto")
    return MixedLogit(
        formula=formula,
        group="/".join(kinds),
        coefficients=_coefficients(names, counted, effects, fitted, confidence_level),
        random=tuple(
            RandomEffect(candidate.name, float(np.sqrt(max(0.0, variance))), candidate.groups)
            for candidate, variance in zip(effects, fitted.variances.tolist(), strict=True)
        ),
        left_out=left_out,
        log_likelihood=fitted.log_likelihood,
        n=y.size,
        groups=len(groups[0].values),
        confidence_level=confidence_level,
        excluded=excluded,
        data=Data(counted, tuple(effects), fitted),
    )


def _settled(
    counted: Counted, effects: list[Candidate], left_out: dict[str, str], *, simplify: bool
) -> tuple[Fitted, list[Candidate]]:
    """The fit, with the random effects that are left when it is simplified."""
    while True:
        fitted = fit(counted, [candidate.component for candidate in effects])
        small = np.sqrt(np.maximum(fitted.variances, 0.0)) < SINGULAR
        if not simplify or len(effects) == 1 or not (fitted.trouble or small[1:].any()):
            if fitted.trouble:
                raise failed(fitted)
            return fitted, effects
        gone = len(effects) - 1 if fitted.trouble else max(np.flatnonzero(small).tolist())
        left_out[effects[gone].name] = (
            f"the fit with it fails: {fitted.trouble}"
            if fitted.trouble
            else "singular: its standard deviation is estimated as 0"
        )
        effects = effects[:gone] + effects[gone + 1 :]


def _coefficients(
    names: Sequence[str],
    counted: Counted,
    effects: Sequence[Candidate],
    fitted: Fitted,
    confidence_level: float,
) -> dict[str, Coefficient]:
    """Each term with its interval."""
    found = freedom(counted, [candidate.component for candidate in effects], fitted)
    result = {}
    assert fitted.se is not None
    for index, name in enumerate(names):
        value, se, df = float(fitted.value[index]), float(fitted.se[index]), float(found.freedom[index])
        wide = float(np.hypot(se, np.sqrt(found.widening[index])))
        reach = float(special.stdtrit(df, (1 + confidence_level) / 2)) * wide
        p = float(2 * special.stdtr(df, -abs(value / wide)))
        result[name] = Coefficient(value, se, value / se, df, p, value - reach, value + reach, wide)
    return result


def _check_level(confidence_level: float) -> None:
    if not 0 < confidence_level < 1:
        raise MeasureError(
            "not a level of confidence",
            where="confidence_level",
            expected="a number between 0 and 1, for instance 0.95",
            found=repr(confidence_level),
        )
