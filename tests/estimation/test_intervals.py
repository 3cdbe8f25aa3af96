import itertools

import numpy as np
import pytest

from quaver.estimation.intervals import Interval, clopper_pearson, effective, percentile
from quaver.estimation.jackknife import Resampling, Units
from quaver.estimation.statistic import Sampler, Statistic


def mean_draws(x, **options):
    def mean(weights):
        return (weights @ x / weights.sum(1))[:, None]

    return Sampler(Units(len(x)), Resampling(**options)).jackknifed(mean)


def test_groups_of_items_are_left_out_whole():
    weights = np.concatenate(list(Units(5, np.array([0, 0, 1, 2, 2]), "author").without_one()))
    assert weights.tolist() == [[0, 0, 1, 1, 1], [1, 1, 0, 1, 1], [1, 1, 1, 0, 0]]


def of_share(found, n, freedom=999, **options):
    p = found / n
    return effective(p, p * (1 - p) / n, freedom, options.pop("confidence_level", 0.95), (0.0, 1.0))


def test_a_share_has_the_interval_of_a_binomial_number():
    exact, found = clopper_pearson(50, 1000), of_share(50, 1000)
    assert found.low == pytest.approx(exact.low, abs=1e-3)
    assert found.high == pytest.approx(exact.high, abs=1e-3)
    assert exact.low < found.low < found.high < exact.high


def test_a_range_is_scaled_and_mirrored():
    share, alpha = effective(0.9, 0.001, 99, ends=(0.0, 1.0)), effective(0.8, 0.004, 99, ends=(-1.0, 1.0))
    assert alpha == pytest.approx([2 * end - 1 for end in share])
    mirrored = effective(0.1, 0.001, 99, ends=(0.0, 1.0))
    assert mirrored == pytest.approx([1 - share.high, 1 - share.low])


def test_intervals_cover_shares_of_rare_events_in_groups():
    rng = np.random.default_rng(5)
    covered = []
    for p, rho, groups in itertools.product((0.02, 0.1, 0.5), (0.1, 0.3), (12, 40)):
        share = rng.beta(p * (1 / rho - 1), (1 - p) * (1 / rho - 1), (150, groups))
        means = rng.binomial(10, share) / 10
        variances = means.var(1, ddof=1) / groups
        held = [
            (ends := effective(value, variance, groups - 1, ends=(0.0, 1.0))).low <= p <= ends.high
            for value, variance in zip(means.mean(1), variances, strict=True)
            if variance > 0
        ]
        covered.append(np.mean(held))
    assert min(covered) > 0.89
    assert 0.94 < np.mean(covered) < 0.99


def test_undefined_samples_are_left_out():
    values = np.array([0.1, np.nan, 0.3, 0.2])
    assert percentile(values, 0.025) == pytest.approx(np.quantile([0.1, 0.2, 0.3], [0.025, 0.975]))
    assert percentile(values[:2], 0.025) is None


def test_no_width_is_no_certainty():
    draws = mean_draws(np.ones(40))
    sampler = Sampler(Units(40), Resampling())
    found = sampler.estimated(Statistic(method="a mean", ends=(0.0, 1.0)), draws)
    assert found.low == pytest.approx(0.025 ** (1 / 40))
    assert found.high == 1
    assert len(found.warnings) == 1
    assert "exact binomial" in found.method
    bare = sampler.estimated(Statistic(method="a mean"), draws)
    assert (bare.value, bare.low, bare.high) == (1.0, None, None)


def test_a_value_lies_in_its_own_interval():
    made = Interval(0.0125, 0.4875), "interval by hand"
    found = Sampler(Units(40), Resampling()).estimated(
        Statistic(method="a share", interval=made), mean_draws(np.array([0.8, 1.0] * 20))
    )
    assert (found.low, found.value, found.high) == (0.0125, pytest.approx(0.9), found.value)


def test_at_its_least_value_a_number_may_still_be_what_a_few_events_make():
    # No event where one is worth 0.02: about Poisson, of which up to 3.7 are missed in 2.5%, less with mid-P.
    low, high = effective(-0.05, 1e-6, 999, 0.95, (-0.05, 1.0), 0.02)
    assert low == -0.05
    assert 2.0 * 0.02 < high + 0.05 < 3.9 * 0.02
