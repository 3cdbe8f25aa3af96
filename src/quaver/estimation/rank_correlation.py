"""Spearman's correlation of an estimate with something known of each cell: spread with model size, say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.cells import guarded

_METHOD = "Spearman's rank correlation, midranks; interval by Bonett & Wright's standard error of Fisher's z"
_REFERENCE = "Spearman (1904), Am. J. Psychology 15, 72-101; Bonett & Wright (2000), Psychometrika 65, 23-28"


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

    ρ is Pearson's correlation of the midranks. For a handful of models its t approximation is poor:
    ``details["p"]`` counts permutations with at least this |ρ|, all of them if there are no more than
    ``permutations``, else a sample. Undefined for fewer than three models, or where one side does not vary.
    The interval needs four, and |ρ| < 1.

    Args:
        estimates: One for each value of the column: of `robustness.spread` with ``by=["model"]``, say.
        covariate: The number (parameters, release date …) by the column's value.
        of: The column.
        confidence_level: Nominal level.
        permutations: How many permutations there are at most.
        seed: Of the sample of them.

    Returns:
        One estimate; estimates that are undefined, or of which the covariate is not known, are counted as
        excluded.

    Raises:
        MeasureError: An estimate does not say which value of the column it is of, or two are of the same.

    Ranks 1…5 against 2 1 4 3 5: Σd² = 4, so ρ = 1 − 6·4/(5·24) = 0.8; of 120 permutations 16 have |ρ| ≥ 0.8:

    >>> sizes = dict(zip("mnopq", [1, 2, 3, 4, 5]))
    >>> spreads = [Estimate("spread", v, cell={"model": m}) for m, v in zip("mnopq", [2, 1, 4, 3, 5])]
    >>> found = covariate_correlation(spreads, sizes)
    >>> round(found.value, 12), round(found.details["p"] * 120)
    (0.8, 16)
    """
    from scipy import stats  # takes longer to load than a report to measure

    names = [estimate.cell.get(of, "") for estimate in estimates]
    if "" in names or len(set(names)) < len(names):
        raise MeasureError(
            "estimates that are not one for each value of the column",
            where="estimates",
            expected=f"estimates by {of!r}",
            found=", ".join(name or "none" for name in names) or "nothing",
        )
    known = [one for one in estimates if one.cell[of] in covariate and one.value is not None]
    middle, left = (len(known) + 1) / 2, len(names) - len(known)
    x = stats.rankdata([covariate[one.cell[of]] for one in known]) - middle
    y = stats.rankdata([one.number for one in known]) - middle
    kinds = ", ".join(sorted({estimate.measure for estimate in estimates}))
    correlation = Estimate(
        "spearman",
        None,
        n=len(known),
        unit=of,
        method=f"{_METHOD}; of {kinds} with a covariate of {of}",
        reference=_REFERENCE,
        confidence_level=confidence_level,
        excluded={of: left} if left else {},
    )
    if len(known) < 3:
        return replace(correlation, reason="fewer than three pairs")
    if not x.any() or not y.any():
        return replace(correlation, reason="no variation")
    rho = float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1, 1))
    correlation = replace(correlation, value=rho)
    if permutations:
        tested = stats.permutation_test(
            (x,),
            lambda some, axis: np.abs(some @ y),
            permutation_type="pairings",
            vectorized=True,
            n_resamples=permutations,
            alternative="greater",
            rng=np.random.default_rng(derive(seed, "permutation")),
        )
        correlation = replace(correlation, details={"p": float(tested.pvalue)})
    if len(known) == 3 or abs(rho) >= 1 - 1e-12:
        return correlation
    z = -float(stats.norm.ppf((1 - confidence_level) / 2))
    reach = z * math.sqrt((1 + rho**2 / 2) / (len(known) - 3))
    low, high = math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)
    return replace(correlation, low=low, high=high)
