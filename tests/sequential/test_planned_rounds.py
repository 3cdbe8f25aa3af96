"""Levels of rounds that hold together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from quaver.sequential.planned_rounds import round_sizes, tails_of_rounds


def test_a_single_round_is_an_ordinary_interval() -> None:
    assert tails_of_rounds([70], 0.05) == [pytest.approx(0.025)]


@pytest.mark.parametrize("sizes", [[50, 100, 200, 400, 800], [50, 60, 800], [10, 20, 30, 40, 50, 60]])
def test_all_rounds_together_miss_as_often_as_one_interval(sizes: list[int]) -> None:
    limits = ndtri(tails_of_rounds(sizes, 0.05))
    steps = np.random.default_rng(1).standard_normal((40_000, len(sizes))) * np.diff([0, *sizes]) ** 0.5
    scores = steps.cumsum(1) / np.sqrt(sizes)
    assert np.mean((scores < limits).any(1)) == pytest.approx(0.025, abs=0.003)
    assert np.mean((abs(scores) > -limits).any(1)) == pytest.approx(0.05, abs=0.004)


@given(st.integers(2, 200), st.integers(2, 5000), st.floats(1.1, 10))
def test_rounds_grow_to_the_whole(first: int, whole: int, growth: float) -> None:
    sizes = round_sizes(first, whole, growth)
    assert (sizes[0], sizes[-1]) == (min(first, whole), whole)
    assert all(one < other <= max(one + 1, round(growth * one)) for one, other in pairwise(sizes))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.sampled_from([0.01, 0.05, 0.2]))
def test_no_round_spends_less_than_its_share_nor_more_than_all(more: list[int], error: float) -> None:
    sizes = np.cumsum(more).tolist()
    tails = tails_of_rounds(sizes, error)
    for tail, step in zip(tails, more, strict=True):
        assert error / 2 * step / sizes[-1] * (1 - 1e-6) <= tail <= error / 2 * (1 + 1e-6)
