"""What moves the labels, by hand-worked numbers."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from quaver.core.records import Label, LabelSet
from quaver.errors import MeasureError
from quaver.measures.variation.label_movement import label_movement

LABELS = LabelSet((Label("a", "Alpha"), Label("b", "Beta")))
FACTORS = {"paraphrase": ("plain", "polite"), "format": ("names", "letters")}


@pytest.fixture(scope="module")
def found():
    """Names gives b always, letters a always, and one answer has no label."""
    rows = [
        (f"{item}", paraphrase, layout, "b" if layout == "names" else "a", "ab"[item % 2])
        for item, paraphrase, layout, _ in product(range(8), *FACTORS.values(), range(2))
    ]
    rows[0] = ("0", "plain", "names", None, "a")
    frame = pl.DataFrame(rows, schema=["item", "paraphrase", "format", "label", "gold"], orient="row")
    return label_movement(frame, FACTORS, labels=LABELS, seed=7)


def by_cell(found, measure):
    return {tuple(e.cell.values()): e for e in found if e.measure == measure}


def test_shares_by_level(found):
    # names: 8 items × 2 paraphrases × 2 repeats = 32 answers, one of them without a label
    shares = by_cell(found, "level_shares")
    assert shares["format", "names", "b"].value == pytest.approx(31 / 32)
    assert shares["format", "names", "no label"].value == pytest.approx(1 / 32)
    assert shares["format", "letters", "a"].value == 1.0
    # item 0 (gold a) has 8 answers, one without a label: of gold a's 32 answers 15 are b
    assert shares["gold", "a", "b"].value == pytest.approx(15 / 32)
    assert shares["gold", "b", "b"].value == pytest.approx(16 / 32)


def test_the_range_is_that_of_the_label_that_moves_most(found):
    ranges = by_cell(found, "label_range")
    assert ranges["format", "a"].value == 1.0
    assert ranges["paraphrase", "b"].value == pytest.approx(1 / 32)


def test_intervals_hold_the_value_and_never_have_no_width(found):
    for estimate in found:
        if estimate.low is not None:
            assert estimate.low <= estimate.value <= estimate.high
            assert estimate.low < estimate.high
        else:
            assert any("no unit makes a difference" in warning for warning in estimate.warnings)


def repeated(seed, moves, groups=0):
    """Sixty items in two formats; names turns some a into b, and the members of a group go together."""
    rng = np.random.default_rng(seed)
    units = groups or 60
    truth = rng.random(units) < 0.5
    again = rng.random((units, 2)) < 0.4
    label = np.where(again, rng.random((units, 2)) < 0.5, truth[:, None])
    label[:, 0] |= rng.random(units) < moves
    label = np.repeat(label, 60 // units, axis=0)
    item, level = np.indices(label.shape)
    return pl.DataFrame(
        {
            "item": item.ravel(),
            "format": np.array(["names", "letters"])[level.ravel()],
            "author": item.ravel() // (60 // units),
            "label": np.array(["a", "b"])[label.ravel().astype(int)],
        }
    )


def measured(frame, measure, group=None):
    found = label_movement(frame, {"format": FACTORS["format"]}, labels=LABELS, group=group, seed=1)
    return next(one for one in found if one.measure == measure and one.cell["factor"] == "format")


def test_where_nothing_moves_the_range_reaches_nothing():
    ranges = [measured(repeated(seed, 0.0), "label_range") for seed in range(40)]
    assert np.mean([one.low == 0 for one in ranges]) >= 0.85
    assert np.mean([one.details["p"] <= 0.05 for one in ranges]) <= 0.15
    moved = measured(repeated(0, 0.6), "label_range")
    assert moved.low > 0
    assert moved.details["p"] < 0.01


def test_items_of_a_group_are_not_so_many_items():
    frame = repeated(3, 0.3, groups=10)
    alone, together = measured(frame, "label_range"), measured(frame, "label_range", "author")
    assert (alone.unit, together.unit) == ("item", "author")
    assert together.details["p"] > alone.details["p"]
    assert together.high - together.low > alone.high - alone.low
    assert together.value == alone.value


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(MeasureError, match="paraphrase"):
        label_movement(pl.DataFrame({"item": [1], "label": ["a"]}), FACTORS, labels=LABELS)


def test_levels_that_no_annotation_has_are_undefined():
    rows = [(f"{item}", "other", "ab"[item % 2]) for item in range(6)]
    frame = pl.DataFrame(rows, schema=["item", "paraphrase", "label"], orient="row")
    found = label_movement(frame, {"paraphrase": FACTORS["paraphrase"]}, labels=LABELS, seed=7)
    assert {e.value for e in found if e.measure == "level_shares"} == {None}
