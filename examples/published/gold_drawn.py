"""What a few gold labels make of many labels of a model: the published media-bias labels, drawn 150 times.

Usage: python examples/published/gold_drawn.py DATA [draws]

DATA holds the repository llm-annotations-annomatic. Of the 3,021 sentences with an expert's label, 200 keep
it, drawn at random; the share of biased sentences is then estimated from GPT-4 Turbo's labels as they are,
from the gold labels alone, and corrected: by one prompt's labels, and by the share of all prompts'.
Then 300 keep it, and labels are accepted with the promise that at most 10% are wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quaver.acceptance.selection import Candidates, select
from quaver.estimation.jackknife import one_thread
from quaver.measures.corrected.estimators import corrected, ends, gold_alone, of_mean

GOLD, CHECKED, PROMISE = 200, 300, 0.10


def labels_of(data: Path) -> tuple[Any, Any]:
    """The experts' labels, and GPT-4 Turbo's with each prompt: 1 for biased; NaN for no label."""
    files = sorted((data / "llm-annotations-annomatic" / "benchmark").glob("*/all_runs_with_errors.csv"))
    number = pl.col("gpt_4_label").cast(pl.Float64, strict=False)
    read = [(file.parent.name, pl.read_csv(file, infer_schema=False)) for file in files]
    tables = [
        table.select("uuid", pl.col("label").cast(pl.Float64), number.alias(name))
        for name, table in read
        if "gpt_4_label" in table.columns
    ]
    wide = tables[0]
    for table in tables[1:]:
        wide = wide.join(table.drop("label"), on="uuid")
    wide = wide.drop_nulls("label").sort("uuid")
    return wide["label"].to_numpy(), wide.drop("uuid", "label").to_numpy()


def estimated(true: Any, said: Any, seed: int) -> dict[str, tuple[float, float, float]]:
    """The share by each estimator, with its interval, from one draw of gold labels."""
    items = len(true)
    drawn = np.zeros(items, bool)
    drawn[np.random.default_rng(seed).choice(items, GOLD, replace=False)] = True
    asked = of_mean(np.where(drawn, true, np.nan), np.full(items, GOLD / items))
    found = {
        "labels as they are": gold_alone(of_mean(said[:, 0], np.ones(items))),
        "gold labels alone": gold_alone(asked),
        "corrected, one prompt": corrected(asked, said[:, 0], bounded=(0.0, 1.0)),
        "corrected, all prompts": corrected(asked, said.mean(1), bounded=(0.0, 1.0)),
    }
    return {name: (one.value, *ends(asked, one, 0.95, (0.0, 1.0))) for name, one in found.items() if one}


def accepted(true: Any, said: Any, seed: int) -> tuple[float, float]:
    """The share of open labels that is accepted, and the share of these that is wrong."""
    votes = np.stack([(said == code).sum(1) for code in (0, 1)], 1)
    modal, items = votes.argmax(1), len(true)
    checked = np.zeros(items, bool)
    checked[np.random.default_rng([seed, 1]).choice(items, CHECKED, replace=False)] = True
    wrong = checked & (modal != true)
    agreement = votes.max(1) / said.shape[1]
    candidates = Candidates(agreement, checked, wrong, np.full(items, CHECKED / items))
    kept = select(candidates, PROMISE, 0.05) & ~checked
    return kept.sum() / (~checked).sum(), float((modal != true)[kept].mean()) if kept.any() else 0.0


@one_thread()
def main(data: Path, draws: int = 150) -> str:
    """The table and the sentence below it."""
    true, said = labels_of(data)
    said = np.where(np.isnan(said), 0.0, said)
    runs = [estimated(true, said, seed) for seed in range(draws)]
    lines = [
        "| the share from | mean error, points | covers the truth | mean width, points |",
        "| --- | --- | --- | --- |",
    ]
    for name in runs[0]:
        value, low, high = np.array([run[name] for run in runs if name in run]).T
        covers = ((low <= true.mean()) & (true.mean() <= high)).mean()
        off, width = 100 * (value.mean() - true.mean()), 100 * (high - low).mean()
        lines.append(f"| {name} | {off:+.2f} | {covers:.0%} | {width:.1f} |")
    kept = np.array([accepted(true, said, seed) for seed in range(draws)])
    broken = int((kept[:, 1] > PROMISE).sum())
    lines.append(
        f"\nWith {CHECKED} gold labels and the promise that at most {PROMISE:.0%} of the accepted labels are "
        f"wrong, `accept` accepts {kept[:, 0].mean():.0%} of the other labels and breaks its promise "
        f"in {broken} of {draws} draws."
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 150) + "\n")
