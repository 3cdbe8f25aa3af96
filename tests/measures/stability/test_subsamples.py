import krippendorff
import numpy as np
import polars as pl
import pytest
from tests.measured import repeated

from quaver.errors import MeasureError
from quaver.measures.stability.prompt_stability import inter_pss, intra_pss
from quaver.measures.stability.subsamples import inter_pss_subsamples, intra_pss_subsamples


@pytest.mark.parametrize(
    ("subsampled", "whole"), [(intra_pss_subsamples, intra_pss), (inter_pss_subsamples, inter_pss)]
)
def test_more_items_say_more(subsampled, whole):
    frame = repeated(items=100, variants=2)
    found = subsampled(frame, resamples=300)
    assert [e.cell["share"] for e in found] == ["0.02", "0.05", "0.1", "0.25", "0.5", "0.75"]
    assert [e.details["drawn"] for e in found] == [2, 5, 10, 25, 50, 75]
    widths = [e.high - e.low for e in found]
    assert widths == sorted(widths, reverse=True)
    score = whole(frame, resamples=0)[0].value
    assert {e.details["whole"] for e in found} == {score}
    assert found[-1].value == pytest.approx(score, abs=0.01)
    assert len({e.value for e in found}) == len(found)
    assert all(e.low <= e.value <= e.high for e in found)


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
