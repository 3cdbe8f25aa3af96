"""Simulated studies are what their population says."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from tools.certifying.gate import FACTORS, cells
from tools.certifying.population import (
    GROUP,
    Population,
    _spread,
    as_numbers,
    as_sets,
    covering_array,
    large_study,
    study,
)

from quaver.measures import accuracy, compliance, ece, label_shares


def test_every_pair_of_the_grid_meets_in_few_rows():
    rows = covering_array(FACTORS)
    for (one, levels), (other, others) in combinations(FACTORS.items(), 2):
        met = {(row[one], row[other]) for row in rows}
        assert met == {(a, b) for a in levels for b in others}
    assert 12 <= len(rows) <= 18


def test_the_rows_are_the_same_every_time():
    assert covering_array(FACTORS) == covering_array(FACTORS)


def test_the_hard_cells_have_what_the_grid_lacks():
    hard = {name: one for name, one in cells().items() if name.startswith("hard")}
    assert len(hard) <= 16
    kept = {(one.unequal, one.broken > 0, one.shape, one.missing > 0, one.hostile) for one in hard.values()}
    for at, levels in enumerate(zip(*kept, strict=True)):
        assert len(set(levels)) == (3 if at == 2 else 2)
    assert {len(one.shares) for one in hard.values()} == {2, 3, 12}


HARD = Population(
    items=2000, variants=7, group_size=10, unequal=True, icc=0.2, broken=1 / 7, missing=0.3, hostile=True
)


def test_groups_follow_a_power_law():
    frame = study(HARD, HARD.fixed_prompts(1), 1)
    sizes = frame.group_by(GROUP).agg(pl.col("item").n_unique())["item"].sort(descending=True).to_list()
    assert len(sizes) == 200
    assert sizes[0] == pytest.approx(10 * sizes[9], rel=0.1)
    assert sum(sizes) == 2000


def test_one_prompt_in_seven_is_broken_and_no_other():
    frame = large_study(HARD, HARD.fixed_prompts(1), 1)
    right = sorted(one.value or 0.0 for one in accuracy(frame, by=["variant"], missing="drop", resamples=0))
    assert right[0] < 0.5
    assert right[1] > 0.85


def test_hard_items_have_fewer_answers():
    frame = large_study(HARD, HARD.fixed_prompts(1), 1)
    by_item = frame.group_by("item").agg(
        absent=pl.col("label").is_null().mean(),
        right=(pl.col("label").cast(pl.String) == pl.col("gold").cast(pl.String)).mean(),
    )
    assert float(by_item.select(pl.corr("absent", "right")).item()) < -0.3
    assert float(by_item["absent"].mean()) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("shape", ["heavy", "bimodal"])
def test_shapes_of_difficulty(shape):
    easy = np.array([-4.0, -1.3, -1.2, 0.0, 1.0, 4.0])
    found = _spread(easy, shape)
    assert (np.diff(found) > 0).all()
    if shape == "heavy":
        assert found[-1] > 20
    else:
        assert found[2] - found[1] > 3  # between the tenth that is nearly lost and the rest


NOISY = Population(items=400, variants=8, shares=(0.05, 0.95), noisy=0.25, missing=0.1, validity=0.9)


def draw(population, seed=1):
    return study(population, population.fixed_prompts(1), seed)


def test_the_same_seed_gives_the_same_study():
    assert draw(NOISY).equals(draw(NOISY))
    assert not draw(NOISY).equals(draw(NOISY, 2))


def test_noise_leaves_each_prompts_shares_as_they_are():
    frame = large_study(NOISY, NOISY.fixed_prompts(1), 1)
    found = label_shares(frame, labels=NOISY.labels, by=["variant"], resamples=0)
    rare = [one.value for one in found if one.cell["label"] == "a"]
    assert len(rare) == NOISY.variants
    assert rare == pytest.approx([0.05] * NOISY.variants, abs=0.004)
    right = {one.cell["variant"]: one.value for one in accuracy(frame, by=["variant"], resamples=0)}
    quiet = [value for name, value in right.items() if name not in ("v01", "v02")]
    assert max(right["v01"], right["v02"]) < min(quiet) - 0.01


def test_answers_are_missing_as_often_as_the_population_says():
    frame = large_study(NOISY, NOISY.fixed_prompts(1), 1)
    assert compliance(frame, resamples=0)[0].value == pytest.approx(0.9, abs=0.002)


@pytest.mark.parametrize(("sharpness", "least", "most"), [(1.0, 0.0, 0.004), (2.0, 0.03, 0.2)])
def test_confidence_is_calibrated_unless_it_is_sharpened(sharpness, least, most):
    population = Population(sharpness=sharpness, prompt_sd=0.5)
    error = ece(large_study(population, population.fixed_prompts(1), 1), resamples=0)[0].value
    assert least <= error <= most


def test_a_large_study_is_what_studies_are_on_average():
    population = replace(NOISY, items=200, variants=3, group_size=10, icc=0.3)
    large = accuracy(large_study(population, population.fixed_prompts(1), 1), resamples=0)[0].value
    some = [accuracy(draw(population, at), resamples=0)[0].value or 0.0 for at in range(60)]
    assert np.mean(some) == pytest.approx(large, abs=4 * float(np.std(some)) / 60**0.5)


def test_groups_share_their_gold_labels():
    def spread(icc):
        population = Population(items=4000, variants=1, repeats=1, shares=(0.5, 0.5), group_size=10, icc=icc)
        groups = draw(population).group_by(GROUP).agg((pl.col("gold") == "a").mean().alias("share"))
        return float(groups["share"].std() or 0.0)

    assert spread(0.0) == pytest.approx((0.25 / 10) ** 0.5, rel=0.15)
    assert spread(0.5) > 1.5 * spread(0.0)


def test_a_second_evaluator_fails_to_parse_some_answers():
    population = Population(evaluators=2)
    frame = draw(population)
    lost = frame.group_by("evaluator").agg(pl.col("label").null_count().alias("lost")).sort("evaluator")
    assert frame.height == 2 * population.items * population.variants * population.repeats
    assert dict(lost.with_columns(pl.col("evaluator").cast(pl.String)).rows())["e"] == 0
    assert lost["lost"].max() > 0


def test_sets_share_names_where_labels_are_confused():
    population = Population(items=400, variants=2, shares=(0.05, 0.95), validity=0.5)
    frame, labels = as_sets(study(population, population.prompts(1), 1), population, "masi")
    assert set(frame["label"].drop_nulls()) == {"tax;war", "war"}
    assert frame.filter(gold="tax;war")["item"].n_unique() < 50
    assert labels.level == "masi"
    assert [one.code for one in labels.labels] == ["tax", "war", "tax;war"]


def test_numbers_are_off_by_noise_and_far_off_where_the_label_is_wrong():
    population = Population(items=400, variants=2, validity=0.8)
    plain = study(population, population.prompts(1), 1)
    frame, labels = as_numbers(plain, population, "ratio")
    error = frame["label"].cast(pl.Float64) - frame["gold"].cast(pl.Float64)
    steps = plain["label"].cast(pl.String).replace_strict({"a": 0, "b": 10, "c": 20}) - plain["gold"].cast(
        pl.String
    ).replace_strict({"a": 0, "b": 10, "c": 20})
    noise = error - steps
    assert abs(noise.std() - 1) < 0.05
    assert abs(noise).max() < 5
    assert {one.value for one in labels.labels} >= set(frame["gold"].cast(pl.Float64))
    assert frame.schema == plain.schema | {"label": pl.String, "gold": pl.String}
