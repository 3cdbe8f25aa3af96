import numpy as np
import pytest
from scipy import stats

from quaver.estimation.bootstrap import Draws, Resampling, Units, bootstrap
from quaver.estimation.intervals import bca, clopper_pearson, mean_within, percentile
from quaver.estimation.statistic import Sampler, Statistic


def mean_draws(x, **options):
    def mean(weights):
        return (weights @ x / weights.sum(1))[:, None]

    return bootstrap(mean, Units(len(x)), Resampling(**options))


def test_bca_agrees_with_an_independent_implementation():
    x = np.random.default_rng(1).exponential(size=60)
    draws = mean_draws(x, resamples=20_000)
    found = bca(draws.point[0], draws.values[:, 0], draws.jackknife[:, 0], 0.025)
    other = stats.bootstrap((x,), np.mean, n_resamples=20_000, rng=2).confidence_interval
    assert found.low == pytest.approx(other.low, abs=0.02)
    assert found.high == pytest.approx(other.high, abs=0.02)


def test_a_sample_of_the_jackknife_will_do():
    x = np.random.default_rng(1).exponential(size=3000)
    draws = mean_draws(x, resamples=2000)
    left = (x.sum() - x) / (len(x) - 1)
    full = bca(draws.point[0], draws.values[:, 0], left, 0.025)
    some = bca(draws.point[0], draws.values[:, 0], draws.jackknife[:, 0], 0.025, len(x))
    assert len(draws.jackknife) == 500
    assert some == pytest.approx(full, abs=2e-3)


def test_undefined_samples_are_left_out_and_counted():
    values = np.array([[0.1], [np.nan], [0.3], [0.2]])
    draws = Draws(np.array([0.2]), values, np.empty((0, 1)))
    found = Sampler(Units(4), Resampling(resamples=4)).estimated(Statistic(method="a mean"), draws)
    assert found.low == pytest.approx(percentile(values[[0, 2, 3], 0], 0.025).low)
    assert found.details["undefined_resamples"] == 1


def test_no_width_is_no_certainty():
    draws = mean_draws(np.ones(40))
    sampler = Sampler(Units(40), Resampling())
    found = sampler.estimated(Statistic(method="a mean", differing=0, spread=mean_within), draws)
    assert found.low == pytest.approx(0.025 ** (1 / 40))
    assert found.high == 1
    assert "does not vary" in found.warnings[0]
    assert "exact binomial" in found.method
    bare = sampler.estimated(Statistic(method="a mean"), draws)
    assert (bare.value, bare.low, bare.high) == (1.0, None, None)


def test_a_value_lies_in_its_own_interval():
    draws = Draws(np.array([0.9]), np.linspace(0, 0.5, 101)[:, None], np.empty((0, 1)))
    sampler = Sampler(Units(40), Resampling(interval="percentile"))
    found = sampler.estimated(Statistic(method="a share"), draws)
    assert (found.low, found.value, found.high) == (pytest.approx(0.0125), 0.9, 0.9)
    assert found.details["percentile"] == pytest.approx((0.0125, 0.4875))


@pytest.mark.parametrize(("found", "n"), [(0, 7), (3, 7), (7, 7), (1, 200)])
def test_clopper_pearson_inverts_the_binomial_test(found, n):
    low, high = clopper_pearson(found, n)
    if found > 0:
        assert stats.binom.sf(found - 1, n, low) == pytest.approx(0.025)
    if found < n:
        assert stats.binom.cdf(found, n, high) == pytest.approx(0.025)
    assert clopper_pearson(0, 0) == (0, 1)
