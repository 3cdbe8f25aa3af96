"""Intervals of a mean that hold after any number of items."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from quaver.core.records import Estimate, IntervalWarning
from quaver.estimation.statistic import Keep
from quaver.measures import accuracy, compliance, f1
from quaver.sequential.betting_interval import RARE, betting_interval, held_together, too_rare

KEEP: tuple[Keep, ...] = ("draws", "distribution")


def test_one_bet_by_hand() -> None:
    """Of 200 ones: at m the bet of the share c has won (1 − c + c/m)^200."""
    low, high = betting_interval(np.ones(200), 0.05)
    capital = np.mean([(1 - c + c / low) ** 200 for c in np.geomspace(0.001, 0.9, 16)])
    assert capital == pytest.approx(40, rel=1e-6)
    assert high == 1.0


def test_sides_are_alike_and_order_makes_no_difference() -> None:
    values = np.array([0.0, 0.25, 1.0, 1.0, 0.5, 1.0])
    low, high = betting_interval(values, 0.1)
    assert betting_interval(1 - values[::-1], 0.1) == pytest.approx((1 - high, 1 - low))
    assert 0 <= low < values.mean() < high <= 1
    assert betting_interval(np.zeros(3), 0.1)[0] == 0


@pytest.mark.parametrize("share", [0.5, 0.95, 0.995])
def test_all_beginnings_hold_the_mean(share: float) -> None:
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(200):
        values = (rng.random(400) < share).astype(float)
        ends = [betting_interval(values[:size], 0.05) for size in (5, 25, 50, 100, 200, 400)]
        missed += any(not low <= share <= high for low, high in ends)
    assert missed / 200 <= 0.05


def frame(labels: str, gold: str) -> pl.DataFrame:
    return pl.DataFrame({"item": range(len(labels)), "label": list(labels), "gold": list(gold)})


def test_a_mean_over_items_is_bet_on_and_nothing_else() -> None:
    answers = frame("aabab" * 10, "aabbb" * 10)
    (one,) = accuracy(answers, keep=KEEP, confidence_level=0.99)
    held = held_together(one, 0.05)
    assert held is not None
    assert (held.value, held.confidence_level) == (0.8, 0.95)
    right = np.array([1.0, 1.0, 1.0, 0.0, 1.0] * 10)
    assert (held.low, held.high) == pytest.approx(betting_interval(right, 0.05))
    assert held.details["wide"] > 1
    assert held_together(compliance(answers.with_columns(status=pl.lit("valid")), keep=KEEP)[0], 0.05)
    assert held_together(accuracy(answers)[0], 0.05) is None  # what it rests on was not kept
    assert held_together(f1(answers, keep=KEEP)[0], 0.05) is None
    grouped = answers.with_columns(author=pl.col("item") // 5)
    assert held_together(accuracy(grouped, group="author", keep=KEEP)[0], 0.05) is None


def test_a_ratio_is_no_mean_over_items() -> None:
    uneven = pl.DataFrame(
        {"item": [1, 1, 1, 2, 3], "repeat": [0, 1, 2, 0, 0], "label": list("aabba"), "gold": list("aaaba")}
    )
    (one,) = accuracy(uneven, columns={"rater": "repeat"}, keep=KEEP)
    assert held_together(one, 0.05) is None


def test_an_early_round_needs_texts_with_the_rarest_label() -> None:
    one = Estimate("alpha", 0.8, 0.7, 0.9)
    assert too_rare(one, RARE) is one
    (warning,) = too_rare(one, RARE - 1).warnings
    assert isinstance(warning, IntervalWarning)
