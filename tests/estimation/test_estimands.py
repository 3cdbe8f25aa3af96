"""What an interval holds for: these prompts, the mean over prompts like these, or the next prompt."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from quaver.core import registry
from quaver.errors import MeasureError
from quaver.estimation.declaration import Measure, registered
from quaver.estimation.estimands import reach
from quaver.estimation.intervals import effective
from quaver.measures import accuracy, differences, factor_effects, inter_pss, sensitivity

FAST = {"resamples": 20}


def answers(items=60, prompts=5, *, apart=0.5, repeats=1, seed=0):
    """Labels of a latent scale that items, prompts and noise move."""
    rng = np.random.default_rng(seed)
    scale = rng.normal(0.6, 1, (items, 1, 1)) + rng.normal(0, apart, (1, prompts, 1))
    right = (scale + rng.normal(0, 0.7, (items, prompts, repeats)) > 0).ravel()
    item, prompt, repeat = (index.ravel() for index in np.indices((items, prompts, repeats)))
    gold = np.array(["a", "b", "c"])[item % 3]
    other = np.array(["b", "c", "a"])[item % 3]
    return pl.DataFrame(
        {
            "item": item,
            "variant": [f"v{index:02}" for index in prompt],
            "repeat": repeat,
            "label": np.where(right, gold, other),
            "gold": gold,
            "author": item // 4,
            "confidence": rng.uniform(0, 1, item.size),
            "probabilities": np.stack([np.full(item.size, 0.25), np.full(item.size, 0.75)], 1).tolist(),
            "quote_score": pl.Series(right).replace_strict({True: 1.0, False: None}, return_dtype=pl.Float64),
            "quote_start": np.where(right, 0, 5),
            "quote_end": 10,
            "marked_start": 0,
            "marked_end": 8,
            "spans": np.where(right, "a[0:10]", "a[5:10];b[0:5]"),
            "marked_spans": "a[0:8]",
        }
    )


OFFERING = sorted(
    name
    for name in registry.names("measures")
    if "population" in registered(name).estimands and name not in ("differences", "factor_effects")
)


@pytest.mark.parametrize("name", OFFERING)
def test_an_interval_for_more_prompts_holds_the_one_for_fewer(name):
    measure, frame = registered(name), answers(repeats=2)
    by_estimand = {one: measure(frame, estimand=one, **FAST) for one in measure.estimands}
    known = [
        (fixed, population)
        for fixed, population in zip(by_estimand["fixed"], by_estimand["population"], strict=True)
        if fixed.value is not None
    ]
    assert known
    for fixed, population in known:
        assert fixed.value == population.value
        assert population.low <= fixed.low <= fixed.high <= population.high
        assert [fixed.estimand, population.estimand] == ["fixed", "population"]
        assert fixed.details["prompts"] == population.details["prompts"] == 5


def test_the_prompts_variance_is_that_of_an_analysis_of_variance():
    """The mean square of prompts less that of the interaction, over items and prompts."""
    frame = answers(items=40, prompts=6)
    (found,) = accuracy(frame, estimand="population", **FAST)
    right = (frame["label"] == frame["gold"]).to_numpy().reshape(40, 6).astype(float)
    residual = right - right.mean(1, keepdims=True) - right.mean(0) + right.mean()
    between = right.mean(0).var(ddof=1) / 6
    interaction = (residual**2).sum() / (39 * 5) / (40 * 6)
    assert between - interaction > between / 2
    assert found.details["standard_error_prompts"] ** 2 == pytest.approx(between - interaction)


def test_many_prompts_are_left_out_in_groups():
    frame = answers(items=40, prompts=90)
    (found,) = accuracy(frame, estimand="population", **FAST)
    own = [one.value for one in accuracy(frame, by=["variant"], resamples=0)]
    assert found.details["prompts"] == 90
    assert found.details["standard_error_prompts"] == pytest.approx(np.std(own, ddof=1) / 90**0.5, rel=0.35)


def test_a_set_without_one_of_its_prompts_is_the_measure_of_the_others():
    frame = answers(prompts=12)
    (found,) = inter_pss(frame, **FAST)
    left = np.array(
        [
            inter_pss(frame.filter(pl.col("variant") != name), resamples=0)[0].value
            for name in frame["variant"].unique()
        ]
    )
    plain = 11 / 12 * ((left - left.mean()) ** 2).sum()
    assert 1.5 / 12 * plain <= found.details["standard_error_prompts"] ** 2 < plain


def test_beside_an_interval_for_prompts_like_these_is_how_many_may_be_of_a_kind_not_tried():
    (found,) = accuracy(answers(apart=0.2), estimand="population", **FAST)
    assert found.details["untried_at_most"] == pytest.approx(1 - 0.05 ** (1 / 5))  # 45% of prompts
    low, high = found.details["with_untried"]
    assert 0 < low < found.low < found.high < high < 1
    assert "up to 45% of such prompts may be of a kind not tried" in found.method
    (of_a_set,) = inter_pss(answers(), **FAST)
    assert of_a_set.details["untried_at_most"] == found.details["untried_at_most"]
    assert "with_untried" not in of_a_set.details
    assert "untried_at_most" not in accuracy(answers(), estimand="fixed", **FAST)[0].details


@pytest.mark.parametrize("broken", [0, 1])
def test_an_interval_holds_where_a_kind_of_prompt_was_tried_and_what_it_may_be_where_not(broken):
    """A seventh of such prompts is always wrong, the others right in four of five cases."""
    truth, held = 0.8 * 6 / 7, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        right = rng.random((80, 5)) < np.where(np.arange(5) < broken, 0.0, rng.normal(0.8, 0.02, 5))
        frame = answers(items=80).with_columns(
            label=pl.when(pl.Series(right.ravel())).then("gold").otherwise(pl.lit("z"))
        )
        (found,) = accuracy(frame, estimand="population", **FAST)
        low, high = found.details["with_untried"]
        assert low <= truth <= high
        held.append(found.low <= truth <= found.high)
    assert sum(held) <= 4 if not broken else all(held)


def test_few_prompts_may_be_skewed_without_showing_it():
    """With t = 2.776 of five and 2.365 of eight: 1 + 2 t / (3 √Q) times as far on the side that has room."""
    five, eight = 1 + 2 * 2.7764 / (3 * 5**0.5), 1 + 2 * 2.3646 / (3 * 8**0.5)
    assert reach(0.9, 5, 0.95) == (pytest.approx(five, abs=1e-4), 1.0)
    assert reach(0.1, 5, 0.95) == (1.0, pytest.approx(five, abs=1e-4))
    assert reach(0.7, 8, 0.95) == (pytest.approx(eight, abs=1e-4), 1.0)
    assert reach(0.5, 5, 0.95) == (pytest.approx((1 + five) / 2, abs=1e-4),) * 2


@pytest.mark.parametrize("prompts", [5, pytest.param(12, marks=pytest.mark.long)])
def test_the_mean_of_skewed_prompts_is_held_where_a_normal_interval_misses_it(prompts):
    """Prompts that are wrong as often as an exponential number with mean 0.1 says; many texts."""
    held, normal = [], []
    for seed in range(60):
        rng = np.random.default_rng([seed, prompts])
        wrong = np.minimum(rng.exponential(0.1, prompts), 1)
        right = rng.random((300, prompts)) >= wrong
        frame = answers(items=300, prompts=prompts).with_columns(
            label=pl.when(pl.Series(right.ravel())).then("gold").otherwise(pl.lit("z"))
        )
        (one,) = accuracy(frame, estimand="population", **FAST)
        half = stats.t.ppf(0.975, prompts - 1) * (right.mean(0).var(ddof=1) / prompts) ** 0.5
        held.append(one.low <= 0.9 <= one.high)
        normal.append(abs(one.value - 0.9) <= half)
    assert np.mean(held) >= 0.92
    assert sum(normal) < sum(held)


def test_one_prompt_says_nothing_of_others():
    for one in accuracy(answers(), by=["variant"], estimand="population", **FAST):
        assert (one.estimand, one.low, one.high) == ("population", None, None)
        assert one.value is not None
        assert one.details["prompts"] == 1
        assert one.warnings
    (whole,) = sensitivity(answers(prompts=2), **FAST)
    assert whole.estimand == "fixed"
    assert whole.low is not None


def test_a_difference_between_levels_for_other_paraphrases():
    both = [answers(seed=1, apart=0.8), answers(seed=1, apart=0.1)]
    frame = pl.concat(
        one.rename({"variant": "paraphrase"}).with_columns(format=pl.lit(kind))
        for one, kind in zip(both, ["list", "plain"], strict=True)
    ).with_columns(variant=pl.col("paraphrase") + pl.col("format"))
    how = {"between": "format", "reference": "plain", "columns": {"prompt": "paraphrase"}, "resamples": 200}
    (fixed,), (found,) = (differences(frame, estimand=one, **how) for one in ("fixed", "population"))
    assert found.value == fixed.value
    assert found.high - found.low > fixed.high - fixed.low
    assert found.details["p"] > fixed.details["p"]
    assert found.details["p_holm"] == found.details["p"]
    for reference in (None, "v00list"):
        alone = differences(frame, estimand="population", between="variant", reference=reference, **FAST)
        assert {one.low for one in alone} == {None}
    effects = factor_effects(
        frame, estimand="population", columns={"prompt": "paraphrase"}, factors=["format"]
    )
    shares = [one for one in effects if one.measure == "factor_effects_accuracy_difference"]
    assert {one.estimand for one in shares} == {"population"}
    assert len({round(one.details["p"], 9) for one in shares}) == 1


def test_what_is_not_offered():
    with pytest.raises(MeasureError) as raised:
        registered("inter_model")(answers(), estimand="population")
    assert raised.value.where == "estimand"
    with pytest.raises(MeasureError):
        accuracy(answers(), estimand="all")
    assert all(isinstance(registered(name), Measure) for name in OFFERING)


def test_the_ends_of_items_and_prompts_add_in_squares():
    (found,) = accuracy(answers(), estimand="population", **FAST)
    prompts = effective(
        found.value, found.details["standard_error_prompts"] ** 2, 4, found.confidence_level, (0.0, 1.0)
    )
    low, high = found.details["fixed"]
    lower, upper = reach(found.value, 5, 0.95)
    assert found.low == pytest.approx(
        found.value - np.hypot(found.value - low, lower * (found.value - prompts.low))
    )
    assert found.high == pytest.approx(
        found.value + np.hypot(high - found.value, upper * (prompts.high - found.value))
    )


def test_prompts_of_another_level_do_not_count():
    """A level's interval is that of the study in which there are no other levels."""
    tone = pl.col("variant").replace_strict({"v00": "plain", "v01": "plain"}, default="polite")
    frame = answers(prompts=5).with_columns(tone=tone)
    plain = accuracy(frame.filter(pl.col("tone") == "plain"), estimand="population", by=["tone"], **FAST)
    found = factor_effects(frame, factors=["tone"], estimand="population", **FAST)
    (level,) = (e for e in found if e.measure == "factor_effects_accuracy" and e.cell["level"] == "plain")
    assert (level.low, level.high) == pytest.approx((plain[0].low, plain[0].high), abs=1e-9)
