"""What more gold labels would bring, against samples that had them."""

from __future__ import annotations

import numpy as np
import pytest

from quaver.correction.estimators import Question, gold_alone
from quaver.correction.gold_power import MORE, Pilot
from quaver.correction.regressions import of_share
from quaver.correction.spread import interval

ITEMS = 4000


def pilot(gold: int, share: float = 0.3, threshold: float = 0.25, seed: int = 0) -> Pilot:
    """A share estimated from so many gold labels of 4,000 items."""
    draw = np.random.default_rng(seed)
    outcome = np.full(ITEMS, np.nan)
    outcome[draw.choice(ITEMS, gold, replace=False)] = draw.random(gold) < share
    sample = of_share(outcome, np.full(ITEMS, gold / ITEMS))
    alone = gold_alone(Question(sample, np.ones((1, 1))))
    assert alone is not None
    return Pilot(alone, alone, sample, threshold)


def width(one: Pilot) -> float:
    low, high = interval(one.found.value, one.found.spread, one.confidence_level)
    return high - low


def decided(one: Pilot) -> bool:
    low, high = interval(one.found.value, one.found.spread, one.confidence_level)
    return low > one.threshold or high < one.threshold


def test_as_many_labels_as_now_bring_nothing() -> None:
    now = pilot(200)
    same = now.with_gold(200)
    assert same.width == pytest.approx(width(now))
    assert same.decided == float(decided(now))


def test_the_width_is_that_of_samples_of_that_size() -> None:
    foreseen = np.mean([pilot(100, seed=seed).with_gold(400).width for seed in range(60)])
    found = np.mean([width(pilot(400, seed=seed)) for seed in range(60)])
    assert foreseen == pytest.approx(found, rel=0.05)


@pytest.mark.parametrize("share", [0.3, 0.35])
def test_the_power_is_that_of_samples_of_that_size(share: float) -> None:
    foreseen = np.mean([p.power for p in (exact(share).with_gold(n) for n in (400,))])
    found = np.mean([decided(pilot(400, share, seed=seed)) for seed in range(150)])
    assert foreseen == pytest.approx(found, abs=0.1)


def exact(share: float) -> Pilot:
    """A pilot whose estimate is the truth."""
    outcome = np.full(ITEMS, np.nan)
    outcome[:200] = np.arange(200) < share * 200
    sample = of_share(outcome, np.full(ITEMS, 200 / ITEMS))
    alone = gold_alone(Question(sample, np.ones((1, 1))))
    assert alone is not None
    return Pilot(alone, alone, sample, 0.25)


def test_a_decision_is_as_likely_as_it_is_foreseen() -> None:
    """Over truths around the threshold, of pilots of 100 labels grown to 300."""
    draw = np.random.default_rng(5)
    foreseen, came = [], []
    for _ in range(150):
        share = draw.uniform(0.1, 0.4)
        outcome = np.full(ITEMS, np.nan)
        order = draw.permutation(ITEMS)[:300]
        outcome[order] = draw.random(300) < share
        some = outcome.copy()
        some[order[100:]] = np.nan
        samples = [of_share(one, np.full(ITEMS, n / ITEMS)) for one, n in ((some, 100), (outcome, 300))]
        alone = [gold_alone(Question(one, np.ones((1, 1)))) for one in samples]
        first, second = (Pilot(a, a, s, 0.25) for a, s in zip(alone, samples, strict=True) if a is not None)
        foreseen.append(first.with_gold(300).decided)
        came.append(decided(second))
    assert np.mean(foreseen) == pytest.approx(np.mean(came), abs=0.08)


def test_the_labels_that_it_takes_have_that_power() -> None:
    now = exact(0.3)
    needed = now.needed()
    assert needed is not None
    assert now.with_gold(needed).power >= 0.8 > now.with_gold(needed - 1).power
    # (1.96 + 0.84)² · 0.3 · 0.7 / 0.05² = 659; the finite number of items changes it little
    assert 500 < needed < 850


def test_a_truth_at_the_threshold_takes_more_than_there_are() -> None:
    assert exact(0.25).needed() is None
    assert exact(0.25).details()["gold_needed"] is None


def test_the_details_are_of_twenty_more_and_never_of_more_than_there_are() -> None:
    assert exact(0.3).details()["more_gold"]["gold"] == 200 + MORE
    outcome = np.r_[np.ones(6), np.zeros(4), np.full(5, np.nan)]
    sample = of_share(outcome, np.full(15, 10 / 15))
    alone = gold_alone(Question(sample, np.ones((1, 1))))
    assert alone is not None
    assert Pilot(alone, alone, sample, 0.5).details()["more_gold"]["gold"] == 15
    whole = of_share(np.r_[np.ones(6), np.zeros(4)], np.ones(10))
    alone = gold_alone(Question(whole, np.ones((1, 1))))
    assert alone is not None
    assert Pilot(alone, alone, whole, 0.5).details() == {}
