import polars as pl
import pytest

from quaver.measures.stability.repeated_answers import answer_entropy, mode_frequency, strict_stability

SAID = {("q1", "v"): "aaaa", ("q1", "w"): "aaab", ("q2", "v"): "aab-", ("q2", "w"): "bbb-"}
FRAME = pl.DataFrame(
    [
        (item, variant, k, None if label == "-" else label)
        for (item, variant), said in SAID.items()
        for k, label in enumerate(said)
    ],
    schema=["item", "variant", "repeat", "label"],
    orient="row",
)
BITS = {"aaab": 0.811278, "aab-": 1.5, "aab": 0.918296, "bbb-": 0.811278}


def test_strict_stability_is_0_where_any_repeat_is_blank():
    assert strict_stability(FRAME)[0].value == 0.25
    assert [e.value for e in strict_stability(FRAME, by=["variant"])] == [0.5, 0]
    assert [e.value for e in strict_stability(FRAME, by=["item", "variant"])] == [1, 0, 0, 0]


def test_mode_frequency_with_and_without_blanks():
    assert mode_frequency(FRAME)[0].value == pytest.approx((1 + 0.75 + 0.5 + 0.75) / 4)
    assert mode_frequency(FRAME, missing="drop")[0].value == pytest.approx((1 + 0.75 + 2 / 3 + 1) / 4)


def test_entropy_in_bits_with_and_without_blanks():
    with_blanks = (0 + BITS["aaab"] + BITS["aab-"] + BITS["bbb-"]) / 4
    assert answer_entropy(FRAME)[0].value == pytest.approx(with_blanks, abs=1e-6)
    dropped = (0 + BITS["aaab"] + BITS["aab"] + 0) / 4
    assert answer_entropy(FRAME, missing="drop")[0].value == pytest.approx(dropped, abs=1e-6)


def test_one_repeat_says_nothing():
    one = FRAME.filter(pl.col("repeat") == 0)
    for measure in (strict_stability, mode_frequency, answer_entropy):
        assert "repeats" in measure(one)[0].reason


def test_all_blank():
    blank = FRAME.with_columns(label=pl.lit(None, pl.String))
    assert strict_stability(blank)[0].value == 0
    for measure in (mode_frequency, answer_entropy):
        for missing in ("category", "drop"):
            (found,) = measure(blank, missing=missing)
            assert (found.value, "label" in found.reason) == (None, True)
            assert 4 in found.excluded.values()  # two items in two conditions


def test_an_item_that_never_got_a_label_is_not_stable():
    """q1 is split a a b b, q2 has no label in four repeats: only the first says how stable answers are."""
    labels = [*"aabb", None, None, None, None]
    frame = pl.DataFrame({"item": ["q1"] * 4 + ["q2"] * 4, "repeat": [0, 1, 2, 3] * 2, "label": labels})
    for measure, value in ((mode_frequency, 0.5), (answer_entropy, 1.0)):
        (found,) = measure(frame)
        assert (found.value, found.n) == (value, 1)
        assert list(found.excluded.values()) == [1]
    assert strict_stability(frame)[0].value == 0
