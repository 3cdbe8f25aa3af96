"""The tests behind a promise: exact where every label was as likely to be checked, careful where not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from quaver.acceptance.error_test import Checked, exact_p, fewest_checked, upper_bound, weighted_p


def one_set(wrong: int, checked: int, size: int, *, equal: bool = True, heavy: float = 1.0) -> Checked:
    """A set whose right labels weigh 1 and whose wrong ones weigh ``heavy``."""
    right = checked - wrong
    sums = (right * 1.0, wrong * heavy**2, right * 1.0, wrong * heavy)
    whole = (np.array([value], np.int64) for value in (size, checked, wrong))
    return Checked(*whole, *(np.array([value]) for value in sums), equal)


@pytest.mark.parametrize("size", [30, 200])
@pytest.mark.parametrize("error", [0.05, 0.2])
def test_a_promise_about_unchecked_labels_is_broken_rarely(size: int, error: float) -> None:
    """Of every number of wrong labels: passing while more than ``error`` of the others are wrong is rare."""
    checked = size // 2
    for wrong in range(size + 1):
        found = np.arange(max(0, checked - (size - wrong)), min(wrong, checked) + 1)
        passes = exact_p(found, np.full(found.size, checked), np.full(found.size, size), error) <= 0.05
        broken = (wrong - found) > error * (size - checked)
        chance = stats.hypergeom.pmf(found, size, wrong, checked)
        assert chance[passes & broken].sum() <= 0.05 + 1e-9


def test_a_sample_of_very_many_labels_is_binomial() -> None:
    p = exact_p(np.array([4]), np.array([200]), np.array([10**7]), 0.05)[0]
    assert p == pytest.approx(stats.binom.cdf(4, 200, 0.05), abs=1e-4)


def test_equal_weights_are_clopper_and_pearson() -> None:
    p = weighted_p(one_set(4, 200, 10**6, equal=False), 0.05)[0]
    assert p == pytest.approx(stats.binom.cdf(4, 200, 0.05), abs=1e-12)


def test_errors_that_weigh_more_count_for_more() -> None:
    light, heavy = (weighted_p(one_set(4, 200, 10**6, equal=False, heavy=w), 0.05)[0] for w in (1.0, 4.0))
    assert heavy > light


def test_nothing_checked_shows_nothing() -> None:
    assert exact_p(np.array([0]), np.array([0]), np.array([50]), 0.05)[0] == 1
    assert weighted_p(one_set(0, 0, 50, equal=False), 0.05)[0] == 1


@pytest.mark.parametrize("wrong", [0, 3])
def test_the_bound_is_the_smallest_promise_that_passes(wrong: int) -> None:
    found = one_set(wrong, 100, 10**7)
    bound = float(upper_bound(found, 0.05)[0])
    assert bound == pytest.approx(stats.beta.ppf(0.95, wrong + 1, 100 - wrong), abs=1e-4)


@pytest.mark.parametrize(("error", "wrong"), [(0.05, 0), (0.05, 3), (0.01, 1), (0.3, 2)])
def test_no_fewer_checked_labels_suffice(error: float, wrong: int) -> None:
    n = fewest_checked(error, 0.05, wrong)
    assert stats.binom.cdf(wrong, n, error) <= 0.05 < stats.binom.cdf(wrong, n - 1, error)
