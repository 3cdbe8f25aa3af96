"""Many comparisons at once: p values, and what they are worth when there are several of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats


def bootstrap_p(value: float, draws: Floats, units: int) -> float:
    """Two-sided p value of a difference of zero, from the difference's bootstrap.

    The larger of two. By counting, p = 2 · min(1 + draws ≤ 0, 1 + draws ≥ 0) / (1 + draws), at most 1: the
    level at which a percentile interval just reaches zero (Davison & Hinkley 1997, Bootstrap Methods, section
    4.2.3). By the normal tail, p = 2 Φ(-|d| / √(s² + d² / n)), with s the draws' standard deviation: for a
    mean of paired differences that is the sign-flip test, in which each unit's difference is as likely to
    have the other sign (Davison & Hinkley, section 4.3; n units that all agree give z = √n and no more).
    Where no draw is beyond zero, counting says only how many draws there are, and the tail stands alone.

    Simulated with no difference (8, 12, 30 and 200 items, of which 10, 30 and 80% differ by one either way),
    it was under 0.05 in at most 5.3%, and under 0.01 in at most 0.9%; counting alone in 6.9% and 3.2%
    (``benchmarks/p_values.py``).

    Args:
        value: The difference, d.
        draws: The difference in each bootstrap sample; NaN where it is undefined there.
        units: How many units were resampled, n.

    Returns:
        p; 1 where the difference is zero, or undefined in every sample.

    >>> round(bootstrap_p(0.2, np.array([-0.1, 0.1, 0.2, 0.3, 0.4]), 100), 3)  # by counting
    0.667
    >>> round(bootstrap_p(1.0, np.ones(1000), 9), 4)  # nine items, each one better
    0.0027
    """
    known = draws[np.isfinite(draws)]
    if not known.size or not value:
        return 1.0
    least = min(int((known <= 0).sum()), int((known >= 0).sum()))
    counted = min(1.0, 2 * (1 + least) / (1 + known.size))
    deviation = float(known.std(ddof=1)) if known.size > 1 else 0.0
    tail = float(2 * scipy.special.ndtr(-abs(value) / np.hypot(deviation, value / np.sqrt(units))))
    return max(counted, tail) if least else tail


def joint_p(values: Floats, draws: Floats, units: int) -> float:
    """P value of several differences being zero together, from their joint bootstrap.

    Wald's statistic W = d' S⁺ d, with S the draws' covariance and S⁺ its pseudo-inverse, held against χ² with
    as many degrees of freedom as S has rank: an interaction of I × J levels has (I − 1)(J − 1), however many
    of its I · J contrasts are written down. As in `bootstrap_p` a difference's own size joins its variance,
    W / (1 + W / n), so that few units that all agree are never certain. Differences that are all one, up to
    their sign, are one test: then it is `bootstrap_p`.

    Args:
        values: The differences, d.
        draws: Shape (bootstrap samples, differences); a sample with a NaN is left out.
        units: How many units were resampled, n.

    Returns:
        p; 1 where the differences are all zero, or undefined in every sample.

    Two of the four contrasts of a 2 × 2 interaction are the other two with the other sign:

    >>> one = np.array([-0.1, 0.1, 0.2, 0.3, 0.4])
    >>> joint_p(np.array([0.2, -0.2]), np.stack([one, -one], 1), 100) == bootstrap_p(0.2, one, 100)
    True
    """
    known = draws[np.isfinite(draws).all(1)]
    if len(known) < 2 or not values.any():
        return 1.0
    covariance = np.atleast_2d(np.cov(known, rowvar=False))
    rank = int(np.linalg.matrix_rank(covariance, tol=1e-9 * max(1e-30, float(np.trace(covariance)))))
    if rank <= 1:
        most = int(np.abs(values).argmax())
        return bootstrap_p(float(values[most]), known[:, most], units)
    wald = float(values @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ values)
    return float(scipy.special.gammaincc(rank / 2, wald / (1 + wald / units) / 2))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, which hold the familywise error (Holm 1979, Scand. J. Statistics 6, 65-70).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    steps = np.array(p, np.float64)[order] * (len(p) - np.arange(len(p)))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(value) for value in adjusted]


def adjusted(estimates: list[Estimate]) -> list[Estimate]:
    """The estimates, those with ``p`` in their details given Holm's ``p_holm`` over all of them.

    Estimates that name the same ``hypothesis`` in their details are one test and count once: the four
    contrasts of a 2 × 2 interaction, or a difference and the same difference seen from the other side.

    Args:
        estimates: One family of comparisons; ``comparisons`` says how many tests it has.

    >>> def tested(p, **more):
    ...     return Estimate("d", 0.1, details={"p": p, **more})
    >>> found = adjusted([tested(0.01, hypothesis="a"), tested(0.01, hypothesis="a"), tested(0.04)])
    >>> [one.details["p_holm"] for one in found]
    [0.02, 0.02, 0.04]
    """
    of: dict[object, list[int]] = {}
    for index, one in enumerate(estimates):
        if "p" in one.details:
            of.setdefault(one.details.get("hypothesis", index), []).append(index)
    stepped = holm([estimates[places[0]].details["p"] for places in of.values()])
    for places, p in zip(of.values(), stepped, strict=True):
        for index in places:
            one = estimates[index]
            estimates[index] = replace(one, details={**one.details, "p_holm": p, "comparisons": len(of)})
    return estimates
