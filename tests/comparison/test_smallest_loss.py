"""The smallest loss that a run could have seen: found as often as it says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.gate import compared, shows, smallest

from quaver.comparison.smallest_loss import SEEN, smallest_loss
from quaver.core.records import Estimate
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.correctness.f1 import f1


@pytest.mark.parametrize(
    ("items", "noise"), [(40, 0.0), (100, 0.06), (300, 0.2), (1000, 0.02)], ids=lambda one: f"{one}"
)
def test_a_loss_of_that_size_is_shown_as_often_as_said(items: int, noise: float) -> None:
    _, found = smallest(60, items, noise)
    # 60 runs, each with probability 0.8: within 0.16 (three standard errors).
    assert abs(found - SEEN) <= 0.16


def test_a_loss_of_three_points_is_shown_in_nine_of_ten_runs_of_a_thousand_items() -> None:
    rng = np.random.default_rng(3)
    assert np.mean([shows(compared(rng, 1000, 0.05, 0.02)) for _ in range(60)]) >= 0.9
    # At 7% discordance the smallest loss is then below three points.
    assert (smallest_loss(compared(rng, 1000, 0.035, 0.035)) or 1.0) < 0.03


def test_more_items_see_less_and_noise_hides_more() -> None:
    def seen(items: int, changed: int) -> float:
        half = changed // 2
        details = {
            "standard_error": (changed / items / (items - 1)) ** 0.5,
            "freedom": items - 1.0,
            "units": float(items),
            "step": 1.0,
            "range": (-1.0, 1.0),
        }
        found = smallest_loss(Estimate("accuracy", 0.0, -0.1, 0.1, n=items, details=details | {"half": half}))
        assert found is not None
        return found

    assert seen(40, 0) > seen(100, 0) > seen(1000, 0)
    assert seen(200, 0) < seen(200, 10) < seen(200, 60)


def test_too_few_items_see_nothing() -> None:
    details = {"standard_error": 0.0, "freedom": 4.0, "units": 5.0, "step": 1.0, "range": (-1.0, 1.0)}
    # All five may change for the worse by chance: 1 in 32, and 1 in 40 is asked for.
    assert smallest_loss(Estimate("accuracy", 0.0, -0.5, 0.5, n=5, details=details)) is None
    assert smallest_loss(Estimate("accuracy", 0.0, n=5)) is None


def test_a_limit_asks_for_more_and_so_does_a_wider_interval() -> None:
    rng = np.random.default_rng(5)
    one = compared(rng, 300, 0.02, 0.02)
    plain, beyond = smallest_loss(one), smallest_loss(one, limit=0.02)
    assert plain is not None
    assert beyond is not None
    assert plain + 0.015 < beyond < plain + 0.05


def test_what_is_shown_to_be_lost_is_no_noise() -> None:
    rng = np.random.default_rng(6)
    worse = smallest_loss(compared(rng, 1000, 0.10, 0.0))
    noisy = smallest_loss(compared(rng, 1000, 0.05, 0.05))
    assert worse is not None
    assert noisy is not None
    assert worse < 0.8 * noisy


@pytest.mark.parametrize("measure", [accuracy, f1], ids=["accuracy", "f1"])
def test_other_measures_and_groups(measure: Callable[..., list[Estimate]]) -> None:
    rng = np.random.default_rng(7)
    items = [smallest_loss(compared(rng, 300, 0.03, 0.03, measure)) for _ in range(5)]
    groups = [smallest_loss(compared(rng, 300, 0.03, 0.03, measure, group=10)) for _ in range(5)]
    assert all(one is not None and 0.03 < one < 0.09 for one in items)
    assert all(one is not None and 0.05 < one < 0.12 for one in groups)  # a loss may go by groups
