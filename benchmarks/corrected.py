"""How often corrected intervals cover the truth, and what they gain: the tables in docs/simulations.md.

Usage: python benchmarks/corrected.py [runs [part]]
       python benchmarks/corrected.py nulls [runs [part]]

Simulated items have a covariate, a true label that it explains, and the labels of eight prompts, whose
errors are independent of everything, more frequent for one label, or more frequent where the covariate is
high. A gold sample is drawn by design. Each line is many settings: how often intervals cover the truth when
the labels of the best prompt are taken as they are, from gold labels alone, and corrected (the mean, the
worst and the best setting); as how many gold labels 100 count, corrected by the best prompt and by the share
of all prompts (their geometric mean over settings), by the width of intervals and by how far estimates are
off; how often there is a reason instead of an interval; and how wide a corrected interval is at most, beside
the one from gold labels alone.

With ``nulls``, claims that are just not true are tested at 5%: that the share differs from what it is, and
that the covariate, which then explains nothing, does. Each line says how often a test rejects.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from quaver.estimation.jackknife import one_thread
from quaver.estimation.regression import solved
from quaver.measures.corrected.estimators import (
    Corrected,
    GoldRegression,
    corrected,
    ends,
    few_events,
    gold_alone,
)

PROMPTS = 8
KINDS = ("share", "difference", "slope")
SHARES, ACCURACIES = (0.03, 0.1, 0.5), (0.6, 0.85, 0.95)
ERRORS = ("independent", "by label", "with the covariate")
GOLD = (50, 200, 500)
SLOPE = 0.5
DESIGNS: dict[str, dict[str, Any]] = {
    "stratified": {"design": "stratified"},
    "Poisson": {"design": "poisson"},
}
UNEQUAL = np.geomspace(1, 60, 24)
"""The sizes of unequal groups, beside each other."""
NAMES = ("naive", "gold alone", "one prompt", "corrected")


def world(
    rng: np.random.Generator,
    items: int,
    share: float,
    accuracy: float,
    errors: str,
    groups: int | str | None = None,
    slope: float = SLOPE,
) -> tuple[Any, Any, Any, Any]:
    """Items: covariate, true label, each prompt's label, group."""
    x, own, group = rng.standard_normal(items), np.zeros(items), None
    if groups:
        sizes = UNEQUAL if groups == "unequal" else np.ones(int(groups))
        ends = np.round(np.cumsum(sizes) / sizes.sum() * items)
        group = rng.permutation(np.searchsorted(ends, np.arange(items), side="right"))
        x = 0.8 * x + 0.6 * rng.standard_normal(sizes.size)[group]
        own = 0.7 * rng.standard_normal(sizes.size)[group]
    true = rng.random(items) < chance(x, own, share, slope)
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


def chance(x: Any, own: Any, share: float, slope: float = SLOPE) -> Any:
    return 1 / (1 + np.exp(-np.log(share / (1 - share)) - slope * x - own))


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


def columns(kind: str, x: Any) -> tuple[Any, Any]:
    """A regression's columns, and its contrast."""
    ones = np.ones(x.size)
    if kind == "share":
        return ones[:, None], np.ones(1)
    own = (x > 0.5).astype(float) if kind == "difference" else x
    return np.stack([ones, own], 1), np.array([0.0, 1.0])


@cache
def truth(kind: str, share: float, grouped: bool = False, slope: float = SLOPE) -> float:
    """The contrast in an endless population."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(400_000)
    own = 0.7 * rng.standard_normal(x.size) if grouped else 0.0
    matrix, contrast = columns(kind, x)
    found = solved(matrix, chance(x, own, share, slope), np.ones(x.size))
    assert found is not None
    return 0.0 if kind != "share" and slope == 0 else float(contrast @ found)


def estimates(asked: GoldRegression, labels: Any) -> dict[str, Corrected | None]:
    """Each estimator's estimate; none of the corrected ones where there are too few gold labels."""
    given = replace(asked, outcome=labels[:, -1], probability=np.ones(len(labels)), strata=None)
    found: dict[str, Corrected | None] = {"naive": gold_alone(given)}  # as if all of them were true
    alone = gold_alone(asked)
    if alone is None or few_events(asked, alone):
        return found
    found["gold alone"] = alone
    found["one prompt"] = corrected(asked, labels[:, -1], bounded=(0.0, 1.0))
    found["corrected"] = corrected(asked, labels.mean(1), bounded=(0.0, 1.0))
    return found


class Tally:
    """What one setting's runs say."""

    def __init__(self, kind: str, true: float) -> None:
        self._bounded = (0.0, 1.0) if kind == "share" else None
        self._true, self.runs, self.refused = true, 0, 0
        self.covered: dict[str, list[bool]] = {}
        self.widths: dict[str, list[float]] = {}
        self.values: dict[str, list[float]] = {}

    def add(self, asked: GoldRegression, found: dict[str, Corrected | None]) -> None:
        """One run's estimates."""
        self.runs += 1
        self.refused += "corrected" not in found
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

    def worth(self, name: str) -> float:
        """As how many gold labels 100 count, by the estimates' mean squared error."""
        off = [np.subtract(self.values[one], self._true) for one in ("gold alone", name)]
        return float(100 * np.square(off[0]).mean() / np.square(off[1]).mean())


def setting(kind: str, share: float, accuracy: float, errors: str, gold: int, runs: int, **how: Any) -> Tally:
    """The runs of one setting."""
    design, items, groups = how.get("design", "simple"), how.get("items", 2000), how.get("groups")
    slope = how.get("slope", SLOPE)
    tally = Tally(kind, truth(kind, share, bool(groups), slope))
    for run in range(runs):
        rng = np.random.default_rng([run, gold, items, int(1000 * share), int(100 * accuracy)])
        x, true, labels, group = world(rng, items, share, accuracy, errors, groups, slope)
        marked, probability, strata = drawn(rng, gold, labels, design)
        matrix, contrast = columns(kind, x)
        outcome = np.where(marked, true, np.nan)
        asked = GoldRegression(matrix, outcome, probability, contrast, group, strata)
        tally.add(asked, estimates(asked, labels))
    return tally


def line(title: str, tallies: list[Tally], least: int = 60) -> str:
    """A row of the table: means over settings with enough intervals, and the worst."""
    told = [one for one in tallies if len(one.covered.get("corrected", ())) >= least]
    refused = np.mean([one.refused / one.runs for one in tallies])
    if not told:
        return f"| {title} | | | | | | | | {refused:.0%} | |"
    cells = []
    for name in NAMES:
        each = [float(np.mean(one.covered[name])) for one in told if name in one.covered]
        cells.append(f"{np.mean(each):.1%} ({min(each):.0%} to {max(each):.0%})")
    gains, worth = (
        [
            f"{np.exp(np.mean([np.log(how(one, name)) for one in told])):.0f}"
            for name in ("one prompt", "corrected")
        ]
        for how in (Tally.gain, Tally.worth)
    )
    ratio = max(
        own / alone
        for one in told
        for own, alone in zip(one.widths["corrected"], one.widths["gold alone"], strict=True)
    )
    counts = f"{' → '.join(gains)} | {' → '.join(worth)}"
    return f"| {title} | {' | '.join(cells)} | {counts} | {refused:.0%} | {ratio:.2f} |"


def settings() -> Iterator[tuple[str, str, int, Iterable[tuple[float, float, str]], dict[str, Any]]]:
    """The table's rows: title, kind of estimate, gold labels, settings, and how the sample comes to be."""
    for kind, gold in product(KINDS, GOLD):
        yield f"{kind}, {gold} gold", kind, gold, product(SHARES, ACCURACIES, ERRORS), {}
    for (name, how), kind in product(DESIGNS.items(), KINDS):
        some = product((0.1, 0.5), (0.6, 0.85, 0.95), ERRORS[1:])
        yield f"{kind}, {name}, 200 gold", kind, 200, some, how
    for groups, kind in product((100, "unequal"), KINDS):
        some = product((0.1, 0.5), (0.6, 0.85, 0.95), ERRORS[1:])
        title = f"{groups} groups" if groups == 100 else "24 groups of 1 to 60"
        yield f"{kind}, {title}, 300 gold", kind, 300, some, {"groups": groups}
    for items, kind in product((1000, 50_000), KINDS):
        leaning = product((0.1, 0.5), (0.85,), ERRORS[2:])
        yield f"{kind}, 500 gold of {items:,}", kind, 500, leaning, {"items": items}


def null_settings() -> Iterator[tuple[str, str, int, Iterable[tuple[float, float, str]], dict[str, Any]]]:
    """The rows of the table of claims that are not true: the covariate explains nothing."""
    for kind, gold in product(KINDS, GOLD):
        some = product((0.1, 0.5), ACCURACIES, ERRORS)
        yield f"{kind}, {gold} gold", kind, gold, some, {"slope": 0.0}
    for (name, how), kind in product(DESIGNS.items(), KINDS):
        some = product((0.1, 0.5), (0.6, 0.95), ERRORS[1:])
        yield f"{kind}, {name}, 200 gold", kind, 200, some, {"slope": 0.0, **how}
    for kind in KINDS:
        some = product((0.1, 0.5), (0.6, 0.95), ERRORS[1:])
        yield f"{kind}, 100 groups, 300 gold", kind, 300, some, {"slope": 0.0, "groups": 100}


def null_line(title: str, tallies: list[Tally], least: int = 60) -> str:
    """A row of that table: how often each test rejects, on average and at most."""
    told = [one for one in tallies if len(one.covered.get("corrected", ())) >= least]
    refused = np.mean([one.refused / one.runs for one in tallies])
    cells = []
    for name in NAMES if told else ():
        each = [1 - float(np.mean(one.covered[name])) for one in told if name in one.covered]
        cells.append(f"{np.mean(each):.1%} (at most {max(each):.0%})")
    return f"| {title} | {' | '.join(cells or [''] * len(NAMES))} | {refused:.0%} |"


def main() -> None:
    given = sys.argv[1:]
    nulls = given[:1] == ["nulls"]
    given = given[nulls:]
    runs, only = int(given[0]) if given else 300, given[1] if len(given) > 1 else ""
    heads = [
        *NAMES,
        *(("refused",) if nulls else ("100 gold count as", "by their errors", "refused", "widest")),
    ]
    print(f"| | {' | '.join(heads)} |\n{'| --- ' * (len(heads) + 1)}|")
    with one_thread():
        for title, kind, gold, some, how in null_settings() if nulls else settings():
            if only in title:
                tallies = [setting(kind, *one, gold, runs, **how) for one in some]
                print((null_line if nulls else line)(title, tallies), flush=True)


if __name__ == "__main__":
    main()
