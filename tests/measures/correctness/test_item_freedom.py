"""Satterthwaite's freedom, written out here with whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

from quaver.measures.correctness import _laplace_fit as _item_freedom
from quaver.measures.correctness._laplace_fit import Component, Counted, Fitted, freedom


@pytest.fixture
def model():
    rng = np.random.default_rng(4)
    item, treatment, heat = (one.ravel() for one in np.indices((7, 2, 3)))
    asked = np.full(item.size, 6.0)
    matrix = np.stack([np.ones(item.size), treatment, heat / 2], 1).astype(float)
    counted = Counted(rng.binomial(6, 0.6, item.size).astype(float), asked, matrix, item)
    whole = np.zeros(item.size, int)
    components = [Component(whole), Component(treatment), Component(whole, heat / 2 - 0.5)]
    return counted, components, Fitted(np.array([0.4, -0.2, 0.1]), None, np.array([0.8, 0.3, 0.5]), -90.0)


def dense(counted, components, fitted):
    """Freedom and widening, from V of all answers at once."""
    columns = []
    for one in components:
        groups = one.groups(counted.item)
        times = 1.0 if one.slope is None else one.slope[:, None]
        columns.append((groups[:, None] == np.unique(groups)) * times)
    prior = np.concatenate([np.full(z.shape[1], v) for z, v in zip(columns, fitted.variances, strict=True)])
    z, x, fixed = np.hstack(columns), counted.matrix, counted.matrix @ fitted.value
    modes = np.zeros(prior.size)
    for _ in range(50):
        share = 1 / (1 + np.exp(-(fixed + z @ modes)))
        weight = counted.asked * share * (1 - share)
        slope = z.T @ (counted.right - counted.asked * share) - modes / prior
        modes += np.linalg.solve(z.T @ (weight[:, None] * z) + np.diag(1 / prior), slope)
    inverse = np.linalg.inv(np.diag(1 / weight) + z * prior @ z.T)
    phi = np.linalg.inv(x.T @ inverse @ x)
    project = inverse - inverse @ x @ phi @ x.T @ inverse
    squares = [one @ one.T for one in columns]
    information = [[np.trace(project @ a @ project @ b) / 2 for b in squares] for a in squares]
    gradient = np.array([np.diag(phi @ x.T @ inverse @ a @ inverse @ x @ phi) for a in squares])
    pull = [np.trace(phi @ x.T @ inverse @ a @ inverse @ x) / 2 for a in squares]
    variances = np.linalg.inv(information)
    return 2 * np.diag(phi) ** 2 / np.diag(gradient.T @ variances @ gradient), gradient.T @ variances @ pull


@pytest.mark.parametrize("at_once", [10**6, 40])
def test_it_is_what_whole_matrices_give(model, at_once, monkeypatch):
    monkeypatch.setattr(_item_freedom, "_AT_ONCE", at_once)  # all items together, or two at a time
    found, (expected, widening) = freedom(*model), dense(*model)
    assert found.freedom.tolist() == pytest.approx(expected.tolist(), rel=1e-8)
    assert found.widening.tolist() == pytest.approx(np.maximum(0, widening).tolist(), rel=1e-6)


def test_too_many_effects_an_item_leave_one_less_than_the_items(model, monkeypatch):
    monkeypatch.setattr(_item_freedom, "_MOST_EFFECTS", 3)
    assert freedom(*model).freedom.tolist() == [6.0, 6.0, 6.0]
    assert freedom(*model).widening.tolist() == [0.0, 0.0, 0.0]
