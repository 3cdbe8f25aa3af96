"""Corrected estimates: what they cover, and what they are never wider than."""

import numpy as np
import pytest
from tests.measures.corrected.simulated_labels import labels, question

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


def covers(asked, made, truth):
    low, high = ends(asked, made, 0.95, None)
    return low <= truth <= high


def test_strata_are_no_source_of_error():
    strata = np.repeat([0, 1], 500)
    y = strata.astype(float)
    drawn, probability = np.zeros(1000, bool), np.full(1000, 0.05)
    drawn[::20] = True
    made = gold_alone(question(None, y, drawn, probability, strata=strata))
    assert made.value == 0.5
    assert made.variance == pytest.approx(0.25 / 1000, rel=0.01)


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
