"""What every registered measure keeps to, whatever it measures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import polars as pl
import pytest

from quaver.core import registry
from quaver.core.records import AND_PROMPT, Estimate, Label, LabelSet
from quaver.errors import QuaverError
from quaver.estimation.declaration import Measure
from quaver.testing.frames import LABELS, noisy_annotations
from quaver.testing.recipes import Recipe, plugins, recipe_of

TWO = ("m", "n")
FAST = {"resamples": 60, "seed": 7}


def recipe(name: str) -> Recipe:
    return recipe_of("measures", name)


def compares_evaluators(name: str) -> bool:
    return "evaluator" in getattr(registry.load("measures", name), "compares", ())


def with_another_evaluator(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """For a measure that compares evaluators another one, that fails to read most answers to one prompt."""
    if not compares_evaluators(name) or frame["evaluator"].n_unique() > 1:
        return frame
    failed = pl.col("original") & (pl.col("author").hash(1) % 4 > 0)
    label = pl.when(failed).then(None).otherwise(pl.col("label")).cast(frame["label"].dtype)
    evaluator = pl.lit("d").cast(frame["evaluator"].dtype)
    return pl.concat([frame, frame.with_columns(label=label, evaluator=evaluator)])


def label_set(codes: Sequence[str]) -> LabelSet:
    return LabelSet(tuple(Label(code, code) for code in codes))


def measured(name: str, frame: Any, **options: Any) -> list[Estimate]:
    if isinstance(frame, pl.DataFrame):
        frame = with_another_evaluator(name, frame)
    given = recipe(name).options
    own = given() if callable(given) else given
    estimates: list[Estimate] = registry.load("measures", name)(frame, **{**FAST, **own, **options})
    for estimate in estimates:
        check(estimate, name)
    return estimates


def numbers(thing: Any) -> Iterator[float]:
    if is_dataclass(thing):
        thing = [getattr(thing, field.name) for field in fields(thing)]
    if isinstance(thing, float):
        yield thing
    elif isinstance(thing, dict | list | tuple):
        for value in thing.values() if isinstance(thing, dict) else thing:
            yield from numbers(value)


def check(estimate: Estimate, name: str) -> None:
    assert isinstance(estimate, Estimate)
    assert (estimate.value is None) != (estimate.reason is None), estimate
    assert all(math.isfinite(number) for number in numbers(estimate)), estimate
    assert estimate.measure.startswith(name)
    assert estimate.method
    assert all(isinstance(value, str) for value in estimate.cell.values())
    assert (estimate.low is None) == (estimate.high is None)
    if estimate.value is None:
        assert estimate.low is None
    elif estimate.low is not None and estimate.high is not None:
        assert estimate.low < estimate.high, "an interval of no width is presented as certain"
        assert estimate.low <= estimate.value <= estimate.high, "a value outside its own interval"


def point(name: str, estimate: Estimate) -> float | None:
    """The estimate of all items, for a measure whose value is a mean over samples that are drawn."""
    value: float | None = estimate.details["whole"] if recipe(name).is_drawn else estimate.value
    return value


Row = tuple[int, str, tuple[float, ...]]


def summary(name: str, estimates: Sequence[Estimate], *, ends: bool = True) -> list[Row]:
    """What two runs must agree on: values and intervals by cell, without the labels' names."""
    if not ends and recipe(name).is_drawn:
        estimates = [replace(estimate, value=point(name, estimate), reason=None) for estimate in estimates]
    rows = []
    for estimate in estimates:
        shown = (estimate.value, estimate.low, estimate.high) if ends else (estimate.value,)
        rounded = tuple(round(number, recipe(name).digits) for number in shown if number is not None)
        rows.append((len(estimate.cell), estimate.reason or "", rounded))
    return sorted(rows)


def reversed_names(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    names = frame[column].unique().sort().to_list()
    return frame.with_columns(pl.col(column).replace(names, names[::-1]))


DEGENERATE = {
    "an empty frame": noisy_annotations().clear(),
    "no answer has a label": noisy_annotations(missing=1.0),
    "one label": noisy_annotations(labels=("a",), missing=0),
    "one item": noisy_annotations(items=1),
    "one rater": noisy_annotations(variants=1, repeats=1),
    "one annotation": noisy_annotations(items=1, variants=1, repeats=1),
    "all agree": noisy_annotations(noise=0, missing=0),
    "no gold": noisy_annotations().with_columns(gold=pl.lit(None, pl.String)),
    "an item less": noisy_annotations().filter(pl.col("item") != "i0"),
    "most was not asked": noisy_annotations().sample(fraction=0.3, seed=5),
}


@pytest.mark.parametrize("name", plugins("measures"))
class TestEveryMeasure:
    def test_gives_estimates_with_a_value(self, name: str) -> None:
        estimates = measured(name, noisy_annotations(30, models=TWO))
        assert any(estimate.value is not None for estimate in estimates)

    def test_does_not_mind_other_names_of_the_labels(self, name: str) -> None:
        frame = noisy_annotations()
        renamed = dict(zip(LABELS, "zyx", strict=True))
        other = frame.with_columns(pl.col("label", "gold", "ben", "cleo").replace(renamed))
        # The set keeps its order, which a measure may depend on; the new names sort the other way.
        plain = measured(name, frame, labels=label_set(LABELS))
        assert summary(name, plain) == summary(name, measured(name, other, labels=label_set("zyx")))

    @pytest.mark.parametrize("column", ["item", "variant", "repeat"])
    def test_does_not_mind_the_order_of(self, name: str, column: str) -> None:
        if column in recipe(name).ordered_by:
            pytest.skip(f"what it measures is the order of {column}s")
        frame = noisy_annotations()
        plain, other = (measured(name, table) for table in (frame, reversed_names(frame, column)))
        assert summary(name, plain, ends=False) == summary(name, other, ends=False)

    def test_measures_each_cell_as_if_it_were_alone(self, name: str) -> None:
        two, labels = noisy_annotations(models=TWO), label_set(LABELS)
        estimates = measured(name, two, by=["model"], labels=labels)
        assert {e.cell["model"] for e in estimates} == {"m", "n"}
        alone = measured(name, two.filter(pl.col("model") == "m"), by=["model"], labels=labels)
        first = [e for e in estimates if e.cell["model"] == "m"]
        assert [(e.value, e.low, e.high) for e in first] == [(e.value, e.low, e.high) for e in alone] != []

    def test_can_resample_groups(self, name: str) -> None:
        frame = noisy_annotations(30, models=TWO)
        plain, grouped = measured(name, frame), measured(name, frame, group="author")
        if recipe(name).is_closed:
            assert [point(name, e) for e in plain] == [point(name, e) for e in grouped]
        assert {e.unit.removesuffix(AND_PROMPT) for e in grouped if e.value is not None} == {"author"}

    @pytest.mark.parametrize("frame", DEGENERATE)
    def test_says_a_value_or_a_reason(self, name: str, frame: str) -> None:
        assert measured(name, DEGENERATE[frame])
        measured(name, DEGENERATE[frame], by=["variant"])

    def test_an_answer_without_a_label_counts_as_the_declaration_says(self, name: str) -> None:
        measure = registry.load("measures", name)
        assert isinstance(measure, Measure), "a measure is a function under @measure"
        for treatment in ("drop", "category", "wrong"):
            if treatment in measure.missing:
                measured(name, noisy_annotations(), missing=treatment)
                continue
            with pytest.raises(QuaverError) as caught:
                measured(name, noisy_annotations(), missing=treatment)
            assert not measure.missing or caught.value.where == "missing"
