"""How often the intervals of Krippendorff's alpha hold the true value: ``python benchmarks/coverage.py``.

Items have a label distribution each, raters draw from it: most items have one label for certain, the
others (``hard``) a mixture of all. Alpha's true value follows from the distributions, so that each
replication either holds it or not. With 2000 replications the standard error at 95% is 0.5 points.
"""

from __future__ import annotations

import argparse
import itertools
import os
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import alpha_losses, spread_of
from quaver.estimation.bootstrap import Resampling, Units, bootstrap
from quaver.estimation.cell import label_counts
from quaver.estimation.intervals import FEW, bca, clopper_pearson, percentile


@dataclass(frozen=True)
class Population:
    """One population.

    Attributes:
        name: What it is called in the table.
        shares: Shares of the labels among the items.
        hard: Share of items whose raters draw from a mixture.
        own: In a hard item, the weight of its own label; the rest is drawn from all labels alike.
    """

    name: str
    shares: tuple[float, ...]
    hard: float
    own: float = 0.5

    @property
    def truth(self) -> float:
        """Alpha of infinitely many items and raters."""
        shares = np.array(self.shares)
        size = len(shares)
        flat = np.full((size, size), (1 - self.own) / size) + np.eye(size) * self.own
        differ = self.hard * (1 - (shares @ flat**2).sum())
        overall = (1 - self.hard) * shares + self.hard * (shares @ flat)
        return float(1 - differ / (1 - (overall**2).sum()))

    def draw(self, rng: np.random.Generator, items: int, raters: int) -> np.ndarray:
        """Labels, shape (items, raters)."""
        own = rng.choice(len(self.shares), items, p=self.shares)
        mixed = (rng.random(items) < self.hard)[:, None] & (rng.random((items, raters)) > self.own)
        return np.where(mixed, rng.integers(0, len(self.shares), (items, raters)), own[:, None])


POPULATIONS = (
    Population("balanced", (0.25,) * 4, 0.6),
    Population("mild", (0.5, 0.3, 0.2), 0.3),
    Population("near 1", (0.5, 0.5), 0.05),
    Population("dominant", (0.95, 0.05), 0.1),
    Population("rare", (0.98, 0.02), 0.03),
)


def replicate(
    population: Population, items: int, raters: int, replications: int, resamples: int
) -> dict[str, float]:
    """Coverage and widths over replications."""
    units = Units(items)
    rng = np.random.default_rng([items, raters, len(population.name)])
    rows = []
    for seed in range(replications):
        codes = population.draw(rng, items, raters)
        model = Disagreement(label_counts(codes, len(population.shares))[:, None])
        few = int((model.per_item > 1e-12).sum())
        resampling = Resampling(resamples=resamples, seed=seed)
        draws = bootstrap(model.alphas, units, resampling)
        point = float(draws.point[0])
        if not np.isfinite(point):
            rows.append((few, np.nan, np.nan, np.nan, np.nan))
            continue
        share = clopper_pearson(0, items).high
        bound = spread_of(point, alpha_losses(model, "nominal"))(share)
        found = []
        for interval in (
            percentile(draws.values[:, 0], 0.025),
            bca(point, draws.values[:, 0], draws.jackknife[:, 0], 0.025),
        ):
            ends = bound if interval is None or interval.high - interval.low <= 1e-12 else interval
            found += [ends.low <= population.truth <= ends.high, ends.high - ends.low]
        rows.append((few, *found))
    table = np.array(rows, float)
    defined = table[np.isfinite(table[:, 1])]
    return {
        "differing": table[:, 0].mean(),
        "flagged": (table[:, 0] < FEW).mean(),
        "percentile": defined[:, 1].mean(),
        "bca": defined[:, 3].mean(),
        "percentile_width": defined[:, 2].mean(),
        "bca_width": defined[:, 4].mean(),
        "undefined": 1 - len(defined) / len(table),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--items", type=int, nargs="+", default=[50, 100, 500])
    parser.add_argument("--raters", type=int, nargs="+", default=[2, 5, 30])
    asked = parser.parse_args()
    print(
        "| population | true alpha | items | raters | items that differ | flagged | percentile | BCa "
        "| width | undefined |"
    )
    print("| --- " * 10 + "|")
    for population, items, raters in itertools.product(POPULATIONS, asked.items, asked.raters):
        found = replicate(population, items, raters, asked.replications, asked.resamples)
        print(
            f"| {population.name} | {population.truth:.3f} | {items} | {raters} | {found['differing']:.1f} "
            f"| {found['flagged']:.0%} | {found['percentile']:.1%} | {found['bca']:.1%} "
            f"| {found['bca_width']:.3f} | {found['undefined']:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
