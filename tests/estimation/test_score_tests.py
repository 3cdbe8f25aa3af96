"""Score tests err as often as they say where events or groups are few, and find what there is."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm

from quaver.estimation.score_tests import ScoreTest

SLOPE = np.array([0.0, 1.0])
Z = float(norm.ppf(0.975))


def two_groups(items, few):
    return np.stack([np.ones(items), (np.arange(items) < few) * 1.0], 1)


def rejected(matrix, outcomes, clusters=None, contrast=SLOPE, at=0.0):
    found = [ScoreTest(matrix, outcome, contrast, clusters).statistic(at) for outcome in outcomes.T]
    return float((np.abs(found) > Z).mean())


@pytest.mark.parametrize(
    ("items", "few", "share"), [(1000, 30, 0.03), (400, 20, 0.05), (400, 40, 0.05), (100, 20, 0.05)]
)
def test_a_small_group_with_a_rare_label_errs_as_often_as_it_says(items, few, share):
    rng = np.random.default_rng([items, few])
    outcomes = (rng.random((items, 2000)) < share) * 1.0
    assert 0.03 <= rejected(two_groups(items, few), outcomes) <= 0.065


@pytest.mark.parametrize(("groups", "size", "correlated"), [(20, 5, 0.3), (10, 10, 0.0)])
def test_groups_keep_the_level_and_the_power(groups, size, correlated):
    rng = np.random.default_rng([groups, size])
    codes = np.repeat(np.arange(groups), size)
    shared = rng.standard_normal((groups, 1000))[codes]
    score = correlated**0.5 * shared + (1 - correlated) ** 0.5 * rng.standard_normal((groups * size, 1000))
    treated = (codes < groups // 2) * 1.0
    matrix = np.stack([np.ones(codes.size), treated], 1)
    assert 0.02 <= rejected(matrix, (score < ndtri(0.4)) * 1.0, codes) <= 0.065
    apart = (score < ndtri(np.where(treated > 0, 0.75, 0.25))[:, None]) * 1.0
    assert rejected(matrix, apart, codes) > (0.9 if correlated == 0 else 0.55)


def test_effects_that_differ_between_groups_are_seen():
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(40), 10)
    within = np.tile([-1.0, 1.0], 200)
    slope = rng.standard_normal((40, 1000))[codes] * within[:, None]
    outcomes = (np.sqrt(0.2) * slope + np.sqrt(0.8) * rng.standard_normal((400, 1000)) < 0) * 1.0
    matrix = np.stack([np.ones(400), within], 1)
    assert rejected(matrix, outcomes) > 0.15
    assert rejected(matrix, outcomes, codes) <= 0.065


@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_ends_are_the_values_that_are_just_rejected(scale):
    rng = np.random.default_rng(3)
    matrix = np.stack([np.ones(120), 40 + 15 * rng.standard_normal(120), rng.integers(0, 2, 120)], 1)
    outcomes = (rng.random((120, 5)) < 0.3) * 1.0
    for outcome in outcomes.T:
        found = ScoreTest(matrix, 1 + scale * outcome, np.array([0.0, 1.0, 0.0]), None, (1.0, 1 + scale))
        for end, sign in zip(found.interval(0.95), (1, -1), strict=True):
            assert found.statistic(end) == pytest.approx(sign * Z, abs=1e-6)


def test_no_event_at_all_leaves_a_bound_on_both_sides():
    low, high = ScoreTest(two_groups(1000, 30), np.zeros(1000), SLOPE).interval(0.95)
    # A share p of 0 events in n is rejected where p > z √(p (1 − p) / n): 3.84 / (n + 3.84).
    assert high == pytest.approx(3.8415 / 33.84, rel=0.03)
    assert low == pytest.approx(-3.8415 / 973.84, rel=0.03)
