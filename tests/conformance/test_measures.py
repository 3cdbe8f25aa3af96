"""What every registered measure must do, whatever it measures; a new one is tested here unasked."""

import inspect
import math
from dataclasses import fields, is_dataclass, replace
from itertools import product

import numpy as np
import polars as pl
import pytest

from quaver.core import registry
from quaver.core.records import Estimate, Label, LabelSet
from quaver.errors import MeasureError

NAMES = registry.names("measures")
LABELS = ("a", "b", "c")
TWO = ("m", "n")
# What these measure is the order itself.
# What these do with answers that have no label is what they are; the others have the option ``missing``.
NO_TREATMENT = {
    *("brier", "ece", "ece_shift", "mce", "output_uncertainty", "verbal_calibration"),  # of confidences
    *("compliance", "distinct_annotations", "missing_bounds", "strict_stability"),
    *("evaluator_flips", "recovered_share"),  # wrong
    *("coder_agreement", "readiness"),
}
OF_GOLD = {"accuracy", "differences", "f1", "factor_effects", "mixed_effects", "spread"}
OWN_CLASS = {"f1": {"category"}}
OF_ORDER = {("intra_pss_cumulative", "repeat")}
# Found by an optimiser, to so many digits; a group has the intercept that items have else.
DIGITS = {"mixed_effects": 5}
# Means over samples that are drawn, as intervals are: the score of all items stands beside them.
DRAWN = {"inter_pss_subsamples", "intra_pss_subsamples"}
FAST = {"resamples": 60, "seed": 7}


def annotations(
    items=12, variants=3, repeats=3, *, models=("m",), seed=1, missing=0.1, labels=LABELS, noise=0.4
):
    """Noisy copies of the gold label, with some answers missing, in every column a measure may need."""
    rng = np.random.default_rng(seed)
    rows = []
    for item, model, variant, repeat in product(range(items), models, range(variants), range(repeats)):
        gold = labels[item % len(labels)]
        label = gold if rng.random() > noise else labels[rng.integers(len(labels))]
        label = None if rng.random() < missing else label
        rows.append((f"i{item}", model, f"v{variant}", repeat, label, gold, f"g{item // 2}"))
    columns = ["item", "model", "variant", "repeat", "label", "gold", "author"]
    schema = {name: pl.Int32 if name == "repeat" else pl.String for name in columns}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    status = pl.when(pl.col("label").is_null()).then(pl.lit("no_label")).otherwise(pl.lit("valid"))
    # In the labels' order, and the same however the labels are called.
    side = (pl.col("item").hash(0) % 4) / 10
    spread = pl.concat_list(side, 1 - 2 * side, side)
    likely = pl.when(pl.col("label") == pl.col("gold")).then(0.8).otherwise(0.55)
    return frame.with_columns(
        original=pl.col("variant") == "v0",
        decoding=pl.lit("d"),
        evaluator=pl.lit("e"),
        status=status,
        reason=pl.lit(None, pl.String),
        truncated=pl.lit(False),
        looping=pl.lit(False),
        confidence=pl.when(pl.col("label").is_null()).then(None).otherwise(likely),
        probabilities=pl.when(pl.col("label").is_null()).then(None).otherwise(spread),
        mass_coverage=pl.lit(0.9),
    )


def compares_evaluators(name):
    return "evaluator" in getattr(registry.load("measures", name), "compares", ())


def with_another_evaluator(name, frame):
    """For a measure that compares evaluators another one, that fails to read most answers to one prompt."""
    if not compares_evaluators(name) or frame["evaluator"].n_unique() > 1:
        return frame
    failed = pl.col("original") & (pl.col("author").hash(1) % 4 > 0)
    label = pl.when(failed).then(None).otherwise(pl.col("label")).cast(frame["label"].dtype)
    evaluator = pl.lit("d").cast(frame["evaluator"].dtype)
    return pl.concat([frame, frame.with_columns(label=label, evaluator=evaluator)])


def measured(name, frame, **options):
    if isinstance(frame, pl.DataFrame):
        frame = with_another_evaluator(name, frame)
    found = registry.load("measures", name)(frame, **{**FAST, **options})
    for estimate in found:
        check(estimate, name)
    return found


def numbers(thing):
    if isinstance(thing, float):
        yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from numbers(value)
    elif isinstance(thing, (list, tuple)):
        for value in thing:
            yield from numbers(value)
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from numbers(getattr(thing, field.name))


def check(estimate, name):
    assert isinstance(estimate, Estimate)
    assert (estimate.value is None) != (estimate.reason is None), estimate
    assert all(math.isfinite(number) for number in numbers(estimate)), estimate
    assert estimate.measure.startswith(name)
    assert estimate.method
    assert all(isinstance(value, str) for value in estimate.cell.values())
    if estimate.value is None:
        assert estimate.low is None
        assert estimate.high is None
    if estimate.low is not None:
        assert estimate.low < estimate.high, "an interval of no width is presented as certain"
        assert estimate.low <= estimate.value <= estimate.high, "a value outside its own interval"


def point(estimate):
    """The estimate of all items."""
    return estimate.details["whole"] if estimate.measure in DRAWN else estimate.value


def summary(estimates, *, ends=True):
    """What two runs must agree on: values and intervals by cell, without the labels' names."""
    if not ends:
        estimates = [replace(e, value=point(e), reason=None) if e.measure in DRAWN else e for e in estimates]
    digits = min((DIGITS.get(e.measure.partition("_sd")[0], 9) for e in estimates), default=9)
    rows = [
        (
            len(e.cell),
            e.reason or "",
            *(round(x, digits) for x in ((e.value, e.low, e.high) if ends else (e.value,)) if x is not None),
        )
        for e in estimates
    ]
    return sorted(rows)


@pytest.mark.parametrize("name", NAMES)
class TestEveryMeasure:
    def test_gives_estimates_with_a_value_and_an_interval_around_it(self, name):
        found = measured(name, annotations(30, models=TWO))
        assert any(e.value is not None for e in found)
        for e in found:
            if e.low is not None:
                assert e.low - 1e-9 <= e.value <= e.high + 1e-9

    def test_repeats_itself(self, name):
        frame = annotations()
        assert measured(name, frame) == measured(name, frame)

    def test_does_not_mind_the_order_of_rows(self, name):
        frame = annotations()
        assert measured(name, frame) == measured(name, frame.sample(fraction=1, shuffle=True, seed=3))

    def test_does_not_mind_other_names_of_the_labels(self, name):
        frame = annotations()
        other = frame.with_columns(pl.col("label", "gold").replace({"a": "z", "b": "y", "c": "x"}))
        assert summary(measured(name, frame)) == summary(measured(name, other))

    def test_does_not_mind_other_names_of_the_items(self, name):
        frame = annotations()
        items = pl.col("item").str.strip_prefix("i").cast(pl.Int64)
        other = frame.with_columns(item=(40 - items).cast(pl.String))
        assert summary(measured(name, frame), ends=False) == summary(measured(name, other), ends=False)

    @pytest.mark.parametrize("rater", ["variant", "repeat"])
    def test_does_not_mind_the_order_of_raters(self, name, rater):
        if (name, rater) in OF_ORDER:
            return
        frame = annotations()
        names = frame[rater].unique().sort().to_list()
        other = frame.with_columns(pl.col(rater).replace(names, names[::-1]))
        assert summary(measured(name, frame), ends=False) == summary(measured(name, other), ends=False)

    def test_takes_pandas(self, name):
        pytest.importorskip("pandas")
        frame = with_another_evaluator(name, annotations().drop("probabilities", "reason"))
        assert measured(name, frame) == measured(name, frame.to_pandas())

    def test_takes_categorical_columns(self, name):
        frame = annotations()
        texts = ["item", "variant", "label", "gold", "model", "decoding", "status", "evaluator"]
        assert measured(name, frame) == measured(name, frame.cast(dict.fromkeys(texts, pl.Categorical)))

    def test_measures_each_cell_as_if_it_were_alone(self, name):
        two = annotations(models=TWO)
        frame = two.filter(pl.col("model") == "m")
        found = measured(name, two, by=["model"])
        first = [e for e in found if e.cell["model"] == "m"]
        assert {e.cell["model"] for e in found} == {"m", "n"}
        labels = LabelSet(tuple(Label(code, code) for code in LABELS))
        first = [e for e in measured(name, two, by=["model"], labels=labels) if e.cell["model"] == "m"]
        assert summary(first) != []
        alone = measured(name, frame, by=["model"], labels=labels)
        assert [(e.value, e.low, e.high) for e in first] == [(e.value, e.low, e.high) for e in alone]

    def test_can_resample_groups(self, name):
        frame = annotations(30, models=TWO)
        plain, grouped = measured(name, frame), measured(name, frame, group="author")
        if name not in DIGITS:
            assert [point(e) for e in plain] == [point(e) for e in grouped]
        assert {e.unit for e in grouped if e.value is not None} == {"author"}

    @pytest.mark.parametrize(
        "frame",
        [
            pytest.param(annotations().clear(), id="an empty frame"),
            pytest.param(annotations(missing=1.0), id="no answer has a label"),
            pytest.param(annotations(labels=("a",), missing=0), id="one label"),
            pytest.param(annotations(items=1), id="one item"),
            pytest.param(annotations(variants=1, repeats=1), id="one rater"),
            pytest.param(annotations(items=1, variants=1, repeats=1), id="one annotation"),
            pytest.param(annotations(noise=0, missing=0), id="all agree"),
            pytest.param(annotations().with_columns(gold=pl.lit(None, pl.String)), id="no gold"),
            pytest.param(annotations().filter(pl.col("item") != "i0"), id="an item less"),
            pytest.param(annotations().sample(fraction=0.3, seed=5), id="most was not asked"),
        ],
    )
    def test_says_a_value_or_a_reason(self, name, frame):
        assert measured(name, frame)
        measured(name, frame, by=["variant"])

    def test_does_not_move_much_when_the_data_are_there_four_times(self, name):
        frame = annotations(60, models=TWO)
        copies = [frame.with_columns(item=pl.col("item") + suffix) for suffix in "wxyz"]
        ones, fours = measured(name, frame, resamples=200), measured(name, pl.concat(copies), resamples=200)
        for one, four in zip(ones, fours, strict=True):
            if one.value is None:
                continue
            # Small-sample corrections (alpha's n − 1, pairs of an item with itself) move it a little.
            assert point(four) == pytest.approx(point(one), abs=0.02)
            if one.low is not None:
                assert four.high - four.low < 0.8 * (one.high - one.low)

    @pytest.mark.parametrize(
        ("options", "where"),
        [
            ({"by": ["modle"]}, "by"),
            ({"columns": {"item": "itme"}}, "columns['item']"),
            ({"group": "autor"}, "group"),
            ({"confidence": 95}, "confidence"),
            ({"resamples": -1}, "resamples"),
        ],
    )
    def test_names_the_argument_that_is_wrong(self, name, options, where):
        with pytest.raises(MeasureError) as caught:
            measured(name, annotations(), **options)
        assert caught.value.where == where

    def test_an_answer_without_a_label_is_dropped_a_category_or_wrong(self, name):
        option = inspect.signature(registry.load("measures", name)).parameters.get("missing")
        assert (option is None) == (name in NO_TREATMENT), "see docs/evaluators.md, Missing answers"
        if option is None:
            return
        known = (
            {"drop", "category"} if name not in OF_GOLD else {"drop", "wrong"} | OWN_CLASS.get(name, set())
        )
        assert option.default in known | {None}
        for treatment in ("drop", "category", "wrong"):
            if treatment in known:
                measured(name, annotations(), missing=treatment)
                continue
            with pytest.raises(MeasureError) as caught:
                measured(name, annotations(), missing=treatment)
            assert caught.value.where == "missing"

    def test_refuses_two_annotations_in_one_place(self, name):
        frame = annotations()
        with pytest.raises(MeasureError, match="several annotations"):
            measured(name, pl.concat([frame, frame.head(1)]))

    def test_refuses_annotations_of_several_evaluators(self, name):
        if compares_evaluators(name):
            return
        frame = annotations()
        with pytest.raises(MeasureError, match="several evaluators"):
            measured(name, pl.concat([frame, frame.with_columns(evaluator=pl.lit("f"))]))
