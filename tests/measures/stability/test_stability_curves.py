"""Prompt stability by repeat, temperature and share of the items."""

import krippendorff
import numpy as np
import polars as pl
import pytest
from tests.measured import repeated

from quaver.errors import MeasureError
from quaver.measures.stability.prompt_stability import intra_pss
from quaver.measures.stability.stability_curves import (
    intra_pss_adjacent,
    intra_pss_cumulative,
    intra_pss_subsamples,
)


def test_the_value_is_the_mean_over_subsamples():
    """Alpha of each of the three pairs that can be drawn of three items, by the reference implementation."""
    frame = pl.DataFrame({"item": [0, 1, 2] * 2, "repeat": [0] * 3 + [1] * 3, "label": list("abbaba")})
    codes = np.array([[0, 1, 1], [0, 1, 0]])
    pairs = [[0, 1], [0, 2], [1, 2]]
    alphas = [krippendorff.alpha(codes[:, pair], level_of_measurement="nominal") for pair in pairs]
    (found,) = intra_pss_subsamples(frame, shares=[2 / 3], resamples=3000)
    assert found.value == pytest.approx(np.mean(alphas), abs=0.03)
    assert found.details["undefined_subsamples"] == 0
    assert found.n == 2


def test_undefined_subsamples_are_reported():
    """Of 5 items one has another label: without it, alpha has no variation to speak of."""
    frame = pl.DataFrame({"item": [*range(5)] * 2, "repeat": [0] * 5 + [1] * 5, "label": list("aaaab") * 2})
    (found,) = intra_pss_subsamples(frame, shares=[0.4], resamples=1000)
    lost = found.details["undefined_subsamples"]
    assert lost == pytest.approx(600, abs=60)  # 6 of the 10 pairs
    assert any(f"{lost:,} of 1,000" in warning for warning in found.warnings)
    assert found.value == 1.0


def test_a_subsample_of_one_item_says_nothing():
    (found,) = intra_pss_subsamples(repeated(items=20), shares=[0.05], resamples=50)
    assert (found.value, found.low, "undefined" in found.reason) == (None, None, True)
    assert found.details["undefined_subsamples"] == 50
    (warning,) = found.warnings
    assert "50 of 50" in warning


@pytest.mark.parametrize("shares", [[], [0.0], [1.5]])
def test_what_is_no_share(shares):
    with pytest.raises(MeasureError, match="shares"):
        intra_pss_subsamples(repeated(), shares=shares)


FAST = {"resamples": 100}


def test_each_step_is_intra_of_the_first_repeats():
    frame = repeated(missing=0.1)
    found = intra_pss_cumulative(frame, **FAST)
    assert [e.cell["repeats"] for e in found] == ["2", "3", "4", "5", "6"]
    for e in found:
        (one,) = intra_pss(frame.filter(pl.col("repeat") < int(e.cell["repeats"])), **FAST)
        assert e.value == pytest.approx(one.value)
        assert (e.low, e.high) == pytest.approx((one.low, one.high))


def test_resampled_rows_are_those_of_the_repeats_of_each_step():
    frame = repeated(items=20, variants=1).with_columns(pl.col("repeat").cast(pl.Int64))
    order = frame["repeat"].unique().sort().to_list()

    def alone(repeats):
        some = frame.filter(pl.col("repeat").is_in(repeats))
        (one,) = intra_pss(some, resample="rows", resamples=200)
        return one.value, one.low, one.high

    first = intra_pss_cumulative(frame, resample="rows", resamples=200)
    assert [(e.value, e.low, e.high) for e in first] == [alone(order[: k + 1]) for k in range(1, len(order))]
    pairs = intra_pss_adjacent(frame, resample="rows", resamples=200)
    assert [(e.value, e.low, e.high) for e in pairs] == [
        alone(order[k : k + 2]) for k in range(len(order) - 1)
    ]


def test_adjacent_pairs():
    frame = repeated()
    found = intra_pss_adjacent(frame, **FAST)
    assert [e.cell["repeats"] for e in found] == ["0 and 1", "1 and 2", "2 and 3", "3 and 4", "4 and 5"]
    (one,) = intra_pss(frame.filter(pl.col("repeat").is_in([2, 3])), **FAST)
    assert found[2].value == pytest.approx(one.value)
    assert (found[2].low, found[2].high) == pytest.approx((one.low, one.high))
