import numpy as np
import polars as pl
import pytest
from tests.measured import grid

from quaver.measures import distribution_shift


def test_against_a_reference_and_against_the_others():
    codes = [[0, 0, 1], [0, 1, 1], [0, 0, 1], [1, 1, 1]]
    found = {e.cell["variant"]: e for e in distribution_shift(grid(codes), reference="v0")}
    assert found["v1"].value == pytest.approx(0.25)
    assert found["v2"].value == pytest.approx(0.75)
    assert found["v1"].details["shares"] == {"a": 0.5, "b": 0.5}
    others = distribution_shift(grid(codes))
    # v0 against v1 and v2 together: 3/4 a against 2/8
    assert others[0].value == pytest.approx(0.5)
    assert [e.measure for e in others] == ["distribution_shift_tv"] * 3


def redrawn(seed, noise, groups=0):
    """Labels of 60 items, alike in all conditions but where a condition, with its odds, draws them afresh."""
    rng = np.random.default_rng(seed)
    units = groups or 60
    truth = rng.integers(0, 3, units)
    again = rng.random((units, len(noise))) < np.array(noise)
    return np.repeat(np.where(again, rng.integers(0, 3, again.shape), truth[:, None]), 60 // units, axis=0)


def test_a_noisy_condition_is_no_shift():
    p = []
    for seed in range(60):
        found = distribution_shift(grid(redrawn(seed, [0.9] + [0.05] * 7)), resamples=99)[0]
        p.append(found.details["p"])
    assert np.mean(np.array(p) <= 0.05) <= 0.13


def test_the_unanswered_may_be_a_category():
    frame = grid([[0, 0], [0, 0]]).with_columns(
        label=pl.when((pl.col("variant") == "v1") & (pl.col("item") == "i001")).then(None).otherwise("label")
    )
    assert distribution_shift(frame)[0].value == 0
    assert distribution_shift(frame, missing="category")[0].value == pytest.approx(0.5)


def test_a_condition_without_a_rare_label_that_others_rarely_give_is_no_shift():
    """In each of ten groups one of thirty conditions says b once: the first never does, as two others."""
    codes = np.zeros((30, 30), int)
    for group in range(10):
        for other in range(3):
            codes[3 * group + other, 3 + (7 * group + other) % 27] = 1
    frame = grid(codes).with_columns(author=pl.Series(np.repeat(np.arange(10), 30 * 3)))
    never = [one for one in distribution_shift(frame, group="author") if one.cell["variant"] == "v0"]
    assert [one.measure for one in never] == ["distribution_shift_tv"]
    assert all(one.details["p"] > 0.2 and one.low == 0 for one in never)


def test_a_condition_that_differs_from_all_others_is_found():
    codes = np.zeros((60, 12), int)
    codes[::2, 0] = 1
    (first, *others) = distribution_shift(grid(codes))
    assert first.details["p_holm"] < 0.05
    assert first.low > 0
    assert all(one.details["p_holm"] > 0.05 for one in others)
