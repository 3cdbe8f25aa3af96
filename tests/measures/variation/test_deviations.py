"""Answers unlike their item's others, by hand."""

import polars as pl
import pytest

from quaver.estimation.intervals import clopper_pearson
from quaver.measures.variation.label_movement import deviation_shares, deviations


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
