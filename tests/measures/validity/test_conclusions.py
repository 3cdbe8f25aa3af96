"""Conclusions on simulated annotations whose truth is known, and what is wrong with a formula or a claim."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from quaver.core.records import Label, LabelSet
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.score_tests import ScoreTest
from quaver.measures.validity.conclusion_formula import read_effect, read_formula
from quaver.measures.validity.conclusions import conclusion

YES_NO = LabelSet((Label("yes", "yes"), Label("no", "no")))
FAST = {"resamples": 400, "seed": 1}


def simulated(accuracies, items=400, seed=0, backwards=()):
    """Items whose truth rises with ``educ``; variants err at random, some read ``educ`` backwards."""
    rng = np.random.default_rng(seed)
    educ = rng.integers(1, 8, items)
    truth = rng.random(items) < 1 / (1 + np.exp(-0.5 * (educ - 4)))
    against = rng.random(items) < 1 / (1 + np.exp(0.5 * (educ - 4)))
    frames = []
    for number, accuracy in enumerate(accuracies):
        base = against if number in backwards else truth
        said = np.where(rng.random(items) < accuracy, base, ~base)
        frames.append(
            pl.DataFrame(
                {
                    "item": np.arange(items),
                    "variant": f"v{number}",
                    "label": np.where(said, "yes", "no"),
                    "gold": np.where(truth, "yes", "no"),
                }
            )
        )
    return pl.concat(frames), pl.DataFrame({"item": np.arange(items), "educ": educ})


def drawn(frame, items, effect="educ > 0", formula="share(yes) ~ educ", **options):
    found = conclusion(frame, items=items, formula=formula, effect=effect, labels=YES_NO, **FAST, **options)
    single = {one.cell["variant"]: one for one in found if one.measure == "conclusion"}
    return single, {one.measure: one for one in found if one.measure != "conclusion"}


def test_the_three_verdicts():
    frame, items = simulated([0.95, 0.9, 0.5, 0.95], backwards=[3])
    single, others = drawn(frame, items)
    verdicts = [one.details["verdict"] for one in single.values()]
    assert verdicts == ["holds", "holds", "not distinguishable", "reverses"]
    assert others["conclusion_gold"].details["verdict"] == "holds"
    mirrored, _ = drawn(frame, items, effect="educ < 0")
    assert mirrored["v0"].details["verdict"] == "reverses"
    assert mirrored["v3"].details["verdict"] == "holds"


def test_a_share_by_group_is_a_difference_of_shares():
    frame = pl.DataFrame({"item": range(10), "label": list("aaabbabbbb"), "party": ["D"] * 5 + ["R"] * 5})
    found = conclusion(frame, formula="share(a) ~ party", effect="party[D] > party[R]", **FAST)[0]
    assert found.value == pytest.approx(0.6 - 0.2)
    share = conclusion(frame, formula="share(a) ~ party", effect="Intercept + party[R] < 0.5", **FAST)[0]
    assert share.value == pytest.approx(0.2)
    assert share.details["threshold"] == 0.5
    whole = conclusion(frame, formula="share(a) ~ 1", effect="Intercept > 0.9", **FAST)[0]
    assert (whole.value, whole.details["verdict"]) == (pytest.approx(0.4), "reverses")


def test_a_small_group_that_is_clearly_another_is_seen():
    labels = ["yes"] * 12 + ["no"] * 76
    frame = pl.DataFrame({"item": range(88), "label": labels, "g": ["x"] * 8 + ["y"] * 80})
    (found,) = conclusion(frame, formula="share(yes) ~ g", effect="g[x] > g[y]", labels=YES_NO, **FAST)
    assert found.details["verdict"] == "holds"
    # Were the difference 0.6297, least squares would give 0.7088 and 0.0791: 1.96 standard errors below 0.95.
    error = np.sqrt(0.7088 * 0.2912 / 8 + 0.0791 * 0.9209 / 80)
    assert found.low == pytest.approx(0.95 - 1.96 * error, abs=1e-3)
    # Were there no difference, both shares would be 12/88: p is that of 0.95 in standard errors then.
    none = np.sqrt(12 / 88 * 76 / 88 * (1 / 8 + 1 / 80))
    assert found.details["p"] == pytest.approx(2 * norm.sf(0.95 / none))


def test_numbers_repeats_and_what_is_missing():
    levels = LabelSet((Label("1", "1", value=1.0), Label("5", "5", value=5.0)), "interval")
    frame = pl.DataFrame(
        {
            "item": ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e"],
            "repeat": [0, 1] * 5,
            "label": ["1", "5", "5", "5", "1", "1", None, None, "5", "5"],
        }
    )
    items = pl.DataFrame({"item": list("abcde"), "age": ["30", "40", "20", "50", ""]})
    found = conclusion(frame, items=items, formula="label ~ age", effect="age > 0", labels=levels, **FAST)[0]
    assert found.value == pytest.approx(0.2)  # 1 at 20, 3 at 30, 5 at 40
    assert found.n == 3
    assert (found.excluded["no label"], sum(found.excluded.values())) == (2, 3)
    shares = {"formula": "share(5) ~ 1", "effect": "Intercept > 0.5", "labels": levels, **FAST}
    assert conclusion(frame, items=items, **shares)[0].value == pytest.approx((0.5 + 1 + 0 + 1) / 4)
    assert conclusion(frame, items=items, missing="category", **shares)[0].value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"formula": "share(yes) ~ eduk"}, UnknownName, "did you mean 'educ'"),
        ({"formula": "share(maybe) ~ educ"}, UnknownName, "label 'maybe'"),
        ({"formula": "yes ~ educ"}, MeasureError, "share(LABEL)"),
        ({"formula": "label ~ educ"}, MeasureError, "labels that are not numbers"),
        ({"formula": "share(yes) ~ log(educ)"}, MeasureError, "not a formula"),
        ({"effect": "eduk > 0"}, UnknownName, "eduk"),
        ({"effect": "educ"}, MeasureError, "not a claim"),
        ({"effect": "3 > 2"}, MeasureError, "not a claim"),
        ({"effect": "educ > 0 > 1"}, MeasureError, "not a claim"),
        ({"missing": "wrong"}, MeasureError, "drop or category"),
    ],
)
def test_one_clear_error(change, error, said):
    frame, items = simulated([0.9])
    claim = {"formula": "share(yes) ~ educ", "effect": "educ > 0", "labels": YES_NO, **FAST} | change
    with pytest.raises(error, match=r"(?s).*" + said.replace("(", r"\(").replace(")", r"\)")):
        conclusion(frame, items=items, **claim)


def test_an_item_with_two_values_is_an_error():
    frame, items = simulated([0.9], items=3)
    twice = pl.concat([items, items.with_columns(educ=pl.col("educ") + 1)])
    with pytest.raises(MeasureError, match="two values"):
        conclusion(frame, items=twice, formula="share(yes) ~ educ", effect="educ > 0")


def test_formulas_and_claims_are_read():
    assert read_formula("share(not sure) ~ a*factor(b)").columns == ("a", "b")
    names = ["Intercept", "a", "a:b[x y]", "b[x y]"]
    contrast, *rest = read_effect("2 * a - b[x y] >= 1 + a:b[x y] - 0.5", names, ["b[u]"])
    assert contrast.tolist() == [0.0, 2.0, -1.0, -1.0]
    assert rest == [0.5, True]
    assert read_effect("b[u] > b[x y]", names, ["b[u]"])[0].tolist() == [0.0, 0.0, 0.0, -1.0]


@pytest.mark.parametrize("few", [3, 10])
def test_groups_are_tested_by_students_t(few):
    author = np.repeat(np.arange(20), 5)
    matrix = np.stack([np.ones(100), (author < few) * 1.0], 1)
    outcome = (np.random.default_rng(3).random((100, 1)) < 0.4)[:, 0] * 1.0
    one = ScoreTest(matrix, outcome, np.array([0.0, 1.0]), author)
    low, high = one.interval(0.95)
    for end in (low, high):  # rejected at exactly 5%
        assert one.p(end) == pytest.approx(0.05, abs=1e-3)
    frame = pl.DataFrame({"item": np.arange(100), "label": np.where(outcome > 0, "yes", "no")})
    frame = frame.with_columns(author=author, treated=matrix[:, 1])
    claim = {"formula": "share(yes) ~ treated", "effect": "treated > 0", "labels": YES_NO}
    (found,) = conclusion(frame, group="author", **claim)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert any("of both sides" in text for text in found.warnings) == (few < 4)


def test_the_share_of_a_label_of_sets_is_that_of_the_sets_that_hold_it():
    sets = ["tax", "tax;war", "war", "[]"] * 25
    labels = LabelSet(tuple(Label(one, one) for one in ("tax", "tax;war", "war", "[]")), "jaccard")
    frame = pl.DataFrame({"item": np.arange(100), "label": sets})
    items = pl.DataFrame({"item": np.arange(100), "high": [1, 1, 0, 0] * 25})
    found = conclusion(frame, formula="share(tax) ~ high", effect="high > 0", items=items, labels=labels)
    assert found[0].value == pytest.approx(1)  # tax stands in all sets of high texts, and in no other
    (whole,) = conclusion(
        frame, formula="share(tax;war) ~ high", effect="high > 0", items=items, labels=labels
    )[:1]
    assert whole.value == pytest.approx(0.5)
    with pytest.raises(UnknownName, match="tax"):
        conclusion(frame, formula="share(health) ~ high", effect="high > 0", items=items, labels=labels)
