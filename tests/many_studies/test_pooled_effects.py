"""Effects over studies, against the published worked example and by properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quaver.many_studies.pooled_effects import pooled_effect


def test_studies_that_agree_have_no_variance_between_them() -> None:
    """By hand: weights 4, 1; mean (4 · 1 + 1 · 2) / 5; Q = 4 · 0.04 + 1 · 0.64 = 0.8 < 1."""
    found = pooled_effect([1.0, 2.0], [0.5, 1.0])
    assert found is not None
    assert found.value == pytest.approx(1.2)
    assert (found.tau, found.i_squared) == (0.0, 0.0)
    assert found.q == pytest.approx(0.8)
    assert found.p == pytest.approx(stats.chi2.sf(0.8, 1))
    half = stats.t.ppf(0.975, 1) * (1 / 5) ** 0.5
    assert (found.low, found.high) == pytest.approx((1.2 - half, 1.2 + half))


def test_studies_with_equal_errors_are_a_sample_of_means() -> None:
    """The interval is then Student's of the estimates, where they vary more than their errors."""
    values = np.array([0.1, 0.5, 0.9, 0.3, 0.6])
    found = pooled_effect(values.tolist(), [0.1] * 5)
    assert found is not None
    assert found.tau**2 == pytest.approx(values.var(ddof=1) - 0.01)
    half = stats.t.ppf(0.975, 4) * stats.sem(values)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half))
    coming = stats.t.ppf(0.975, 3) * (found.tau**2 + stats.sem(values) ** 2) ** 0.5
    assert found.next_high == pytest.approx(values.mean() + coming)


def test_too_few_studies_are_not_pooled() -> None:
    assert pooled_effect([], []) is None
    assert pooled_effect([1.0], [0.1]) is None
    assert pooled_effect([1.0, 2.0, float("nan")], [0.1, 0.0, 0.1]) is None
    two = pooled_effect([1.0, 2.0], [0.1, 0.1])
    assert two is not None
    assert (two.next_low, two.next_high) == (None, None)


effects = st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 3)), min_size=2, max_size=8)


@given(effects, st.floats(-3, 3), st.floats(0.1, 10))
def test_a_shift_and_a_scale_pass_through(
    some: list[tuple[float, float]], shift: float, scale: float
) -> None:
    values, errors = (np.array(column) for column in zip(*some, strict=True))
    plain = pooled_effect(values.tolist(), errors.tolist())
    moved = pooled_effect((values * scale + shift).tolist(), (errors * scale).tolist())
    assert plain is not None
    assert moved is not None
    assert moved.value == pytest.approx(plain.value * scale + shift, abs=1e-5)
    assert moved.tau == pytest.approx(plain.tau * scale, abs=1e-4)
    assert min(values) - 1e-9 <= plain.value <= max(values) + 1e-9
    assert plain.low <= plain.value <= plain.high


def test_the_interval_covers_the_mean_of_studies_that_differ() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        errors = rng.uniform(0.05, 0.4, 6)
        values = rng.normal(0.3, 0.2, 6) + rng.normal(0, errors)
        found = pooled_effect(values.tolist(), errors.tolist())
        assert found is not None
        inside += found.low <= 0.3 <= found.high
    assert inside >= 0.92 * 400
