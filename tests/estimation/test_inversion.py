"""Test inversion: the intervals of statistics that noise pushes up."""

from functools import partial

import numpy as np
import pytest
from scipy import special

from quaver.estimation.bootstrap import covariance_without_one
from quaver.estimation.inversion import deviations, inverted, inverted_each


def total(x):
    return np.abs(x).sum(-1)


def largest(x):
    return np.abs(x).max(-1)


def width(x):
    return x.max(-1) - x.min(-1)


@pytest.mark.parametrize("value", [0.5, 3.0, 6.0])
def test_of_one_component_it_is_the_folded_normals_own_interval(value):
    found = inverted(np.array([-value]), deviations(np.eye(1), draws=40_000), largest)

    def reached(c):
        return special.ndtr(c - value) + special.ndtr(-c - value)

    assert (found.low == 0) == (reached(0) > 0.05)
    if found.low:
        assert 0.022 < reached(found.low) < 0.05
    assert 0.97 < reached(found.high) < 1
    if value == 6:
        assert (found.low, found.high) == pytest.approx((6 - 1.96, 6 + 1.96), abs=0.05)
    assert found.low <= found.debiased <= found.high
    assert found.p == pytest.approx(reached(0), abs=0.01)


@pytest.mark.parametrize("norm", [total, largest, width])
def test_the_interval_leaves_0_where_the_test_rejects_it(norm):
    noise = deviations(np.eye(4), draws=999)
    for size in np.linspace(0, 4, 30):
        found = inverted(size * np.array([1.0, -1.0, 0.5, -0.5]), noise, norm)
        assert (found.low > 0) == (found.p <= 0.05)
        assert found.high > 0


def test_noise_alone_is_not_rejected_and_is_debiased_towards_nothing():
    theta = np.random.default_rng(1).normal(size=10)
    found = inverted(theta, deviations(np.eye(10), draws=2000), total)
    assert found.low == 0
    assert found.debiased < 0.5 * total(theta)
    assert found.floor == pytest.approx(10 * np.sqrt(2 / np.pi), rel=0.03)
    assert found.floor < found.floor_high


@pytest.mark.parametrize("norm", [total, largest, width])
def test_it_scales_with_the_data(norm):
    theta, noise = np.array([2.0, -1.0, -1.0]), deviations(np.eye(3), draws=500)
    one, ten = inverted(theta, noise, norm), inverted(10 * theta, 10 * noise, norm)
    assert np.allclose(np.multiply(one[:5], 10), ten[:5], rtol=1e-4)
    assert one.p == ten.p


@pytest.mark.parametrize("norm", [total, largest, width])
@pytest.mark.parametrize("theta", [[0, 0, 0, 0, 0], [6, 0, 0, 0, 0], [2, -2, 2, -2, 0], [4, 1, 0, -1, -4]])
def test_it_covers_wherever_the_components_lie(norm, theta):
    rng, truth = np.random.default_rng(1), float(norm(np.array(theta, float)))
    covered = []
    for seed in range(60):
        seen = rng.normal(size=5) + theta
        seen = seen - seen.mean() if norm is width else seen
        found = inverted(seen, deviations(np.eye(5), draws=200, seed=seed), norm)
        covered.append(found.low <= truth <= found.high)
    assert sum(covered) >= 52


def test_without_noise_the_interval_is_the_value():
    found = inverted(np.array([1.0, -2.0]), np.zeros((100, 2)), total)
    assert found.low == pytest.approx(3.0)
    assert found.high == pytest.approx(3.0)
    assert inverted(np.zeros(2), np.zeros((100, 2)), total).high == 0


@pytest.mark.parametrize("norm", [total, largest, width])
def test_a_value_too_small_for_any_truth_has_an_interval_all_the_same(norm):
    found = inverted(np.zeros(4), deviations(np.eye(4), draws=500), norm)
    assert found.low == found.debiased == 0
    assert found.high > 0.3
    assert found.p == 1


def test_deviations_have_the_covariance_and_students_tails():
    covariance = np.array([[2.0, 1.0, 3.0], [1.0, 1.0, 2.0], [3.0, 2.0, 5.0]])  # singular: 1 + 2 = 3
    noise = deviations(covariance, draws=50_000)
    assert np.cov(noise.T) == pytest.approx(covariance, abs=0.1)
    assert noise[:, 2] == pytest.approx(noise[:, 0] + noise[:, 1], abs=1e-6)
    student = deviations(np.eye(1), draws=50_000, freedom=5)
    assert np.quantile(student, 0.975) == pytest.approx(special.stdtrit(5, 0.975), rel=0.05)


def test_the_jackknife_covariance_of_a_mean_is_that_of_the_textbook():
    x = np.random.default_rng(0).normal(size=(12, 2))
    left = (x.sum(0) - x) / 11
    assert covariance_without_one(left) == pytest.approx(np.cov(x.T) / 12)


def length(x):
    return np.sqrt((np.asarray(x) ** 2).sum(-1))


@pytest.mark.parametrize("norm", [total, width, length])
@pytest.mark.parametrize("dims", [1, 2, 5])
def test_draws_that_are_left_out_of_a_bisection_change_nothing(norm, dims):
    """Noise that a function gives is looked at as a whole at each step."""
    rng = np.random.default_rng(dims)
    for scale in (0.0, 0.3, 2.0, 50.0):
        theta = scale * rng.normal(size=dims)
        theta -= theta.mean() if norm is width and dims > 1 else 0
        root = rng.normal(size=(dims, dims))
        noise = deviations(root @ root.T, draws=500, freedom=20, seed=dims)
        whole = inverted(theta, partial(as_it_is, noise), norm)
        assert inverted(theta, noise, norm) == pytest.approx(whole, rel=1e-12)


def as_it_is(noise, theta):
    return noise


def test_most_draws_need_no_second_look():
    looked = []

    def counted(x):
        looked.append(len(x))
        return total(x)

    theta, noise = np.array([2.0, -1.0, 0.5, -1.5]), deviations(np.eye(4), draws=1000)
    inverted(theta, noise, counted)
    few = sum(looked)
    looked.clear()
    inverted(theta, partial(as_it_is, noise), counted)
    assert few < sum(looked) / 2


def test_many_vectors_have_the_intervals_that_each_has():
    rng = np.random.default_rng(3)
    thetas = rng.normal(size=(7, 4)) * np.array([0, 0.1, 0.5, 1, 2, 5, 30])[:, None]
    noises = np.stack([deviations(np.eye(4) * (1 + at), draws=300, seed=at) for at in range(7)])
    together = inverted_each(thetas, noises, total, 0.9)
    for theta, noise, one in zip(thetas, noises, together, strict=True):
        assert one == pytest.approx(inverted(theta, noise, total, 0.9), rel=1e-12)
