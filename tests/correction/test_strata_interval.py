"""The interval of a share whose gold labels come from strata."""

import numpy as np
from tests.correction.simulated_labels import question

from quaver.correction.estimators import gold_alone
from quaver.measures.corrected.corrected_estimate import best, ends

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
    return question(None, y, drawn, probability, strata=strata), said[:, None], y


def test_it_covers_although_a_heavy_stratum_shows_none_of_its_labels():
    truth, covered = 0.1 * 0.5 + 0.9 * 0.004, {"alone": 0, "best": 0}
    for run in range(100):
        asked, said, _ = hidden(np.random.default_rng([1, run]))
        alone = gold_alone(asked)
        for name, made in (("alone", alone), ("best", best(asked, said, alone, run, bounded=SHARES))):
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
        made = best(asked, said[:, None, None], alone, run, bounded=SHARES)
        low, high = ends(asked, made, 0.95, SHARES)
        own = ends(asked, alone, 0.95, SHARES)
        ratios.append((high - low) / (own[1] - own[0]))
    assert max(ratios) <= 1 + 1e-9
    assert np.mean(ratios) < 0.75
