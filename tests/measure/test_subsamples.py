import pytest
from tests.measured import repeated

from quaver.errors import MeasureError
from quaver.measure.prompt_stability import inter_pss, intra_pss
from quaver.measure.subsamples import inter_pss_subsamples, intra_pss_subsamples


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
    assert {e.value for e in found} == {whole(frame, resamples=0)[0].value}
    assert found[-1].details["mean"] == pytest.approx(found[-1].value, abs=0.01)


def test_a_subsample_of_one_item_says_nothing():
    (found,) = intra_pss_subsamples(repeated(items=20), shares=[0.05], resamples=50)
    assert found.low is None
    assert found.details["undefined_subsamples"] == 50


@pytest.mark.parametrize("shares", [[], [0.0], [1.5]])
def test_what_is_no_share(shares):
    with pytest.raises(MeasureError, match="not shares"):
        intra_pss_subsamples(repeated(), shares=shares)
