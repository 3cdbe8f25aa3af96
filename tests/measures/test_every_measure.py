"""What the engine keeps for every measure, whatever it measures: its input, its arguments, its columns."""

import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.estimation.coded_columns import Gathered
from quaver.testing.frames import noisy_annotations
from quaver.testing.recipes import plugins
from quaver.testing.test_measures import TWO, compares_evaluators, measured, with_another_evaluator

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
