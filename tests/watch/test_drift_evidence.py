"""E-processes against the null that nothing ever changes, with one bet a look."""

from itertools import product
from math import comb

import numpy as np
import pytest

from quaver.watch.drift import SHARES
from quaver.watch.drift_evidence import (
    LastingChange,
    Moved,
    lasting_difference,
    stake_of_start,
    stake_of_swift,
)

PARTS = [list(range(start, start + 10)) for start in (0, 10, 20, 30)]


def test_the_stakes_on_all_starts_are_at_most_the_whole():
    assert sum(stake_of_start(look) for look in range(1, 100_000)) < 1
    for first in (0, 1, 5, 12, 40):
        stakes = sum(stake_of_swift(known, first) for known in range(first, 20_000))
        assert 1 - 1e-4 < stakes < 1 + 1e-12


def after(earlier, values):
    change = LastingChange()
    for _ in range(earlier):
        change.learn(0.0)
    for value in values:
        change.look(value)
    return change


def test_a_value_that_is_larger_for_good_is_seen():
    # all bets but those of the first kind lose by construction, so this is a bound by hand
    evidence = after(5, [1.0] * 30).evidence
    assert 0.225 * stake_of_start(1) * comb(35, 5) <= evidence <= comb(35, 5)


def test_values_that_fall_or_are_absent_are_no_evidence():
    assert after(5, [-1.0] * 30).evidence < 1
    assert after(5, [float("nan")] * 30).evidence == 1


def test_the_smallest_value_so_far_begins_no_bet():
    """All values are as large as it, so that a change before it is already refuted."""
    change = after(5, [-1.0])
    assert change.evidence == pytest.approx(1 - 0.3 * stake_of_start(1) - 0.7 * stake_of_swift(5, 5))


def test_a_change_that_comes_late_is_found_with_fewer_values():
    """The more values there are, the less larger ones are needed: n choose k."""
    needed = []
    for earlier in (0, 10, 30):
        change = after(5, [0.0] * earlier)
        needed.append(next(k for k in range(1, 60) if change.look(1.0) >= 10_000))
    assert needed == sorted(needed, reverse=True)
    assert needed[0] <= 23
    assert needed[-1] <= 9


@pytest.mark.parametrize("share", [shares["answers"] for shares in SHARES.values()])
def test_after_eleven_steady_looks_three_that_are_beyond_them_all_raise_the_alarm(share):
    """Five values of the first occasion and eleven looks: 19 choose 3 are 969 orders."""
    for looks in (11, 12, 30, 100, 365):
        change = after(5, [0.0] * looks)
        evidence = [change.look(value) for value in (0.25, 0.1, 0.4)]
        assert evidence[2] >= 1 / (0.05 * share) > evidence[1]


def test_steady_looks_that_may_change_at_any_time_are_seldom_an_alarm():
    """Values that all differ: the order alone counts, and and any three in a row might be larger."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(300):
        change = LastingChange()
        for value in rng.random(5):
            change.learn(float(value))
        alarms += any(change.look(float(value)) >= 50 for value in rng.random(100))
    assert alarms <= 300 * 0.02 + 2 * (300 * 0.02 * 0.98) ** 0.5


@pytest.mark.long
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.9])
def test_what_always_wavered_is_no_alarm(share):
    rng = np.random.default_rng(2)
    reached = 0
    for _ in range(400):
        change = LastingChange()
        for value in rng.random(5) < share:
            change.learn(float(value))
        reached += any(change.look(float(value)) >= 20 for value in rng.random(60) < share)
    assert reached / 400 <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_a_small_lasting_change_is_found_though_not_every_look_shows_it():
    rng = np.random.default_rng(4)
    change = LastingChange()
    for value in rng.binomial(20, 0.3, 105):
        change.look(float(value))
    assert change.evidence < 20
    assert max(change.look(float(value)) for value in rng.binomial(20, 0.45, 60)) > 1000


def test_an_answer_that_differs_once_after_five_that_did_not():
    """By hand: five noughts have a Jeffreys likelihood of 63/256, and with the one 63/256/12."""
    stake = stake_of_start(1)
    changed = stake * (1 / 2 + 63 / 512) * (1 / 2 + 1 / 4)
    same = (1 - stake) * 63 / 512 / 12
    best = (1 / 6) * (5 / 6) ** 5
    assert lasting_difference([False] * 5 + [True], 5) == pytest.approx((changed + same) / best)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.3, 0.5, 0.9, 1.0])
def test_its_mean_over_all_answers_of_one_share_is_at_most_one(share):
    mean = 0.0
    for differs in product([False, True], repeat=10):
        ones = sum(differs)
        mean += share**ones * (1 - share) ** (10 - ones) * lasting_difference(differs, 4)
    assert mean <= 1


def test_a_replica_that_serves_whole_looks_is_no_alarm_over_all_of_its_prompts():
    """Ten prompts of forty differ together in three looks of ten; their mean seldom reaches 20."""
    rng = np.random.default_rng(5)
    reached = 0
    for _ in range(100):
        first = rng.random((5, 10)) < 0.3
        served = rng.random(60) < 0.3
        prompts = [[*first[:, at].tolist(), *served.tolist()] for at in range(10)]
        reached += any(
            sum(lasting_difference(one[: 5 + look], 5) for one in prompts) / 40 >= 20
            for look in range(5, 61, 5)
        )
    assert reached / 100 <= 0.05


def most_of(shift, scale, *, rounded=9, looks=60):
    """How often looks that share a shift and, every other one, a scale reach 20: 100 histories."""
    rng = np.random.default_rng(1)
    reached = 0
    for _ in range(100):
        centre = rng.normal(size=40)
        moved = Moved(
            np.round(centre + shift * rng.standard_normal() + rng.standard_normal((6, 40)), rounded), PARTS
        )
        for at in range(looks):
            prompts = PARTS[at % 4]
            own = (scale if at % 2 else 1.0) * rng.standard_normal(10)
            values = np.round(centre[prompts] + shift * rng.standard_normal() + own, rounded)
            if moved.look(prompts, values) >= 20:
                reached += 1
                break
    return reached / 100


@pytest.mark.long
@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (1 / 3, 1.0), (5.0, 1.0), (0.0, 1.3), (1.0, 2.0)])
def test_what_is_common_to_a_look_raises_no_alarm(shift, scale):
    assert most_of(shift, scale) <= 0.05 + 2 * (0.05 * 0.95 / 100) ** 0.5


def test_values_that_tie_raise_no_alarm():
    assert most_of(0.0, 1.0, rounded=0) <= 0.05


def test_prompts_that_move_apart_are_seen():
    rng = np.random.default_rng(3)
    centre = rng.normal(size=40)
    moved = Moved(centre + rng.standard_normal((6, 40)), PARTS)
    for at in range(30):
        prompts = PARTS[at % 4]
        moved.look(prompts, centre[prompts] + rng.standard_normal() + rng.standard_normal(10))
    centre += 5 * rng.standard_normal(40)
    found = [moved.look(PARTS[at % 4], centre[PARTS[at % 4]]) >= 20 for at in range(8)]
    assert not found[0]  # a look takes one bet, and one value among 37 is no more than that
    assert any(found)


def test_a_share_that_rises_has_one_side():
    first = np.zeros((6, 40))
    first[:, :20] = 1.0
    rises = Moved(first, PARTS, centred=False)
    for at in range(20):
        rises.look(PARTS[at % 2], np.zeros(10))
    assert rises.evidence < 1
    for at in range(8):
        rises.look(PARTS[2 + at % 2], np.ones(10))
    assert rises.evidence > 20


def test_prompts_without_values_are_left_out():
    first = np.full((6, 40), np.nan)
    moved = Moved(first, PARTS)
    assert moved.look(PARTS[0], np.zeros(10)) == 1
    first[:, 0] = 0.5
    moved = Moved(first, PARTS)
    values = np.full(10, np.nan)
    values[0] = 0.5
    assert moved.look(PARTS[0], values) <= 1
