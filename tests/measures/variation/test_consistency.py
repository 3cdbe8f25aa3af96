import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaver.core.records import IntervalWarning
from quaver.errors import MeasureError
from quaver.measures.variation.consistency import Pairs, consistency, consistency_matrix

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


@pytest.mark.parametrize("self_pairs", [False, True])
@pytest.mark.parametrize("pooled", [False, True])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_no_pair_is_visited_and_none_is_missed(self_pairs, pooled, seed):
    weights = np.random.default_rng(seed).integers(0, 3, 24)
    pairs = Pairs(COUNTS, CLASSES, self_pairs=self_pairs, pooled=pooled)
    found = pairs.overall(weights[None].astype(float))[0, 0]
    expected = by_pairs(COUNTS, CLASSES, weights, self_pairs=self_pairs, pooled=pooled)
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("self_pairs", [False, True])
def test_items_and_matrix_agree(self_pairs):
    pairs = Pairs(COUNTS, CLASSES, self_pairs=self_pairs)
    for code, items in pairs.classes.items():
        matrix = pairs.matrix(code)
        assert np.allclose(np.diag(matrix), 1)
        others = (matrix.sum(1) - (not self_pairs)) / (len(items) - (not self_pairs))
        assert pairs.per_item()[items] == pytest.approx(others)


def frame(predictions, gold):
    rows = [
        (f"i{i:03}", f"v{v}", None if label < 0 else "abc"[label], "abc"[gold[i]])
        for i, row in enumerate(predictions)
        for v, label in enumerate(row)
    ]
    return pl.DataFrame(rows, schema=["item", "variant", "label", "gold"], orient="row")


# Class a: (1, 0), (½, ½), (0, 1): pairs ½, 0, ½. Class b: (1, 0), (1, 0): 1.
DATA = frame([[0, 0], [0, 1], [1, 1], [0, 0], [0, 0]], [0, 0, 0, 1, 1])


def test_by_hand():
    (found,) = consistency(DATA)
    assert found.value == pytest.approx((1 / 3 + 1) / 2)
    assert found.details["by_class"] == pytest.approx({"a": 1 / 3, "b": 1})
    assert (found.details["self_pairs"], found.details["pooled"]) == (False, False)
    pooled = consistency(DATA, pooled=True)[0].value
    assert pooled == pytest.approx((2 * (0.5 + 0 + 0.5) + 2 * 1) / (6 + 2))


def test_the_papers_convention():
    (found,) = consistency(DATA, convention="paper")
    assert found.value == pytest.approx((3 + 2 * 1 + 2 + 2 * 1) / (9 + 4))
    assert "self-pairs in" in found.method
    assert "all pairs" in found.method
    assert "one more label" in found.method


def test_each_class_has_its_interval():
    rng = np.random.default_rng(5)
    gold = np.repeat([0, 1], 30)
    data = frame(np.where(rng.random((60, 8)) < 0.7, gold[:, None], rng.integers(0, 3, (60, 8))), gold)
    overall, a, b = consistency(data, classes=True, resamples=200)
    assert (a.cell, b.cell) == ({"class": "a"}, {"class": "b"})
    assert (a.n, b.n, overall.n) == (30, 30, 60)
    assert overall.value == pytest.approx((a.value + b.value) / 2)
    assert a.low < a.value < a.high


def test_undefined():
    assert consistency(DATA.drop("gold"))[0].reason.startswith("no gold")
    assert consistency(frame([[0, 0], [1, 1]], [0, 1]))[0].reason.startswith("no class")


def test_the_matrix_of_a_class_and_its_histogram():
    found = consistency_matrix(DATA, "a", bins=4)
    assert found.items == ("i000", "i001", "i002")
    assert found.matrix.tolist() == [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]
    assert found.counts.tolist() == [1, 0, 2, 0]
    assert found.edges.tolist() == [0, 0.25, 0.5, 0.75, 1]
    with pytest.raises(MeasureError, match="no such class"):
        consistency_matrix(DATA, "z")


@pytest.mark.parametrize(("few", "expected"), [(3, True), (15, False)])
def test_a_class_in_which_few_items_deviate_is_warned_of(few: int, expected: bool) -> None:
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
    (found,) = consistency(frame(predictions, np.repeat([0, 1, 2], 4)), estimand="fixed")
    assert found.details["freedom"] == 11
