"""A value and the ends of its interval are printed with equally many decimals, and no more than are known."""

import re
from itertools import combinations_with_replacement

import pytest

from quaver.core.number_format import percent, rounded, with_interval
from quaver.core.records import Estimate

SHARES = (0.0, 2e-9, 0.0004, 0.0012, 0.004, 0.02, 0.384, 0.5, 0.93, 0.9751, 0.997, 0.99996, 0.9999998, 1.0)
NUMBERS = (-1.0, -0.31, -0.0004, 0.0, 2e-16, 0.0012, 0.02, 0.5, 0.973, 4.0, 12.0, 12.34, 97.5)


def decimals(text):
    return {len(digits) for digits in re.findall(r"\d+(?:\.(\d+))?", text)}


@pytest.mark.parametrize(
    ("written", "ends", "most"), [(percent, SHARES, 2), (rounded, NUMBERS, 5)], ids=["shares", "numbers"]
)
def test_a_value_has_as_many_decimals_as_the_ends_of_its_interval(written, ends, most):
    for low, value, high in combinations_with_replacement(ends, 3):
        text = with_interval(Estimate("accuracy", value, low, high), written)
        assert len(decimals(text)) == 1, text
        assert max(decimals(text)) <= most, text
        assert not re.search(r"−0(\.0+)?(?![\d.])", text), text


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        ((0.97, 0.93, 0.98), "97% [93% to 98%]"),
        ((0.02, 0.006, 0.09), "2% [1% to 9%]"),
        ((0.02, 0.005, 0.09), "2.0% [0.5% to 9.0%]"),
        ((0.0, 0.0, 2e-9), "0.00% [0.00% to <0.01%]"),
        ((0.97, 0.44, 0.9999998), "97.0% [44.0% to >99.9%]"),
        ((0.0, 0.0, 0.07), "0% [0% to 7%]"),
    ],
)
def test_ends_near_nothing_and_all_have_no_digits_that_nobody_knows(estimate, shown):
    assert with_interval(Estimate("accuracy", *estimate)) == shown
