"""Gaps between shares: intervals that reach zero, and tests that keep their level."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, Units
from quaver.estimation.grouped_items import item_groups, level_deviations
from quaver.estimation.paired_differences import gap, within


def span(shares: Floats) -> Floats:
    return np.asarray(np.ptp(shares, axis=1).max(1))


def levels(seed: int, chances: list[float], items: int = 60) -> Floats:
    right = (np.random.default_rng(seed).random((items, len(chances))) < chances).astype(float)[..., None]
    return level_deviations(right, np.ones_like(right))


def test_the_interval_of_a_range_holds_the_true_one() -> None:
    for chances, truth in (([0.5] * 4, 0.0), ([0.3, 0.5, 0.6], 0.3)):
        found = [gap(levels(k, chances), Units(60), span, Resampling(resamples=200)) for k in range(60)]
        held = [one.interval is not None and one.interval[0] <= truth <= one.interval[1] for one in found]
        assert np.mean(held) >= 0.88
        assert np.mean([one.details["debiased"] for one in found]) == pytest.approx(truth, abs=0.08)


def test_without_draws_nothing_is_known() -> None:
    assert gap(levels(0, [0.2, 0.8]), Units(60), span, Resampling(resamples=0)) == (None, {})


def test_ends_stay_within_the_range() -> None:
    right = (np.arange(8)[:, None] < [1, 7]).astype(float)[..., None]
    apart = level_deviations(right, np.ones_like(right))
    found = within(0.0, 1.0, gap(apart, Units(8), span, Resampling(resamples=200)))
    assert found.interval is not None
    assert 0 < found.interval.low < found.interval.high == 1.0


def test_groups_are_read_from_a_frame() -> None:
    frame = pl.DataFrame({"item": [1, 1, 2, 3], "author": ["x", "x", None, "x"]})
    units = item_groups(frame, "author").units(["1", "2", "3"])
    assert units.clusters is not None
    assert (units.clusters.tolist(), units.name, units.count) == ([0, 1, 0], "author", 2)
    assert item_groups(frame, None).units(["1", "2"]).clusters is None


def test_an_item_in_two_groups_is_refused() -> None:
    with pytest.raises(MeasureError) as caught:
        item_groups(pl.DataFrame({"item": [1, 1], "author": ["x", "y"]}), "author")
    assert caught.value.found == "item 1"
    with pytest.raises(MeasureError) as caught:
        item_groups(pl.DataFrame({"item": [1, 1]}), "author")
    assert caught.value.where == "group"
