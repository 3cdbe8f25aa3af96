"""What moves the labels, by hand-worked numbers."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from quaver.core.records import Label, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.intervals import clopper_pearson
from quaver.measures.variation.label_movement import deviation_shares, deviations, label_movement

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


def answers():
    """Ten items in five paraphrases; the last paraphrase has another label for the first four items."""
    rows = [
        (f"i{item}", f"w{paraphrase}", "b" if paraphrase == 4 and item < 4 else "a", "ab"[item % 2])
        for item in range(10)
        for paraphrase in range(5)
    ]
    return pl.DataFrame(rows, schema=["item", "variant", "label", "gold"], orient="row")


def test_shares_have_intervals_and_the_numbers_of_the_tables():
    found = deviations(answers())
    assert found.total == 4
    estimates = {next(iter(one.cell.items())): one for one in deviation_shares(found)}
    assert [estimates["variant", f"w{way}"].value for way in range(4)] == [0.0] * 4
    worst = estimates["variant", "w4"]
    assert worst.value == pytest.approx(0.4)
    assert 0 <= worst.low < 0.4 < worst.high <= 1
    assert worst.n == 10
    none = estimates["variant", "w0"]  # no answer deviates: the bound on what ten items do not show
    assert (none.low, none.high) == (0.0, clopper_pearson(0, 10).high)
    # of gold a's 5 items × 5 paraphrases, items 0 and 2 have one deviation each
    assert estimates["class", "a"].value == pytest.approx(2 / 25)


def test_groups_of_items_are_the_units():
    frame = answers().with_columns(author=pl.col("item").str.slice(1).cast(pl.Int64) // 2)
    found = deviations(frame, group="author")
    assert found is not None
    worst = next(one for one in deviation_shares(found) if one.cell == {"variant": "w4"})
    assert (worst.unit, worst.n) == ("author", 5)
    assert worst.value == pytest.approx(0.4)


def test_where_nothing_can_be_said_it_is_not():
    assert deviations(answers().clear()) is None
    assert deviations(answers().drop("variant")) is None
