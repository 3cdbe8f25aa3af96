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

AGREEMENTS = [intra_pss, intra_pss_cumulative]


def answers(label, items=60, prompts=1, repeats=1, **columns):
    """What a rule answers to each item under each prompt in each repeat; columns are rules of the item."""
    rows = [
        (item, f"v{prompt}", repeat, label(item, prompt, repeat), *(of(item) for of in columns.values()))
        for item in range(items)
        for prompt in range(prompts)
        for repeat in range(repeats)
    ]
    names = ["item", "variant", "repeat", "label", *columns]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def is_rough(found):
    """Whether an estimate warns that too few units hold what it rests on."""
    whys = [why for one in found for why in one.warnings]
    return any("make the error" in why or "than the most frequent one occur" in why for why in whys)


def doubts(found):
    """The names of the estimates whose intervals are doubted for a label that occurs nowhere."""
    why = "one of the labels occurs nowhere"
    return {
        one.measure
        for one in found
        if any(said.startswith(why) and isinstance(said, IntervalWarning) for said in one.warnings)
    }


@pytest.mark.parametrize("measure", AGREEMENTS)
@pytest.mark.parametrize(("few", "expected"), [(3, True), (12, False)])
def test_a_label_that_few_items_have_is_warned_of_everywhere(few, expected, measure):
    def label(item, _, repeat):
        if item < few and repeat < 2:
            return "b"
        return None if item > 35 and repeat == 0 else "a"

    assert is_rough(measure(answers(label, items=40, repeats=3))) is expected


def test_f1_warns_of_a_label_that_has_no_gold_label_at_all():
    """Macro F1 leaves out what never occurs, and counts what is only answered: no variance shows it."""
    once = answers(lambda item, prompt, _: "b" if (item, prompt) == (0, 0) else "a", items=40, prompts=2)
    frame = once.with_columns(gold=pl.lit("a"), tone="variant")
    answered = [e for e in factor_effects(frame, factors=["tone"]) if "_f1" in e.measure]
    assert doubts(answered) == {"factor_effects_f1", "factor_effects_f1_difference"}
    second = frame.filter(pl.col("tone") == "v1")
    assert "f1_macro" not in doubts(f1(second))
    both = LabelSet(tuple(Label(code, code) for code in "ab"))
    assert "f1_macro" in doubts(f1(second, labels=both))


@pytest.mark.parametrize(("few", "expected"), [(4, True), (12, False)])
def test_a_label_that_a_coder_rarely_gives_is_warned_of_however_often_the_model_does(few, expected):
    """Each of six prompts says b of other items, two coders of the first few alone."""

    def coded(item):
        return "b" if item < few else "a"

    frame = answers(lambda item, prompt, _: "ab"[item % 6 == prompt], prompts=6, anna=coded, ben=coded)
    found = coder_agreement(frame, coders=["anna", "ben"])
    for part in ("model", "coders", "gap"):
        some = [one for one in found if one.measure == f"coder_agreement_{part}"]
        assert is_rough(some) is expected, part


@pytest.mark.parametrize("measure", AGREEMENTS)
@pytest.mark.parametrize(("prompts", "expected"), [(1, False), (12, True)])
def test_a_mean_over_prompts_rests_on_what_each_of_them_has(prompts, expected, measure):
    """Twelve items have b under one prompt each, or all under the only one; asked twice each."""

    def label(item, prompt, _):
        return "b" if item < 12 and item % prompts == prompt else "a"

    assert is_rough(measure(answers(label, prompts=prompts, repeats=2))[-1:]) is expected


@pytest.mark.parametrize(("worst", "expected"), [(1, True), (10, False)])
def test_stray_errors_alone_are_warned_of(worst, expected):
    """A hundred items, ten prompts; nine items have one error, a tenth has one or nothing but errors."""

    def label(item, prompt, _):
        return "b" if prompt == item or (item == 9 and prompt < worst) else "a"

    frame = answers(label, items=100, prompts=10).with_columns(gold=pl.lit("a"))
    (found, *_) = accuracy(frame, by=[], estimand="fixed")
    assert any("far from the others" in why for why in found.warnings) is expected


@pytest.mark.parametrize(("groups", "with_it", "expected"), [(20, 4, True), (20, 6, False), (10, 6, True)])
def test_of_many_groups_five_with_the_rare_label_are_enough(groups, with_it, expected):
    def label(item, *_):
        return "b" if item % 3 == 0 and item // 3 < with_it else "a"

    frame = answers(label, items=3 * groups, repeats=2, author=lambda item: item // 3)
    found = [one for one in intra_pss(frame, group="author") if one.method.startswith("Kripp")]
    assert found
    assert all(is_rough([one]) is expected for one in found)
