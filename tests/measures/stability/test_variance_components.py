"""Variance components against the analysis of variance."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.measures.stability.smallest_design import Plan, dependability, smallest_design
from quaver.measures.stability.variance_components import generalizability


def study(codes, names=("item", "variant", "model", "repeat"), kind=str):
    """From label codes with an axis for each name."""
    codes = np.asarray(codes)
    places = np.indices(codes.shape)
    columns = {name: [f"{name[0]}{k:03}" for k in at.ravel()] for name, at in zip(names, places, strict=True)}
    return pl.DataFrame({**columns, "label": [kind(c) for c in codes.ravel()]})


def anova(x):
    """Components of a balanced items × variants design with repeats, from expected mean squares."""
    n, v, r = x.shape
    cell, item, variant, whole = x.mean(2), x.mean((1, 2)), x.mean((0, 2)), x.mean()
    ms_r = ((x - cell[:, :, None]) ** 2).sum() / (n * v * (r - 1))
    ms_iv = r * ((cell - item[:, None] - variant + whole) ** 2).sum() / ((n - 1) * (v - 1))
    ms_i = v * r * ((item - whole) ** 2).sum() / (n - 1)
    ms_v = n * r * ((variant - whole) ** 2).sum() / (v - 1)
    return {
        "item": (ms_i - ms_iv) / (v * r),
        "variant": (ms_v - ms_iv) / (n * r),
        "item × variant": (ms_iv - ms_r) / r,
        "repeat": ms_r,
    }


def labels(seed=0, shape=(12, 4, 3)):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 3, (shape[0], 1, 1))
    return np.where(rng.random(shape) < 0.6, base, rng.integers(0, 3, shape))


def test_nominal_components_are_the_anova_of_the_indicators():
    codes = labels()
    found = generalizability(study(codes, ("item", "variant", "repeat")), resamples=0)[0]
    per_label = [anova((codes == k).astype(float)) for k in range(3)]
    for source, value in found.details["components"].items():
        assert value == pytest.approx(sum(part[source] for part in per_label)), source


def test_interval_components_are_the_anova():
    codes = labels(1)
    found = generalizability(study(codes, ("item", "variant", "repeat")), level="interval", resamples=0)[0]
    assert found.details["components"] == pytest.approx(anova(codes.astype(float)))


def test_with_models_all_seven_sources_and_the_repeats():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (10, 3, 2, 2))
    found = generalizability(study(codes), resamples=0)
    assert [e.cell.get("source") for e in found[1:]] == [
        "item",
        "variant",
        "item × variant",
        "model",
        "item × model",
        "variant × model",
        "item × variant × model",
        "repeat",
    ]
    # all components together are the variance of answers that share nothing
    total = sum(e.value for e in found[1:])
    flat = [(i, v, m, c) for (i, v, m, _), c in np.ndenumerate(codes)]
    apart = [
        a[3] != b[3] for a in flat for b in flat if all(x != y for x, y in zip(a[:3], b[:3], strict=True))
    ]
    assert total == pytest.approx(np.mean(apart))


def test_components_are_unbiased_where_answers_are_missing():
    rng = np.random.default_rng(4)
    sums, full = {}, {}
    for seed in range(60):
        codes = labels(seed)
        frame = study(codes, ("item", "variant", "repeat"))
        part = frame.filter(pl.Series(rng.random(frame.height) < 0.6))
        for into, data in ((full, frame), (sums, part)):
            for source, value in generalizability(data, resamples=0)[0].details["components"].items():
                into[source] = into.get(source, 0) + value / 60
    assert sums == pytest.approx(full, abs=0.012)


def test_components_of_a_known_truth():
    # Answers are the item's own label with probability .7, else any of two: repeats differ alone.
    rng = np.random.default_rng(5)
    base = rng.integers(0, 2, (800, 1, 1))
    codes = np.where(rng.random((800, 3, 2)) < 0.7, base, rng.integers(0, 2, (800, 3, 2)))
    found = generalizability(study(codes, ("item", "variant", "repeat")), resamples=0)[0]
    parts = found.details["components"]
    # P(differ) within an item 2·.85·.15 = .255; between items .5
    assert parts["repeat"] == pytest.approx(0.255, abs=0.02)
    assert parts["item"] == pytest.approx(0.245, abs=0.02)
    assert abs(parts["variant"]) < 0.005
    assert abs(parts["item × variant"]) < 0.02


def test_without_repeats_they_are_part_of_the_last_interaction():
    codes = labels()[:, :, :1]
    found = generalizability(study(codes, ("item", "variant", "repeat")), resamples=0)
    assert [e.cell.get("source") for e in found[1:]] == ["item", "variant", "item × variant, repeat"]
    assert any("without repeats" in text for text in found[0].warnings)


def test_decodings_are_kept_apart():
    codes = labels()
    frame = study(codes, ("item", "variant", "repeat")).with_columns(decoding=pl.lit("d"))
    # The other decoding gives everything another name: no pair of answers may be made across the two.
    other = frame.with_columns(decoding=pl.lit("e"), label=pl.col("label") + "x")
    one = generalizability(frame, resamples=0)[0].details["components"]
    both = generalizability(pl.concat([frame, other]), resamples=0)[0].details["components"]
    assert both == pytest.approx(one)


def test_dependability_and_the_smallest_design():
    parts = {"item": 0.2, "variant": 0.05, "item × variant": 0.1, "repeat": 0.1}
    assert dependability(parts, Plan(1, 1)) == pytest.approx(0.2 / 0.45)
    assert dependability(parts, Plan(5, 2)) == pytest.approx(0.2 / (0.2 + 0.01 + 0.02 + 0.01))
    assert dependability(parts, Plan(5, 2), relative=True) == pytest.approx(0.2 / (0.2 + 0.02 + 0.01))
    found = smallest_design(parts, 0.8)
    # .2 / (.2 + .25/k) ≥ .8 needs k = 5
    assert found == {"variants": 5, "repeats": 1, "dependability": pytest.approx(0.8)}
    assert smallest_design({"item": 0.2, "repeat": 0.1}, 0.8) == {
        "variants": 1,
        "repeats": 2,
        "dependability": pytest.approx(0.8),
    }
    assert smallest_design({"item": 0.0, "repeat": 0.1}, 0.8) is None
    assert dependability({"item": 0.0, "repeat": -0.1}, Plan()) is None


def test_the_smallest_design_is_as_uncertain_as_its_components():
    widths = []
    for codes in (labels(shape=(30, 4, 3)), many := labels(shape=(200, 4, 3))):
        details = generalizability(study(codes, ("item", "variant", "repeat")))[0].details
        low, high = details["smallest_design_answers"]
        found = details["smallest_design"]
        assert low <= found["variants"] * found["repeats"] <= (high or np.inf)
        assert 0 <= details["smallest_design_unreached"] <= 1
        widths.append((high or np.inf) / low)
    assert widths[0] > widths[1]
    bare = generalizability(study(many, ("item", "variant", "repeat")), resamples=0)[0].details
    assert "smallest_design_answers" not in bare


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (study(np.zeros((5, 2, 1, 2), int)), "no variation"),
        (study(np.zeros((1, 2, 1, 2), int)), "fewer than two items"),
        (study(np.arange(5).reshape(5, 1, 1, 1)), "fewer than two raters"),
        (study(np.zeros((5, 2, 1, 2), int)).clear(), "no annotations"),
    ],
)
def test_undefined_with_the_reason(frame, reason):
    found = generalizability(frame)[0]
    assert (found.value, found.reason) == (None, reason)


@pytest.mark.parametrize("options", [{"variants": 0}, {"repeats": 1.5}, {"models": -1}, {"target": 1}])
def test_bad_plans_name_the_argument(options):
    with pytest.raises(MeasureError) as caught:
        generalizability(study(labels()[:, :, None]), **options)
    assert caught.value.where == next(iter(options))


@pytest.mark.parametrize("far", [1e6, 1e9])
def test_numbers_far_from_zero_keep_their_digits(far):
    """Variances do not change when all numbers do by as much."""
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(0, 1, (8, 3, 2)), 1)
    near, moved = (
        generalizability(study(of, ("item", "variant", "repeat")), level="interval", resamples=0)
        for of in (x, x + far)
    )
    assert [one.value for one in moved] == pytest.approx([one.value for one in near], rel=1e-5)
