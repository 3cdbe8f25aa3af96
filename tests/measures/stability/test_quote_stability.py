"""Measures of quotes, with numbers worked by hand."""

import polars as pl
import pytest
from tests.agreement.test_unitizing import by_definition

from quaver.measures import other_reason, quote_alpha, quote_found, quote_match

QUOTES = [
    # item, variant, repeat, label, start, end
    ("a", "v", 0, "x", 0, 10),
    ("a", "v", 1, "x", 0, 10),
    ("a", "w", 0, "x", 30, 40),
    ("a", "w", 1, "y", 32, 40),
    ("b", "v", 0, "x", 5, 9),
    ("b", "v", 1, "x", None, None),
    ("b", "w", 0, "x", 4, 9),
    ("b", "w", 1, None, 4, 9),
]
COLUMNS = ("item", "variant", "repeat", "label", "quote_start", "quote_end")


def _frame(rows=QUOTES):
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    score = pl.when(pl.col("quote_start").is_not_null()).then(1.0)
    return frame.with_columns(model=pl.lit("m"), text_length=pl.lit(50), quote_score=score)


def test_of_the_labels_so_many_have_a_quote_in_the_text():
    assert quote_found(_frame())[0].value == pytest.approx(6 / 7)  # without a label, no quote counts
    by = {one.cell["variant"]: one.value for one in quote_found(_frame(), by=["variant"])}
    assert by == {"v": pytest.approx(3 / 4), "w": 1.0}


def test_of_pairs_with_the_same_label_so_many_have_other_words():
    (found,) = other_reason(_frame())
    assert found.details["pairs"] == 4  # three of a, one of b
    assert found.value == pytest.approx(2 / 4)


def test_alpha_is_that_of_the_texts_together():
    (found,) = quote_alpha(_frame())
    a = by_definition([[(0, 10)], [(0, 10)], [(30, 40)], [(32, 40)]], 50)
    b = by_definition([[(5, 9)], [(4, 9)]], 50)
    assert found.value == pytest.approx(float(1 - (a[0] + b[0]) / (a[1] + b[1])), abs=1e-12)
    again = {one.cell["variant"]: one.value for one in quote_alpha(_frame(), by=["variant"])}
    assert again["v"] == pytest.approx(1.0)


def test_what_people_marked_is_counted_in_characters():
    # Item 1: 10 characters marked, 20 quoted, 5 both; item 2: 4 marked, none quoted; item 3: none marked.
    frame = {
        "item": [1, 2, 3, 1], "repeat": [0, 0, 0, 1], "label": ["a", "b", "a", None],
        "quote_start": [5, None, 0, 0], "quote_end": [25, None, 9, 10],
        "marked_start": [0, 2, None, 0], "marked_end": [10, 6, None, 10],
    }  # fmt: skip
    assert [one.value for one in quote_match(frame)] == pytest.approx([5 / 20, 5 / 14, 2 * 5 / 34])


@pytest.mark.parametrize("measured", [quote_found, quote_alpha, other_reason])
def test_without_quotes_there_is_a_reason_and_no_number(measured):
    (found,) = measured(_frame().drop("quote_start", "quote_end", "quote_score", "text_length"))
    assert found.value is None
    assert "quote" in found.reason
