import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measured import grid

from quaver.core.records import IntervalWarning
from quaver.errors import MeasureError
from quaver.measures.variation.item_sensitivity import Pairs, consistency, consistency_matrix

COUNTS = np.random.default_rng(1).integers(0, 4, (24, 3)).astype(float)
CLASSES = np.random.default_rng(2).integers(-1, 3, 24)


def by_pairs(counts, classes, weights, *, self_pairs, pooled):
    """The double loop, over copies of items; two copies of one item are no pair."""
    means, total, n = [], 0.0, 0
    for code in sorted(set(classes[classes >= 0])):
        members = [
            i for i in range(len(counts)) if classes[i] == code and counts[i].sum() for _ in range(weights[i])
        ]
        values = []
        for a, i in enumerate(members):
            for b, j in enumerate(members):
                if i == j and not (self_pairs and a == b):
                    continue
                values.append(1 - np.abs(counts[i] / counts[i].sum() - counts[j] / counts[j].sum()).sum() / 2)
        if values:
            means.append(np.mean(values))
            total, n = total + sum(values), n + len(values)
    if not n:
        return np.nan
    return total / n if pooled else np.mean(means)


@pytest.mark.parametrize("paper", [False, True])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_no_pair_is_visited_and_none_is_missed(paper, seed):
    weights = np.random.default_rng(seed).integers(0, 3, 24)
    total, pairs = Pairs(COUNTS, CLASSES, self_pairs=paper).sums(weights[None].astype(float))
    expected = by_pairs(COUNTS, CLASSES, weights, self_pairs=paper, pooled=paper)
    kept = pairs[0] > 0
    found = total.sum() / pairs.sum() if paper else (total[0, kept] / pairs[0, kept]).mean()
    assert found == pytest.approx(expected, nan_ok=True)


# Class a: (1, 0), (½, ½), (0, 1): pairs ½, 0, ½. Class b: (1, 0), (1, 0): 1.
DATA = grid(["aa", "ab", "bb", "aa", "aa"], gold="aaabb")


def test_by_hand():
    (found,) = consistency(DATA)
    assert found.value == pytest.approx((1 / 3 + 1) / 2)
    assert found.details["by_class"] == pytest.approx({"a": 1 / 3, "b": 1})


def test_the_papers_convention():
    (found,) = consistency(DATA, convention="paper")
    assert found.value == pytest.approx((3 + 2 * 1 + 2 + 2 * 1) / (9 + 4))
    assert "self-pairs in" in found.method
    assert "all pairs" in found.method
    assert "one more label" in found.method


def test_each_class_has_its_interval():
    rng = np.random.default_rng(5)
    gold = np.repeat([0, 1], 30)
    data = grid(np.where(rng.random((60, 8)) < 0.7, gold[:, None], rng.integers(0, 3, (60, 8))), gold)
    (overall,), (a, b) = (consistency(data, by=by, resamples=200) for by in ([], ["gold"]))
    assert (a.cell, b.cell) == ({"gold": "a"}, {"gold": "b"})
    assert (a.n, b.n, overall.n) == (30, 30, 60)
    assert overall.value == pytest.approx((a.value + b.value) / 2)
    assert a.low < a.value < a.high


def test_the_matrix_of_a_class():
    items, matrix = consistency_matrix(DATA, "a")
    assert items == ("i000", "i001", "i002")
    assert matrix.tolist() == [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]
    with pytest.raises(MeasureError, match="no such class"):
        consistency_matrix(DATA, "z")


@pytest.mark.parametrize(("few", "expected"), [(3, True), (15, False)])
def test_a_class_in_which_few_items_deviate_is_warned_of(few, expected):
    """Forty items of each class; in one of them so many have another label under one of three prompts."""
    rows = [
        (f"{truth}{item}", f"v{v}", "b" if truth == "a" and item < few and v == 0 else label, truth)
        for truth, wrong in (("a", 0), ("b", 20))
        for item in range(40)
        for v in range(3)
        for label in ("a" if truth == "b" and item < wrong and v == 1 else truth,)
    ]
    frame = pl.DataFrame(rows, schema=["item", "variant", "label", "gold"], orient="row")
    (found, *_) = consistency(frame, resamples=20, estimand="fixed")
    assert any(isinstance(why, IntervalWarning) for why in found.warnings) is expected


@pytest.mark.parametrize("seed", range(6))
def test_of_classes_of_one_size_none_is_small(seed):
    """Drawing the variances of equally large classes together changes none of them, whatever the rounding."""
    predictions = np.random.default_rng(seed).integers(0, 2, (12, 3))
    (found,) = consistency(grid(predictions, np.repeat([0, 1, 2], 4)), estimand="fixed")
    assert found.details["freedom"] == 11
