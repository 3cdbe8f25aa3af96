"""What the engine keeps for every measure, whatever it measures: its input, its arguments, its columns."""

import inspect
import math

import polars as pl
import pytest

import quaver.measures
from quaver.core import registry
from quaver.errors import MeasureError
from quaver.estimation.coded_columns import Gathered
from quaver.measures import FUNCTIONS
from quaver.testing.frames import noisy_annotations
from quaver.testing.recipes import plugins
from quaver.testing.test_measures import TWO, compares_evaluators, measured, point, with_another_evaluator

TEXTS = ["item", "variant", "label", "gold", "model", "decoding", "status", "evaluator"]
SAME = {
    "the same again": lambda frame: frame,
    "rows in another order": lambda frame: frame.sample(fraction=1, shuffle=True, seed=3),
    "a lazy frame": lambda frame: frame.lazy(),
    "categorical columns": lambda frame: frame.cast(dict.fromkeys(TEXTS, pl.Categorical)),
}
"""Frames of which estimates are the same to the last digit."""
WRONG = {
    "by": {"by": ["modle"]},
    "columns['item']": {"columns": {"item": "itme"}},
    "group": {"group": "autor"},
    "confidence_level": {"confidence_level": 95},
    "resamples": {"resamples": -1},
}
"""Wrong arguments, by where the error says that they are."""


@pytest.fixture(params=plugins("measures"))
def name(request):
    return request.param


@pytest.mark.parametrize("change", SAME)
def test_gives_the_same_of(name, change):
    frame = with_another_evaluator(name, noisy_annotations())
    assert measured(name, SAME[change](frame)) == measured(name, frame)


def test_gives_the_same_of_a_frame_that_others_were_taken_of(name):
    frame = with_another_evaluator(name, noisy_annotations(models=TWO))
    gathered = Gathered(frame)
    measured(name, gathered)
    measured(name, gathered, group="author")
    assert measured(name, gathered, by=["model"]) == measured(name, frame, by=["model"])


def test_takes_pandas(name):
    pytest.importorskip("pandas")
    frame = with_another_evaluator(name, noisy_annotations().drop("probabilities", "reason"))
    assert measured(name, frame) == measured(name, frame.to_pandas())


@pytest.mark.parametrize("where", WRONG)
def test_names_the_argument_that_is_wrong(name, where):
    with pytest.raises(MeasureError) as caught:
        measured(name, noisy_annotations(), **WRONG[where])
    assert caught.value.where == where


def test_refuses_two_annotations_in_one_place_and_several_evaluators(name):
    frame = noisy_annotations()
    with pytest.raises(MeasureError, match="several annotations"):
        measured(name, pl.concat([frame, frame.head(1)]))
    if not compares_evaluators(name):
        with pytest.raises(MeasureError, match="several evaluators"):
            measured(name, pl.concat([frame, frame.with_columns(evaluator=pl.lit("f"))]))


def test_does_not_move_much_when_the_data_are_there_four_times(name):
    frame = noisy_annotations(60, models=TWO)
    copies = [frame.with_columns(item=pl.col("item") + suffix) for suffix in "wxyz"]
    options = {"resamples": 200}
    if "fixed" in registry.load("measures", name).estimands:  # more items say no more of other prompts
        options["estimand"] = "fixed"
    ones, fours = (measured(name, one, **options) for one in (frame, pl.concat(copies)))
    for estimate, four in zip(ones, fours, strict=True):
        if estimate.value is None:
            continue
        # Small-sample corrections (alpha's n − 1, pairs of an item with itself) move it a little.
        assert point(name, four) == pytest.approx(point(name, estimate), abs=0.02)
        if estimate.low is not None:
            assert width(four) < 0.8 * width(estimate)


def width(estimate):
    """How wide its interval is; without one, endless."""
    return math.inf if estimate.low is None or estimate.high is None else estimate.high - estimate.low


@pytest.mark.parametrize("name", registry.names("measures"))
def test_every_registered_measure_is_there_by_its_name(name):
    assert getattr(quaver.measures, name) is registry.load("measures", name)
    assert "annotations" in inspect.signature(getattr(quaver.measures, name)).parameters


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_beside_them_are_there_too(name):
    assert inspect.isroutine(getattr(quaver.measures, name))
    assert name not in registry.names("measures")


def test_another_name_is_not():
    with pytest.raises(AttributeError, match="acuracy"):
        _ = quaver.measures.acuracy
    assert set(dir(quaver.measures)) == {*registry.names("measures"), *FUNCTIONS}
