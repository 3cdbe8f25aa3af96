"""What moves the labels, by hand-worked numbers."""

from itertools import product

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


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(MeasureError, match="paraphrase"):
        label_movement(pl.DataFrame({"item": [1], "label": ["a"]}), FACTORS, labels=LABELS)


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


def test_where_nothing_can_be_said_it_is_not():
    assert deviations(answers().clear()) is None
    assert deviations(answers().drop("variant")) is None
