"""Tables of single items: they sum to the measures over all."""

import math

import numpy as np
import polars as pl
import pytest

from quaver.measures import item_stability, sensitivity
from quaver.measures.correctness.accuracy import baseline


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
