"""What moves the labels, by hand-worked numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quaver.core.records import Estimate, Label, LabelSet
from quaver.errors import MeasureError
from quaver.measures.variation.label_movement import adjusted_tau, label_movement

LABELS = LabelSet((Label("a", "Alpha"), Label("b", "Beta")))
FACTORS = {"paraphrase": ("plain", "polite"), "format": ("names", "letters")}


@pytest.fixture(scope="module")
def found() -> list[Estimate]:
    """Names gives b always, letters a always, and one answer has no label."""
    rows = [
        (f"{item}", paraphrase, layout, "b" if layout == "names" else "a", "ab"[item % 2])
        for item, paraphrase, layout, _ in product(range(8), *FACTORS.values(), range(2))
    ]
    rows[0] = ("0", "plain", "names", None, "a")
    frame = pl.DataFrame(rows, schema=["item", "paraphrase", "format", "label", "gold"], orient="row")
    return label_movement(frame, FACTORS, labels=LABELS, seed=7)


def by_cell(found: list[Estimate], measure: str) -> dict[tuple[str, ...], Estimate]:
    return {tuple(e.cell.values()): e for e in found if e.measure == measure}


def test_shares_by_level(found: list[Estimate]) -> None:
    # names: 8 items × 2 paraphrases × 2 repeats = 32 answers, one of them without a label
    shares = by_cell(found, "level_shares")
    assert shares["format", "names", "b"].value == pytest.approx(31 / 32)
    assert shares["format", "names", "no label"].value == pytest.approx(1 / 32)
    assert shares["format", "letters", "a"].value == 1.0
    # item 0 (gold a) has 8 answers, one without a label: of gold a's 32 answers 15 are b
    assert shares["gold", "a", "b"].value == pytest.approx(15 / 32)
    assert shares["gold", "b", "b"].value == pytest.approx(16 / 32)


def test_the_range_is_that_of_the_label_that_moves_most(found: list[Estimate]) -> None:
    ranges = by_cell(found, "label_range")
    assert ranges["format", "a"].value == 1.0
    assert ranges["paraphrase", "b"].value == pytest.approx(1 / 32)


def test_intervals_hold_the_value_and_never_have_no_width(found: list[Estimate]) -> None:
    for estimate in found:
        if estimate.low is not None:
            assert estimate.low <= estimate.value <= estimate.high
            assert estimate.low < estimate.high
        else:
            assert any("no unit makes a difference" in warning for warning in estimate.warnings)


def repeated(seed: int, moves: float, groups: int = 0) -> pl.DataFrame:
    """Sixty items in two formats; names turns some a into b, and the members of a group go together."""
    rng = np.random.default_rng(seed)
    units = groups or 60
    truth = rng.random(units) < 0.5
    again = rng.random((units, 2)) < 0.4
    label = np.where(again, rng.random((units, 2)) < 0.5, truth[:, None])
    label[:, 0] |= rng.random(units) < moves
    label = np.repeat(label, 60 // units, axis=0)
    item, level = np.indices(label.shape)
    return pl.DataFrame(
        {
            "item": item.ravel(),
            "format": np.array(["names", "letters"])[level.ravel()],
            "author": item.ravel() // (60 // units),
            "label": np.array(["a", "b"])[label.ravel().astype(int)],
        }
    )


def measured(frame: pl.DataFrame, measure: str, group: str | None = None) -> Estimate:
    found = label_movement(
        frame, {"format": FACTORS["format"]}, labels=LABELS, group=group, resamples=200, seed=1
    )
    return next(one for one in found if one.measure == measure and one.cell["factor"] == "format")


def test_where_nothing_moves_the_range_and_the_part_reach_nothing() -> None:
    ranges = [measured(repeated(seed, 0.0), "label_range") for seed in range(40)]
    assert np.mean([one.low == 0 for one in ranges]) >= 0.85
    assert np.mean([one.details["p"] <= 0.05 for one in ranges]) <= 0.15
    parts = [measured(repeated(seed, 0.0), "variation") for seed in range(40)]
    assert np.mean([one.low <= 0 for one in parts]) >= 0.9
    moved = measured(repeated(0, 0.6), "label_range")
    assert moved.low > 0
    assert moved.details["p"] < 0.01
    assert measured(repeated(0, 0.6), "variation").low > 0


def test_items_of_a_group_are_not_so_many_items() -> None:
    frame = repeated(3, 0.3, groups=10)
    alone, together = measured(frame, "label_range"), measured(frame, "label_range", "author")
    assert (alone.unit, together.unit) == ("item", "author")
    assert together.details["p"] > alone.details["p"]
    assert together.high - together.low > alone.high - alone.low
    assert together.value == alone.value


def test_variation(found: list[Estimate]) -> None:
    variation = by_cell(found, "variation")
    assert variation[("format",)].value > 0.9
    assert abs(variation[("paraphrase",)].value) < 0.05
    assert variation[("item",)].value < 0.05


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(MeasureError, match="paraphrase"):
        label_movement(pl.DataFrame({"item": [1], "label": ["a"]}), FACTORS, labels=LABELS)


def test_levels_that_no_annotation_has_are_undefined() -> None:
    rows = [(f"{item}", "other", "ab"[item % 2]) for item in range(6)]
    frame = pl.DataFrame(rows, schema=["item", "paraphrase", "label"], orient="row")
    found = label_movement(frame, {"paraphrase": FACTORS["paraphrase"]}, labels=LABELS, seed=7)
    assert {e.value for e in found if e.measure == "level_shares"} == {None}


def test_adjusted_tau_by_hand() -> None:
    # levels (3, 1) and (1, 3): n = 8, columns 4 and 4; within Σ = 10/4 + 10/4 = 5, alone = 32/8 = 4;
    # tau = (5 − 4)/(8 − 4) = 1/4; adjusted 1 − 3/4 · 7/6 = 1/8
    assert adjusted_tau(np.array([[3.0, 1.0], [1.0, 3.0]])) == pytest.approx(0.125)
    assert adjusted_tau(np.array([[4.0, 0.0], [2.0, 0.0]])) is None  # one label
    assert adjusted_tau(np.array([[1.0, 0.0], [0.0, 1.0]])) is None  # an answer a level
    assert adjusted_tau(np.zeros((2, 2))) is None


@given(arrays(np.int64, (3, 4), elements=st.integers(0, 30)))
def test_adjusted_tau_is_at_most_one_and_knows_no_order(counts: Any) -> None:
    value = adjusted_tau(counts.astype(float))
    turned = adjusted_tau(counts[::-1, ::-1].astype(float))
    assert (value is None) == (turned is None)
    if value is not None:
        assert value <= 1 + 1e-9
        assert value == pytest.approx(turned)
