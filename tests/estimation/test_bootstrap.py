"""None"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from quaver.estimation.bootstrap import Resampling, Units, bootstrap
from quaver.estimation.inversion import deviations, inverted, inverted_each


def all_weights(units, resampling):
    return np.concatenate(list(units.weights(resampling)))


def test_weights_draw_every_unit_alike():
    weights = all_weights(Units(20), Resampling(resamples=4000))
    assert (weights.sum(1) == 20).all()
    assert weights.mean(0) == pytest.approx(np.ones(20), abs=0.08)
    assert weights.var() == pytest.approx(1 - 1 / 20, abs=0.02)  # multinomial


def test_weights_follow_from_the_seed_and_the_unit_alone():
    one = all_weights(Units(9), Resampling(seed=3))
    assert (one == all_weights(Units(9), Resampling(seed=3))).all()
    assert (one != all_weights(Units(9), Resampling(seed=4))).any()
    assert (one != all_weights(Units(9, name="author"), Resampling(seed=3))).any()


def test_many_items_come_in_blocks():
    blocks = list(Units(300_000).weights(Resampling(resamples=20)))
    assert len(blocks) > 1
    assert sum(len(block) for block in blocks) == 20


def test_what_an_interval_leaves_out_is_shared_by_its_two_sides():
    assert Resampling(confidence_level=0.95).tail == pytest.approx(0.025)


def test_a_groups_items_are_drawn_together():
    units = Units(5, np.array([0, 0, 1, 1, 1]), "author")
    weights = all_weights(units, Resampling(resamples=200))
    assert units.count == 2
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 2:].max(1) == weights[:, 2:].min(1)).all()
    assert (weights[:, 0] + weights[:, 2] == 2).all()
    left = np.concatenate(list(units.without_one()))
    assert left.tolist() == [[0, 0, 1, 1, 1], [1, 1, 0, 0, 0]]


def test_the_mean_has_its_standard_error():
    x = np.random.default_rng(0).normal(size=200)
    draws = bootstrap(lambda w: (w @ x / w.sum(1))[:, None], Units(200), Resampling(resamples=4000))
    assert draws.point[0] == pytest.approx(x.mean())
    assert draws.values.std() == pytest.approx(x.std() / np.sqrt(200), rel=0.05)
    assert draws.jackknife.shape == (200, 1)


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
