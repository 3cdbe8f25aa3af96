"""How a token is chosen, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.core.records import Decoding
from quaver.models.local.checkpoint import choose, likeliest, log_probabilities

# Probabilities 0.1, 0.4, 0.3, 0.2.
LOGITS = np.log([0.1, 0.4, 0.3, 0.2])


def share(token: int, **decoding: float) -> float:
    """How often a token is taken, over an even grid of draws."""
    made = Decoding("d", **{"temperature": 1.0, **decoding})  # type: ignore[arg-type]
    draws = (np.arange(1000) + 0.5) / 1000
    return float(np.mean([choose(LOGITS, made, draw) == token for draw in draws]))


def shares(**decoding: float) -> list[float]:
    return [share(token, **decoding) for token in range(4)]


def test_tokens_are_drawn_by_their_probability() -> None:
    assert shares() == pytest.approx([0.1, 0.4, 0.3, 0.2], abs=0.001)


def test_temperature_sharpens_and_flattens() -> None:
    # Squares 1, 16, 9, 4 of 30 at temperature 0.5.
    assert shares(temperature=0.5) == pytest.approx([1 / 30, 16 / 30, 9 / 30, 4 / 30], abs=0.001)
    assert share(1, temperature=0) == 1


def test_top_k_keeps_so_many() -> None:
    assert shares(top_k=2) == pytest.approx([0, 4 / 7, 3 / 7, 0], abs=0.001)


def test_top_p_keeps_up_to_the_token_that_reaches_it() -> None:
    assert shares(top_p=0.5) == pytest.approx([0, 4 / 7, 3 / 7, 0], abs=0.001)
    assert shares(top_p=0.39) == [0, 1, 0, 0]


def test_top_p_counts_what_top_k_left() -> None:
    # Of 4/9, 3/9, 2/9 the first two are 7/9.
    assert shares(top_k=3, top_p=0.77) == pytest.approx([0, 4 / 7, 3 / 7, 0], abs=0.001)


def test_min_p_drops_what_is_much_less_likely_than_the_likeliest() -> None:
    assert shares(min_p=0.6) == pytest.approx([0, 4 / 7, 3 / 7, 0], abs=0.001)


def test_cuts_come_before_temperature() -> None:
    assert share(0, top_k=2, temperature=100.0) == 0
    assert share(1, top_k=2, temperature=100.0) == pytest.approx(0.5, abs=0.01)


def test_a_penalty_makes_what_was_seen_less_likely_on_either_side_of_zero() -> None:
    greedy = Decoding("d", repeat_penalty=2.0)
    assert choose(np.array([1.0, 1.5]), greedy, 0.0, seen=[1, 1]) == 0
    assert choose(np.array([-1.5, -1.0]), greedy, 0.0, seen=[1]) == 0
    assert choose(np.array([1.0, 1.5]), greedy, 0.0) == 1


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=30), st.floats(0, 1), st.floats(0.05, 5))
def test_a_token_that_a_cut_leaves_is_always_there(
    logits: list[float], draw: float, temperature: float
) -> None:
    for cut in ({"top_p": 0.01}, {"min_p": 1.0}, {"top_k": 1}, {}):
        token = choose(np.array(logits), Decoding("d", temperature=temperature, **cut), draw)  # type: ignore[arg-type]
        assert 0 <= token < len(logits)
        if cut:
            assert logits[token] == pytest.approx(max(logits))


def test_log_probabilities_sum_to_one_in_every_row() -> None:
    found = log_probabilities(np.array([[1000.0, 1001.0], [-5.0, 3.0]], dtype=np.float32))
    assert np.exp(found).sum(axis=1) == pytest.approx([1, 1])


def test_the_likeliest_are_in_order() -> None:
    assert likeliest(LOGITS, 2) == [1, 2]
    assert likeliest(LOGITS, 9) == [1, 2, 3, 0]
