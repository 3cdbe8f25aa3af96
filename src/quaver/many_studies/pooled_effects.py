"""One effect in several studies: its mean over studies like these, and how far it differs between them.

A random-effects model: study i estimates θ_i with variance v_i, and the θ_i vary about μ with variance τ².
τ² solves Σ (y_i − μ)² / (v_i + τ²) = k − 1 (Paule & Mandel 1982), μ is the mean weighted by
w_i = 1 / (v_i + τ²), and its variance q / Σ w_i with q = Σ w_i (y_i − μ)² / (k − 1), t-distributed with k − 1
degrees of freedom (Hartung & Knapp 2001). q counts as 1 where it is less, so that studies that happen to
agree do not make the interval narrower than one without any heterogeneity (Röver, Knapp & Friede 2015).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy

from quaver.core.records import Estimate
from quaver.core.rows import defined
from quaver.many_studies.collection_tables import POOLED

SOURCE = (
    "Paule & Mandel (1982), Journal of Research of the NBS 87, 377-385; Hartung & Knapp (2001), Statistics "
    "in Medicine 20, 3875-3889; Röver, Knapp & Friede (2015), BMC Medical Research Methodology 15, 99"
)


class PooledEffect(NamedTuple):
    """An effect over studies.

    Attributes:
        value: The mean over studies like these.
        low: Lower end of its interval.
        high: Upper end.
        studies: How many studies there are.
        tau: The standard deviation of the effect between studies.
        i_squared: The share of the estimates' variance that is between studies (Higgins & Thompson 2002).
        q: Cochran's Q, the weighted squared deviations from the mean of all studies.
        p: Of Q, that all studies have the same effect.
        next_low: Lower end of the interval for the effect in another study; None with fewer than three.
        next_high: Upper end.
    """

    value: float
    low: float
    high: float
    studies: int
    tau: float
    i_squared: float
    q: float
    p: float
    next_low: float | None
    next_high: float | None


def pooled_effect(
    values: Sequence[float], errors: Sequence[float], confidence_level: float = 0.95
) -> PooledEffect | None:
    """Pool an effect over studies.

    Returns:
        The pooled effect; None with fewer than two studies that can be weighted. The interval for another
        study is μ ± t √(τ² + q / Σ w), t with k − 2 degrees of freedom (Higgins, Thompson & Spiegelhalter
        2009).

    Two studies that differ by four standard errors of their difference: the variance between them is what is
    left of (1 − 3)² / 2 beside their own.

    >>> found = pooled_effect([1.0, 3.0], [0.5, 0.5])
    >>> round(found.value, 6), round(found.tau**2, 6), found.next_low
    (2.0, 1.75, None)
    """
    y, v = np.asarray(values, np.float64), np.asarray(errors, np.float64) ** 2
    known = np.isfinite(y) & np.isfinite(v) & (v > 0)
    y, v = y[known], v[known]
    k = int(y.size)
    if k < 2:
        return None
    alone = 1 / v
    common = float(alone @ y / alone.sum())
    cochran = float(alone @ (y - common) ** 2)
    tau2 = _between(y, v)
    w = 1 / (v + tau2)
    mean = float(w @ y / w.sum())
    stretch = max(1.0, float(w @ (y - mean) ** 2) / (k - 1))
    error = float(np.sqrt(stretch / w.sum()))
    tail = (1 + confidence_level) / 2
    half = float(scipy.special.stdtrit(k - 1, tail)) * error
    coming = float(scipy.special.stdtrit(k - 2, tail) * np.sqrt(tau2 + error**2)) if k > 2 else None
    return PooledEffect(
        value=mean,
        low=mean - half,
        high=mean + half,
        studies=k,
        tau=float(np.sqrt(tau2)),
        i_squared=max(0.0, (cochran - (k - 1)) / cochran) if cochran > 0 else 0.0,
        q=cochran,
        p=float(scipy.special.chdtrc(k - 1, cochran)),
        next_low=None if coming is None else mean - coming,
        next_high=None if coming is None else mean + coming,
    )


def _between(y: np.ndarray, v: np.ndarray) -> float:
    """The variance between studies at which they deviate as much as k − 1 of them should."""

    def excess(tau2: float) -> float:
        w = 1 / (v + tau2)
        return float(w @ (y - w @ y / w.sum()) ** 2) - (y.size - 1)

    if excess(0.0) <= 0:
        return 0.0
    top = float(np.ptp(y) ** 2) + float(v.max())
    while excess(top) > 0:
        top *= 2
    return float(scipy.optimize.brentq(excess, 0.0, top, xtol=1e-14))


_ENDINGS = ("_difference", "_interaction")


def pooled(estimates: Sequence[Estimate]) -> Iterator[Estimate]:
    """The effects that several studies estimate, pooled."""
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[Estimate]] = {}
    for estimate in estimates:
        if estimate.measure.endswith(_ENDINGS):
            rest = tuple(sorted((k, v) for k, v in estimate.cell.items() if k != "study"))
            alike.setdefault((estimate.measure, rest), []).append(estimate)
    for (measure, _), some in alike.items():
        if len({estimate.cell["study"] for estimate in some}) < 2:
            continue
        yield _pooled(measure, {k: v for k, v in some[0].cell.items() if k != "study"}, some)


def _pooled(measure: str, cell: Mapping[str, str], estimates: Sequence[Estimate]) -> Estimate:
    given = [
        (estimate.number, error) for estimate in defined(estimates) if (error := _error(estimate)) is not None
    ]
    level = estimates[0].confidence_level
    effect = pooled_effect([value for value, _ in given], [error for _, error in given], level)
    base = Estimate(
        measure=measure,
        value=None,
        confidence_level=level,
        n=len(given),
        unit="study",
        estimand=estimates[0].estimand,
        method="random-effects mean over studies, Paule-Mandel variance, Hartung-Knapp interval",
        reference=SOURCE,
        reason="fewer than two studies with a standard error",
        cell={"study": POOLED, **cell},
        excluded={"study without a standard error": len(estimates) - len(given)}
        if len(given) < len(estimates)
        else {},
    )
    if effect is None:
        return base
    names = ("tau", "i_squared", "q", "p", "next_low", "next_high")
    details = {name: getattr(effect, name) for name in names}
    return replace(base, value=effect.value, low=effect.low, high=effect.high, reason=None, details=details)


def _error(estimate: Estimate) -> float | None:
    """An estimate's standard error, from its interval where it gives none."""
    given = estimate.details.get("standard_error")
    if estimate.estimand != "fixed" or given is None:
        if estimate.low is None or estimate.high is None:
            return None
        from scipy import special

        return (estimate.high - estimate.low) / 2 / float(
            special.ndtri((1 + estimate.confidence_level) / 2)
        ) or None
    return float(given) or None
