"""Gaps between shares: intervals that reach zero, and tests that keep their level."""

import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.estimation.grouped_items import item_groups, level_deviations, units_of
from quaver.estimation.jackknife import Resampling, Units
from quaver.estimation.paired_differences import gap


def span(shares):
    return np.asarray(np.ptp(shares, axis=1).max(1))


def levels(seed, chances, items=60):
    right = (np.random.default_rng(seed).random((items, len(chances))) < chances).astype(float)[..., None]
    return level_deviations(right, np.ones_like(right))


def test_noise_reaches_as_far_as_a_range_may_be_lifted():
    for chances, truth in (([0.5] * 4, 0.0), ([0.3, 0.5, 0.6], 0.3)):
        parts = [levels(k, chances) for k in range(60)]
        found = [gap(one, Units(60), span, Resampling(resamples=200))[0] for one in parts]
        least = [span(one.sum(0)[None])[0] - reach for one, reach in zip(parts, found, strict=True)]
        assert np.mean([end <= truth for end in least]) >= 0.95
    assert np.mean([end > 0 for end in least]) > 0.5


def test_without_draws_nothing_is_known():
    assert gap(levels(0, [0.2, 0.8]), Units(60), span, Resampling(resamples=0)) == (None, {})


def test_groups_are_read_from_a_frame():
    frame = pl.DataFrame({"item": [1, 1, 2, 3], "author": ["x", "x", None, "x"]})
    units = units_of(["1", "2", "3"], "author", item_groups(frame, "author"))
    assert (units.clusters.tolist(), units.name, units.count) == ([0, 1, 0], "author", 2)
    assert units_of(["1", "2"], None, item_groups(frame, None)).clusters is None


def test_an_item_in_two_groups_is_refused():
    with pytest.raises(MeasureError) as caught:
        item_groups(pl.DataFrame({"item": [1, 1], "author": ["x", "y"]}), "author")
    assert caught.value.found == "item 1"
    with pytest.raises(MeasureError) as caught:
        item_groups(pl.DataFrame({"item": [1, 1]}), "author")
    assert caught.value.where == "group"
