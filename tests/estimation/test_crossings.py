"""The bisections behind inverted tests: all conditions together give what each gives alone."""

from functools import partial

import numpy as np
import pytest

from quaver.estimation.inversion import deviations, inverted, inverted_each


def total(x):
    return np.abs(x).sum(-1)


def width(x):
    return np.asarray(x).max(-1) - np.asarray(x).min(-1)


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
