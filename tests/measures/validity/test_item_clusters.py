"""Undeclared groups of items are found where there are any, and hardly ever where there are none."""

import numpy as np
import polars as pl
import pytest
import scipy

from quaver.measures.validity.item_clusters import item_clusters

GROUPS, SIZE, PROMPTS = 15, 10, 5


def _study(seed, spread):
    """Answers to 15 groups of 10 items, whose log odds of being right vary between groups."""
    rng = np.random.default_rng(seed)
    n = GROUPS * SIZE
    odds = 1 + rng.normal(size=n) + spread * np.repeat(rng.normal(size=GROUPS), SIZE)
    right = rng.random((n, PROMPTS)) < 1 / (1 + np.exp(-odds[:, None]))
    gold = rng.random(n) < 0.5
    label = np.where(right, gold[:, None], ~gold[:, None])
    return pl.DataFrame(
        {
            "item": np.repeat(np.arange(n), PROMPTS),
            "label": np.where(label.ravel(), "a", "b"),
            "gold": np.where(np.repeat(gold, PROMPTS), "a", "b"),
        }
    )


def _columns(**columns):
    named = {"author": [f"author {at // SIZE}" for at in range(GROUPS * SIZE)], **columns}
    return pl.DataFrame({"item": range(GROUPS * SIZE), **named})


def _one(found, column):
    return next(one for one in found if one.cell["column"] == column)


def test_groups_are_found_and_seldom_where_there_are_none():
    """With an intraclass correlation of 0.3; simulated with more studies in docs/trust.md."""
    found = [item_clusters(_study(seed, 1.0), _columns())[0] for seed in range(12)]
    assert sum(bool(one.details["clustered"]) for one in found) >= 11
    assert 0.2 < np.mean([one.value or 0 for one in found]) < 0.45
    none = [item_clusters(_study(seed, 0.0), _columns())[0] for seed in range(12)]
    assert sum(bool(one.details["clustered"]) for one in none) <= 1


def test_the_correlation_is_that_of_one_way_analysis_of_variance_over_the_items_with_a_value():
    rng = np.random.default_rng(0)
    sizes = [3, 7, 1, 12, 5, 4, 2, 6, 8, 9]
    groups = np.repeat(np.arange(10), sizes)
    right = (rng.random(57) < 0.2 + 0.06 * groups).astype(float)
    frame = pl.DataFrame(
        {"item": range(60), "label": ["a"] * 60, "gold": [*np.where(right, "a", "b"), *[None] * 3]}
    )
    columns = pl.DataFrame({"item": range(60), "author": [f"x{at}" for at in (*groups, 1, 2, 3)]})
    (found,) = item_clusters(frame, columns)
    f = scipy.stats.f_oneway(*(right[groups == group] for group in range(10))).statistic
    mean = sum(size**2 for size in sizes) / 57
    rho = (f - 1) / (f - 1 + (57 - mean) / 9)
    assert (found.value, found.n) == (pytest.approx(rho), 57)
    assert found.details["effect"] == pytest.approx(1 + (mean - 1) * rho)


def test_other_columns_are_tested_too_and_groups_that_are_the_same_count_once():
    rng = np.random.default_rng(3)
    columns = _columns(
        day=[f"day {at}" for at in rng.integers(0, 20, 150)], number=[at // SIZE for at in range(150)]
    )
    found = item_clusters(_study(1, 2.0), columns)
    assert _one(found, "author").details["clustered"]
    assert not _one(found, "day").details["clustered"]
    assert _one(found, "day").details["comparisons"] == 2
    assert _one(found, "number").value is None


@pytest.mark.parametrize(
    "values",
    [
        [f"{at}" for at in range(150)],
        ["left" if at % 2 else "right" for at in range(150)],
        ["much" if at < 100 else f"v{at // 3}" for at in range(150)],
        [f"v{max(at, 3)}" for at in range(150)],
        [None] * 150,
        [""] * 150,
    ],
    ids=["all differ", "two values", "one holds most", "hardly any twice", "null", "empty"],
)
def test_a_column_that_cannot_group_items_says_why(values):
    one = _one(item_clusters(_study(1, 2.0), _columns(other=values)), "other")
    assert one.value is None
    assert one.reason


def test_a_number_that_moves_labels_gradually_is_no_group():
    rng = np.random.default_rng(6)
    age = rng.integers(18, 60, 150)
    label = np.where(rng.random(150) < 1 / (1 + np.exp(-(age - 39) / 5)), "a", "b")
    frame = pl.DataFrame({"item": range(150), "label": label})
    numbers = item_clusters(frame, pl.DataFrame({"item": range(150), "age": age.astype(str)}))[0]
    names = item_clusters(frame, pl.DataFrame({"item": range(150), "age": [f"n{one}" for one in age]}))[0]
    assert not numbers.details["clustered"]
    assert names.details["clustered"]
