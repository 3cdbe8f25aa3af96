import numpy as np
import pytest

from quaver.agreement.disagreement import Disagreement
from quaver.estimation.bootstrap import Resampling, Units
from quaver.estimation.cell import label_counts
from quaver.measures.stability.random_paraphrases import _alphas, two_way_alphas

VALUES = np.array([0.0, 1.0, 2.5, 7.0])
CODES = np.random.default_rng(0).integers(-1, 4, (25, 6)).astype(np.int32)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_each_paraphrase_once_is_alpha_itself(level):
    values = VALUES if level in ("interval", "ratio") else None
    weights = np.random.default_rng(1).integers(0, 3, (4, 25)).astype(float)
    found = _alphas(CODES, 4, weights, np.ones((4, 6)), level, values)
    model = Disagreement(label_counts(CODES, 4)[:, None], level, values)
    assert found == pytest.approx(model.alphas(weights)[:, 0], abs=1e-9)


def test_copies_of_a_paraphrase_are_no_pair():
    copies = np.array([[2, 1, 0, 0, 3, 0]], float)
    found = _alphas(CODES, 4, np.ones((1, 25)), copies, "nominal", None)[0]
    columns = np.repeat(np.arange(6), copies[0].astype(int))
    observed, totals = 0.0, np.zeros(4)
    for row in CODES:
        given = [(row[c], c) for c in columns if row[c] >= 0]
        pairs = [(v, k) for v, c in given for k, d in given if c != d]
        if pairs:
            observed += len(given) * sum(v != k for v, k in pairs) / len(pairs)
            for v, _ in given:
                totals[v] += 1
    n = totals.sum()
    assert found == pytest.approx(1 - (n - 1) * observed / (n**2 - (totals**2).sum()))


def test_draws_centre_on_alpha():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 80)
    codes = np.where(rng.random((80, 1, 15)) < 0.7, truth[:, None, None], rng.integers(0, 3, (80, 1, 15)))
    draws = two_way_alphas(codes.astype(np.int32), 3, Units(80), Resampling(), "nominal", None)
    alpha = Disagreement(label_counts(codes, 3)).alphas(np.ones((1, 80)))[0, 0]
    assert draws.mean() == pytest.approx(alpha, abs=0.01)
