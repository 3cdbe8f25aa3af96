"""A study's certificate says how its own measures behave, and catches a broken interval."""

from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl
import pytest
from tools.certifying.population import GROUP, Population, as_numbers, study

from quaver.certification.certificate import Asked, Certificate, ResampledStudies, StudyWork
from quaver.certification.processes import certify
from quaver.certification.simulated_study import SimulatedStudies
from quaver.core.records import Estimate
from quaver.measures import accuracy, differences

POPULATION = Population(items=60, variants=3, repeats=1)
FRAME = study(POPULATION, POPULATION.fixed_prompts(1), 1)


def broken(frame: pl.DataFrame, **options: Any) -> list[Estimate]:
    """Accuracy with an interval of a third of the width."""
    found = []
    for one in accuracy(frame, **options):
        if one.value is not None and one.low is not None and one.high is not None:
            low, high = (one.value + (end - one.value) / 3 for end in (one.low, one.high))
            one = replace(one, low=low, high=high)
        found.append(one)
    return found


def certificate(*asked: Asked, replications: int = 60) -> Certificate:
    worker = StudyWork(asked, SimulatedStudies(FRAME, POPULATION.codes), {"resamples": 50}, seed=1)
    return certify(worker, replications=replications)


@pytest.mark.long
def test_a_broken_interval_is_caught() -> None:
    found = certificate(Asked("accuracy", accuracy), Asked("broken", broken))
    good, bad = found.lines
    assert (good.verdict, bad.verdict) == ("open", "fail")  # 60 studies are too few to pass
    assert good.coverage is not None
    assert bad.coverage is not None
    assert bad.coverage < 0.75 < 0.85 < good.coverage
    assert bad.width is not None
    assert good.width is not None
    assert bad.width < 0.5 * good.width


@pytest.mark.long
def test_tests_have_their_error_and_their_power() -> None:
    found = certificate(Asked("differences", differences)).lines[0]
    assert found.places == 3
    assert found.rejected is not None or found.power is not None


def test_a_certificate_is_the_same_every_time_and_counts_what_it_is_of() -> None:
    one, other = (certificate(Asked("accuracy", accuracy), replications=4) for _ in range(2))
    assert one == other
    assert one.replications == 4
    assert len(one.places) == 1


def test_a_measure_that_fails_is_named() -> None:
    def failing(frame: pl.DataFrame, **options: Any) -> list[Estimate]:
        raise ValueError("no such luck")

    found = certificate(Asked("accuracy", accuracy), Asked("failing", failing), replications=2)
    assert "no such luck" in found.failed["failing"]
    assert [one.measure for one in found.lines] == ["accuracy"]


NUMBERS, OF_NUMBERS = as_numbers(
    study(replace(POPULATION, group_size=3, icc=0.5), POPULATION.fixed_prompts(1), 1), POPULATION, "ratio"
)


def test_numbers_are_those_of_items_that_are_drawn_with_all_their_answers() -> None:
    studies = ResampledStudies(NUMBERS, GROUP)
    made = studies.study_like(5)
    assert made.schema == NUMBERS.schema
    assert made.equals(studies.study_like(5))
    place = ["item", "variant", GROUP]
    assert made.select(place).sort(place).equals(NUMBERS.select(place).sort(place))

    def answers(frame: pl.DataFrame) -> dict[str, tuple[str, ...]]:
        each = frame.sort("variant").group_by("item").agg(pl.col("label"), pl.col("gold"))
        return {str(item): (*label, *gold) for item, label, gold in each.rows()}

    whole, drawn = answers(NUMBERS), answers(made)
    source = {row: name for name, row in whole.items()}
    group = dict(NUMBERS.select(pl.col("item").cast(pl.String), GROUP).rows())
    assert len({source[row] for row in drawn.values()}) < len(whole)
    for name in drawn:  # items of one group come from one group
        beside = [other for other in drawn if group[other] == group[name]]
        assert len({group[source[drawn[other]]] for other in beside}) == 1


def test_other_prompts_of_numbers_are_drawn_from_the_study_s_too() -> None:
    studies = ResampledStudies(NUMBERS.drop(GROUP))
    apart = pl.col("label").cast(pl.Float64).sum()
    sums = NUMBERS.group_by("variant").agg(apart)["label"].to_list()
    large = [
        studies.study_like(1, prompts, copies=30).group_by("variant").agg(apart / 30)["label"].to_list()
        for prompts in range(8)
    ]
    assert all(min(abs(one - own) for own in sums) < 0.03 * one for some in large for one in some)


def test_intervals_of_numbers_are_certified() -> None:
    asked = Asked("accuracy", partial(accuracy, labels=OF_NUMBERS))
    worker = StudyWork([asked], ResampledStudies(NUMBERS.drop(GROUP)), {"resamples": 50}, seed=1)
    found = certify(worker, replications=40)
    lines = {line.name: line for line in found.lines if line.estimand == "fixed"}
    assert found.population == {"drawn": "items"}
    assert not found.failed
    for name in ("accuracy_mean_error", "accuracy_bias", "accuracy_correlation"):
        assert lines[name].coverage is not None
        assert lines[name].coverage > 0.8
