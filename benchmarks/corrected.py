"""How often corrected intervals cover the truth, and what they gain: the table in docs/corrected.md.

Usage: python benchmarks/corrected.py [runs [part]]

Simulated items have a covariate, a true label that it explains, and the labels of eight prompts, whose
errors are independent of everything, more frequent for one label, or more frequent where the covariate is
high. A gold sample is drawn by design. Each line is many settings: how often intervals cover the truth when
the labels of the best prompt are taken as they are, from gold labels alone, and corrected (the mean, the
worst and the best setting); as how many gold labels 100 count, in the best prompt's PPI++ and in the stacked
estimate; how often there is a reason instead of an interval; and how wide a stacked interval is at most,
beside the one from gold labels alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from quaver.correction.estimators import Corrected, Question, gold_alone, naive
from quaver.correction.gold_sample import GoldSample
from quaver.correction.prediction_powered import dsl, ppi
from quaver.correction.regressions import solved
from quaver.estimation.one_thread import one_thread
from quaver.measures.corrected.corrected_estimate import best, ends, few_events

PROMPTS = 8
KINDS = ("share", "difference", "linear slope", "logistic slope")
SHARES, ACCURACIES = (0.03, 0.1, 0.5), (0.6, 0.85, 0.95)
ERRORS = ("independent", "by label", "with the covariate")
GOLD = (50, 200, 500)
SLOPE = 0.5


def world(
    rng: np.random.Generator,
    items: int,
    share: float,
    accuracy: float,
    errors: str,
    groups: int | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Items: covariate, true label, each prompt's label, group."""
    x, own, group = rng.standard_normal(items), np.zeros(items), None
    if groups:
        group = rng.permutation(np.arange(items) % groups)
        x = 0.8 * x + 0.6 * rng.standard_normal(groups)[group]
        own = 0.7 * rng.standard_normal(groups)[group]
    true = rng.random(items) < chance(x, own, share)
    base = np.full(items, 1.0)
    if errors == "by label":
        base = np.where(true, 1.4, 0.8)
    elif errors == "with the covariate":
        base = 1 + 0.8 * np.tanh(x)
    shared, labels = rng.random(items), np.empty((items, PROMPTS))
    for prompt, right in enumerate(np.linspace(max(accuracy - 0.1, 0.5), accuracy, PROMPTS)):
        luck = np.where(rng.random(items) < 0.5, shared, rng.random(items))
        labels[:, prompt] = np.where(luck < np.clip((1 - right) * base, 0, 1), ~true, true)
    return x, true, labels, group


def chance(x: Any, own: Any, share: float) -> Any:
    return 1 / (1 + np.exp(-np.log(share / (1 - share)) - SLOPE * x - own))


def drawn(rng: np.random.Generator, gold: int, labels: Any, design: str) -> tuple[Any, Any, Any]:
    """Which items are drawn, with which probability, from which strata."""
    items, said = len(labels), labels.mean(1)
    if design == "poisson":
        worth = said * (1 - said) + 0.05
        probability = np.clip(gold * worth / worth.sum(), 0, 1)
        return rng.random(items) < probability, probability, None
    strata = (said > 0.5).astype(np.int64) if design == "stratified" else np.zeros(items, np.int64)
    marked, probability = np.zeros(items, bool), np.zeros(items)
    for stratum in np.unique(strata):
        inside = np.flatnonzero(strata == stratum)
        size = min(inside.size, gold // np.unique(strata).size)
        marked[rng.choice(inside, size, replace=False)] = True
        probability[inside] = size / inside.size
    return marked, probability, strata if design == "stratified" else None


def columns(kind: str, x: Any) -> tuple[Any, Any, Any]:
    """A regression's columns, its contrast and its kind."""
    ones = np.ones(x.size)
    if kind == "share":
        return ones[:, None], np.ones((1, 1)), "linear"
    own = (x > 0.5).astype(float) if kind == "difference" else x
    regression = "logistic" if kind == "logistic slope" else "linear"
    return np.stack([ones, own], 1), np.array([[0.0, 1.0]]), regression


@cache
def truth(kind: str, share: float, grouped: bool = False) -> float:
    """The contrast in an endless population."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(400_000)
    own = 0.7 * rng.standard_normal(x.size) if grouped else 0.0
    matrix, contrast, regression = columns(kind, x)
    found = solved(regression, matrix, chance(x, own, share)[:, None], np.ones(x.size))
    assert found is not None
    return float(contrast.ravel() @ found.ravel())


def estimates(asked: Question, labels: Any, seed: int) -> dict[str, Corrected | None]:
    """Each estimator's estimate; none of the corrected ones where there are too few gold labels."""
    found: dict[str, Corrected | None] = {"naive": naive(asked, labels[:, [-1]])}
    alone = gold_alone(asked)
    if alone is None or few_events(asked, alone):
        return found
    found["gold alone"] = alone
    found["PPI++"] = ppi(asked, labels[:, [-1]])
    found["DSL"] = dsl(asked, labels[:, None, [-1]], seed)
    found["stacked"] = best(asked, labels[:, None], alone, seed, bounded=(0.0, 1.0))
    return found


class Tally:
    """What one setting's runs say."""

    def __init__(self, kind: str, true: float) -> None:
        self._bounded = (0.0, 1.0) if kind == "share" else None
        self._true, self.runs, self.refused = true, 0, 0
        self.covered: dict[str, list[bool]] = {}
        self.widths: dict[str, list[float]] = {}
        self.values: dict[str, list[float]] = {}

    def add(self, asked: Question, found: dict[str, Corrected | None]) -> None:
        """One run's estimates."""
        self.runs += 1
        self.refused += "stacked" not in found
        for name, one in found.items():
            if one is not None:
                low, high = ends(asked, one, 0.95, self._bounded)
                self.covered.setdefault(name, []).append(low <= self._true <= high)
                self.widths.setdefault(name, []).append(high - low)
                self.values.setdefault(name, []).append(one.value)

    def gain(self, name: str) -> float:
        """As how many gold labels 100 count, by the intervals' mean squared width."""
        alone, own = (np.mean(np.square(self.widths[one])) for one in ("gold alone", name))
        return float(100 * alone / own)


def setting(kind: str, share: float, accuracy: float, errors: str, gold: int, runs: int, **how: Any) -> Tally:
    """The runs of one setting."""
    design, items, groups = how.get("design", "simple"), how.get("items", 2000), how.get("groups")
    tally = Tally(kind, truth(kind, share, bool(groups)))
    for run in range(runs):
        rng = np.random.default_rng([run, gold, items, int(1000 * share), int(100 * accuracy)])
        x, true, labels, group = world(rng, items, share, accuracy, errors, groups)
        marked, probability, strata = drawn(rng, gold, labels, design)
        matrix, contrast, regression = columns(kind, x)
        outcome = np.where(marked, true, np.nan)[:, None]
        sample = GoldSample(matrix, outcome, probability, np.ones(items), group, strata)
        asked = Question(sample, contrast, regression)
        tally.add(asked, estimates(asked, labels, run))
    return tally


def line(title: str, tallies: list[Tally], least: int = 60) -> str:
    """A row of the table: means over settings with enough intervals, and the worst."""
    told = [one for one in tallies if len(one.covered.get("stacked", ())) >= least]
    refused = np.mean([one.refused / one.runs for one in tallies])
    if not told:
        return f"| {title} | | | | | | | {refused:.0%} | |"
    cells = []
    for name in ("naive", "gold alone", "PPI++", "DSL", "stacked"):
        each = [float(np.mean(one.covered[name])) for one in told if name in one.covered]
        cells.append(f"{np.mean(each):.1%} ({min(each):.0%} to {max(each):.0%})")
    gains = [f"{np.median([one.gain(name) for one in told]):.0f}" for name in ("PPI++", "stacked")]
    ratio = max(
        own / alone
        for one in told
        for own, alone in zip(one.widths["stacked"], one.widths["gold alone"], strict=True)
    )
    return f"| {title} | {' | '.join(cells)} | {' → '.join(gains)} | {refused:.0%} | {ratio:.2f} |"


def parts(runs: int, only: str) -> Iterator[tuple[str, list[Tally]]]:
    """The table's rows whose titles hold a text."""
    for kind, gold in product(KINDS, GOLD):
        if only not in f"{kind}, {gold} gold":
            continue
        every = product(SHARES, ACCURACIES, ERRORS[1:])
        yield f"{kind}, {gold} gold", [setting(kind, *one, gold, runs) for one in every]
    for design, kind in product(("stratified", "poisson"), KINDS):
        if only not in f"{kind}, {design}, 200 gold":
            continue
        every = product((0.1, 0.5), (0.6, 0.95), ERRORS[2:])
        yield f"{kind}, {design}, 200 gold", [setting(kind, *one, 200, runs, design=design) for one in every]
    for kind in KINDS:
        if only not in f"{kind}, 100 groups, 300 gold":
            continue
        every = product((0.1, 0.5), (0.85,), ERRORS[1:])
        some = [setting(kind, *one, 300, runs, groups=100) for one in every]
        yield f"{kind}, 100 groups, 300 gold", some
    for items, kind in product((1000, 50_000), KINDS):
        if only not in f"{kind}, 500 gold of {items:,}":
            continue
        yield (
            f"{kind}, 500 gold of {items:,}",
            [
                setting(kind, share, 0.85, "with the covariate", 500, min(runs, 150), items=items)
                for share in (0.1, 0.5)
            ],
        )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    print("| | naive | gold alone | PPI++ | DSL | stacked | 100 gold count as | refused | widest |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with one_thread():
        for title, tallies in parts(runs, only):
            print(line(title, tallies), flush=True)


if __name__ == "__main__":
    main()
