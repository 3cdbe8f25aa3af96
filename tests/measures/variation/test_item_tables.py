import polars as pl
import pytest

from quaver.measures.variation.item_tables import item_stability, least_consistent, most_sensitive

ROWS = {"i0": "aaaa", "i1": "aabb", "i2": "bbbb", "i3": "aaab", "i4": "bbb-"}
FRAME = pl.DataFrame(
    [
        (item, f"v{v}", None if label == "-" else label, "b" if item == "i4" else "a")
        for item, said in ROWS.items()
        for v, label in enumerate(said)
    ],
    schema=["item", "variant", "label", "gold"],
    orient="row",
)


def test_a_row_an_item():
    found = item_stability(FRAME)
    assert found["item"].to_list() == list(ROWS)
    assert found["sensitivity"].to_list() == pytest.approx([0, 1, 0, 0.811278, 0], abs=1e-6)
    # i0 with i1 ½, i2 0, i3 ¾.
    assert found["consistency"][0] == pytest.approx(1.25 / 3)
    assert found["consistency"][4] is None
    assert found["predictions"].to_list() == [4, 4, 4, 4, 3]
    assert found["mode"].to_list() == ["a", "a", "b", "a", "b"]


def test_the_lists():
    items = item_stability(FRAME)
    assert most_sensitive(items)["item"].to_list() == ["i1", "i3"]
    assert most_sensitive(items, 1)["item"].to_list() == ["i1"]
    # i1: (½ + ½ + ¾)/3, i3: (¾ + ¾ + ¼)/3: alike, so in the order of their names.
    assert least_consistent(items)["item"].to_list() == ["i1", "i3"]
    assert least_consistent(items, above=0.9)["item"].to_list() == ["i1"]


def test_in_every_cell():
    two = pl.concat([FRAME.with_columns(model=pl.lit(m)) for m in "nm"])
    items = item_stability(two, by=["model"])
    assert most_sensitive(items, 1).select("model", "item").rows() == [("m", "i1"), ("n", "i1")]
    assert item_stability(FRAME.clear()).height == 0
