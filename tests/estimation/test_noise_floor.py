"""Floors: what a statistic shows when there is nothing but noise."""

from __future__ import annotations

import numpy as np
import pytest

from quaver.estimation.bootstrap import Units
from quaver.estimation.noise_floor import above_floor, level_deviations, with_random_signs


def test_deviations_sum_to_how_far_a_level_is_from_all_levels_together() -> None:
    rng = np.random.default_rng(0)
    below = rng.integers(0, 3, (30, 4, 1)).astype(float)
    above = rng.binomial(below.astype(int), 0.4).astype(float)
    expected = above.sum(0) / below.sum(0) - above.sum() / below.sum()
    assert level_deviations(above, below).sum(0) == pytest.approx(expected)


def test_signs_have_the_covariance_of_the_deviations() -> None:
    deviations = np.random.default_rng(1).normal(size=(50, 2)) * [1.0, 3.0]
    drawn = with_random_signs(deviations, Units(50), 20_000, 0)
    assert np.cov(drawn, rowvar=False) == pytest.approx(deviations.T @ deviations, rel=0.1)


def test_the_items_of_a_group_have_one_sign() -> None:
    groups = Units(4, np.array([0, 0, 1, 1]), "author")
    drawn = with_random_signs(np.array([1.0, 1.0, 0.5, 0.5]), groups, 200, 0)
    assert set(np.abs(drawn)) == {1.0, 3.0}
    # Two items of a group that go opposite ways say nothing.
    assert not with_random_signs(np.array([1.0, -1.0, 0.5, -0.5]), groups, 10, 0).any()


def test_a_value_of_nothing_is_no_evidence() -> None:
    assert above_floor(0.0, np.zeros(9), 0.95)["p"] == 1.0
    assert above_floor(0.5, np.zeros(9), 0.95)["p"] == pytest.approx(0.1)
    assert above_floor(0.5, np.empty(0), 0.95) == {}
