"""E-processes against the null that nothing ever changes."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from quaver.sequential.drift_evidence import LastingChange, Records, stake_of_start


def test_the_stakes_on_all_starts_are_at_most_the_whole() -> None:
    assert sum(stake_of_start(look) for look in range(1, 100_000)) < 1


@pytest.mark.parametrize("noise", [0.0, 0.5, 5.0])
def test_records_hardly_ever_raise_a_false_alarm(noise: float) -> None:
    """Values with no noise, with much, and rounded so that many tie: 20 prompts, 60 looks, 400 histories."""
    rng = np.random.default_rng(1)
    centre = rng.normal(size=(400, 20))
    records, most = Records(20, histories=(400,)), np.zeros(400)
    for _ in range(4):
        records.learn(range(20), np.round(centre + noise * rng.standard_normal(centre.shape), 1))
    for _ in range(60):
        values = np.round(centre + noise * rng.standard_normal(centre.shape), 1)
        most = np.maximum(most, records.look(range(20), values))
    assert (most >= 20).mean() <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_many_prompts_that_move_a_little_are_seen_at_once_after_a_long_time() -> None:
    records, values = Records(20), np.full(20, 0.3)
    for _ in range(6):
        records.learn(range(20), values)
    for _ in range(300):
        records.look(range(20), values)
    assert records.evidence < 1
    assert records.look(range(20), values + 0.0001) > 1000


def test_one_sided_records_see_no_fall() -> None:
    records = Records(20, two_sided=False)
    for _ in range(6):
        records.learn(range(20), np.ones(20))
    assert records.look(range(20), np.zeros(20)) <= 1


def test_nothing_is_bet_without_a_value() -> None:
    records = Records(2)
    records.learn([0], [0.3])
    before = records.look([0, 1], [np.nan, 0.7])
    assert before == pytest.approx(1)
    assert records.look([1], [0.7]) < 1  # it has an earlier value by now


def test_a_prompt_that_changes_for_good_is_seen_among_many() -> None:
    change = LastingChange(200)
    change.learn(range(200), np.zeros(200), np.full(200, 5))
    assert change.evidence <= 1
    for _ in range(30):
        change.answer([7], [True])
    assert change.evidence > 50
    # all bets but those of the first kind lose by construction, so this is a bound by hand
    own = float(change.of([7])[0])
    assert 0.35 * stake_of_start(1) * comb(35, 5) <= own <= comb(35, 5)
    assert float(change.of([8])[0]) <= 1


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.9])
def test_a_prompt_that_always_wavered_is_no_alarm(share: float) -> None:
    """However it is asked again after another answer: up to eight times, until the first answer returns."""
    rng = np.random.default_rng(2)
    runs = 400
    change, most = LastingChange(runs), np.zeros(runs)  # each prompt is a process of its own
    change.learn(range(runs), rng.binomial(5, share, runs), np.full(runs, 5))
    for _ in range(10):
        asked = np.arange(runs)
        for _ in range(8):
            other = rng.random(len(asked)) < share
            change.answer(asked.tolist(), other)
            most = np.maximum(most, change.of(range(runs)))
            asked = asked[other]
    assert (most >= 20).mean() <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def test_a_change_that_comes_late_is_found_with_fewer_answers() -> None:
    """The more answers a prompt has, the less others are needed: n choose k."""
    needed = []
    for earlier in (0, 10, 30):
        change = LastingChange(200)
        change.learn(range(200), np.zeros(200), np.full(200, 5))
        for _ in range(earlier):
            change.answer(range(200), np.zeros(200))
        needed.append(next(k for k in range(1, 60) if change.answer([7], [True]) >= 50))
    assert needed == sorted(needed, reverse=True)
    assert needed[0] <= 22
    assert needed[-1] <= 9
