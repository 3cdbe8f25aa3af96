"""Variances of contrasts over groups of items, against the matrices that define them."""

from __future__ import annotations

import numpy as np
import pytest

from quaver.estimation.grouped_items import Groups, reduced_levers, variance_ratio
from quaver.estimation.regression import levers


def example():
    rng = np.random.default_rng(0)
    matrix = np.stack([np.ones(30), rng.normal(size=30), rng.integers(0, 2, 30)], 1)
    codes = np.sort(rng.integers(0, 6, 30))
    basis = np.linalg.qr(matrix)[0]
    residuals = rng.normal(size=(30, 2))
    residuals -= basis @ (basis.T @ residuals)
    return matrix, basis, levers(matrix, np.array([0.0, 1.0, 0.0])), codes, residuals


def test_reduced_levers_are_the_inverse_root_of_each_groups_part():
    _, basis, lever, codes, _ = example()
    found = reduced_levers(basis, lever, Groups(codes))
    for code in np.unique(codes):
        some = codes == code
        values, vectors = np.linalg.eigh(np.eye(some.sum()) - basis[some] @ basis[some].T)
        assert found[some] == pytest.approx(vectors @ (vectors.T @ lever[some] / np.sqrt(values)))


def test_items_on_their_own_give_hc2_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    matrix, basis, lever, _, _ = example()
    outcome = np.random.default_rng(1).normal(size=30)
    fitted = api.OLS(outcome, matrix).fit()
    own = ((reduced_levers(basis, lever, None) * fitted.resid) ** 2).sum()
    assert own == pytest.approx(fitted.HC2_se[1] ** 2)


def test_groups_of_one_item_change_nothing():
    _, basis, lever, _, residuals = example()
    assert variance_ratio(basis, lever, residuals, Groups(np.arange(30))) == pytest.approx([1.0, 1.0])
