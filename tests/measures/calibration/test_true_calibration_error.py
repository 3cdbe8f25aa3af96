"""The interval of the true calibration error, with items and groups whose answers are alike."""

import numpy as np
import polars as pl
import pytest

from quaver.measures import brier, ece, ece_shift, verbal_calibration


def frame_of(confidence, right, **more):
    columns = {"item": np.arange(len(right)), "gold": ["a"] * len(right), **more}
    return pl.DataFrame({**columns, "label": np.where(right, "a", "b"), "confidence": confidence})


def test_a_bin_without_a_wrong_answer_is_not_certain():
    found = ece(frame_of([0.95] * 30, np.ones(30, bool)))[0]
    assert found.value == pytest.approx(0.05)
    assert found.low == 0
    assert found.high > found.value


def test_few_units_are_said_and_too_few_have_no_interval():
    some = ece(frame_of([0.75] * 10, [True] * 5 + [False] * 5))[0]
    assert any("10 items" in text for text in some.warnings)
    assert any("one bin" in text for text in some.warnings)
    assert some.low is not None
    few = ece(frame_of([0.75] * 4, [True] * 2 + [False] * 2))[0]
    assert (few.value, few.low, few.high) == (0.25, None, None)
    assert any("too few for an interval" in text for text in few.warnings)


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


def stated(seed, shift=0.0, n=100):
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.5, 1, n)
    sure = np.clip(np.round(chance * 10) / 10 + shift, 0, 1)
    return frame_of(sure, rng.random(n) < chance, token=chance)


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
