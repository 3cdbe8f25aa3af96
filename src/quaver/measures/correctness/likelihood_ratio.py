"""The likelihood-ratio test of two mixed models: by simulation where items are too few for χ²."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy import special

from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cells import guarded
from quaver.measures.correctness._laplace_fit import Component, Counted, Fitted, failed, fit
from quaver.measures.correctness.mixed_logit import MixedLogit

FEW_ITEMS: Final = 50
"""With fewer items the p value is simulated: see `likelihood_ratio`."""

DRAWS: Final = 199
_ENOUGH: Final = 20
_MANY: Final = 1000
_LOOSE: Final = 1e-8
_NOTHING: Final = 1e-6
"""A χ² that no simulated one is under."""
_CLEAR: Final = 1e-5
"""Below this p by F no simulated χ² is as large: p is the least that the simulation can give."""


@guarded
def likelihood_ratio(
    smaller: MixedLogit, larger: MixedLogit, *, draws: int | None = None, seed: int = 0
) -> dict[str, float]:
    """The likelihood-ratio test of a model against one that it is part of, with the same random effects.

    χ² = 2·(logLik of the larger − of the smaller), where the smaller model is fitted again with the random
    effects of the larger: without them a difference between items would count as an effect.

    Where items are few, χ² is too large too often. With fewer than 50, its p value is therefore from a
    parametric bootstrap (Davison & Hinkley 1997, Bootstrap Methods, section 4.2.3): answers are simulated
    from the smaller model with its random effects, and both models are fitted to them. p = (1 + simulated
    values as large as the one found) / (1 + draws); after 20 of them it is their share, and no more are
    drawn (Besag & Clifford 1991, Biometrika 78, 301-304). None are where F (see below) has p under 1e-5: p is
    then 1 / (1 + draws), the least that they could give. With more items, χ² / df is held against F with the
    least of the tested terms' degrees of freedom, and against χ² where these are a thousand or more.

    Simulated without an effect that differs between items (sd 1, three treatments, 5 or 10 answers), p was
    under 0.05 in 5.0 to 6.4% with 10 and 20 items (χ²: 7.6 to 8.3%) and in 5.3 to 6.7% with 60.

    Args:
        smaller: The fit of the smaller model.
        larger: The fit of the larger one, on the same rows.
        draws: Simulated sets of answers, 0 for none. None: 199 with fewer than 50 items, none with more.
        seed: Root seed of the simulation.

    Returns:
        ``chi2``, ``df``, ``p``, ``p_chi2`` (from the χ² distribution), ``freedom`` (of the denominator of F)
        and ``draws``, as many as were made.

    Raises:
        MeasureError: They are not of the same rows and group, or the smaller is no part of the larger.
    """
    if (smaller.n, smaller.group, smaller.groups) != (larger.n, larger.group, larger.groups):
        raise MeasureError(
            "models of different data",
            where="larger",
            expected=f"{smaller.n} rows in {smaller.groups} of {smaller.group}",
            found=f"{larger.n} rows in {larger.groups} of {larger.group}",
        )
    shared = [index for index, name in enumerate(larger.coefficients) if name in smaller.coefficients]
    freedom = len(larger.coefficients) - len(shared)
    if freedom < 1 or len(shared) < len(smaller.coefficients):
        raise MeasureError(
            "a model that is not the larger one",
            where="larger",
            expected=f"all terms of {smaller.formula}, and more",
            found=larger.formula,
        )
    counted, effects, fitted = larger.data
    test = _Test(counted, [candidate.component for candidate in effects], shared)
    start = fitted._replace(value=fitted.value[shared])
    plain = fit(test.part, test.components, start=start, errors=False)
    if plain.trouble:
        raise failed(plain)
    chi2 = max(0.0, 2 * (fitted.log_likelihood - plain.log_likelihood))
    by_chi2 = float(special.chdtrc(freedom, chi2))
    wanted = (DRAWS if larger.groups < FEW_ITEMS else 0) if draws is None else draws
    least = min(
        coefficient.freedom
        for name, coefficient in larger.coefficients.items()
        if name not in smaller.coefficients
    )
    by_f = by_chi2 if least >= _MANY else float(special.fdtrc(freedom, least, chi2 / freedom))
    p, made = (1.0, 0) if chi2 <= _NOTHING else (by_f, 0)
    if wanted and by_f < _CLEAR:
        p = 1 / (1 + wanted)
    elif wanted and chi2 > _NOTHING:
        p, made = test.simulated(chi2, plain, wanted, seed)
    return {"chi2": chi2, "df": freedom, "p": p, "p_chi2": by_chi2, "freedom": least, "draws": made}


class _Test:
    """A larger model and the part of it that is tested against.

    Args:
        counted: The answers.
        components: The random effects.
        shared: The columns of the smaller model, among the larger's.
    """

    def __init__(self, counted: Counted, components: list[Component], shared: list[int]) -> None:
        self._counted, self._shared, self.components = counted, shared, components
        self.part = counted._replace(matrix=np.ascontiguousarray(counted.matrix[:, shared]))

    def simulated(self, chi2: float, plain: Fitted, draws: int, seed: int) -> tuple[float, int]:
        """The p value, and how many sets of answers were drawn for it."""
        rng = np.random.default_rng(derive(seed, "likelihood ratio"))
        wide = np.zeros(self._counted.matrix.shape[1])
        wide[self._shared] = plain.value
        beyond = 0
        for made in range(1, draws + 1):
            beyond += (
                self._chi2(self._drawn(plain, rng), plain, plain._replace(value=wide)) >= chi2 - _NOTHING
            )
            if beyond == _ENOUGH:
                return beyond / made, made
        return (1 + beyond) / (1 + draws), draws

    def _drawn(self, plain: Fitted, rng: np.random.Generator) -> Floats:
        eta = self.part.matrix @ plain.value
        for component, variance in zip(self.components, plain.variances.tolist(), strict=True):
            groups = component.groups(self.part.item)
            effect = rng.normal(0.0, np.sqrt(max(0.0, variance)), int(groups.max()) + 1)[groups]
            eta += effect if component.slope is None else effect * component.slope
        asked = self.part.asked.astype(np.int64)
        return np.asarray(rng.binomial(asked, special.expit(eta)), np.float64)

    def _chi2(self, right: Floats, small: Fitted, large: Fitted) -> float:
        """χ² of simulated answers; infinite where they cannot be fitted: no failure makes an effect."""
        if not right.any() or (right == self.part.asked).all():
            return 0.0
        both = [
            fit(of._replace(right=right), self.components, tolerance=_LOOSE, start=start, errors=False)
            for of, start in ((self.part, small), (self._counted, large))
        ]
        if both[0].trouble or both[1].trouble:
            return float("inf")
        return 2 * (both[1].log_likelihood - both[0].log_likelihood)
