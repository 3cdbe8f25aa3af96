"""Intraclass correlations and design effects by hand, and p values that hold."""

import warnings

import numpy as np
import pytest
import scipy

from quaver.estimation.grouped_items import Partition


def test_f_is_that_of_one_way_analysis_of_variance():
    rng = np.random.default_rng(0)
    sizes = [3, 7, 1, 12, 5]
    groups = np.repeat(np.arange(5), sizes)
    values = rng.normal(size=28) + 0.4 * groups
    shuffle = rng.permutation(28)
    found = Partition(groups[shuffle]).likeness(values[shuffle][:, None])[0]
    expected = scipy.stats.f_oneway(*(values[groups == group] for group in range(5)))
    assert found.f == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)
    mean = sum(size**2 for size in sizes) / 28
    rho = (found.f - 1) / (found.f - 1 + (28 - mean) / 4)
    assert found.correlation == pytest.approx(rho)
    assert found.effect == pytest.approx(1 + (mean - 1) * rho)
    assert found.interval.low < rho < found.interval.high


def test_missing_values_are_left_out():
    values = np.array([1.0, 2, np.nan, 4, 6, 5, np.nan, 9])
    groups = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    known = np.isfinite(values)
    whole = Partition(groups).likeness(values[:, None])[0]
    some = Partition(groups[known]).likeness(values[known][:, None])[0]
    assert whole.interval == pytest.approx(some.interval)
    assert (whole.correlation, whole.p) == pytest.approx((some.correlation, some.p))
    assert (whole.items, whole.groups) == (some.items, some.groups) == (6, 3)


def test_values_that_do_not_vary_have_no_correlation_and_groups_that_agree_throughout_have_one():
    groups = Partition(np.repeat(np.arange(10), 2))
    agreeing = np.repeat(np.arange(10) % 2, 2).astype(float)
    none, whole = groups.likeness(np.stack([np.ones(20), agreeing], 1))
    assert none is None
    assert whole.correlation == pytest.approx(1, abs=1e-6)
    assert groups.p(np.ones((20, 1)), 0) == 1.0


def test_a_trend_over_numbers_makes_no_groups():
    rng = np.random.default_rng(4)
    age = rng.integers(18, 80, 400)
    codes = np.unique(age, return_inverse=True)[1]
    values = (0.05 * age + rng.normal(size=400))[:, None]
    assert Partition(codes).p(values, 0) < 0.01
    assert Partition(codes, age.astype(float)).p(values, 0) > 0.05


def test_p_rejects_no_more_than_its_level_with_rare_labels_and_unequal_groups():
    rng = np.random.default_rng(5)
    sizes = np.array([30, 20, 10, 10, 5, 5, 5, 5, 3, 3, 2, 2])
    partition = Partition(np.repeat(np.arange(12), sizes))
    values = (rng.random((150, 100, 3)) < 0.06).astype(float)
    p = [partition.p(one, at, permutations=199) for at, one in enumerate(values)]
    assert np.mean(np.array(p) < 0.05) < 0.1


def test_groups_without_a_spread_within_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sizes in ([2] + [1] * 60, [2] * 3 + [1] * 200):
            groups = np.repeat(np.arange(len(sizes)), sizes)
            assert Partition(groups).likeness(np.full((groups.size, 2), np.nan)) == [None, None]
