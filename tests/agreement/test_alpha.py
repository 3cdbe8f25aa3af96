import math
from itertools import product

import numpy as np
import polars as pl
import pytest
from tests.measured import KRIPPENDORFF

from quaver.agreement.coefficients import krippendorff_alpha
from quaver.agreement.stratified_alpha import alphas_of_rows
from quaver.errors import MeasureError
from quaver.estimation.jackknife import Resampling


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_the_published_example(level, value):
    found = krippendorff_alpha(KRIPPENDORFF, level)
    assert round(found.value, 3) == value
    assert found.n == 11  # the twelfth unit has one value
    assert found.details["pairable"] == 40


@pytest.mark.parametrize("kind", ["lists", "floats", "objects", "polars", "pandas", "text", "long"])
def test_any_form_of_the_same_ratings(kind):
    wide = pl.DataFrame(KRIPPENDORFF, schema=list("pqrs"), orient="row")
    names = {}
    match kind:
        case "lists":
            ratings = KRIPPENDORFF
        case "floats":
            ratings = np.array([[np.nan if x is None else x for x in row] for row in KRIPPENDORFF])
        case "objects":
            ratings = np.array(KRIPPENDORFF, object)
        case "polars":
            ratings = wide
        case "pandas":
            ratings = wide.to_pandas()
        case "text":
            ratings = [[None if x is None else f"label {x}" for x in row] for row in KRIPPENDORFF]
        case "long":
            ratings = wide.with_row_index("unit").unpivot(
                index="unit", variable_name="who", value_name="said"
            )
            names = {"item": "unit", "rater": "who", "label": "said"}
    assert krippendorff_alpha(ratings, **names).value == pytest.approx(0.743421, abs=1e-6)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([["a", "a"], ["a", "a"]], "no variation"),
        ([["a", None], [None, "b"]], "fewer than two raters"),
        ([["a"], ["b"]], "fewer than two raters"),
        ([["a", "b"], ["a", None]], "fewer than two items with two labels"),
        ([], "no annotations"),
        ([[None, None], [None, None]], "fewer than two raters"),
    ],
)
def test_undefined_says_why(ratings, reason):
    found = krippendorff_alpha(ratings)
    assert (found.value, found.reason) == (None, reason)


def test_a_scale_takes_its_order_from_the_labels():
    words = [[["low", "mid", "high"][x] for x in row] for row in [(0, 0), (1, 2), (2, 2), (0, 1)]]
    numbers = [(0, 0), (1, 2), (2, 2), (0, 1)]
    named = krippendorff_alpha(words, "ordinal", labels=["low", "mid", "high"])
    assert named.value == pytest.approx(krippendorff_alpha(numbers, "ordinal").value)
    with pytest.raises(MeasureError, match="not a number"):
        krippendorff_alpha(words, "ordinal")


def test_missing_as_a_category():
    ratings = [["a", None], ["b", "b"], ["a", "a"]]
    dropped, kept = krippendorff_alpha(ratings), krippendorff_alpha(ratings, missing="category")
    assert dropped.value == 1
    # a: 3, b: 2, missing: 1 of 6; one unit disagrees: 1 − 5·2/(36 − 14).
    assert kept.value == pytest.approx(1 - 10 / 22)
    with pytest.raises(MeasureError, match="missing"):
        krippendorff_alpha([[1, None], [2, 2]], "ordinal", missing="category")


def test_resampling_rows_is_narrower_and_warns():
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 60)
    hard = rng.random(60) < 0.3
    ratings = np.where(hard[:, None] & (rng.random((60, 12)) < 0.5), 1 - truth[:, None], truth[:, None])
    items = krippendorff_alpha(ratings, resamples=400)
    with pytest.warns(UserWarning, match="too narrow"):
        rows = krippendorff_alpha(ratings, resamples=400, resample="rows")
    assert rows.value == items.value
    assert rows.unit == "row"
    assert rows.high - rows.low < 0.5 * (items.high - items.low)
    assert any("too narrow" in warning for warning in rows.warnings)


def test_groups_of_items_widen_the_interval():
    rng = np.random.default_rng(9)
    # Items of one author are copies: 10 authors say as much as 10 items, not as 100.
    authors = np.repeat(np.arange(10), 10)
    ratings = np.repeat(rng.integers(0, 3, (10, 4)), 10, 0)
    items, grouped = krippendorff_alpha(ratings), krippendorff_alpha(ratings, group=authors)
    assert (grouped.n, grouped.unit) == (10, "group")
    assert grouped.high - grouped.low > 2 * (items.high - items.low)


def test_observed_and_expected_disagreement():
    found = krippendorff_alpha([["a", "a"], ["a", "b"], ["b", "b"]], resamples=0)
    # One unit of three disagrees: Do = 2/6; De = 2·3·3/(6·5).
    assert found.details["observed"] == pytest.approx(1 / 3)
    assert found.details["expected"] == pytest.approx(0.6)
    assert found.low is None, "without resamples there is no interval"
    found = krippendorff_alpha([["a", "a"], ["b", "b"], ["a", "dunno"]], labels=["a", "b"])
    assert (found.value, [*found.excluded.values()]) == (1, [1])


def test_perfect_agreement_is_not_presented_as_certain():
    found = krippendorff_alpha([["a", "a"], ["b", "b"]] * 50)
    assert found.value == found.high == 1
    # An item in 28 may differ; one that does loses 1 / De.
    share = 1 - 0.025 ** (1 / 100)
    assert found.low == pytest.approx(1 - share * 1 / found.details["expected"])
    assert len(found.warnings) == 1
    few = krippendorff_alpha([["a", "a"], ["b", "b"]] * 50 + [["a", "b"]] * 2)
    assert "2 of 102" in few.warnings[0]
    assert few.details["share_differing"][0] < 2 / 102 < few.details["share_differing"][1]
    same = krippendorff_alpha([["a", "a"]] * 50)
    assert same.details["share_differing"] == pytest.approx((0, 1 - 0.025 ** (1 / 50)))


@pytest.mark.parametrize(
    ("ratings", "options", "where"),
    [
        ([1, 2, 3], {}, "ratings"),
        (np.zeros(3), {}, "ratings"),
        ([[1, 2], [1]], {}, "ratings"),
        ([["a", 1]], {}, "ratings"),
        ("aabb", {}, "ratings"),
        ([[{}, 1]], {}, "ratings"),
        ([[1, math.inf], [1, 2]], {}, "label"),
        ([[1, 2]], {"level": "cardinal"}, "level"),
        ([[1, 2]], {"confidence_level": 1.0}, "confidence_level"),
        ([[1, 2]], {"resample": "cells"}, "resample"),
        ([[1, 2]], {"group": [1, 2]}, "group"),
        ([[1, 2]], {"labels": "12"}, "labels"),
        ([[1, 2]], {"missing": "zero"}, "missing"),
        (pl.DataFrame({"a": [1]}), {"item": "x", "rater": "a", "label": "a"}, "columns['item']"),
    ],
)
def test_bad_input_names_the_argument(ratings, options, where):
    with pytest.raises(MeasureError) as caught:
        krippendorff_alpha(ratings, **options)
    assert caught.value.where == where


def test_a_place_drawn_with_several_labels_has_the_one_drawn_first():
    # Two items, two raters; the last place has both labels. Alpha is 1 where all places are drawn, the last
    # one first with the label 1: that share of all 5^5 sequences of draws.
    place, codes = np.array([0, 1, 2, 3, 3]), np.array([0, 0, 1, 0, 1])
    draws = list(product(range(5), repeat=5))
    perfect = [{0, 1, 2} <= set(one) and 4 in one and 3 not in one[: one.index(4)] for one in draws]
    found = alphas_of_rows(place, codes, (2, 2), labels=2, resampling=Resampling(resamples=20_000))
    assert np.mean(found == 1) == pytest.approx(np.mean(perfect), abs=0.01)


def test_rows_without_a_label_are_drawn_and_do_not_count():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 60)
    place = np.arange(60)
    some = Resampling(resamples=500)
    whole = alphas_of_rows(place, codes, (20, 3), labels=2, resampling=some)
    blank = np.concatenate([codes, np.full(60, -1)])
    twice = np.concatenate([place, place])
    thinned = alphas_of_rows(twice, blank, (20, 3), labels=2, resampling=some)
    # With as many blanks as labels, each resample draws 120 rows: every label is as likely to be in it.
    assert np.nanstd(thinned) == pytest.approx(np.nanstd(whole), rel=0.15)


def test_one_seed_is_one_interval_however_large_the_blocks(monkeypatch):
    place, codes = np.arange(40), np.arange(40) % 3
    once = alphas_of_rows(place, codes, (10, 4), labels=3, resampling=Resampling(resamples=50))
    monkeypatch.setattr("quaver.agreement.stratified_alpha._ENTRIES", 100)
    again = alphas_of_rows(place, codes, (10, 4), labels=3, resampling=Resampling(resamples=50))
    assert once == pytest.approx(again, nan_ok=True)
