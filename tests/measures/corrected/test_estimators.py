"""Corrected estimates: what they cover, and what they are never wider than."""

import numpy as np
import pytest
from tests.measures.corrected.simulated_labels import labels, naive, question, simple

from quaver.estimation.regression import solved
from quaver.measures.corrected.estimators import corrected, ends, few_events, gold_alone

SHARES = (0.0, 1.0)


def hidden(rng, rare=0.004, items=2000, each=100):
    """A tenth of the items is said to have a label that half of it has; of the rest hardly any has."""
    strata = (np.arange(items) < items // 10).astype(np.int64)
    y = rng.random(items) < np.where(strata == 1, 0.5, rare)
    drawn, probability = np.zeros(items, bool), np.zeros(items)
    for stratum in (0, 1):
        inside = np.flatnonzero(strata == stratum)
        drawn[rng.choice(inside, each, replace=False)] = True
        probability[inside] = each / inside.size
    said = np.where(rng.random((items, 4)) < 0.9, strata[:, None], 1 - strata[:, None]).astype(float)
    return question(None, y, drawn, probability, strata=strata), said.mean(1), y


def test_it_covers_although_a_heavy_stratum_shows_none_of_its_labels():
    truth, covered = 0.1 * 0.5 + 0.9 * 0.004, {"alone": 0, "best": 0}
    for run in range(100):
        asked, said, _ = hidden(np.random.default_rng([1, run]))
        alone = gold_alone(asked)
        for name, made in (("alone", alone), ("best", corrected(asked, said, bounded=SHARES))):
            low, high = ends(asked, made, 0.95, SHARES)
            covered[name] += low <= truth <= high
    assert min(covered.values()) >= 93


def test_it_reaches_further_towards_what_a_stratum_hides():
    asked, _, _ = hidden(np.random.default_rng(2), rare=0.0)
    made = gold_alone(asked)
    low, high = ends(asked, made, 0.95, SHARES)
    # 0 of 100 may be up to 3.6% (Clopper & Pearson) of the nine tenths of the items.
    assert high - made.value >= 0.9 * 0.036
    assert made.value - low < 0.5 * (high - made.value)


def test_of_one_stratum_the_interval_is_as_good_as_that_of_a_simple_sample():
    rng = np.random.default_rng(3)
    y = rng.random(1000) < 0.3
    drawn, probability = np.zeros(1000, bool), np.full(1000, 0.1)
    drawn[rng.choice(1000, 100, replace=False)] = True
    simple = question(None, y, drawn, probability)
    one = question(None, y, drawn, probability, strata=np.zeros(1000, np.int64))
    widths = [np.diff(ends(asked, gold_alone(asked), 0.95, SHARES))[0] for asked in (simple, one)]
    assert abs(widths[1] / widths[0] - 1) < 0.02


def test_a_correction_narrows_it_and_never_widens_it():
    ratios = []
    for run in range(20):
        rng = np.random.default_rng([4, run])
        asked, _, y = hidden(rng, rare=0.3)
        said = np.where(rng.random(2000) < 0.95, y, ~y).astype(float)
        alone = gold_alone(asked)
        made = corrected(asked, said, bounded=SHARES)
        low, high = ends(asked, made, 0.95, SHARES)
        own = ends(asked, alone, 0.95, SHARES)
        ratios.append((high - low) / (own[1] - own[0]))
    assert max(ratios) <= 1 + 1e-9
    assert np.mean(ratios) < 0.75


def covers(asked, made, truth):
    low, high = ends(asked, made, 0.95, None)
    return low <= truth <= high


def test_a_slope_that_errors_lean_on():
    whole = np.random.default_rng(0)
    x, y, _ = labels(whole, 200_000)
    columns = np.stack([np.ones(x.size), x], 1)
    truth = solved(columns, y, np.ones(x.size))[1]
    found = {"naive": 0, "gold": 0, "corrected": 0}
    narrower, runs = [], 40
    for run in range(runs):
        rng = np.random.default_rng([7, run])
        x, y, given = labels(rng, 2000)
        asked = question(x, y, *simple(rng, 2000, 200))
        alone, together = gold_alone(asked), corrected(asked, given.mean(1))
        found["naive"] += covers(asked, naive(asked, given[:, 0]), truth)
        found["gold"] += covers(asked, alone, truth)
        found["corrected"] += covers(asked, together, truth)
        narrower.append(together.variance / alone.variance)
    assert found["naive"] < 0.3 * runs
    assert min(found["gold"], found["corrected"]) >= 0.85 * runs  # 3 standard errors below 95%
    assert np.mean(narrower) < 0.6
    assert max(narrower) <= 1.0


@pytest.mark.parametrize(("share", "gold"), [(0.03, 200), (0.1, 100)])
def test_the_share_of_a_label_with_few_gold_labels(share, gold):
    truth = labels(np.random.default_rng(0), 400_000, share)[1].mean()
    covered, widths = [], {"gold": [], "one": [], "corrected": []}
    for run in range(60):
        rng = np.random.default_rng([13, run])
        _, y, given = labels(rng, 2000, share, 0.95)
        asked = question(None, y, *simple(rng, 2000, gold))
        alone = gold_alone(asked)
        if alone.variance == 0:
            continue
        together = corrected(asked, given.mean(1), bounded=SHARES)
        low, high = ends(asked, together, 0.95, SHARES)
        covered.append(low <= truth <= high)
        for name, made in (("gold", alone), ("one", corrected(asked, given[:, -1])), ("corrected", together)):
            own = ends(asked, made, 0.95, SHARES)
            widths[name].append(own[1] - own[0])
    assert np.mean(covered) >= 0.87  # 3 standard errors below 95%
    assert np.mean(widths["corrected"]) <= np.mean(widths["one"])
    assert (np.array(widths["corrected"]) <= 1.02 * np.array(widths["gold"])).all()


def test_useless_predictions_change_next_to_nothing():
    rng = np.random.default_rng(3)
    x, y, _ = labels(rng, 2000)
    given = (rng.random((2000, 1, 8)) < 0.5).astype(float)
    asked = question(x, y, *simple(rng, 2000, 100))
    alone, together = gold_alone(asked), corrected(asked, given.mean((1, 2)))
    assert together.variance <= alone.variance
    assert abs(together.value - alone.value) < 0.5 * alone.variance**0.5


def test_labels_that_are_all_right_make_gold_alone_as_good_as_all_of_it():
    rng = np.random.default_rng(4)
    x, y, _ = labels(rng, 2000)
    asked = question(x, y, *simple(rng, 2000, 200))
    together = corrected(asked, y)
    everywhere = naive(asked, y)
    assert together.value == pytest.approx(everywhere.value, abs=0.02)
    assert together.variance < 0.25 * gold_alone(asked).variance


def test_strata_are_no_source_of_error():
    strata = np.repeat([0, 1], 500)
    y = strata.astype(float)
    drawn, probability = np.zeros(1000, bool), np.full(1000, 0.05)
    drawn[::20] = True
    made = gold_alone(question(None, y, drawn, probability, strata=strata))
    assert made.value == 0.5
    assert made.variance == pytest.approx(0.25 / 1000, rel=0.01)


def test_items_of_a_group_count_less_where_they_are_alike():
    rng = np.random.default_rng(6)
    groups = np.arange(1000) % 40
    y = (rng.random(40) < 0.5)[groups].astype(float)
    drawn, probability = simple(rng, 1000, 300)
    apart = gold_alone(question(None, y, drawn, probability))
    together = gold_alone(question(None, y, drawn, probability, clusters=groups))
    assert together.variance > 4 * apart.variance
    assert together.freedom < 40


def test_columns_that_the_gold_labels_do_not_tell_apart_have_no_estimate():
    x = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 0.5])
    y = np.array([0.0, 0.0, 1.0, 1.0, np.nan, np.nan])
    asked = question(x, y, np.isfinite(y), np.full(6, 0.5))
    assert gold_alone(asked) is None
    assert corrected(asked, np.array([0.0, 1, 1, 0, 0, 1])) is None


def test_intervals_do_not_hang_on_whether_heavy_items_were_drawn():
    x, y, _ = labels(np.random.default_rng(0), 200_000, 0.5)
    truth = solved(np.stack([np.ones(x.size), x], 1), y, np.ones(x.size))[1]
    covered, events = [], []
    for run in range(60):
        rng = np.random.default_rng([17, run])
        x, y, _ = labels(rng, 2000, 0.5)
        worth = np.where(rng.random(2000) < 0.3, 1.0, 4.0)
        probability = 200 * worth / worth.sum()
        asked = question(x, y, rng.random(2000) < probability, probability)
        alone = gold_alone(asked)
        assert few_events(asked, alone) is None
        covered.append(covers(asked, alone, truth))
        events.append((alone.events, alone.expected))
    assert np.mean(covered) >= 0.87  # 3 standard errors below 95%
    shown, expected = np.array(events).T
    assert expected.std() < 0.5 * shown.std()


def test_unequal_weights_leave_fewer_events():
    rng = np.random.default_rng(18)
    x, y, _ = labels(rng, 2000, 0.5)
    found = []
    for ratio in (1.0, 4.0, 16.0):
        worth = np.where(np.arange(2000) % 2 == 0, 1.0, ratio)
        probability = 200 * worth / worth.sum()
        found.append(gold_alone(question(x, y, rng.random(2000) < probability, probability)).expected)
    assert found[0] > 1.5 * found[1] > 2 * found[2]


def test_a_side_without_the_label_is_not_certain():
    """Of 9 gold labels on one side none is 1, of 27 on the other 9 are; by hand, with kurtosis 2."""
    side = np.repeat([1.0, 0.0, 1.0, 0.0], [9, 27, 81, 243])
    y = np.full(360, np.nan)
    y[:36] = 0.0
    y[9:18] = 1.0
    alone = gold_alone(question(side, y, np.isfinite(y), np.full(360, 0.1)))
    levers = 1 / 9 + 1 / 27
    assert alone.value == pytest.approx(-1 / 3)
    assert alone.expected == pytest.approx(levers**2 / (1 / 9**3 + 1 / 27**3) / 2)
    own = 6 / 27**2
    pooled = levers * 6 / 36 * 7 / alone.expected
    assert alone.variance == pytest.approx(own / (1 - 1 / 27) ** 2 + pooled - own)


def test_learning_from_few_heavy_items_does_no_harm():
    """Labels that say next to nothing, of items with very unequal weights: gold labels alone stand."""
    apart = []
    for run in range(40):
        rng = np.random.default_rng([19, run])
        x, y, _ = labels(rng, 1000, 0.5)
        worth = np.where(np.arange(1000) % 10 == 0, 1.0, 20.0)
        probability = 100 * worth / worth.sum()
        asked = question(x, y, rng.random(1000) < probability, probability)
        said = (rng.random((1000, 8)) < np.where(rng.random((1000, 8)) < 0.1, y[:, None], 0.5)).astype(float)
        alone, together = gold_alone(asked), corrected(asked, said.mean(1))
        apart.append(together.value != alone.value)
    assert np.mean(apart) < 0.2
