"""Weighted agreement, against scikit-learn and worked by hand."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from quaver.agreement import cohen_kappa, fleiss_kappa, gwet_ac, percent_agreement
from quaver.errors import MeasureError

RATINGS = np.random.default_rng(8).integers(1, 6, (60, 2))
NEAR = {
    "yes": {"yes": 1, "mostly": 0.8, "no": 0},
    "mostly": {"yes": 0.8, "mostly": 1, "no": 0.1},
    "no": {"yes": 0, "mostly": 0.1, "no": 1},
}
PAIRS = [["yes", "yes"], ["yes", "mostly"], ["no", "no"], ["mostly", "no"]]


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_cohens_kappa_is_that_of_scikit_learn(weights, level):
    found = cohen_kappa(RATINGS, level, weights=weights, resamples=0)
    assert found.value == pytest.approx(cohen_kappa_score(*RATINGS.T, weights=weights), abs=1e-12)
    assert f"{weights} weights" in found.method


def test_a_table_of_ones_own_by_hand():
    # p_a = (1 + 0.8 + 1 + 0.1) / 4 = 0.725
    # p = (1/2, 1/4, 1/4) and q = (1/4, 1/4, 1/2) of yes, mostly, no: p_e = 2/16·1 + 2/16·0.8 + 0
    #   + 1/16·0.8 + 1/16·1 + 2/16·0.1 + 0 + 1/16·0.1 + 2/16·1 = 0.48125 of 16/16
    assert cohen_kappa(PAIRS, weights=NEAR).value == pytest.approx((0.725 - 0.48125) / (1 - 0.48125))
    # π = (3/8, 2/8, 3/8): Σ w π π = (9 + 4 + 9)/64 + 2·0.8·6/64 + 2·0.1·6/64 = 32.8/64
    assert fleiss_kappa(PAIRS, weights=NEAR).value == pytest.approx((0.725 - 0.5125) / (1 - 0.5125))
    # Σ w = 3 + 2·0.8 + 2·0.1 = 4.8; q (q − 1) = 6; Σ π (1 − π) = (15 + 12 + 15)/64
    chance = 4.8 / 6 * 42 / 64
    found = gwet_ac(PAIRS, weights=NEAR)
    assert found.value == pytest.approx((0.725 - chance) / (1 - chance))
    assert (found.measure, "own weights" in found.method) == ("gwet_ac2", True)
    assert percent_agreement(PAIRS).value == 0.5, "which is never weighted"
    table = {one.title(): {f" {other}": weight for other, weight in row.items()} for one, row in NEAR.items()}
    assert cohen_kappa(PAIRS, weights=table).value == cohen_kappa(PAIRS, weights=NEAR).value


def test_weights_of_no_distance_may_leave_the_range_and_say_nothing_of_it():
    near = {"a": {"a": 1, "b": 0, "c": 1}, "b": {"a": 0, "b": 1, "c": 1}, "c": {"a": 1, "b": 1, "c": 1}}
    # One of ten is a beside b, which is all that can disagree: p_a = 0.9, p_e = 0.99.
    found = cohen_kappa([["a", "b"]] + [["c", "c"]] * 9, weights=near)
    assert found.value == pytest.approx((0.9 - 0.99) / 0.01)


@pytest.mark.parametrize("level", ["nominal", "jaccard"])
def test_labels_without_an_order_have_no_linear_weights(level):
    with pytest.raises(MeasureError, match="order"):
        cohen_kappa(PAIRS, level, weights="linear")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"no": {"yes": 0, "mostly": 0.2, "no": 1}}, "'mostly' beside 'no': 0.1, the other way 0.2"),
        ({"no": {"yes": 0, "mostly": 0.1, "no": 0.9}}, "'no' beside 'no': 0.9"),
        ({"no": {"yes": 0, "mostly": 0.1}}, "rows for yes, mostly, no"),
        ({"no": {"yes": 0, "mostly": 0.1, "no": float("nan")}}, "'no' beside 'no': nan"),
    ],
)
def test_a_table_that_cannot_be_used(change, found):
    with pytest.raises(MeasureError) as caught:
        gwet_ac(PAIRS, weights=NEAR | change)
    assert found in caught.value.found
