"""Repeats against a change: a noisy model is not told from itself, and a change is told from noise."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

import quaver
from quaver.comparison.alignment import Sides
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.paired_comparison import compare
from quaver.comparison.second_run import beyond_repeats
from quaver.estimation.bootstrap import Resampling


def labels(*repeats: str) -> pl.DataFrame:
    """Repeats of items, one text a repeat with a label an item."""
    rows = [(f"i{at}", "m", label) for said in repeats for at, label in enumerate(said)]
    return pl.DataFrame(rows, ["item", "model", "label"], orient="row")


def test_the_difference_by_hand() -> None:
    # Item 0: ab, then aa: between 1/2, within (1 + 0) / 2, so 0.
    # Item 1: aa, then bb: 1 - 0. Item 2: no change.
    sides = Sides(labels("aaa", "baa"), labels("aba", "aba"), (), ("model",))
    found = beyond_repeats(sides, None, Resampling())
    assert found is not None
    assert found.value == pytest.approx((0 + 1 + 0) / 3)
    assert found.details["between"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert found.details["within"] == pytest.approx((1 / 2 + 0 + 0) / 3)


def test_without_repeats_on_both_sides_nothing_is_said() -> None:
    sides = Sides(labels("aaa", "baa"), labels("aba"), (), ("model",))
    assert beyond_repeats(sides, None, Resampling()) is None


def compared(folder: Path, seed: int, share: float) -> Comparison:
    """Two runs of a model that gives the other label to a third of answers; a share of items changes."""
    draw = random.Random(seed)
    studies = []
    for name in ("before", "after"):
        path = folder / f"{name}{seed}.csv"
        lines = ["item,repeat,label"]
        for item in range(120):
            usual = "yes" if item % 2 else "no"
            if name == "after" and item < share * 120:
                usual = "no" if item % 2 else "yes"
            for repeat in range(3):
                label = usual if draw.random() < 2 / 3 else {"yes": "no", "no": "yes"}[usual]
                lines.append(f"{item},{repeat},{label}")
        path.write_text("\n".join(lines))
        studies.append(quaver.import_annotations(path)[0])
    return compare(*studies, measures=["label_shares"])


def test_a_second_run_of_a_noisy_model_is_no_change(tmp_path: Path) -> None:
    found = [compared(tmp_path, seed, 0.0).repeats[0] for seed in range(12)]
    assert sum(one.low > 0 for one in found if one.low is not None) <= 2
    assert abs(sum(one.value or 0 for one in found)) / 12 < 0.02


def test_a_change_of_a_noisy_model_is_told_from_noise(tmp_path: Path) -> None:
    found = compared(tmp_path, 3, 0.5)
    (one,) = found.repeats
    assert one.low is not None
    assert one.low > 0
    assert one.value == pytest.approx(0.5 * 2 / 9, abs=0.06)  # (1 - 2 * 2/3 * 1/3) - 4/9 of the half
    assert any("more than a second run" in line and "not shown" not in line for line in found.beside)
