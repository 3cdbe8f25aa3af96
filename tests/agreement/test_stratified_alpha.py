"""Resampling rows as the promptstability package does."""

from itertools import product

import numpy as np
import pytest

from quaver.agreement.stratified_alpha import alphas_of_rows
from quaver.estimation.jackknife import Resampling


def test_a_place_drawn_with_several_labels_has_the_one_drawn_first():
    # Two items, two raters; the last place has both labels. Alpha is 1 where all places are drawn, the last
    # one first with the label 1: that share of all 5^5 sequences of draws.
    place, codes = np.array([0, 1, 2, 3, 3]), np.array([0, 0, 1, 0, 1])
    draws = list(product(range(5), repeat=5))
    perfect = [{0, 1, 2} <= set(one) and 4 in one and 3 not in one[: one.index(4)] for one in draws]
    found = alphas_of_rows(place, codes, (2, 2), labels=2, resampling=Resampling(resamples=20_000))
    assert np.mean(found == 1) == pytest.approx(np.mean(perfect), abs=0.01)


def test_rows_without_a_label_are_drawn_and_do_not_count():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 60)
    place = np.arange(60)
    some = Resampling(resamples=500)
    whole = alphas_of_rows(place, codes, (20, 3), labels=2, resampling=some)
    blank = np.concatenate([codes, np.full(60, -1)])
    twice = np.concatenate([place, place])
    thinned = alphas_of_rows(twice, blank, (20, 3), labels=2, resampling=some)
    # With as many blanks as labels, each resample draws 120 rows: every label is as likely to be in it.
    assert np.nanstd(thinned) == pytest.approx(np.nanstd(whole), rel=0.15)


def test_one_seed_is_one_interval_however_large_the_blocks(monkeypatch):
    place, codes = np.arange(40), np.arange(40) % 3
    once = alphas_of_rows(place, codes, (10, 4), labels=3, resampling=Resampling(resamples=50))
    monkeypatch.setattr("quaver.agreement.stratified_alpha._ENTRIES", 100)
    again = alphas_of_rows(place, codes, (10, 4), labels=3, resampling=Resampling(resamples=50))
    assert once == pytest.approx(again, nan_ok=True)
