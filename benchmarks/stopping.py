"""What stopping at a narrow interval does to its coverage: ``python benchmarks/stopping.py``.

Each replication collects as a study with ``until`` does (``collection.rounds``): 50 items and 2 repeats
first, then more items or repeats until the interval is as narrow as asked. How often the interval at the
stop holds the true value is compared with intervals of fresh data of the same sizes, never looked at before.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from coverage import POPULATIONS, Population

from quaver.agreement import krippendorff_alpha
from quaver.collect.run.progress import Outcome
from quaver.core.records import Estimate
from quaver.design.spec import UntilSpec
from quaver.estimation.bootstrap import Resampling, Units
from quaver.estimation.intervals import mean_within
from quaver.estimation.means import ratio
from quaver.estimation.statistic import Sampler, Statistic
from quaver.study.collection.rounds import Part, collect_in_rounds, widest

WHOLE = Part(items=3000, variants=1, repeats=10)
FIRST = Part(items=50, variants=1, repeats=2)
DONE = Outcome("finished", 0, 0, 0, 0, 0.0)
SHARES = (0.5, 0.8, 0.95)


Found = Estimate
"""An estimate that has an interval."""


def alpha_interval(codes: np.ndarray) -> Found | None:
    """As the stability scores take it."""
    return having(krippendorff_alpha(codes))


def share_interval(codes: np.ndarray) -> Found | None:
    """As accuracy takes it."""
    right = codes.mean(1)
    statistic = Statistic(
        method="share",
        under=ratio(right[:, None], np.ones((len(right), 1))),
        differing=min(int((right > 0).sum()), int((right < 1).sum())),
        ends=(0.0, 1.0),
        spread=mean_within,
    )
    return having(Sampler(Units(len(codes)), Resampling()).estimated(statistic))


def having(one: Estimate) -> Found | None:
    """The estimate, if it has an interval."""
    return None if one.low is None else one


def stopped(
    draw: Callable[[np.random.Generator], np.ndarray],
    interval: Callable[[np.ndarray], Found | None],
    width: float,
    seed: int,
) -> tuple[Part, int, Found | None, Found | None]:
    """One study: the part at the stop, the rounds, its interval, and one of fresh data of that size."""
    until = UntilSpec(measure="alpha", width=width)
    rng = np.random.default_rng(seed)
    data = draw(rng)
    known: dict[Part, Found | None] = {}

    def at(part: Part) -> Found | None:
        if part not in known:
            known[part] = interval(data[: part.items, : part.repeats])
        return known[part]

    def wide(part: Part) -> float | None:
        found = at(part)
        if found is None:
            return None
        return widest([found], until.differing)

    design = cast(Any, SimpleNamespace(whole=WHOLE, first=lambda until: FIRST))
    rounds, _ = collect_in_rounds(until, design, lambda part: DONE, wide)
    part = rounds[-1].part
    return part, len(rounds), at(part), interval(draw(rng)[: part.items, : part.repeats])


def holds(found: Found | None, truth: float) -> float:
    """1 where the interval holds the true value; nan where there is none."""
    if found is None or found.low is None or found.high is None:
        return float("nan")
    return float(found.low <= truth <= found.high)


def row(name: str, truth: float, width: float, studies: list[tuple[Part, int, Any, Any]]) -> str:
    """A line of the table."""
    items = np.mean([part.items for part, *_ in studies])
    repeats = np.mean([part.repeats for part, *_ in studies])
    rounds = np.mean([number for _, number, *_ in studies])
    ours = np.nanmean([holds(found, truth) for *_, found, _ in studies])
    fresh = np.nanmean([holds(found, truth) for *_, found in studies])
    size = f"{rounds:.1f} | {items:.0f} | {repeats:.1f}"
    return f"| {name} | {truth:.3f} | {width} | {size} | {ours:.1%} | {fresh:.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--widths", type=float, nargs="+", default=[0.2, 0.1])
    asked = parser.parse_args()
    print(
        "| population | true value | width asked | rounds | items | repeats | coverage | fresh, same size |"
    )
    print("| --- " * 8 + "|")
    for width in asked.widths:
        for share in SHARES:

            def draw_share(rng: np.random.Generator, share: float = share) -> np.ndarray:
                right = rng.random(WHOLE.items) < share
                return np.repeat(right[:, None], WHOLE.repeats, axis=1).astype(int)

            studies = [stopped(draw_share, share_interval, width, n) for n in range(asked.replications)]
            print(row(f"share of {share}", share, width, studies), flush=True)
        for population in POPULATIONS[:3]:

            def draw(rng: np.random.Generator, population: Population = population) -> np.ndarray:
                return population.draw(rng, WHOLE.items, WHOLE.repeats, 0)[0]

            studies = [stopped(draw, alpha_interval, width, n) for n in range(asked.replications)]
            print(row(f"alpha, {population.name}", population.truth, width, studies), flush=True)


if __name__ == "__main__":
    main()
