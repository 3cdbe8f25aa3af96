"""The interval of the true calibration error, with items and groups whose answers are alike."""

import numpy as np
import polars as pl
import pytest

from quaver.estimation.jackknife import Units
from quaver.estimation.measure_input import Graded
from quaver.measures import brier, ece, ece_shift, verbal_calibration
from quaver.measures.calibration.calibration_error import GapNoise


def said(confidence, right, units=None, item=None):
    item = np.arange(len(confidence)) if item is None else item
    graded = Graded(
        item, np.zeros_like(item), np.asarray(confidence), np.asarray(right, float), item.max() + 1, {}, None
    )
    return GapNoise(graded, 10, units or Units(graded.items))


def frame_of(confidence, right, **more):
    columns = {"item": np.arange(len(right)), "gold": ["a"] * len(right), **more}
    return pl.DataFrame({**columns, "label": np.where(right, "a", "b"), "confidence": confidence})


def test_independent_answers_have_the_binomial_variance_of_their_share():
    noise = said([0.75] * 40, [1, 0] * 20)
    for share in (0.5, 0.75):
        spread = noise.deviations(np.array([share]), 20_000, 1).std()
        assert spread == pytest.approx(np.sqrt(share * (1 - share) / 40), rel=0.02)
    edge = noise.deviations(np.array([1.0]), 20_000, 1).std()
    assert edge == pytest.approx(np.sqrt(0.5 / 41 * 40.5 / 41 / 40), rel=0.02)


def test_a_bin_without_a_wrong_answer_is_not_certain():
    found = ece(frame_of([0.95] * 30, np.ones(30, bool)))[0]
    assert found.value == pytest.approx(0.05)
    assert found.low == 0
    assert found.high > found.value


@pytest.mark.parametrize(("copies", "rho"), [(True, 1.0), (False, 0.0)])
def test_the_correlation_within_a_unit_is_found(copies, rho):
    rng = np.random.default_rng(0)
    right = np.repeat(rng.random(200) < 0.7, 5) if copies else rng.random(1000) < 0.7
    noise = said(rng.choice([0.6, 0.7, 0.8], 1000), right, item=np.repeat(np.arange(200), 5))
    assert noise.rho == pytest.approx(rho, abs=0.05)
    assert noise.units == 200


def test_a_group_counts_as_its_items_do_together():
    rng = np.random.default_rng(1)
    right, sure = np.repeat(rng.random(30) < 0.6, 10), rng.choice([0.75, 0.85], 300)
    alone, grouped = (
        ece(frame_of(sure, right, town=np.repeat(np.arange(30), 10)), group=group)[0]
        for group in (None, "town")
    )
    assert grouped.value == alone.value
    assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)
    assert grouped.details["floor"] > 2 * alone.details["floor"]
    assert grouped.unit == "town"
    assert all(row["right_low"] < row["right"] < row["right_high"] for row in grouped.details["curve"])
    wide = [row["right_high"] - row["right_low"] for row in grouped.details["curve"]]
    slim = [row["right_high"] - row["right_low"] for row in alone.details["curve"]]
    assert min(np.divide(wide, slim)) > 1.5


def test_few_units_are_said_and_too_few_have_no_interval():
    some = ece(frame_of([0.75] * 10, [True] * 5 + [False] * 5))[0]
    assert any("10 items" in text for text in some.warnings)
    assert any("one bin" in text for text in some.warnings)
    assert some.low is not None
    few = ece(frame_of([0.75] * 4, [True] * 2 + [False] * 2))[0]
    assert (few.value, few.low, few.high) == (0.25, None, None)
    assert any("too few for an interval" in text for text in few.warnings)


def test_the_interval_leaves_0_where_perfect_calibration_is_rejected():
    rng = np.random.default_rng(2)
    for shift in np.linspace(0, 0.3, 12):
        sure = rng.choice([0.65, 0.75, 0.85, 0.95], 100)
        one = ece(frame_of(sure, rng.random(100) < sure - shift), resamples=400)[0]
        assert not (one.low > 0 and one.details["p"] > 0.05)
        assert 0 <= one.low <= one.value <= one.high <= 1


def test_it_covers_and_perfect_calibration_is_rejected_as_rarely_as_it_says():
    covered, rejected = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sure, item = rng.choice([0.6, 0.8], (30, 3)).ravel(), np.repeat(np.arange(30), 3)
        at = np.repeat(rng.random(30), 3)
        over = {"item": item, "repeat": np.tile(np.arange(3), 30)}
        one = ece(frame_of(sure, at < sure - 0.2, **over), resamples=200)[0]
        covered.append(one.low <= 0.2 <= one.high)
        rejected.append(ece(frame_of(sure, at < sure, **over), resamples=200)[0].details["p"] <= 0.05)
    assert sum(covered) >= 53
    assert sum(rejected) <= 8


def test_without_resamples_there_is_no_interval_and_nothing_is_drawn():
    found = ece(frame_of([0.75] * 20, [True] * 10 + [False] * 10), resamples=0)[0]
    assert (found.value, found.low) == (0.25, None)
    assert "floor" not in found.details


def stated(seed, shift=0.0, n=100):
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.5, 1, n)
    sure = np.clip(np.round(chance * 10) / 10 + shift, 0, 1)
    return frame_of(sure, rng.random(n) < chance, token=chance)


def test_stated_confidence_that_is_calibrated_reaches_0_and_says_so():
    found = [
        next(e for e in verbal_calibration(stated(seed), resamples=200) if e.measure.endswith("_ece"))
        for seed in range(40)
    ]
    assert sum(one.low == 0 for one in found) >= 36
    assert sum(one.details["p"] > 0.05 for one in found) >= 36
    assert all(one.warnings for one in found if one.value <= one.details["floor_high"])
    assert all(one.value <= one.high for one in found)


def test_the_interval_of_a_difference_of_errors_allows_for_what_chance_adds_to_the_one_with_more_bins():
    gaps = []
    for seed in range(30):
        frame = stated(seed, shift=0.2)
        gaps += [e for e in verbal_calibration(frame, resamples=200) if e.measure.endswith("_ece_gap")]
    # said 0.7 in a tenth, 0.8 and 0.9 in a fifth each, and 1 in half: 0.91 on average, right 0.75
    truth = 0.16
    assert np.mean([one.value for one in gaps]) < truth - 0.02
    assert sum(one.low <= truth <= one.high for one in gaps) >= 28


@pytest.mark.parametrize(("mass", "reaches"), [(0.99, True), (0.5, False)])
def test_a_shift_of_errors_has_the_interval_of_the_true_shift(mass, reaches):
    rng = np.random.default_rng(5)
    chance = rng.uniform(0.5, 1, (100, 2))
    frame = frame_of(
        chance.ravel(),
        (rng.random((100, 2)) < chance).ravel(),
        item=np.repeat(np.arange(100), 2),
        variant=np.tile(["p", "q"], 100),
        mass_coverage=np.full(200, mass),
    )
    found = ece_shift(frame, resamples=300)[0]
    assert (found.low == 0) == reaches
    if not reaches:  # normalised confidence is perfect, and raw confidence half of it: 0.375 too low
        assert found.value < 0.375 < found.high


def test_a_few_items_with_all_the_errors_are_said():
    right = np.repeat([False, True], [12, 188]).reshape(20, 10)
    frame = frame_of(
        np.full(200, 0.95),
        right.ravel(),
        item=np.repeat(np.arange(20), 10),
        repeat=np.tile(np.arange(10), 20),
    )
    for measure, like in ((ece, "1 item "), (brier, "2 items ")):
        assert any(f"come from about {like}" in text for text in measure(frame)[0].warnings)
