"""A study's certificate says how its own measures behave, and catches a broken interval."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from tools.certifying.population import Population, study

from quaver.certification.certificate import Asked, Certificate, StudyWork
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
