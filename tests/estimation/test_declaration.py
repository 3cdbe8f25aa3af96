"""What a declaration makes of a function, tried on a measure of our own."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.core.rows import SECTIONS, Presentation
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure, registered
from quaver.estimation.means import share_of
from quaver.estimation.measure_input import MeasureInput, judge
from quaver.estimation.statistic import Cell, Statistic

TITLE = "How often it is right"

FRAME = pl.DataFrame(
    {
        "item": [1, 2, 3, 4] * 2,
        "variant": ["v"] * 4 + ["w"] * 4,
        "label": ["a", "b", None, "b", "a", "a", "b", "b"],
        "gold": list("abab") * 2,
        "confidence": [0.5] * 8,
    }
)


@measure(
    title=TITLE,
    section="accuracy",
    unit="share",
    better="higher",
    source="Us (2026)",
    missing=("wrong", "drop"),
    raters=("variant",),
    gold=True,
    numbers=("confidence",),
    treatments=("half",),
    parts={"_twice": {"title": "Twice", "unit": "difference", "null": 0.0}},
)
def rightness(cell: Cell, *, half: Literal["no", "yes"] = "no", missing: Missing) -> Iterator[Statistic]:
    """The share of right answers.

    Args:
        half: Whether it is halved.

    Of eight answers five are right:

    >>> rightness(FRAME)[0].value
    0.625
    """
    judged = judge(cell, missing)
    right, asked = judged.right.sum((1, 2)), judged.asked.sum((1, 2))
    certainty = float(np.nanmean(cell.numbers["confidence"])) if cell.items else None
    said = Statistic(method="share right", reason=judged.reason, details={"half": half, "sure": certainty})
    statistic = share_of(cell, right, asked, said)
    yield statistic
    if statistic.under is not None:
        yield Statistic(method="twice", part="_twice", under=statistic.under)


@measure(compares=("variant",), takes_factors=True, pairs_evaluators=True)
def gap(reading: MeasureInput, *, between: str = "variant") -> Iterator[Estimate]:
    """The range of `rightness` over what is compared."""
    found = replace(reading, by=(between,)).measured(rightness)
    values = [one.value for one in found if one.value is not None and one.measure == "rightness"]
    for cell in reading.cells(raters=(between, "repeat")):
        yield Estimate("gap", max(values) - min(values), cell=cell.where, method="range")


def test_it_is_called_with_a_frame_and_gives_estimates_of_each_cell():
    found = [one for one in rightness(FRAME, by=["variant"], resamples=50) if one.measure == "rightness"]
    assert [(one.cell["variant"], one.value) for one in found] == [("v", 0.75), ("w", 0.5)]
    assert all(one.reference == "Us (2026)" and one.low is not None for one in found)
    assert rightness(FRAME, missing="drop", resamples=0)[0].value == pytest.approx(5 / 7)


def test_a_function_of_weights_is_resampled_once_for_all_that_share_it():
    one, two = rightness(FRAME, resamples=50)
    assert two.measure == "rightness_twice"
    assert two.value == one.value


def test_its_signature_has_its_own_options_and_those_of_all_measures():
    parameters = inspect.signature(rightness).parameters
    assert list(parameters)[:4] == ["annotations", "half", "missing", "labels"]
    assert parameters["missing"].annotation == Literal["wrong", "drop"]
    assert parameters["missing"].default == "wrong"
    assert parameters["half"].annotation == Literal["no", "yes"]
    assert "missing" not in inspect.signature(gap).parameters


def test_its_documentation_has_all_arguments_once():
    page = pydoc.render_doc(rightness, renderer=pydoc.plaintext)
    for name in inspect.signature(rightness).parameters:
        assert page.count(f"        {name}: ") == 1, name
    assert "Source: Us (2026)." in page
    assert page.index("Of eight answers") < page.index("Source") < page.index("Args:") < page.index("Raises:")


def test_options_are_checked_against_their_types():
    with pytest.raises(MeasureError) as caught:
        rightness(FRAME, half="maybe")
    assert caught.value.where == "half"
    with pytest.raises(MeasureError) as caught:
        rightness(FRAME, missing="category")
    assert caught.value.where == "missing"
    with pytest.raises(UnknownName, match="halve"):
        rightness(FRAME, halve="no")


def test_an_estimate_carries_its_draws_where_they_are_asked_for():
    bare, kept = rightness(FRAME, resamples=50)[0], rightness(FRAME, resamples=50, keep_draws=True)[0]
    assert bare == kept
    assert bare.draws is None
    assert kept.draws.jackknife.left.shape == (kept.n,)
    assert kept.draws.statistic.under is None  # nothing of the data outlives the measure
    assert "draws" not in kept.document()


def test_a_measure_of_a_reading_may_take_others_in_the_same_way():
    (found,) = gap(FRAME, resamples=0)
    assert found.value == 0.25
    assert gap.compared({}) == ("variant",)
    assert gap.compared({"between": ["model", "decoding"]}) == ("model", "decoding")
    assert rightness.treatments == ("half", "missing")


def test_how_its_estimates_are_shown():
    assert rightness.presentation_of("rightness").title == TITLE
    part = rightness.presentation_of("rightness_twice")
    assert (part.title, part.section, part.in_percent, part.null) == ("Twice", "accuracy", True, 0.0)
    assert rightness.presentation_of("rightness_other").title.startswith("Rightness other")


def positional(cell: Cell, half: str = "no") -> Any:
    """An option that can be given by place."""


def shadowing(cell: Cell, *, seed: int = 1) -> Any:
    """An option that all measures have."""


def undeclared(cell: Cell, *, missing: Missing) -> Any:
    """A treatment that is not declared."""


@pytest.mark.parametrize("function", [positional, shadowing, undeclared])
def test_a_function_that_cannot_be_a_measure_is_refused_when_it_is_declared(function):
    with pytest.raises(TypeError, match=function.__name__):
        measure(raters=("variant",))(function)


def test_what_is_registered_as_a_measure_must_be_one(monkeypatch):
    monkeypatch.setattr(registry, "load", lambda kind, name, where=None: len)
    with pytest.raises(MeasureError) as caught:
        registered("length", where="study.yaml:3")
    assert (caught.value.where, caught.value.found) == ("study.yaml:3", "builtin_function_or_method")


@pytest.mark.parametrize("declare", [lambda **of: measure(**of)(gap.function), Presentation])
def test_a_declaration_refuses_an_unknown_section(declare):
    with pytest.raises(UnknownName) as caught:
        declare(section="stabilty")
    assert (caught.value.where, caught.value.found) == ("section", "stabilty")
    assert [name for name in SECTIONS if name not in str(caught.value.expected)] == []
    assert "stability" in str(caught.value.fix)
