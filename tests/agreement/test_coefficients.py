import random
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from tests.measured import KRIPPENDORFF

from quaver.agreement.coefficients import (
    _cohen,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    percent_agreement,
)
from quaver.agreement.intraclass import intraclass_correlation
from quaver.agreement.ratings import read_ratings

# Fleiss (1971), as tabulated for 10 subjects, 14 raters and 5 categories.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def test_cohen_and_its_weights():
    # 20 both a, 5 a b, 10 b a, 15 both b: p_a = .7, p_e = .5.
    ratings = [["a", "a"]] * 20 + [["a", "b"]] * 5 + [["b", "a"]] * 10 + [["b", "b"]] * 15
    assert cohen_kappa(ratings).value == pytest.approx(0.4)
    # Quadratic weights over 0, 1, 2: losses 1/4 and 1; p_a = 1 − (1/4 + 1)/4, p_e = 1 − (2·2 + 6·½ …)/16.
    ordered = [[0, 0], [0, 1], [2, 2], [2, 0]]
    loss = np.array([[0, 0.25, 1], [0.25, 0, 0.25], [1, 0.25, 0]])
    p, q = np.array([0.5, 0, 0.5]), np.array([0.5, 0.25, 0.25])
    assert cohen_kappa(ordered, "interval").value == pytest.approx(1 - (1.25 / 4) / (p @ loss @ q))


def test_cohen_of_three_raters_is_the_mean_over_pairs():
    ratings = np.random.default_rng(2).integers(0, 3, (30, 3))
    pairs = [cohen_kappa(ratings[:, pair]).value for pair in ([0, 1], [0, 2], [1, 2])]
    assert cohen_kappa(ratings).value == pytest.approx(np.mean(pairs))


def test_cohen_where_raters_skip_items_of_their_own():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (40, 5))
    codes[rng.random(codes.shape) < 0.2] = -1
    codes[:, 1] = np.where(codes[:, 0] < 0, -1, rng.integers(0, 3, 40))  # two who skip the same ones
    loss = (np.arange(3)[:, None] - np.arange(3)) ** 2 / 4
    kappas = []
    for one, two in combinations(range(5), 2):
        both = codes[(codes[:, one] >= 0) & (codes[:, two] >= 0)][:, [one, two]]
        p, q = (np.bincount(column, minlength=3) / len(both) for column in both.T)
        kappas.append(1 - loss[both[:, 0], both[:, 1]].mean() / (p @ loss @ q))
    ratings = np.where(codes < 0, np.nan, codes)
    assert cohen_kappa(ratings, "interval").value == pytest.approx(np.mean(kappas), abs=1e-12)


def test_cohen_of_a_resample_is_that_of_its_items():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, (12, 4))
    codes[rng.random(codes.shape) < 0.2] = -1
    ratings = np.where(codes < 0, np.nan, codes)
    cell = read_ratings(ratings, labels=None)
    assert len(cell.labels) == 3
    weights = rng.multinomial(12, np.full(12, 1 / 12), 20).astype(float)
    drawn = [ratings[np.repeat(np.arange(12), row.astype(int))] for row in weights]
    found = _cohen(cell.codes[:, 0], np.eye(3))(weights)[:, 0]
    assert found == pytest.approx([cohen_kappa(rows, labels=[0, 1, 2], resamples=0).value for rows in drawn])


def test_one_dominant_label_where_kappa_collapses():
    ratings = [["no", "no"]] * 96 + [["no", "yes"]] * 2 + [["yes", "no"]] * 2
    assert percent_agreement(ratings).value == pytest.approx(0.96)
    assert fleiss_kappa(ratings).value < 0
    assert gwet_ac(ratings).value > 0.95


def test_undefined():
    same = [["a", "a"], ["a", "a"]]
    assert fleiss_kappa(same).reason == "no variation"
    assert cohen_kappa(same).reason == "no variation"
    assert "labels" in gwet_ac(same).reason
    assert "raters" in percent_agreement([["a", None]]).reason
    assert gwet_ac(same, labels=["a", "b"]).value == 1


def test_the_handbooks_example():
    assert percent_agreement(KRIPPENDORFF).value == pytest.approx(0.818182, abs=1e-6)
    assert gwet_ac(KRIPPENDORFF).value == pytest.approx(0.77544, abs=1e-5)
    assert fleiss_kappa(KRIPPENDORFF).value == pytest.approx(0.76117, abs=1e-5)
    assert gwet_ac(KRIPPENDORFF).measure == "gwet_ac1"
    assert gwet_ac(KRIPPENDORFF, "ordinal").measure == "gwet_ac2"
    ratings = [[label for label, n in enumerate(row) for _ in range(n)] for row in FLEISS]
    assert fleiss_kappa(ratings).value == pytest.approx(0.210, abs=5e-4)
    for level in ("nominal", "ordinal", "interval"):
        assert percent_agreement([[1, 1], [1, 2], [2, 3], [3, 3]], level=level).value == 0.5


def crowd(workers, items, per_item, seed):
    """Labels of two kinds; each worker is right in nine of ten, so that kappa of any two is 0.64."""
    draw = random.Random(seed)
    rows = []
    for item in range(items):
        truth = draw.choice("ab")
        for worker in draw.sample(range(workers), per_item):
            wrong = "b" if truth == "a" else "a"
            rows.append((item, f"w{worker}", truth if draw.random() < 0.9 else wrong))
    return pl.DataFrame(rows, schema=["item", "rater", "label"], orient="row")


@pytest.mark.parametrize(("workers", "items"), [(20, 300), (40, 300), (60, 300), (60, 2000)])
def test_kappa_of_a_crowd_is_undefined_and_says_what_fits(workers, items):
    found = cohen_kappa(crowd(workers, items, 3, 1))
    assert found.value is None
    assert "share" in (found.reason or "")
    assert fleiss_kappa(crowd(workers, items, 3, 1)).value == pytest.approx(0.64, abs=0.1)


@pytest.mark.parametrize(
    ("workers", "items", "per_item"), [(3, 12, 3), (3, 300, 3), (10, 300, 3), (20, 2000, 3)]
)
def test_kappa_of_raters_who_share_items_is_that_of_any_two(workers, items, per_item):
    values = [cohen_kappa(crowd(workers, items, per_item, seed), resamples=0).value for seed in range(10)]
    assert None not in values
    assert sum(value for value in values if value is not None) / 10 == pytest.approx(0.64, abs=0.06)


def test_of_numbers_that_hardly_repeat_alpha_alone_is_defined():
    draw = random.Random(2)
    rows = [[draw.gauss(0, 1) for _ in range(2)] for _ in range(150)]
    for coefficient in (percent_agreement, fleiss_kappa, cohen_kappa, gwet_ac):
        assert "alpha" in (coefficient(rows, level="interval").reason or "")
    assert krippendorff_alpha(rows, level="interval").value == pytest.approx(0, abs=0.3)


# Shrout & Fleiss (1979), table 2: four judges' ratings of six targets.
JUDGES = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_shrout_and_fleiss_intraclass_correlation():
    found = intraclass_correlation(JUDGES, "interval")
    assert (found.value, found.low, found.high) == pytest.approx((0.29, 0.02, 0.76), abs=0.005)
    gap = intraclass_correlation([*JUDGES, [5, None, 3, 4]], "ratio")  # its mean squares need whole rows
    assert (gap.value, gap.n, gap.excluded["not rated by all raters"]) == (found.value, 6, 1)
    assert intraclass_correlation(JUDGES, "interval", group=[0, 0, 1, 1, 2, 2]).low != found.low


@pytest.mark.parametrize(
    ("ratings", "level", "expected"),
    [
        ([[1, 1], [2, 2], [3, 3]], "interval", 1.0),
        ([[1, 3], [2, 2], [3, 1]], "interval", -1.0),  # the mean squares give -3
        ([[1, 1], [1, 1]], "interval", "no variation"),
        ([[1, 2], [3, None]], "interval", "fewer than two rated by all"),
        ([[1, None], [2, None]], "interval", "fewer than two raters"),
        ([], "interval", "fewer than two raters"),
        (JUDGES, "ordinal", "labels are not numbers at this level of measurement"),
    ],
)
def test_where_the_intraclass_correlation_ends(ratings, level, expected):
    found = intraclass_correlation(ratings, level)
    assert (found.reason if isinstance(expected, str) else found.value) == expected
