"""A line of the certificate says how often an interval covers, and a broken one is caught."""

from dataclasses import asdict

import numpy as np
import pytest
from tools.certifying.certified_measures import certified_measures
from tools.certifying.coverage import KeptEstimate, Line, Place, judged, kept_of, kind_of, line_of
from tools.certifying.gate import lines_of
from tools.certifying.population import Population
from tools.certifying.replications import Work, work

from quaver.core.records import Estimate, IntervalWarning

ABOUT = Line(cell="c", measure="m", name="m", estimand="fixed", places=1, replications=400)


def said(width, warned=lambda _: False, truth=0.0):
    """Normal estimates with intervals of so many standard errors each way."""
    values = np.random.default_rng(1).normal(truth, 1, 400).tolist()
    return [
        KeptEstimate(v, v - width, v + width, p=0.01 if abs(v) > width else 0.5, doubted=warned(v))
        for v in values
    ]


def line(some, truth=0.0):
    places = [Place(dict(enumerate(some)), range(len(some)), truth)]
    return line_of(ABOUT, places, 0.0)


def test_a_good_interval_passes():
    found = line(said(1.96))
    assert found.verdict == "pass"
    assert found.coverage == pytest.approx(0.95, abs=0.025)
    assert found.rejected == pytest.approx(0.05, abs=0.025)
    assert found.width == pytest.approx(1.0, abs=0.15)
    assert found.power is None


@pytest.mark.parametrize(("width", "verdict"), [(1.4, "fail"), (1.96, "pass"), (3.5, "wide")])
def test_a_narrow_interval_fails_and_a_wide_one_is_called_so(width, verdict):
    assert line(said(width)).verdict == verdict


def test_a_narrow_interval_with_a_warning_where_it_misses_is_warned():
    some = [one._replace(p=None) for one in said(1.4, warned=lambda value: abs(value) > 1.2)]
    assert line(some).verdict == "warned"


def test_a_warning_that_is_not_about_the_interval_excuses_no_miss():
    some = [one._replace(p=None, warnings=("no more than noise",)) for one in said(1.4)]
    assert line(some).verdict == "fail"
    assert line(some).unwarned == 1.0


def test_what_is_known_of_a_warning_is_whether_it_doubts_the_interval():
    remark, doubt = "one bin", IntervalWarning("the interval may be too narrow")
    assert not kept_of(Estimate("m", 0.5, 0.4, 0.6, warnings=(remark,))).doubted
    assert kept_of(Estimate("m", 0.5, 0.4, 0.6, warnings=(remark, doubt))).doubted


def test_what_is_rejected_of_an_untrue_null_is_power():
    found = line(said(1.96, truth=3.0), truth=3.0)
    assert found.rejected is None
    assert found.power > 0.7


def test_a_test_that_rejects_too_often_fails():
    some = [one._replace(p=0.01 if index % 8 == 0 else 0.5) for index, one in enumerate(said(1.96))]
    assert line(some).verdict == "fail"


def test_a_warning_is_known_by_its_words():
    assert kind_of("only 3 of 1,200 units") == kind_of("only 12 of 30 units")


SMALL = Population(items=30, variants=3, repeats=1)


def certificate(name, count=30, resamples=50):
    measure = certified_measures()[name]
    documents = [work(Work("c", SMALL, (measure,), start, count, resamples, seed=1)) for start in (-1, 0)]
    return lines_of("c", documents, {name: measure}, SMALL)


def test_a_measure_is_certified_from_its_declaration_alone():
    found = certificate("accuracy")
    assert {one.measure for one in found} == {"accuracy"}
    assert all(one.coverage is not None for one in found)
    studies = {one.estimand: one.replications for one in found}
    assert studies["fixed"] == 30
    assert studies["population"] == 15


def test_work_is_the_same_every_time():
    assert certificate("inter_pss", 3) == certificate("inter_pss", 3)


def test_an_oracle_of_a_rare_share_knows_that_most_studies_see_none():
    rng = np.random.default_rng(1)
    found = (rng.binomial(50, 0.01, 400) / 50).tolist()
    place = Place({at: KeptEstimate(value, 0.0, 0.07) for at, value in enumerate(found)}, range(400), 0.01)
    assert np.median(found) == 0
    assert 0.05 < place.oracle() < 0.09


@pytest.mark.parametrize(
    ("coverage", "error", "verdict"),
    [
        (0.95, 0.015, "pass"),
        (0.99, 0.007, "pass"),
        (0.94, 0.017, "open"),  # it may cover 91.2%
        (0.94, 0.005, "open"),  # it covers no 95%
        (0.89, 0.022, "open"),
        (0.88, 0.022, "fail"),
    ],
)
def test_a_line_passes_only_if_both_limits_say_so(coverage, error, verdict):
    numbers = {"coverage": coverage, "coverage_error": error, "interval": 1.0, "unwarned": 1.0}
    plain = {"coverage_unwarned": coverage, "unwarned_error": error}
    assert judged(asdict(ABOUT) | numbers | plain) == verdict


def test_a_few_intervals_decide_nothing():
    few = {"coverage": 0.0, "coverage_error": 0.05, "interval": 0.02, "unwarned": 1.0}
    assert judged(asdict(ABOUT) | few) == "open"
