import numpy as np
import polars as pl
import pytest
from tests.measured import repeated

from quaver.measures.stability.prompt_stability import intra_pss
from quaver.measures.stability.stability_curves import (
    intra_pss_adjacent,
    intra_pss_cumulative,
    running_mean,
    settled_at,
)

FAST = {"resamples": 100}


def test_each_step_is_intra_of_the_first_repeats():
    frame = repeated(missing=0.1)
    found = intra_pss_cumulative(frame, **FAST)
    assert [e.cell["repeats"] for e in found] == ["2", "3", "4", "5", "6"]
    for e in found:
        (one,) = intra_pss(frame.filter(pl.col("repeat") < int(e.cell["repeats"])), **FAST)
        assert e.value == pytest.approx(one.value)
        assert (e.low, e.high) == pytest.approx((one.low, one.high))


def test_adjacent_pairs():
    frame = repeated()
    found = intra_pss_adjacent(frame, **FAST)
    assert [e.cell["repeats"] for e in found] == ["0 and 1", "1 and 2", "2 and 3", "3 and 4", "4 and 5"]
    (one,) = intra_pss(frame.filter(pl.col("repeat").is_in([2, 3])), **FAST)
    assert found[2].value == pytest.approx(one.value)
    assert (found[2].low, found[2].high) == pytest.approx((one.low, one.high))


def test_settled():
    curve = np.array([[0.5], [0.81], [0.7], [0.802], [0.8]])
    assert settled_at([2, 3, 4, 5, 6], curve, 0.01) == 5
    assert settled_at([2, 3, 4, 5, 6], curve, 1.0) == 2
    assert settled_at([2, 3], np.array([[0.1], [0.9]]), 0.01) is None
    details = intra_pss_cumulative(repeated(), tolerance=2.0, **FAST)[0].details
    assert (details["settled"], details["interval_settled"]) == (2, 2)


def test_the_papers_running_mean_is_named_as_such():
    found = intra_pss_cumulative(repeated(), **FAST)
    scores = [e.value for e in found]
    assert found[-1].details["running_mean"] == pytest.approx(np.mean(scores))
    half = 1.959964 * np.std(scores) / len(scores) ** 0.5
    assert running_mean(scores)[-1].high == pytest.approx(np.mean(scores) + half, abs=1e-6)


def test_one_repeat_has_no_curve():
    frame = repeated().filter(pl.col("repeat") == 0)
    for measure in (intra_pss_cumulative, intra_pss_adjacent):
        (found,) = measure(frame)
        assert (found.value, "repeats" in found.reason) == (None, True)
