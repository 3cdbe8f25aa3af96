"""Answers unlike their item's others, by hand."""

from __future__ import annotations

import polars as pl
import pytest

from quaver.estimation.intervals import clopper_pearson
from quaver.measures.variation.deviations import deviation_shares, deviations


def answers() -> pl.DataFrame:
    """Ten items in five paraphrases; the last paraphrase has another label for the first four items."""
    rows = [
        (f"i{item}", f"w{paraphrase}", "b" if paraphrase == 4 and item < 4 else "a", "ab"[item % 2])
        for item in range(10)
        for paraphrase in range(5)
    ]
    return pl.DataFrame(rows, schema=["item", "variant", "label", "gold"], orient="row")


def test_shares_have_intervals_and_the_numbers_of_the_tables() -> None:
    found = deviations(answers())
    assert found is not None
    assert found.total == 4
    estimates = {next(iter(one.cell.items())): one for one in deviation_shares(found, resamples=200, seed=1)}
    for row in found.variants.iter_rows(named=True):
        assert estimates["variant", row["variant"]].value == row["share"]
    worst = estimates["variant", "w4"]
    assert worst.value == pytest.approx(0.4)
    assert 0 <= worst.low < 0.4 < worst.high <= 1
    assert worst.n == 10
    none = estimates["variant", "w0"]  # no answer deviates: the bound on what ten items do not show
    assert (none.low, none.high) == (0.0, clopper_pearson(0, 10).high)
    # of gold a's 5 items × 5 paraphrases, items 0 and 2 have one deviation each
    assert estimates["class", "a"].value == pytest.approx(2 / 25)
    assert estimates["of", "variant"].value == 1.0
    assert estimates["of", "item"].value == pytest.approx(2 / 4)


def test_groups_of_items_are_the_units() -> None:
    frame = answers().with_columns(author=pl.col("item").str.slice(1).cast(pl.Int64) // 2)
    found = deviations(frame, group="author")
    assert found is not None
    worst = next(one for one in deviation_shares(found) if one.cell == {"variant": "w4"})
    assert (worst.unit, worst.n) == ("author", 5)
    assert worst.value == pytest.approx(0.4)


def test_the_worst_fifths_have_intervals_and_chance_beside_them() -> None:
    found = deviations(answers())
    assert found is not None
    held = {one.cell["of"]: one for one in deviation_shares(found) if one.measure == "deviations_held"}
    assert 0 < held["item"].low < 0.5 < held["item"].high < 1
    assert held["variant"].details["even"] == pytest.approx(0.2)
    assert held["variant"].low > 0.2  # four deviations, all of one paraphrase
    assert held["variant"].details["p"] < 0.1
    spread_out = pl.DataFrame(
        [(f"i{item}", f"w{way}", "b" if way == item % 5 else "a") for item in range(25) for way in range(5)],
        schema=["item", "variant", "label"],
        orient="row",
    )
    even = deviations(spread_out)
    assert even is not None
    held = {one.cell["of"]: one for one in deviation_shares(even) if one.measure == "deviations_held"}
    assert held["variant"].value == pytest.approx(0.2) == held["variant"].low


def test_where_nothing_can_be_said_it_is_not() -> None:
    assert deviations(answers().clear()) is None
    assert deviations(answers().drop("variant")) is None
    found = deviations(answers().filter(pl.col("item") == "i9"))
    assert found is not None
    held = [one for one in deviation_shares(found) if one.measure == "deviations_held"]
    assert [one.value for one in held] == [None, None]
    assert all(one.reason for one in held)
