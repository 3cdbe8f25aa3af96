"""Simulated studies are like the one that they are made of."""

from __future__ import annotations

import polars as pl
import pytest
from tools.certifying.population import GROUP, Population, study

from quaver.certification.simulated_study import SimulatedStudies
from quaver.measures import accuracy, compliance, ece, evaluator_flips, inter_pss, label_shares

POPULATION = Population(
    items=300,
    variants=8,
    shares=(0.2, 0.3, 0.5),
    validity=0.9,
    agreement=0.9,
    prompt_sd=0.6,
    missing=0.1,
    evaluators=2,
    group_size=10,
    icc=0.3,
)
FRAME = study(POPULATION, POPULATION.fixed_prompts(1), 1)
STUDIES = SimulatedStudies(FRAME, POPULATION.codes, GROUP)


def first(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("evaluator").cast(pl.String) == "e")


def numbers(frame: pl.DataFrame) -> list[float]:
    own = first(frame)
    common = {"labels": POPULATION.labels, "resamples": 0}
    found = [*label_shares(own, **common), *accuracy(own, **common), *inter_pss(own, **common)]
    found += [*compliance(own, **common), *ece(own, **common), *evaluator_flips(frame, **common)]
    return [one.value or 0.0 for one in found]


def test_measures_of_simulated_studies_are_those_of_the_study() -> None:
    assert numbers(STUDIES.study_like(1, copies=10)) == pytest.approx(numbers(FRAME), abs=0.05)


def test_prompts_keep_their_order_of_accuracy() -> None:
    def by_prompt(frame: pl.DataFrame) -> list[str]:
        found = accuracy(first(frame), by=["variant"], resamples=0)
        return [one.cell["variant"] for one in sorted(found, key=lambda one: one.value or 0.0)]

    assert by_prompt(STUDIES.study_like(1, copies=10))[0] == by_prompt(FRAME)[0]
    assert by_prompt(STUDIES.study_like(1, copies=10))[-1] == by_prompt(FRAME)[-1]


def test_a_simulated_study_has_the_studys_shape_and_other_answers() -> None:
    made = STUDIES.study_like(1)
    assert made.schema == FRAME.schema
    assert made.equals(STUDIES.study_like(1))
    place = ["item", "variant", "repeat", "evaluator"]
    assert made.select(place).sort(place).equals(FRAME.select(place).sort(place))
    assert not made["label"].equals(FRAME["label"])


def test_groups_are_found_to_be_alike() -> None:
    alone = SimulatedStudies(FRAME.with_columns(alone=pl.col("item")), POPULATION.codes, "alone")
    assert STUDIES.like.icc > 0.1
    assert alone.like.icc == 0.0


def test_other_prompts_are_as_far_apart() -> None:
    def spread(seed: int | None) -> float:
        found = accuracy(first(STUDIES.study_like(1, seed, copies=5)), by=["variant"], resamples=0)
        values = [one.value or 0.0 for one in found]
        return max(values) - min(values)

    assert spread(3) != spread(None)
    assert 0.3 * spread(None) < spread(3) < 3 * spread(None)


@pytest.mark.parametrize("frame", [FRAME.with_columns(label=pl.lit(None, pl.Categorical)), FRAME.head(1)])
def test_a_study_that_says_nothing_can_be_drawn_all_the_same(frame: pl.DataFrame) -> None:
    assert SimulatedStudies(frame, POPULATION.codes).study_like(1).height == frame.height


def test_groups_in_which_labels_are_right_together_stay_so() -> None:
    wrong = pl.col(GROUP).str.slice(1).cast(pl.Int32) % 4 == 0
    label = pl.when(wrong).then(pl.lit("a")).otherwise(pl.lit("b"))
    frame = first(FRAME).with_columns(gold=pl.lit("b"), label=label.cast(pl.Categorical))
    studies = SimulatedStudies(frame, POPULATION.codes, GROUP)
    assert studies.like.alike > 0.8 > STUDIES.like.alike

    def spread(studies: SimulatedStudies) -> float:
        made = first(studies.study_like(1)).select(GROUP, right=pl.col("label").eq(pl.col("gold")))
        return float(str(made.group_by(GROUP).agg(pl.col("right").mean())["right"].std()))

    assert spread(studies) > 0.35 > spread(STUDIES)  # 0 or 1 in nearly every group


def agreement(frame: pl.DataFrame) -> pl.DataFrame:
    """How often each item's answers have its modal label, and how often there is none."""
    label = pl.col("label").cast(pl.String)
    return (
        first(frame)
        .group_by("item")
        .agg(
            same=(label.drop_nulls() == label.drop_nulls().mode().sort().first()).mean(),
            absent=label.is_null().mean(),
        )
    )


def test_difficulty_keeps_its_shape() -> None:
    """A tenth of the items is nearly lost, and the rest is certain; a normal spread has others."""
    population = Population(items=600, variants=8, agreement=0.99, shape="bimodal", difficulty=3.0)
    frame = study(population, population.fixed_prompts(1), 1)
    made = SimulatedStudies(frame, population.codes).study_like(1, copies=3)
    for found in (frame, made):
        same = agreement(found)["same"]
        assert 0.04 < (same < 0.7).mean() < 0.16
        assert ((same >= 0.7) & (same < 0.9)).mean() < 0.08


def test_hard_items_lack_as_many_answers() -> None:
    population = Population(items=600, variants=8, missing=0.25, difficulty=2.0)
    frame = study(population, population.fixed_prompts(1), 1)
    made = SimulatedStudies(frame, population.codes).study_like(1)
    tied = [float(agreement(one).select(pl.corr("same", "absent")).item()) for one in (frame, made)]
    assert tied[0] < -0.3
    assert tied[1] < -0.3
    assert compliance(made, resamples=0)[0].value == pytest.approx(
        compliance(frame, resamples=0)[0].value, abs=0.02
    )
