"""Error that is shared out over looks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from quaver.sequential.spent_error import (
    Look,
    share_of_look,
    tail_of_look,
)


@pytest.mark.parametrize("planned", [1, 3, 100])
def test_shares_never_exceed_the_whole(planned: int) -> None:
    assert sum(share_of_look(number, planned) for number in range(1, 20_000)) <= 1
    assert sum(share_of_look(number, planned) for number in range(1, planned + 1)) == pytest.approx(0.9)


def test_untied_looks_get_their_share() -> None:
    rng = np.random.default_rng(3)
    earlier = [Look(0.01, None), Look(0.01, rng.normal(size=10)), Look(0.01, np.zeros(200))]
    assert tail_of_look(0.002, earlier, rng.normal(size=200)) == 0.002
    assert tail_of_look(0.002, [Look(0.01, rng.normal(size=200))], np.zeros(200)) == 0.002


def test_the_more_two_looks_are_tied_the_less_the_second_costs() -> None:
    rng = np.random.default_rng(4)
    one, other = rng.normal(size=(2, 400))
    tails = [
        tail_of_look(0.001, [Look(0.01, one)], share * one + (1 - share) * other)
        for share in (0, 0.5, 0.8, 0.95, 1)
    ]
    assert tails == sorted(tails)
    assert tails[-1] == pytest.approx(0.011, rel=0.05)


def test_all_looks_together_err_as_rarely_as_they_may() -> None:
    """Twenty tied normal errors, each judged at its tail: one of them errs in at most 5% of sequences."""
    rng = np.random.default_rng(5)
    units = rng.normal(size=(20, 300)) + 1.5 * rng.normal(size=300)
    tails: list[float] = []
    for now in units:
        looks = [Look(tail, other) for tail, other in zip(tails, units[: len(tails)], strict=True)]
        tails.append(tail_of_look(0.05 / 20, looks, now, 4000))
    apart = units - units.mean(1, keepdims=True)
    apart /= np.sqrt((apart**2).sum(1, keepdims=True))
    errors = rng.standard_normal((20_000, 300)) @ apart.T
    erred = float((errors < ndtri(tails)).any(1).mean())
    assert 0.04 < erred < 0.055
    assert float((errors < ndtri(0.05 / 20)).any(1).mean()) < 0.8 * erred
