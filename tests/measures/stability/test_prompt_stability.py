"""Prompt stability scores as means of alphas, worked by hand."""

import numpy as np
import polars as pl
import pytest

from quaver.agreement.coefficients import krippendorff_alpha
from quaver.errors import MeasureError
from quaver.measures.stability.prompt_stability import inter_pss, intra_pss, original_agreement

FAST = {"resamples": 200}


def study(items=20, paraphrases=4, repeats=3, *, seed=0, models=("m",), shared=0.0):
    """Answers around a label of each item; with ``shared``, paraphrases pull whole items their own way."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)
    pull = rng.integers(0, 3, (items, paraphrases))
    pulled = rng.random((items, paraphrases)) < shared
    rows = []
    for model in models:
        for item in range(items):
            for paraphrase in range(paraphrases):
                for repeat in range(repeats):
                    base = pull[item, paraphrase] if pulled[item, paraphrase] else truth[item]
                    label = base if rng.random() < 0.8 else rng.integers(3)
                    rows.append((f"i{item:03}", model, f"w{paraphrase}", repeat, "abc"[label]))
    return pl.DataFrame(rows, schema=["item", "model", "variant", "repeat", "label"], orient="row")


def matrix(frame, raters):
    return frame.pivot(raters, index="item", values="label").drop("item").rows()


def test_intra_is_the_mean_over_conditions_of_alpha_over_repeats():
    frame = study()
    alone = [
        krippendorff_alpha(matrix(part, "repeat"), resamples=0).value
        for _, part in frame.group_by("variant", maintain_order=True)
    ]
    assert intra_pss(frame, **FAST)[0].value == pytest.approx(np.mean(alone))
    each = intra_pss(frame, by=["variant"], **FAST)
    assert [e.value for e in each] == pytest.approx(alone)
    assert [e.cell["variant"] for e in each] == ["w0", "w1", "w2", "w3"]


def test_inter_is_the_mean_over_repeats_of_alpha_over_paraphrases():
    frame = study()
    alone = [
        krippendorff_alpha(matrix(part, "variant"), resamples=0).value
        for _, part in frame.group_by("repeat", maintain_order=True)
    ]
    assert inter_pss(frame, **FAST)[0].value == pytest.approx(np.mean(alone))


def test_conditions_without_variation_are_left_out_and_reported():
    frame = study(paraphrases=2).with_columns(
        label=pl.when(pl.col("variant") == "w0").then(pl.lit("a")).otherwise("label")
    )
    (found,) = intra_pss(frame, **FAST)
    (alone,) = intra_pss(frame.filter(pl.col("variant") == "w1"), **FAST)
    assert found.value == alone.value
    assert found.excluded == {"condition: no variation": 1}
    assert "1 of 2" in found.warnings[0]


def test_paraphrases_within_a_format():
    formats = pl.concat([study(seed=s).with_columns(format=pl.lit(f"f{s}")) for s in range(2)])
    formats = formats.rename({"variant": "paraphrase"})
    with pytest.raises(MeasureError) as raised:
        inter_pss(formats, columns={"variant": "paraphrase"}, **FAST)
    assert raised.value.where == "annotations"
    each = inter_pss(formats, columns={"variant": "paraphrase"}, by=["format"], **FAST)
    pooled = inter_pss(formats, columns={"variant": ["paraphrase", "format"]}, **FAST)
    assert len(each) == 2
    assert pooled[0].details["variants"] == 8


@pytest.mark.parametrize("measure", [intra_pss, inter_pss])
def test_rows_can_be_resampled_as_promptstability_does_and_the_estimate_says_so(measure):
    frame = study(items=40, shared=0.3)
    (items,), (rows,) = measure(frame, **FAST), measure(frame, resample="rows", **FAST)
    assert rows.value == items.value
    assert (rows.unit, rows.estimand) == ("row", "fixed")
    assert "resamples of rows" in rows.method
    assert any("too narrow" in warning for warning in rows.warnings)
    assert rows.low < rows.details["mean_of_resamples"] < rows.high
    assert rows.high - rows.low < items.high - items.low


FRAME = pl.DataFrame(
    {
        "item": [1, 2, 3, 4] * 3,
        "variant": ["first"] * 4 + ["second"] * 4 + ["third"] * 4,
        "label": list("aabb" + "aabb" + "abba"),
        "original": [True] * 4 + [False] * 8,
    }
)


def test_agreement_with_the_original():
    second, third = original_agreement(FRAME, original="first")
    assert (second.cell, second.value) == ({"variant": "second"}, 1.0)
    # Items 2 and 4 differ: D = 4, N = (4, 4), alpha = 1 − 7·4/32.
    assert third.value == pytest.approx(0.125)
    assert third.details["same"] == 0.5


def test_the_original_may_be_marked():
    assert original_agreement(FRAME) == original_agreement(FRAME, original="first")
    text = FRAME.with_columns(pl.col("original").cast(pl.String))
    assert original_agreement(text) == original_agreement(FRAME)
    with pytest.raises(MeasureError) as raised:
        original_agreement(FRAME.with_columns(original=True))
    assert raised.value.where == "annotations['original']"
    assert "first" in raised.value.found


def test_no_original():
    assert original_agreement(FRAME.drop("original"))[0].reason.startswith("no original")
    assert original_agreement(FRAME, original="zeroth")[0].reason.endswith("'zeroth'")
    alone = FRAME.filter(pl.col("variant") == "first")
    assert "other" in original_agreement(alone)[0].reason
