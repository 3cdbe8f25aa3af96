"""Tables of single items: they sum to the measures over all."""

import polars as pl
import pytest
from tests.measured import grid

from quaver.measures import item_stability

FRAME = grid(["aaaa", "aabb", "bbbb", "aaab", "bbb-"], gold="aaaab")


def test_a_row_an_item():
    found = item_stability(FRAME)
    assert found["item"].to_list() == [f"i{at:03}" for at in range(5)]
    assert found["sensitivity"].to_list() == pytest.approx([0, 1, 0, 0.811278, 0], abs=1e-6)
    # i0 with i1 ½, i2 0, i3 ¾.
    assert found["consistency"][0] == pytest.approx(1.25 / 3)
    assert found["consistency"][4] is None
    assert found["predictions"].to_list() == [4, 4, 4, 4, 3]
    assert found["mode"].to_list() == ["a", "a", "b", "a", "b"]


def test_in_every_cell():
    two = pl.concat([FRAME.with_columns(model=pl.lit(m)) for m in "nm"])
    items = item_stability(two, by=["model"])
    assert items["model"].to_list() == ["m"] * 5 + ["n"] * 5
    assert item_stability(FRAME.clear()).height == 0
