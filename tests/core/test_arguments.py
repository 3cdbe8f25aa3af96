"""Arguments that do not fit are one error of Quaver's, whoever is called with them."""

from __future__ import annotations

import polars as pl
import pytest

import quaver
from quaver.errors import MeasureError

FRAME = pl.DataFrame({"item": [1, 2, 1, 2], "repeat": [0, 0, 1, 1], "label": list("abab")})


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"confidence_level": "high"}, "confidence_level"),
        ({"resamples": True}, "resamples"),
        ({"seed": "x"}, "seed"),
        ({"labels": 3}, "labels"),
        ({"columns": "code"}, "columns"),
        ({"columns": {"label": 3}}, "columns['label']"),
        ({"group": 3}, "group"),
        ({"by": 3}, "by"),
        ({"by": [None]}, "by"),
    ],
)
def test_a_measure_refuses_what_does_not_fit(options, where):
    with pytest.raises(MeasureError) as caught:
        quaver.measures.intra_pss(FRAME, **options)
    assert (caught.value.where, bool(caught.value.expected), bool(caught.value.found)) == (where, True, True)


def test_what_fits_is_handed_on_as_it_came():
    counted = quaver.measures.deviations(FRAME.with_columns(variant=pl.lit("v")))
    assert counted is not None
    assert quaver.measures.deviation_shares(counted) == []
    with pytest.raises(MeasureError, match="found"):
        quaver.measures.deviation_shares(FRAME)
