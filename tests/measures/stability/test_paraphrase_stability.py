import polars as pl
import pytest

import quaver.measures.stability.paraphrase_stability as paraphrases
from quaver.errors import MeasureError
from quaver.measures.stability.paraphrase_stability import original_agreement, paraphrase_stability
from quaver.measures.stability.prompt_stability import intra_pss

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


def test_pairs_of_a_large_study_are_counted_a_few_variants_at_a_time(monkeypatch):
    labels = [list("aababbab"), list("aabbbbab"), list("ababbaab"), list("bbababaa"), list("aaabbbba")]
    frame = pl.concat(
        pl.DataFrame({"item": range(8), "variant": f"v{n}", "label": some}) for n, some in enumerate(labels)
    )
    whole = original_agreement(frame, original="v2")
    for size in (1, 300):  # one variant at a time, and two
        monkeypatch.setattr(paraphrases, "_BYTES", size)
        for part, one in zip(original_agreement(frame, original="v2"), whole, strict=True):
            assert (part.cell, part.details["same"]) == (one.cell, one.details["same"])
            found, expected = (part.value, part.low, part.high), (one.value, one.low, one.high)
            assert found == pytest.approx(expected, abs=1e-12)


def test_no_original():
    assert original_agreement(FRAME.drop("original"))[0].reason.startswith("no original")
    assert original_agreement(FRAME, original="zeroth")[0].reason.endswith("'zeroth'")
    alone = FRAME.filter(pl.col("variant") == "first")
    assert "other" in original_agreement(alone)[0].reason


def test_each_paraphrases_own_stability():
    again = FRAME.with_columns(repeat=1, label=pl.col("label").reverse())
    frame = pl.concat([FRAME.with_columns(repeat=0), again])
    found = paraphrase_stability(frame)
    assert [e.cell["variant"] for e in found] == ["first", "second", "third"]
    assert {e.measure for e in found} == {"paraphrase_stability"}
    assert [e.value for e in found] == pytest.approx([e.value for e in intra_pss(frame, by=["variant"])])
