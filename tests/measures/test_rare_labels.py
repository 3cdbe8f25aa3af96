"""Where hardly any item has another label than most, every agreement says so, whatever it is made of."""

import polars as pl
import pytest

from quaver.core.records import IntervalWarning, Label, LabelSet
from quaver.measures import (
    accuracy,
    coder_agreement,
    f1,
    factor_effects,
    intra_pss,
    intra_pss_cumulative,
)

PARTS = ("model", "coders", "gap")

NAMES = ("intra_pss", "intra_pss_cumulative")


def labelled(few):
    """Forty items, three repeats each; so many items are mostly ``b``, and a few answers have no label."""
    rows = [
        (item, repeat, "b" if item < few and repeat < 2 else None if item > 35 and repeat == 0 else "a")
        for item in range(40)
        for repeat in range(3)
    ]
    frame = pl.DataFrame(rows, schema=["item", "repeat", "label"], orient="row")
    sure = pl.when(pl.col("item") < few).then(0.2).otherwise(0.9)
    return frame.with_columns(probabilities=pl.concat_list(sure, 1 - sure))


def rough(why):
    """Whether a warning says that too few units hold what the number rests on."""
    return "make the error" in why or "than the most frequent one occur" in why


def warned(few):
    """Of each name, whether any of its estimates warns of the rare label."""
    found = [one for measure in (intra_pss, intra_pss_cumulative) for one in measure(labelled(few))]
    return {
        name: any(rough(why) for one in found if one.measure == name for why in one.warnings)
        for name in NAMES
    }


@pytest.mark.parametrize(("few", "expected"), [(3, True), (12, False)])
def test_a_label_that_few_items_have_is_warned_of_everywhere(few, expected):
    assert warned(few) == dict.fromkeys(NAMES, expected)


def doubts(found):
    """The names of the estimates whose intervals are doubted for a label that occurs nowhere."""
    why = "one of the labels occurs nowhere"
    return {
        one.measure
        for one in found
        if any(said.startswith(why) and isinstance(said, IntervalWarning) for said in one.warnings)
    }


def test_f1_warns_of_a_label_that_has_no_gold_label_at_all():
    """Macro F1 leaves out what never occurs, and counts what is only answered: no variance shows it."""
    rows = [
        (item, tone, "b" if item == 0 and tone == "plain" else "a", "a")
        for item in range(40)
        for tone in ("plain", "polite")
    ]
    frame = pl.DataFrame(rows, schema=["item", "variant", "label", "gold"], orient="row").with_columns(
        tone="variant"
    )
    answered = [e for e in factor_effects(frame, factors=["tone"]) if "_f1" in e.measure]
    assert doubts(answered) == {"factor_effects_f1", "factor_effects_f1_difference"}
    polite = frame.filter(pl.col("tone") == "polite")
    assert "f1_macro" not in doubts(f1(polite))
    both = LabelSet(tuple(Label(code, code) for code in "ab"))
    assert "f1_macro" in doubts(f1(polite, labels=both))


def coded(few):
    """Sixty items, six prompts; each prompt says b of other items, two coders of the first few alone."""
    rows = [
        (item, f"v{prompt}", "b" if item % 6 == prompt else "a", *["b" if item < few else "a"] * 2)
        for item in range(60)
        for prompt in range(6)
    ]
    return pl.DataFrame(rows, schema=["item", "variant", "label", "anna", "ben"], orient="row")


@pytest.mark.parametrize(("few", "expected"), [(4, True), (12, False)])
def test_a_label_that_a_coder_rarely_gives_is_warned_of_however_often_the_model_does(few, expected):
    found = coder_agreement(coded(few), coders=["anna", "ben"])
    by_name = {name: [one for one in found if one.measure == f"coder_agreement_{name}"] for name in PARTS}
    assert {
        name: any(rough(why) for one in some for why in one.warnings) for name, some in by_name.items()
    } == dict.fromkeys(PARTS, expected)


@pytest.mark.parametrize("measure", [intra_pss, intra_pss_cumulative])
@pytest.mark.parametrize(("prompts", "expected"), [(1, False), (12, True)])
def test_a_mean_over_prompts_rests_on_what_each_of_them_has(prompts, expected, measure):
    """Twelve items have b under one prompt each, or all under the only one; asked twice each."""
    rows = [
        (item, f"v{prompt}", repeat, "b" if item < 12 and item % prompts == prompt else "a")
        for item in range(60)
        for prompt in range(prompts)
        for repeat in range(2)
    ]
    frame = pl.DataFrame(rows, schema=["item", "variant", "repeat", "label"], orient="row")
    found = measure(frame)[-1]
    assert any(rough(why) for why in found.warnings) is expected


@pytest.mark.parametrize(("worst", "expected"), [(0.1, True), (1.0, False)])
def test_stray_errors_alone_are_warned_of(worst, expected):
    """A hundred items, ten prompts; nine items have one error, a tenth has one or nothing but errors."""
    rows = [
        (item, f"v{prompt}", "b" if prompt == item or (item == 9 and prompt < 10 * worst) else "a")
        for item in range(100)
        for prompt in range(10)
    ]
    frame = pl.DataFrame(rows, schema=["item", "variant", "label"], orient="row")
    frame = frame.with_columns(gold=pl.lit("a"))
    (found, *_) = accuracy(frame, by=[], estimand="fixed")
    assert any("far from the others" in why for why in found.warnings) is expected


@pytest.mark.parametrize(("groups", "with_it", "expected"), [(20, 4, True), (20, 6, False), (10, 6, True)])
def test_of_many_groups_five_with_the_rare_label_are_enough(groups, with_it, expected):
    rows = [
        (f"{group}.{item}", group, repeat, "b" if group < with_it and item == 0 else "a")
        for group in range(groups)
        for item in range(3)
        for repeat in range(2)
    ]
    frame = pl.DataFrame(rows, schema=["item", "author", "repeat", "label"], orient="row")
    found = [one for one in intra_pss(frame, group="author") if one.method.startswith("Kripp")]
    assert found
    for one in found:
        assert any(rough(why) for why in one.warnings) == expected
