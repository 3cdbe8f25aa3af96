"""What items have in common: exact tests of one family, by hand and on items whose property is chance."""

from math import comb

import numpy as np
import polars as pl
import pytest

from quaver.measures.validity.item_clusters import LENGTH, ROW, associated, traits


def test_the_chance_is_that_of_fishers_exact_test_times_the_number_of_traits():
    has = np.array([True] * 9 + [False] * 11)
    table = pl.DataFrame({"party": ["x"] * 10 + ["y"] * 10})
    everyone = np.ones(20, bool)
    (one, other) = associated(has, everyone, traits(table), chance=1.0)
    # nine of ten with x and none of ten with y: tables as rare or rarer, by hand
    whole = comb(20, 9)
    tail = (comb(10, 9) * comb(10, 0) + comb(10, 0) * comb(10, 9)) / whole
    assert (one.inside, one.outside) == (0.9, 0.0)
    assert one.p == other.p == pytest.approx(2 * tail)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.03, 0.3])
def test_where_the_property_is_chance_hardly_any_trait_is_named(share):
    rng, named = np.random.default_rng(5), 0
    for _ in range(300):
        table = pl.DataFrame(
            {
                **{f"c{at}": rng.integers(0, 4, 200).astype(str) for at in range(6)},
                LENGTH: rng.integers(5, 41, 200),
                ROW: np.arange(200),
            }
        )
        named += bool(associated(rng.random(200) < share, np.ones(200, bool), traits(table)))
    assert named <= 8  # 1% of 300, and three standard deviations more
