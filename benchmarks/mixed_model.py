"""How often the mixed model rejects what is true: ``python benchmarks/mixed_model.py [STUDIES]``.

Studies without any effect of the treatment, in which its effect differs between items or does not. Printed is
the share of p values below 0.05: of the likelihood ratio with a random intercept alone and χ², of the
likelihood ratio as `quaver.measures.likelihood_ratio` gives it, and of one coefficient.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import polars as pl

from quaver.measures import likelihood_ratio, mixed_logit

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
    plain = mixed_logit(frame, "correct ~ 1", random="intercept")
    alone = mixed_logit(frame, "correct ~ treatment", random="intercept")
    whole = mixed_logit(frame, "correct ~ treatment")
    return (
        likelihood_ratio(plain, alone, draws=0)["p"],
        likelihood_ratio(plain, whole)["p"],
        whole.coefficients["treatment[T1]"].p,
    )


def main(studies: int) -> None:
    print("| items | sd of the effect | random intercept, χ² | all random effects, LR | its coefficients |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for items, difference in product(ITEMS, DIFFERENCES):
        rng = np.random.default_rng(items)
        found = np.array([p_values(study(rng, items, difference)) for _ in range(studies)])
        rates = " | ".join(f"{100 * rate:.1f}%" for rate in (found <= LEVEL).mean(0))
        print(f"| {items} | {difference:g} | {rates} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
