"""An estimate without a value says why, in one table for all measures; what cannot be compared is refused."""

import polars as pl
import pytest
from tests.measured import grid

from quaver import measures
from quaver.errors import MeasureError
from quaver.measures.validity.item_clusters import item_clusters

NO_GOLD = grid(["ab", "ba"]).with_columns(gold=pl.lit(None, pl.String))
ONE = grid(["a", "b"])
NONE = ONE.clear()
NO_LABEL = grid(["--", "--"])
ALIKE = grid(["aa", "aa", "bb"])
REASONS = [
    ("f1", NO_GOLD, "no gold labels"),
    ("spread", ONE, "fewer than two variants"),
    ("spread", NO_GOLD, "no gold labels"),
    ("spread", NONE, "no annotations"),
    ("differences", ONE, "fewer than two conditions"),
    ("differences", NO_GOLD, "no gold labels"),
    ("factor_effects", ONE, "one level"),
    ("intra_pss_cumulative", ONE, "fewer than two repeats"),
    ("intra_pss_adjacent", NONE, "no annotations"),
    ("sensitivity", ONE, "fewer than two variants"),
    ("inter_model", ONE, "fewer than two models"),
    ("consistency", NO_GOLD, "no gold labels"),
    ("consistency", grid(["aa", "bb"], gold="ab"), "no class with two items"),
    ("distribution_shift", ONE, "fewer than two conditions with labels"),
    ("distribution_shift", NO_LABEL, "no answer has a label"),
    ("distribution_shift", NONE, "no annotations"),
]


@pytest.mark.parametrize(("name", "frame", "reason"), REASONS)
def test_without_a_value_there_is_a_reason(name, frame, reason):
    options = {"factors": ["variant"]} if name == "factor_effects" else {}
    found = getattr(measures, name)(frame, **options)
    assert reason in {one.reason for one in found if one.value is None}


def test_items_that_are_all_alike_are_in_no_groups():
    columns = pl.DataFrame({"item": ALIKE["item"].unique(), "author": ["x", "x", "y"]})
    assert all(one.value is None and one.reason for one in item_clusters(ALIKE, columns))


@pytest.mark.parametrize("name", ["differences", "distribution_shift"])
def test_a_reference_that_is_no_condition_is_refused(name):
    with pytest.raises(MeasureError) as caught:
        getattr(measures, name)(ALIKE, reference="v9")
    assert caught.value.where == "reference"
