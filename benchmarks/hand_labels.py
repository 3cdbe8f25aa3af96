"""How many hand labels a verdict needs: the tables and the figure in docs/verdicts.md.

    [KEPT=FILE] python benchmarks/hand_labels.py [STUDIES [FIGURE]]

What so many gold labels, drawn at random, lead to where so many labels are wrong follows from the binomial
distribution, the bars of the verdict and the intervals of `accuracy`. So many studies of some of these
settings are then drawn, imported and judged, and their share of "use" stands in the figure with its interval.
What they ended in is a line of the file ``KEPT`` for each setting, which the same command reads.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
from scipy.stats import binom

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.unseen import opened
from benchmarks.unseen_kinds import Kind, wrong_at_random

from quaver.estimation.intervals import clopper_pearson
from quaver.measures.correctness.accuracy import accuracy
from quaver.report.findings.judged_model import BAR, BEYOND

SHARES = (0.03, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25)
SIZES = (50, 100, 200, 1000, 3000)
DRAWN = ((0.03, 41), (0.05, 55), (0.08, 340), (0.12, 100))
TEXTS, MOST = 400, 400
_NEAR = 0.01
"""The exact interval is so near to that of `accuracy`, which takes longer."""


@cache
def most_wrong(labels: int) -> int:
    """The largest number of wrong labels, of so many, with which they are right by the verdict's rule."""
    for count in range(int(BAR * labels + 1e-9), -1, -1):
        if clopper_pearson(count, labels).high < 2 * BAR + _NEAR:
            rows = {"item": range(labels), "label": ["b"] * count + ["a"] * (labels - count), "gold": "a"}
            (right, *_) = accuracy(pl.DataFrame(rows))
            if right.low is not None and 1 - right.low <= 2 * BAR:
                return count
    return -1


def ends_in(wrong: float, labels: int) -> tuple[float, float, float]:
    """How often so many gold labels end in "use", in "cannot tell" and in "do not use"."""
    counts = np.arange(labels + 1)
    right = counts <= most_wrong(labels)
    bad = np.array([clopper_pearson(count, labels).low > BEYOND * BAR for count in counts])
    chance = binom.pmf(counts, labels, wrong)
    use, refused = float(chance[right].sum()), float(chance[bad].sum())
    return use, abs(1 - use - refused), refused


def enough(wrong: float, share: float) -> int:
    """The number of gold labels from which on that share of studies ends in "use"."""
    short = [labels for labels in range(5, MOST) if ends_in(wrong, labels)[0] < share]
    return short[-1] + 1


def judged(wrong: float, labels: int, studies: int) -> Counter[str]:
    """The verdicts on such studies, drawn and imported."""
    kind = Kind(partial(wrong_at_random, wrong=wrong, noise=0.0), ("a", "b", "c"), TEXTS)
    found: Counter[str] = Counter()
    logging.disable(logging.WARNING)
    for seed in range(studies):
        rng = np.random.default_rng([seed, labels, round(1000 * wrong)])
        world = kind.draw(rng, TEXTS)
        some = replace(world, gold=np.where(rng.permutation(TEXTS) < labels, world.gold, -1))
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            study = opened(kind, some, Path(folder), rng)
            found[study.verdict().recommendations[0].kind] += 1
    return found


def figure(points: pl.DataFrame) -> alt.LayerChart:
    """The share of studies that end in "use", by the number of gold labels."""
    sizes = np.unique(np.geomspace(10, 3000, 70).astype(int)).tolist()
    rows = [(f"{wrong:.0%}", labels, ends_in(wrong, labels)[0]) for wrong in SHARES[:6] for labels in sizes]
    lines = pl.DataFrame(rows, schema=["wrong", "labels", "use"], orient="row")
    x = alt.X(
        "labels",
        title="texts labelled by hand, drawn at random",
        scale=alt.Scale(type="log", domain=[10, 3000]),
    )
    color = alt.Color("wrong", title="labels wrong", sort=[f"{wrong:.0%}" for wrong in SHARES])
    y = alt.Y(
        "use", title="studies that end in “use”", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
    )
    curve = alt.Chart(lines).mark_line().encode(x, y, color)
    dots = alt.Chart(points).mark_point(filled=True, size=60, opacity=1).encode(x, y, color)
    bars = alt.Chart(points).mark_rule(strokeWidth=2).encode(x, alt.Y("low"), alt.Y2("high"), color)
    return (curve + bars + dots).properties(width=560, height=320)


def main(studies: int, to: str) -> None:
    """Print the tables and what simulated studies ended in, and draw the figure."""
    print(f"| wrong | {' | '.join(f'{size:,}' for size in SIZES)} |")
    for wrong in SHARES:
        cells = (", ".join(f"{one:.0%}" for one in ends_in(wrong, size)) for size in SIZES)
        print(f"| {wrong:.0%} | {' | '.join(cells)} |")
    for share in (0.5, 0.9):
        print(f"| {share:.0%} |", " | ".join(f"{enough(wrong / 100, share)}" for wrong in range(2, 9)), "|")
    kept, rows = Path(os.environ.get("KEPT", os.devnull)), []
    documents = map(json.loads, kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ())
    known = {tuple(one["setting"]): Counter(one["verdicts"]) for one in documents}
    for wrong, labels in DRAWN if studies else ():
        if (wrong, labels, studies) not in known:
            known[wrong, labels, studies] = judged(wrong, labels, studies)
            row = {"setting": [wrong, labels, studies], "verdicts": known[wrong, labels, studies]}
            with kept.open("a", encoding="utf-8") as lines:
                print(json.dumps(row), file=lines)
        found = known[wrong, labels, studies]
        ends = clopper_pearson(found["use"], studies)
        rows.append((f"{wrong:.0%}", labels, found["use"] / studies, *ends))
        told = f"{wrong:.0%} wrong, {labels} gold labels: {dict(found)}"
        print(f"{told}, use in {ends.low:.0%} to {ends.high:.0%}", flush=True)
    figure(pl.DataFrame(rows, schema=["wrong", "labels", "use", "low", "high"], orient="row")).save(to)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if sys.argv[1:] else 20,
        sys.argv[2] if sys.argv[2:] else "docs/images/hand-labels.svg",
    )
