"""Variances of contrasts over groups of items, against the matrices that define them."""

import numpy as np
import pytest

from quaver.estimation.grouped_items import above_floor, with_random_signs
from quaver.estimation.jackknife import Units
from quaver.estimation.score_tests import reduced_levers


def example():
    rng = np.random.default_rng(0)
    matrix = np.stack([np.ones(30), rng.normal(size=30), rng.integers(0, 2, 30)], 1)
    codes = np.repeat(np.arange(6), [2, 7, 5, 6, 4, 6])
    basis = np.linalg.qr(matrix)[0]
    residuals = rng.normal(size=30)
    residuals -= basis @ (basis.T @ residuals)
    return matrix, basis, np.linalg.pinv(matrix)[1], codes, residuals


def test_reduced_levers_are_the_inverse_root_of_each_groups_part():
    _, basis, lever, codes, _ = example()
    found = reduced_levers(basis, lever, Units(30, codes))
    for code in np.unique(codes):
        some = codes == code
        values, vectors = np.linalg.eigh(np.eye(some.sum()) - basis[some] @ basis[some].T)
        assert found[some] == pytest.approx(vectors @ (vectors.T @ lever[some] / np.sqrt(values)))


def test_items_on_their_own_give_hc2_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    matrix, basis, lever, _, _ = example()
    outcome = np.random.default_rng(1).normal(size=30)
    fitted = api.OLS(outcome, matrix).fit()
    own = ((reduced_levers(basis, lever, Units(30)) * fitted.resid) ** 2).sum()
    assert own == pytest.approx(fitted.HC2_se[1] ** 2)


def test_signs_have_the_covariance_of_the_deviations():
    deviations = np.random.default_rng(1).normal(size=(50, 2)) * [1.0, 3.0]
    drawn = with_random_signs(deviations, Units(50), 20_000, 0)
    assert np.cov(drawn, rowvar=False) == pytest.approx(deviations.T @ deviations, rel=0.1)


def test_the_items_of_a_group_have_one_sign():
    groups = Units(4, np.array([0, 0, 1, 1]), "author")
    drawn = with_random_signs(np.array([1.0, 1.0, 0.5, 0.5]), groups, 200, 0)
    assert set(np.abs(drawn)) == {1.0, 3.0}
    # Two items of a group that go opposite ways say nothing.
    assert not with_random_signs(np.array([1.0, -1.0, 0.5, -0.5]), groups, 10, 0).any()


def test_a_value_of_nothing_is_no_evidence():
    assert above_floor(0.0, np.zeros(9), 0.95)["p"] == 1.0
    assert above_floor(0.5, np.zeros(9), 0.95)["p"] == pytest.approx(0.1)
    assert above_floor(0.5, np.empty(0), 0.95) == {}
