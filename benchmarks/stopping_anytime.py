"""How often a run that stops when the verdict is clear is wrong: ``python benchmarks/stopping_anytime.py``.

Each replication collects as a study with ``until: {clear_of: VALUE}`` does: 50 items first, then twice
as many, up to 800, and stops as soon as the interval lies wholly on one side of the value: a betting one of a
share; of alpha, and of a share in groups, one of its round's tail, from 20 texts on that mostly have the
rarest label.
Groups are 40 authors whose items are correlated by 0.2. ``fixed`` takes an ordinary
95% interval at every round instead. A row with the true value itself shows false verdicts; one beside it, how
many items it takes to see on which side the truth is.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

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
from quaver.sequential.betting_interval import held_together, too_rare
from quaver.study.collection.rounds import ERROR, Part, collect_at_any_time, is_clear

WHOLE = Part(items=800, variants=1, repeats=4)
DONE = Outcome("finished", 0, 0, 0, 0, 0.0)

AUTHORS, ALIKE = 40, 4.0
"""Of items in groups: how many there are, and the a + b of the beta that their shares are drawn from."""

Interval = Callable[[np.ndarray, float], Estimate]


def share_interval(codes: np.ndarray, level: float) -> Estimate:
    """As accuracy takes it; all samples of a size with as many ones have the same."""
    return _share(len(codes), int(codes.sum()), level)


@cache
def _share(items: int, ones: int, level: float) -> Estimate:
    right = np.arange(items) < ones
    statistic = Statistic(
        method="share",
        under=ratio(right[:, None].astype(float), np.ones((items, 1))),
        differing=min(int((right > 0).sum()), int((right < 1).sum())),
        ends=(0.0, 1.0),
        spread=mean_within,
        values=right.astype(float),
    )
    return Sampler(Units(items), Resampling(level), keep=frozenset(["draws", "distribution"])).estimated(
        statistic
    )


def grouped_interval(right: np.ndarray, level: float) -> Estimate:
    """As accuracy takes it of items in declared groups, which are in the second column."""
    known = right[:, 0].astype(float)
    groups = np.unique(right[:, 1], return_inverse=True)[1]
    statistic = Statistic(
        method="share",
        under=ratio(known[:, None], np.ones((len(known), 1))),
        differing=min(len(set(groups[known > 0])), len(set(groups[known < 1]))),
        ends=(0.0, 1.0),
        spread=mean_within,
    )
    return Sampler(Units(len(known), groups, "author"), Resampling(level)).estimated(statistic)


def alpha_interval(codes: np.ndarray, level: float) -> Estimate:
    """As the stability scores take it."""
    return krippendorff_alpha(codes, confidence_level=level)


def stopped(codes: np.ndarray, interval: Interval, value: float, truth: float) -> tuple[float, ...]:
    """One study: items, whether the verdict is clear, wrong, missed by any round; and fixed: items, wrong."""
    seen: list[Estimate] = []

    def at(part: Part, level: float) -> Sequence[Estimate]:
        asked = codes[: part.items]
        one = interval(asked, level)
        given = asked[:, :1] if interval is grouped_interval else asked
        counts = np.stack([(given == label).sum(1) for label in np.unique(given)])
        texts = int((counts == counts.max(0)).sum(1).min())
        seen.append(held_together(one, ERROR) or too_rare(one, texts))
        return seen[-1:]

    until = UntilSpec(measure="m", clear_of=value)
    rounds, last = collect_at_any_time(until, WHOLE, lambda part: DONE, at)
    clear = last.ended == "clear" or is_clear(seen[-1:], value)
    misses = [one.low is not None and not one.low <= truth <= (one.high or 1.0) for one in seen]
    items, wrong = WHOLE.items, False
    for size in (50, 100, 200, 400, 800):
        one = interval(codes[:size], 0.95)
        if is_clear([one], value):
            items, wrong = size, _wrong(one, value, truth)
            break
    return rounds[-1].part.items, clear, clear and _wrong(seen[-1], value, truth), any(misses), items, wrong


def _wrong(one: Estimate, value: float, truth: float) -> bool:
    """Whether a clear verdict says the wrong side; where the truth is the value, either side is wrong."""
    return truth == value or ((one.low or 0.0) > value) != (truth > value)


class Row(NamedTuple):
    """A kind of study: how it is drawn, what is taken of it, against which value."""

    name: str
    draw: Callable[[np.random.Generator], np.ndarray]
    interval: Interval
    value: float
    truth: float

    def line(self, replications: int, seed: int) -> str:
        """A line of the table."""
        found = [
            stopped(self.draw(np.random.default_rng([at, seed])), self.interval, self.value, self.truth)
            for at in range(replications)
        ]
        items, clear, wrong, misses, fixed, fixed_wrong = np.array(found, float).mean(0)
        rates = f"{clear:.1%} | {wrong:.1%} | {misses:.1%} | {fixed:.0f} | {fixed_wrong:.1%}"
        return f"| {self.name} | {self.truth:.3f} | {self.value:.3f} | {items:.0f} | {rates} |"


def draw_share(rng: np.random.Generator, share: float) -> np.ndarray:
    """Which items are right."""
    return (rng.random((WHOLE.items, 1)) < share).astype(int)


def draw_grouped(rng: np.random.Generator, share: float) -> np.ndarray:
    """Which items are right, and by whom they are."""
    chances = rng.beta(share * ALIKE, (1 - share) * ALIKE, AUTHORS)
    author = rng.permutation(np.arange(WHOLE.items) % AUTHORS)
    return np.stack([rng.random(WHOLE.items) < chances[author], author], 1).astype(int)


def draw_labels(rng: np.random.Generator, population: Population) -> np.ndarray:
    """The labels of items."""
    return population.draw(rng, WHOLE.items, WHOLE.repeats, 0)[0]


def rows() -> Iterator[Row]:
    """Every kind of study."""
    values = ((0.5, 0.5), (0.8, 0.8), (0.95, 0.95), (0.99, 0.99), (0.995, 0.995))
    for share, value in (*values, (0.9, 0.8), (0.85, 0.8), (0.95, 0.8)):
        yield Row(f"share of {share}", partial(draw_share, share=share), share_interval, value, share)
    for share in (0.5, 0.85, 0.95, 0.98):
        name = f"share of {share} in groups"
        yield Row(name, partial(draw_grouped, share=share), grouped_interval, share, share)
    rarer = Population("1 in 100", (0.99, 0.01), 0.05)
    slips = Population("1 in 50 and slips", (0.98, 0.02), 0.3)
    for population in (POPULATIONS[0], POPULATIONS[3], POPULATIONS[4], rarer, slips):
        draw, truth = partial(draw_labels, population=population), population.truth
        for value in (truth, round(truth - 0.1, 2)):
            yield Row(f"alpha, {population.name}", draw, alpha_interval, value, truth)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rows", default="", help="words in the names of the rows to take")
    asked = parser.parse_args()
    head = "population", "true value", "clear of", "items", "clear", "wrong", "a round misses"
    print("", *head, "fixed: items", "fixed: wrong", "", sep=" | ")
    print("| --- " * 9 + "|")
    for one in rows():
        if asked.rows in one.name:
            print(one.line(asked.replications, asked.seed), flush=True)


if __name__ == "__main__":
    main()
