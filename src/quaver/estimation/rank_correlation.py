"""Spearman's correlation of an estimate with something known of each cell: spread with model size, say."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, one_thread
from quaver.estimation.cells import guarded

_EXACT = 8
"""Up to this many pairs all permutations are gone through (40,320)."""

_METHOD = "Spearman's rank correlation, midranks; interval by Bonett & Wright's standard error of Fisher's z"
_REFERENCE = "Spearman (1904), Am. J. Psychology 15, 72-101; Bonett & Wright (2000), Psychometrika 65, 23-28"


def spearman(
    x: Sequence[float] | Floats,
    y: Sequence[float] | Floats,
    *,
    confidence_level: float = 0.95,
    permutations: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """Spearman's rank correlation, with p values by permutation and by the t approximation.

    ρ is Pearson's correlation of the midranks. t = ρ·√((n − 2)/(1 − ρ²)) with n − 2 degrees of freedom is
    poor for a handful of models; ``details["p"]`` counts permutations with at least this |ρ| (all of
    them up to 8 pairs, a sample of more), ``details["p_t"]`` is the approximation. Undefined for fewer
    than three pairs, or where one side does not vary. The interval needs four pairs, and |ρ| < 1.

    Args:
        x: Numbers, shape (pairs,).
        y: Numbers, the same shape.
        confidence_level: Nominal level.
        permutations: How many are sampled where there are too many.
        seed: Of the sample.

    Returns:
        One estimate, of ρ.

    Raises:
        MeasureError: The shapes differ, or a number is not finite.

    Ranks 1…5 against 2 1 4 3 5: Σd² = 4, so ρ = 1 − 6·4/(5·24) = 0.8, t = 0.8·√(3/0.36) = 2.309401; of the
    120 permutations 16 have |ρ| ≥ 0.8:

    >>> found = spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    >>> round(found.value, 12), round(found.details["t"], 6), round(found.details["p"] * 120)
    (0.8, 2.309401, 16)
    """
    resampling = Resampling(confidence_level, permutations, seed)
    one, two = _numbers(x, "x"), _numbers(y, "y")
    if one.shape != two.shape:
        raise MeasureError(
            "two lists of unequal length", where="y", expected=f"{one.size} numbers", found=str(two.size)
        )
    said: dict[str, Any] = {"measure": "spearman", "n": one.size, "unit": "pair", "method": _METHOD}
    said |= {"reference": _REFERENCE, "confidence_level": confidence_level}
    if one.size < 3:
        return Estimate(value=None, reason="fewer than three pairs", **said)
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        return Estimate(value=None, reason="no variation", **said)
    first, second = _standard(one), _standard(two)
    rho = float(first @ second)
    rho = math.copysign(1.0, rho) if abs(rho) > 1 - 1e-12 else rho
    details = {"p_t": 0.0}  # where |ρ| is 1, t is infinite
    if abs(rho) < 1:
        t = rho * math.sqrt((one.size - 2) / (1 - rho**2))
        details = {"t": t, "p_t": float(2 * scipy.special.stdtr(one.size - 2, -abs(t)))}
    details |= _permuted(first, second, rho, resampling)
    low = high = None
    if one.size > 3 and abs(rho) < 1:
        error = math.sqrt((1 + rho**2 / 2) / (one.size - 3))
        z = float(scipy.special.ndtri(1 - resampling.tail)) * error
        low, high = math.tanh(math.atanh(rho) - z), math.tanh(math.atanh(rho) + z)
    return Estimate(value=rho, low=low, high=high, details=details, **said)


def _numbers(values: Sequence[float] | Floats, name: str) -> Floats:
    try:
        result = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise MeasureError("not numbers", where=name, expected="numbers", found=repr(values)[:60]) from None
    if result.ndim != 1 or not np.isfinite(result).all():
        raise MeasureError(
            "not a list of finite numbers", where=name, expected="finite numbers", found=repr(values)[:60]
        )
    return result


def _standard(values: Floats) -> Floats:
    # scipy.stats has the ranks too, and takes longer to load than a report to measure.
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[which]
    ranks = ranks - ranks.mean()
    return np.asarray(ranks / np.sqrt((ranks**2).sum()))


@one_thread()
def _permuted(first: Floats, second: Floats, rho: float, resampling: Resampling) -> dict[str, Any]:
    bound = abs(rho) - 1e-9
    if first.size <= _EXACT:
        every = np.array(list(itertools.permutations(second)))
        return {"p": float((np.abs(every @ first) >= bound).mean()), "permutations": len(every)}
    if not resampling.resamples:
        return {}
    rng = np.random.default_rng(derive(resampling.seed, "permutation"))
    drawn = rng.permuted(np.tile(second, (resampling.resamples, 1)), axis=1)
    beyond = int((np.abs(drawn @ first) >= bound).sum())
    return {"p": (1 + beyond) / (1 + len(drawn)), "permutations": len(drawn)}


@guarded
def covariate_correlation(
    estimates: Sequence[Estimate],
    covariate: Mapping[str, float],
    *,
    of: str = "model",
    confidence_level: float = 0.95,
    permutations: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """Spearman's correlation of a measure with a number known of each model (or of another column's values).

    Args:
        estimates: One for each value of the column: of `robustness.spread` with ``by=["model"]``, say.
        covariate: The number (parameters, release date …) by the column's value.
        of: The column.
        confidence_level: Nominal level.
        permutations: See `spearman`.
        seed: See `spearman`.

    Returns:
        As `spearman`; estimates that are undefined, or of which the covariate is not known, are counted as
        excluded.

    Raises:
        MeasureError: An estimate does not say which value of the column it is of, or two are of the same.

    >>> sizes = {"m": 0.1, "n": 1.0, "o": 7.0}
    >>> spreads = [Estimate("spread", v, cell={"model": m}) for m, v in [("m", 0.3), ("n", 0.2), ("o", 0.1)]]
    >>> covariate_correlation(spreads, sizes).value
    -1.0
    """
    names = [estimate.cell.get(of, "") for estimate in estimates]
    if "" in names or len(set(names)) < len(names):
        raise MeasureError(
            "estimates that are not one for each value of the column",
            where="estimates",
            expected=f"estimates by {of!r}",
            found=", ".join(name or "none" for name in names) or "nothing",
        )
    sizes, values = [], []
    for name, estimate in zip(names, estimates, strict=True):
        if name in covariate and estimate.value is not None:
            sizes.append(covariate[name])
            values.append(estimate.value)
    found = spearman(sizes, values, confidence_level=confidence_level, permutations=permutations, seed=seed)
    left = len(names) - len(sizes)
    kinds = {estimate.measure for estimate in estimates}
    about = f"{found.method}; of {', '.join(sorted(kinds))} with a covariate of {of}"
    return replace(found, unit=of, method=about, excluded={of: left} if left else {})
