"""The sample in the annotation frame: settled labels of drawn items, other labels kept apart, types kept."""

import polars as pl

from quaver.core.annotations import ANNOTATION_COLUMNS, GOLD_COLUMNS
from quaver.gold.gold_draw import drawn, first_draw, with_gold

FRAME = pl.DataFrame(
    {
        "item": ["1", "2", "3", "2", "1"],
        "label": ["a", "b", "a", "a", "b"],
        "gold": ["a", None, "b", None, "a"],
    },
    schema={"item": pl.Categorical, "label": pl.Categorical, "gold": pl.Categorical},
)
KNOWN = {"1": "a", "2": None, "3": "b"}


def test_drawn_items_have_the_sample_s_labels_alone():
    draw = drawn(first_draw(["1", "2", "3"]), 3, 1).with_columns(
        drawn=pl.col("item") != "3", probability=pl.lit(0.6)
    )
    found = with_gold(FRAME, KNOWN, draw, {"2": "b"}, {})
    assert found.select(pl.col("item", "label", "gold").cast(pl.String)).rows() == [
        ("1", "a", None),
        ("2", "b", "b"),
        ("3", "a", "b"),
        ("2", "a", "b"),
        ("1", "b", None),
    ]
    assert found["gold_drawn"].to_list() == [True, True, False, True, True]
    for name in GOLD_COLUMNS:
        assert found.schema[name] == pl.Series(dtype=ANNOTATION_COLUMNS[name]).dtype
    assert found.schema["item"] == pl.Categorical
    assert with_gold(found, KNOWN, draw, {"2": "b"}, {}).equals(found)
    back = with_gold(found, KNOWN, draw.clear(), {}, {})
    assert back["gold"].cast(pl.String).to_list() == FRAME["gold"].cast(pl.String).to_list()
    assert back["gold_drawn"].null_count() == 5


def test_labels_kept_apart_stand_at_items_that_were_not_drawn():
    draw = first_draw(["1", "2"]).with_columns(probability=pl.lit(0.1))
    found = with_gold(FRAME, KNOWN, draw, {}, {"2": "a", "3": "a"})
    assert found["gold"].cast(pl.String).to_list() == ["a", "a", "a", "a", "a"]
    assert found["gold_probability"].to_list() == [0.1, 0.1, None, 0.1, 0.1]
