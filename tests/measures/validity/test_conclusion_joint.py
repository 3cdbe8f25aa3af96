"""All specifications together: how many would hold by chance, with labels that go together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from quaver.core.records import Label, LabelSet
from quaver.measures.validity.conclusions import conclusion

YES_NO = LabelSet((Label("yes", "yes"), Label("no", "no")))
CLAIM = {"formula": "share(yes) ~ x", "effect": "x > 0", "labels": YES_NO}


def specified(x, effect, *, specifications=8, shared=0.7, seed=0, groups=None, correlated=0.0):
    """Labels of items under several prompts that err together, and the items."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((x.size, 1))
    score = shared**0.5 * common + (1 - shared) ** 0.5 * rng.standard_normal((x.size, specifications))
    if groups is not None:
        score = (1 - correlated) ** 0.5 * score
        score += correlated**0.5 * rng.standard_normal((groups.max() + 1, 1))[groups]
    said = score < -0.5 + effect * x[:, None]
    frames = [
        pl.DataFrame(
            {
                "item": np.arange(x.size),
                "variant": f"v{at}",
                "label": np.where(said[:, at], "yes", "no"),
                "author": np.zeros(x.size, int) if groups is None else groups,
            }
        )
        for at in range(specifications)
    ]
    return pl.concat(frames), pl.DataFrame({"item": np.arange(x.size), "x": x})


def joint(frame, items, **options):
    found = conclusion(frame, items=items, **(CLAIM | {"resamples": 200} | options))
    return [one for one in found if one.measure == "conclusion_joint"][-1]


def test_an_effect_is_no_accident():
    x = np.random.default_rng(1).standard_normal(300)
    found = joint(*specified(x, 0.4))
    assert (found.value, found.n, found.unit) == (1.0, 8, "specification")
    assert found.details["expected"] < 1
    assert found.details["p_share"] == pytest.approx(1 / 201)
    assert found.details["p_median"] == pytest.approx(1 / 201)
    assert 0 < found.details["median_low"] < found.details["median"] < found.details["median_high"]
    turned = joint(*specified(x, 0.4), effect="x < 0")
    assert (turned.value, turned.details["p_share"], turned.details["p_median"]) == (0.0, 1.0, 1.0)


def test_prompts_that_agree_by_chance_are_one_accident():
    """The same labels twenty times hold together or not at all; p is about that of one of them."""
    x = np.random.default_rng(2).standard_normal(200)
    frame, items = specified(x, 0.12, specifications=20, shared=1.0, seed=3)
    found = joint(frame, items, resamples=500)
    assert found.value in (0.0, 1.0)
    assert found.details["expected"] == pytest.approx(0.5, abs=0.4)
    one = conclusion(frame.filter(pl.col("variant") == "v0"), items=items, **CLAIM)[0]
    assert found.details["median"] == pytest.approx(one.value)
    assert found.details["median_low"] == pytest.approx(one.low, abs=0.02)
    assert found.details["median_high"] == pytest.approx(one.high, abs=0.02)


def test_without_an_effect_it_errs_as_often_as_it_says():
    x = np.arange(80) % 2 * 1.0
    found = [joint(*specified(x, 0.0, seed=seed), resamples=99) for seed in range(40)]
    for name in ("p_share", "p_median"):
        assert sum(one.details[name] <= 0.05 for one in found) <= 5  # 6 of 40 or more: once in 70


def test_groups_are_exchanged_whole():
    groups = np.repeat(np.arange(12), 10)
    x = (groups % 2) * 1.0
    frame, items = specified(x, 0.0, groups=groups, correlated=0.6, seed=4)
    alone, whole = joint(frame, items), joint(frame, items, group="author")
    wide = [one.details["median_high"] - one.details["median_low"] for one in (alone, whole)]
    assert wide[1] > 1.5 * wide[0]
    assert whole.details["permutations"] == 200
    few = np.repeat(np.arange(4), 30)
    coarse = joint(*specified((few % 2) * 1.0, 0.0, groups=few), group="author")
    assert any("ways" in warning for warning in coarse.warnings)
    assert not alone.warnings


def test_specifications_of_all_models_count_together():
    x = np.random.default_rng(5).standard_normal(150)
    one, items = specified(x, 0.5, specifications=3)
    other, _ = specified(x, 0.5, specifications=3, seed=1)
    both = pl.concat([one.with_columns(model=pl.lit("a")), other.with_columns(model=pl.lit("b"))])
    found = joint(both, items, by=["model"])
    assert (found.n, found.cell) == (6, {"conclusion": "share(yes) ~ x; x > 0"})
    assert found.details["p_median"] < 0.01
    alone = joint(both.head(300), items, by=["model"])
    assert (alone.n, alone.cell["model"]) == (2, "a")
    every = conclusion(both, items=items, by=["model"], **(CLAIM | {"resamples": 99}))
    assert [one.n for one in every if one.measure == "conclusion_joint"] == [3, 3, 6]


@pytest.mark.parametrize("regression", ["linear", "logistic"])
def test_missing_labels_and_other_columns(regression):
    rng = np.random.default_rng(6)
    x = rng.standard_normal(200)
    frame, items = specified(x, 0.5)
    frame = frame.with_columns(label=pl.when(pl.Series(rng.random(frame.height) < 0.9)).then("label"))
    items = items.with_columns(z=pl.Series(0.5 * x + rng.standard_normal(200)))
    found = joint(frame, items, formula="share(yes) ~ x + z", regression=regression)
    assert found.value == 1.0
    assert found.details["p_share"] < 0.01


def test_one_specification_or_no_resamples():
    x = np.random.default_rng(7).standard_normal(60)
    frame, items = specified(x, 0.5, specifications=2)
    assert "p_share" not in joint(frame, items, resamples=0).details
    alone = conclusion(frame.filter(pl.col("variant") == "v0"), items=items, **CLAIM)
    assert all(one.measure != "conclusion_joint" for one in alone)
