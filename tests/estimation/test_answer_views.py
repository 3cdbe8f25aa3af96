import polars as pl
import pytest
from tests.measured import repeated

from quaver.errors import MeasureError
from quaver.estimation.answer_views import view

FRAME = repeated(items=40, repeats=4, missing=0.2).with_row_index("row")


def test_filtered_holds_valid_labels_only():
    assert view(FRAME, "filtered").equals(FRAME.filter(pl.col("label").is_not_null()))
    two = view(FRAME, "filtered", labels=["a", "b"])
    assert set(two["label"]) == {"a", "b"}
    assert view(FRAME, "original").equals(FRAME)


def test_balanced_has_the_smallest_count_everywhere():
    counts = view(FRAME, "filtered")["repeat"].value_counts()["count"]
    found = view(FRAME, "balanced")
    assert set(found["repeat"].value_counts()["count"]) == {counts.min()}
    assert found["row"].is_sorted()


def test_the_draw_is_seeded_and_not_the_rows_order():
    one = view(FRAME, "balanced", seed=1)
    assert one.equals(view(FRAME, "balanced", seed=1))
    assert not one.equals(view(FRAME, "balanced", seed=2))
    shuffled = view(FRAME.drop("row").sample(fraction=1, shuffle=True, seed=1), "balanced", seed=1)
    columns = ["item", "repeat"]
    assert shuffled.sort(columns)[columns].equals(one.sort(columns)[columns])


def test_matched_has_the_items_that_are_valid_everywhere():
    found = view(FRAME, "matched")
    complete = FRAME.group_by("item").agg(pl.col("label").is_not_null().all()).filter("label")["item"]
    assert sorted(set(found["item"])) == sorted(complete)
    assert found.height == 4 * len(complete)


def test_within_parts():
    two = pl.concat([FRAME.with_columns(model=pl.lit("m")), FRAME.head(100).with_columns(model=pl.lit("n"))])
    for kind in ("balanced", "matched"):
        found = view(two, kind, within=["model"])
        apart = [view(part, kind) for part in two.partition_by("model")]
        assert sorted(found["model"].value_counts()["count"]) == sorted(part.height for part in apart)


@pytest.mark.parametrize(
    ("options", "where"),
    [({"kind": "sorted"}, "kind"), ({"kind": "balanced", "across": "temperature"}, "across")],
)
def test_bad_input(options, where):
    with pytest.raises(MeasureError) as caught:
        view(FRAME, **options)
    assert caught.value.where == where
