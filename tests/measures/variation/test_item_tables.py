"""Tables of single items: they sum to the measures over all."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.measures import accuracy, consistency, distributions, sensitivity, sensitivity_with_consistency
from quaver.measures.correctness.accuracy import baseline
from quaver.measures.variation.label_shares import item_stability


def frame(items=40, variants=6, labels="abcd", seed=3):
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        gold = labels[item % len(labels)]
        for variant in range(variants):
            swapped = rng.random() < 0.1 + 0.2 * (item % len(labels))
            label = labels[rng.integers(len(labels))] if swapped else gold
            rows.append((f"i{item:02}", variant, label, gold))
    return pl.DataFrame(rows, schema=["item", "variant", "label", "gold"], orient="row")


def spread_of(measure, answers, **options):
    return distributions(measure(answers, classes=True, keep=["distribution"], resamples=0), **options)


def test_the_distribution_is_that_of_the_items():
    answers = frame()
    items = item_stability(answers)
    whole, *classes = spread_of(sensitivity, answers)
    values = items["sensitivity"].to_numpy()
    assert whole.value == pytest.approx(np.median(values))
    assert whole.details["quantiles"]["0.25"] == pytest.approx(np.quantile(values, 0.25))
    assert sum(whole.details["counts"]) == whole.details["values"] == whole.n == 40
    assert values.mean() == pytest.approx(sensitivity(answers)[0].value)
    assert [one.cell["class"] for one in classes] == list("abcd")
    assert sum(one.n for one in classes) == 40


def test_pairs_average_to_the_consistency_of_their_class():
    answers = frame()
    known = consistency(answers)[0].details["by_class"]
    for one in spread_of(consistency, answers, matrix=50):
        matrix = np.array(one.details["matrix"])
        assert matrix.shape == (10, 10)
        assert np.allclose(matrix, matrix.T)
        pairs = matrix[np.triu_indices(10, 1)]
        assert pairs.mean() == pytest.approx(known[one.cell["class"]])
        assert one.value == pytest.approx(np.median(pairs))
        assert one.details["values"] == 45


def test_of_many_items_some_are_paired_and_the_rest_counted():
    (one,) = spread_of(consistency, frame(items=320, labels="a").with_columns(label=pl.lit("a")))
    assert (one.details["items"], list(one.excluded.values())) == (300, [20])
    assert one.details["values"] == 300 * 299 // 2
    assert one.value == 1.0
    assert one.details["counts"][-1] == one.details["values"]


def test_what_cannot_be_spread():
    without = frame().with_columns(gold=pl.lit(None, pl.String))
    assert [one.cell for one in spread_of(sensitivity, without)] == [{}]
    assert spread_of(consistency, without) == []
    alone = spread_of(sensitivity, frame(variants=1))[0]
    assert alone.value is None
    assert "two variants" in alone.reason
    with pytest.raises(MeasureError) as raised:
        distributions(accuracy(frame(), keep=["distribution"], columns={"repeat": "variant"}, resamples=0))
    assert (raised.value.where, raised.value.found) == ("estimates", "accuracy")
    with pytest.raises(MeasureError) as raised:
        distributions(sensitivity(frame(), resamples=0))
    assert "keep=" in raised.value.expected


def test_the_correlation_is_pearson_s():
    answers = frame()
    of, alike = sensitivity(answers, resamples=0), consistency(answers, resamples=0)
    found = sensitivity_with_consistency(of, alike)
    x, y = (np.array(list(one[0].details["by_class"].values())) for one in (of, alike))
    known = stats.pearsonr(x, y)
    assert found.value == pytest.approx(known.statistic)
    low, high = known.confidence_interval()
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.n == 4


def test_classes_that_do_not_move_are_left_out():
    def of(measure, values):
        return [Estimate(measure, 0.5, cell={"model": "m"}, details={"by_class": values})]

    x = {"a": 0.04999, "b": 0.05, "c": 0.5, "d": 0.6}
    found = sensitivity_with_consistency(of("sensitivity", x), of("consistency", dict.fromkeys(x, 0.5)))
    assert (found.n, found.reason) == (3, "no variation")
    assert list(found.excluded.values()) == [1]
    assert [one["counted"] for one in found.details["classes"]] == [False, True, True, True]
    assert "three" in sensitivity_with_consistency([], []).reason
    with pytest.raises(MeasureError, match="another"):
        sensitivity_with_consistency(of("consistency", x), [])


def test_the_random_predictor_is_as_sensitive_as_chance_makes_it():
    # Six answers drawn from four labels: the mean entropy over ln 4, by going through all 84 outcomes.
    expected = 0.0
    for counts in np.ndindex(7, 7, 7, 7):
        if sum(counts) == 6:
            ways = math.factorial(6) / math.prod(math.factorial(n) for n in counts)
            entropy = -sum(n / 6 * math.log(n / 6) for n in counts if n)
            expected += ways / 4**6 * entropy / math.log(4)
    drawn = baseline(frame(items=2000), "random")
    assert sensitivity(drawn, resamples=0)[0].value == pytest.approx(expected, abs=0.01)


ROWS = {"i0": "aaaa", "i1": "aabb", "i2": "bbbb", "i3": "aaab", "i4": "bbb-"}
FRAME = pl.DataFrame(
    [
        (item, f"v{v}", None if label == "-" else label, "b" if item == "i4" else "a")
        for item, said in ROWS.items()
        for v, label in enumerate(said)
    ],
    schema=["item", "variant", "label", "gold"],
    orient="row",
)


def test_a_row_an_item():
    found = item_stability(FRAME)
    assert found["item"].to_list() == list(ROWS)
    assert found["sensitivity"].to_list() == pytest.approx([0, 1, 0, 0.811278, 0], abs=1e-6)
    # i0 with i1 ½, i2 0, i3 ¾.
    assert found["consistency"][0] == pytest.approx(1.25 / 3)
    assert found["consistency"][4] is None
    assert found["predictions"].to_list() == [4, 4, 4, 4, 3]
    assert found["mode"].to_list() == ["a", "a", "b", "a", "b"]


def test_in_every_cell():
    two = pl.concat([FRAME.with_columns(model=pl.lit(m)) for m in "nm"])
    items = item_stability(two, by=["model"])
    assert items["model"].to_list() == ["m"] * 5 + ["n"] * 5
    assert item_stability(FRAME.clear()).height == 0
