"""How often the mixed model rejects what is true: ``python benchmarks/mixed_model.py [STUDIES]``.

Studies without any effect of the treatment, in which its effect differs between items or does not. Printed is
the share of p values below 0.05: of the likelihood ratio by χ², of the test of both coefficients together
that `mixed_effects` gives (the larger of this and the robust one), and of one coefficient.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import polars as pl
from scipy import special

from quaver.measures import mixed_logit

ITEMS, DIFFERENCES, TREATMENTS = (10, 20, 60), (0.0, 0.5, 1.0), 3
ANSWERS, LEVEL = 5, 0.05


def study(rng: np.random.Generator, items: int, difference: float) -> pl.DataFrame:
    item, treatment = (one.ravel() for one in np.indices((items, TREATMENTS)))
    eta = 0.3 + rng.normal(0, 1, items)[item]
    eta += rng.normal(0, difference, (items, TREATMENTS))[item, treatment]
    right = rng.random((item.size, ANSWERS)) < 1 / (1 + np.exp(-eta))[:, None]
    names = np.array([f"T{k}" for k in range(TREATMENTS)])
    return pl.DataFrame(
        {
            "item": np.repeat(item, ANSWERS),
            "treatment": np.repeat(names[treatment], ANSWERS),
            "correct": right.ravel().astype(int),
        }
    )


def p_values(frame: pl.DataFrame) -> tuple[float, float, float]:
    plain, whole = (mixed_logit(frame, f"correct ~ {terms}") for terms in ("1", "treatment"))
    ratio = float(special.chdtrc(TREATMENTS - 1, 2 * (whole.log_likelihood - plain.log_likelihood)))
    names = [name for name in whole.coefficients if name != "Intercept"]
    return ratio, max(ratio, whole.p_of(names) or 0.0), whole.coefficients["treatment[T1]"].p


def main(studies: int) -> None:
    print("| items | sd of the effect | likelihood ratio, χ² | as Quaver gives it | a coefficient |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for items, difference in product(ITEMS, DIFFERENCES):
        rng = np.random.default_rng(items)
        found = np.array([p_values(study(rng, items, difference)) for _ in range(studies)])
        rates = " | ".join(f"{100 * rate:.1f}%" for rate in (found <= LEVEL).mean(0))
        print(f"| {items} | {difference:g} | {rates} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
