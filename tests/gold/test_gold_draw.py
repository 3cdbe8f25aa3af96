"""What prompts' labels say of items, and the strata that they make."""

import numpy as np
import polars as pl
import pytest

from quaver.core.annotations import ANNOTATION_COLUMNS, GOLD_COLUMNS
from quaver.gold.gold_draw import (
    FLOOR,
    OTHER,
    doubt_about,
    drawn,
    expected_width,
    first_draw,
    in_sample,
    joined,
    label_probabilities,
    predicted_labels,
    probabilities,
    strata_of,
    with_gold,
)

FRAME = pl.DataFrame(
    {
        "item": ["1"] * 4 + ["2"] * 4 + ["3"],
        "label": ["a", "a", "a", "a", "a", "b", None, "b", None],
        "evaluator": ["e"] * 8 + ["other"],
    }
)


def test_shares_of_valid_answers_become_probabilities():
    shares, answers = predicted_labels(FRAME, ["3", "2", "1"], ["a", "b"])
    assert answers.tolist() == [0, 3, 4]
    assert shares[2].tolist() == [1, 0]
    likely = label_probabilities(shares, answers)
    assert likely[2].tolist() == pytest.approx([4.5 / 5, 0.5 / 5])
    assert likely[0].tolist() == [0.5, 0.5]
    assert strata_of(["a", "b"], shares, 100) == [
        "predicted=no label, disagreement=split",
        "predicted=b, disagreement=split",
        "predicted=a, disagreement=agreed",
    ]
    assert (doubt_about(likely).argmax(), doubt_about(likely).argmin()) == (0, 2)
    nothing = predicted_labels(None, ["1"], ["a", "b", "c", "d"])
    assert label_probabilities(*nothing).tolist() == [[0.25] * 4]


def test_strata_are_the_models_labels_and_small_ones_are_joined():
    items = [str(at) for at in range(100)]
    labels = ["a"] * 60 + ["b"] * 38 + ["c", "d"]
    frame = pl.DataFrame({"item": items, "label": labels, "evaluator": ["e"] * 100})
    codes = ["a", "b", "c", "d"]
    found = strata_of(codes, predicted_labels(frame, items, codes)[0], 20)
    assert {*found} == {f"predicted={one}, disagreement=agreed" for one in "ab"} | {OTHER}


def population(seed=3, size=400):
    """The shares of each item's answers, and each label's probability."""
    rng = np.random.default_rng(seed)
    sure = rng.choice([0.02, 0.1, 0.5, 0.9], size, p=[0.3, 0.3, 0.2, 0.2])
    shares = np.stack([sure, 1 - sure], axis=1)
    return shares, label_probabilities(shares, np.full(size, 4.0))


@pytest.mark.parametrize("design", ["simple", "stratified"])
def test_the_width_is_that_of_the_difference_estimator(design):
    """Labels drawn as the prompts predict, items drawn anew, 200 times: the spread of the estimates."""
    shares, likely = population()
    p = likely[:, 0]
    worth = None if design == "simple" else doubt_about(likely)
    strata = strata_of(["a", "b"], shares, 400) if design == "stratified" else None
    before = first_draw([f"i{at}" for at in range(p.size)], strata)
    chances = probabilities(before, 80, worth)
    rng = np.random.default_rng(1)
    found = []
    for seed in range(200):
        truth = rng.random(p.size) < p
        here = drawn(before, 80, seed, worth=worth)["drawn"].to_numpy()
        found.append(p.mean() + (here / chances * (truth - p)).sum() / p.size)
    of_items = 4 * 1.96**2 * (p.mean() * (1 - p.mean())) / p.size  # that the items themselves are a sample
    width = np.sqrt(4 * 1.96**2 * np.var(found) + of_items)
    assert expected_width(likely, chances) == pytest.approx(width, rel=0.14)


ITEMS = [f"i{at}" for at in range(60)]
STRATA = ["a"] * 10 + ["b"] * 50
WORTH = np.array([0.5] * 10 + [0.1] * 50)
VALUES = np.arange(60.0) ** 1.5
SEEDS = 300
DESIGNS = ("simple", "stratified")


def draw(design, rounds, seed):
    found = first_draw(ITEMS, STRATA if design == "stratified" else None)
    for number, n in enumerate(rounds, 1):
        worth = None if design == "simple" else WORTH
        found = drawn(found, n, seed, number=number, worth=worth)
    return found


@pytest.mark.long
@pytest.mark.parametrize("rounds", [[20], [8, 20]])
@pytest.mark.parametrize("design", DESIGNS)
def test_probabilities_are_what_happens_over_seeds(design, rounds):
    """Each item is drawn as often as recorded, and the Horvitz-Thompson total is unbiased."""
    taken = np.zeros(60)
    totals = []
    for seed in range(SEEDS):
        found = draw(design, rounds, seed)
        here, probability = found["drawn"].to_numpy(), found["probability"].to_numpy()
        taken += here
        totals.append((VALUES * here / probability).sum())
    error = np.sqrt(probability * (1 - probability) / SEEDS)
    assert (np.abs(taken / SEEDS - probability) < 4.2 * error + 1e-12).all()
    assert abs(np.mean(totals) - VALUES.sum()) < 3.5 * np.std(totals) / np.sqrt(SEEDS)
    assert probability.sum() == pytest.approx(20)
    assert probability.min() >= FLOOR * 20 / 60 - 1e-12


@pytest.mark.parametrize("design", DESIGNS)
def test_a_round_adds_to_the_one_before_and_ends_where_one_draw_would(design):
    small, grown, once = draw(design, [8], 3), draw(design, [8, 20], 3), draw(design, [20], 3)
    assert set(small.filter("drawn")["item"]) <= set(grown.filter("drawn")["item"])
    assert grown.select("item", "drawn").equals(once.select("item", "drawn"))
    rounds = grown.filter("drawn").join(small.select("item", was="drawn"), on="item")
    assert rounds.select((pl.col("round") == 1) == pl.col("was")).to_series().all()
    assert grown.filter(~pl.col("drawn"))["round"].is_null().all()


def test_fixed_sizes_are_kept_within_strata():
    found = draw("stratified", [20], 1)
    taken = found.group_by("stratum").agg(pl.col("drawn").sum(), pl.col("probability").sum())
    assert taken.sort("stratum").rows() == [("a", 10, pytest.approx(10)), ("b", 10, pytest.approx(10))]
    there = drawn(first_draw(ITEMS), 10, 5)
    back = drawn(first_draw(ITEMS[::-1]), 10, 5)
    assert there["drawn"].sum() == 10
    assert there.sort("item").equals(back.sort("item")), "in any order"
    whole = drawn(first_draw(ITEMS), 99, 1)  # more than there are
    assert whole["drawn"].all()
    assert whole["probability"].unique().to_list() == [1.0]


def test_items_that_join_later_are_strata_of_their_own():
    first = drawn(first_draw(ITEMS), 10, 5)
    more = joined(first, [*ITEMS, *(f"n{at}" for at in range(20))], ["all"] * 80, 2)
    found = drawn(more, 16, 5, number=2)
    assert found["stratum"].unique().sort().to_list() == ["all", "all; since round 2"]
    assert found.filter(pl.col("stratum") == "all; since round 2")["probability"].unique().to_list() == [0.2]
    assert joined(first, ITEMS, ["all"] * 60, 2).equals(first)


def test_a_draw_that_goes_on_from_a_random_sample_is_one_sample():
    """Of each stratum it is a random sample of the size that its probability says; estimates are unbiased."""
    rng = np.random.default_rng(4)
    items, strata = [f"i{at}" for at in range(120)], ["large"] * 90 + ["small"] * 30
    value = np.where(np.arange(120) < 90, 1.0, 5.0) + rng.normal(size=120)
    totals = []
    for seed in range(300):
        declared = rng.choice(items, 24, replace=False)
        is_declared = pl.col("item").is_in([*declared])
        before = first_draw(items, strata).with_columns(
            drawn=is_declared, round=pl.when(is_declared).then(0).cast(pl.Int32)
        )
        draw = drawn(before, 48, seed)
        inside = draw["drawn"].to_numpy()
        assert inside.sum() == 48
        assert {*declared} <= {*draw.filter("drawn")["item"]}
        assert in_sample(draw, seed).equals(draw["drawn"], check_names=False)
        assert draw.filter(round=0).height == 24
        totals.append((value[inside] / draw["probability"].to_numpy()[inside]).sum())
    error = np.std(totals) / len(totals) ** 0.5
    assert abs(np.mean(totals) - value.sum()) < 3 * error


ANNOTATED = pl.DataFrame(
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
    found = with_gold(ANNOTATED, KNOWN, draw, {"2": "b"}, {})
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
    assert back["gold"].cast(pl.String).to_list() == ANNOTATED["gold"].cast(pl.String).to_list()
    assert back["gold_drawn"].null_count() == 5
