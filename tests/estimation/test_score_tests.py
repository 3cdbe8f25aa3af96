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


@pytest.mark.parametrize(("groups", "size"), [(20, 5), (10, 10)])
@pytest.mark.parametrize("correlated", [0.0, 0.3])
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


def test_power_is_that_of_a_test_that_knows_the_shares():
    rng = np.random.default_rng(1)
    share = np.where(np.arange(400) < 40, 0.2, 0.05)
    outcomes = (rng.random((400, 1000)) < share[:, None]) * 1.0
    null = 0.065 * 0.935 * (1 / 40 + 1 / 360)
    oracle = np.abs(outcomes[:40].mean(0) - outcomes[40:].mean(0)) > Z * null**0.5
    assert rejected(two_groups(400, 40), outcomes) >= oracle.mean() - 0.01


@pytest.mark.parametrize("noisy", [0.25, 4.0])
def test_numbers_whose_spread_differs_between_groups(noisy):
    """One group's labels are at the ends of the scale, the other's in the middle; the means are the same."""
    rng = np.random.default_rng(2)
    few = np.arange(300) < 40
    wide, near = rng.integers(0, 2, (300, 1000)) * 1.0, rng.choice([0.25, 0.5, 0.75], (300, 1000))
    outcomes = np.where((few if noisy > 1 else ~few)[:, None], wide, near)
    assert rejected(two_groups(300, 40), outcomes) <= 0.065


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


def test_swapping_labels_turns_the_interval_round():
    rng = np.random.default_rng(6)
    outcomes = (rng.random((60, 4)) < 0.2) * 1.0
    matrix = two_groups(60, 15)
    codes = np.arange(60) // 4
    for outcome in outcomes.T:
        low, high = ScoreTest(matrix, outcome, SLOPE, codes).interval(0.9)
        turned = ScoreTest(matrix, 1 - outcome, SLOPE, codes).interval(0.9)
        assert (-turned.high, -turned.low) == pytest.approx((low, high), abs=1e-6)
