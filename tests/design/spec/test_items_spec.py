"""Conditions on rows: which cells meet them."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from quaver.design.spec.items_spec import Condition


@pytest.mark.parametrize(
    ("condition", "met", "unmet"),
    [
        ("en", ["en"], ["EN", "de", "", "en-GB"]),
        (["en", "de"], ["en", "de"], ["fr", ""]),
        (7, ["7", "7.0", "07"], ["8", "seven", ""]),
        ("7", ["7"], ["7.0", "07"]),
        (True, ["true", "TRUE", "True"], ["false", "1", ""]),
        (None, [""], ["x"]),
        ([None, "x"], ["", "x"], ["y"]),
        ("caf\u00e9", ["caf\u00e9", "cafe\u0301"], ["cafe"]),
        (date(2024, 1, 31), ["2024-01-31"], ["2024-02-01"]),
        ({"none_of": ["x", "y"]}, ["z", ""], ["x", "y"]),
        ({"none_of": "x"}, ["z"], ["x"]),
        ({"at_least": 2020}, ["2020", "2020.0", "1e4"], ["2019", ""]),
        ({"at_least": 1, "at_most": 2}, ["1", "1.5", "2"], ["0.9", "3", "nan", ""]),
        (
            {"at_least": "2024-01-31", "at_most": date(2024, 2, 1)},
            ["2024-01-31", "2024-02-01"],
            ["2024-02-02"],
        ),
        ({"contains": "TAX"}, ["my taxes"], ["text", ""]),
        ({"empty": False}, ["x", "0"], [""]),
        ({"empty": True}, [""], ["x"]),
        ({"one_of": ["a", "b"], "none_of": ["b"]}, ["a"], ["b"]),
    ],
)
def test_a_cell_meets_a_condition(condition, met, unmet):
    one = Condition.model_validate(condition)
    assert [text for text in (*met, *unmet) if one.met(text)] == met
    again = Condition.model_validate(one.model_dump(mode="json"))  # as a lock keeps it
    assert [text for text in (*met, *unmet) if again.met(text)] == met


@pytest.mark.parametrize(
    "condition", [{}, [], {"at_lest": 3}, {"at_least": [1]}, [["a"]], {"empty": "perhaps"}]
)
def test_what_is_no_condition(condition):
    with pytest.raises(ValidationError):
        Condition.model_validate(condition)


def test_a_limit_that_is_a_number_needs_numbers():
    with pytest.raises(ValueError, match="many"):
        Condition(at_least=3).met("many")


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_limits_order_numbers(cell, limit):
    text = repr(cell)
    assert Condition(at_least=limit).met(text) is (cell >= limit)
    assert Condition(at_most=limit).met(text) is (cell <= limit)
