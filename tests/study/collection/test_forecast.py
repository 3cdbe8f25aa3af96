"""What each part of a study takes, by hand."""

import math

import pytest

from quaver.collect.run.progress import Price
from quaver.study.collection.forecast import expected_cost

PRICE = Price(input=1, output=10, cached=0.1)


def test_nothing_measured_is_from_one_token_to_the_longest():
    cost = expected_cost(100, 5000, 800, PRICE, shared=2000, counted=True)
    assert cost[:2] == pytest.approx(((3000 + 200 + 1000) / 1e6, (5000 + 8000) / 1e6))
    assert cost[2] is None


def test_what_nobody_counted_is_a_quarter_off_either_way():
    cost = expected_cost(100, 4000, 100, PRICE)
    assert cost[:2] == pytest.approx(((3000 + 1000) / 1e6, (5000 + 1000) / 1e6))


def test_what_was_measured_has_an_interval_for_skewed_lengths():
    used = {
        "counted": 5,
        "prompt_tokens": 50.0,
        "prompt_squares": 500.0,
        "cached_tokens": 25.0,
        "completion_tokens": 20.0,  # 2 3 4 5 6: mean 4, variance 2
        "completion_squares": 90.0,
    }
    cost = expected_cost(100, 3000, 450, PRICE, used=used)
    read, spread = 500 + 500 * 0.1, math.log(1 + 2.5 / 4**2)
    factor = math.exp(3.7469 * math.sqrt(spread * (1 / 5 + 1 / 100) + spread**2 / 8))
    assert cost == pytest.approx(
        ((read + 4000 / factor) / 1e6, (read + 10 * 450) / 1e6, (read + 4000) / 1e6), rel=1e-4
    ), "and never more than is allowed"
