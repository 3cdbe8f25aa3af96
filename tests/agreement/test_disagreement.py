import time

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaver.agreement import krippendorff_alpha
from quaver.agreement.disagreement import Disagreement, scale, waves
from quaver.core.records import Label, LabelSet
from quaver.errors import MeasureError

LEVELS = ("nominal", "ordinal", "interval", "ratio")


def alpha_by_pairs(codes, level, values):
    """Alpha from the coincidence matrix, pair by pair, as the textbook writes it."""
    size = len(values)
    coincidence = np.zeros((size, size))
    for unit in codes:
        given_ = [code for code in unit if code >= 0]
        for i, one in enumerate(given_):
            for j, two in enumerate(given_):
                if i != j:
                    coincidence[one, two] += 1 / (len(given_) - 1)
    totals = coincidence.sum(0)
    n = totals.sum()

    def delta(v, k):
        if level == "nominal":
            return float(v != k)
        if level == "ordinal":
            low, high = min(v, k), max(v, k)
            return (totals[low : high + 1].sum() - (totals[v] + totals[k]) / 2) ** 2
        if level == "interval":
            return (values[v] - values[k]) ** 2
        total = values[v] + values[k]
        return ((values[v] - values[k]) / total) ** 2 if total else 0.0

    pairs = [(v, k) for v in range(size) for k in range(size)]
    observed = sum(coincidence[v, k] * delta(v, k) for v, k in pairs)
    expected = sum(totals[v] * totals[k] * delta(v, k) for v, k in pairs)
    return 1 - (n - 1) * observed / expected if expected > 0 else None


VALUES = np.array([0.0, 1.0, 2.5, 7.0])


def model(codes, level):
    values = VALUES if level in ("interval", "ratio") else None
    return Disagreement(codes[:, None], len(VALUES), level, values)


@pytest.mark.parametrize("level", LEVELS)
@given(data=st.data())
@settings(max_examples=60)
def test_alpha_is_what_the_coincidences_give(level, data):
    items, raters = data.draw(st.integers(2, 6)), data.draw(st.integers(2, 5))
    cells = st.lists(st.integers(-1, 3), min_size=items * raters, max_size=items * raters)
    codes = np.array(data.draw(cells)).reshape(items, raters)
    pairable = int(((codes >= 0).sum(1) >= 2).sum())
    found = model(codes, level).alphas(np.ones((1, items)))[0, 0]
    expected = alpha_by_pairs(codes, level, VALUES)
    if expected is None:
        assert np.isnan(found)
        assert model(codes, level).reasons()[0] is not None
    else:
        assert found == pytest.approx(expected, abs=1e-9)
        assert (model(codes, level).reasons()[0] is None) == (pairable > 1)


@pytest.mark.parametrize("level", LEVELS)
def test_weights_stand_for_copies_of_items(level):
    rng = np.random.default_rng(4)
    codes = rng.integers(-1, 4, (20, 5))
    weights = rng.integers(0, 3, (6, 20))
    found = model(codes, level).alphas(weights.astype(float))[:, 0]
    copied = [alpha_by_pairs(np.repeat(codes, row, 0), level, VALUES) for row in weights]
    assert found == pytest.approx(copied, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_contributions_add_up_to_the_observed_disagreement(level):
    codes = np.random.default_rng(5).integers(-1, 4, (30, 4))
    one = model(codes, level)
    assert one.per_item.sum(0) == pytest.approx(one.sums(np.ones((1, 30)))[0][0], rel=1e-9)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "ratio"])
def test_strata_do_not_mix(level):
    codes = np.random.default_rng(6).integers(-1, 4, (15, 3, 4))
    values = VALUES if level == "ratio" else None
    together = Disagreement(codes, 4, level, values).alphas(np.ones((1, 15)))[0]
    alone = [model(codes[:, s], level).alphas(np.ones((1, 15)))[0, 0] for s in range(3)]
    assert together == pytest.approx(alone, abs=1e-12)


def test_interval_alpha_keeps_its_digits_far_from_zero():
    codes = np.random.default_rng(7).integers(0, 4, (40, 3))
    ones = np.ones((1, 40))
    near, far = (
        Disagreement(codes[:, None], 4, "interval", VALUES + more).alphas(ones)[0, 0] for more in (0.0, 1e9)
    )
    assert far == pytest.approx(near, abs=1e-9)


def test_a_scale_needs_numbers_or_an_order():
    labels = LabelSet((Label("lo", "low"), Label("hi", "high")), "ordinal")
    assert scale(("lo", "hi"), "interval", labels).tolist() == [0, 1]
    for level in ("ordinal", "interval", "ratio"):
        with pytest.raises(MeasureError, match="not a number"):
            scale(("lo", "hi"), level)
    with pytest.raises(MeasureError, match="negative"):
        scale(("-1", "2"), "ratio")
    with pytest.raises(MeasureError, match="unknown level"):
        scale(("1",), "cardinal")


@given(data=st.data())
@settings(max_examples=200)
def test_no_nominal_alpha_is_below_the_least_that_its_frequencies_allow(data):
    items, raters = data.draw(st.integers(2, 8)), data.draw(st.integers(2, 5))
    codes = np.array(
        data.draw(
            st.lists(st.sampled_from([-1, 0, 0, 0, 1, 2]), min_size=items * raters, max_size=items * raters)
        )
    )
    found = model(codes.reshape(items, raters), "nominal")
    value = found.alphas(np.ones((1, items)))[0, 0]
    if np.isfinite(value):
        least, step = found.least[0]
        assert -1 <= least <= value + 1e-9
        assert step > 0


def test_one_agreement_on_a_rare_label_raises_alpha_by_its_step():
    apart = np.zeros((50, 3), int)
    apart[:4, 0] = 1
    together = apart.copy()
    together[3, 0], together[0, 1] = 0, 1
    alone, agreed = model(apart, "nominal"), model(together, "nominal")
    least, step = alone.least[0]
    ones = np.ones((1, 50))
    assert alone.alphas(ones)[0, 0] == pytest.approx(least)
    assert agreed.alphas(ones)[0, 0] == pytest.approx(least + step)


def many_numbers(seed, items, raters):
    """Items × raters, hardly two numbers of which are the same, some missing, some 0."""
    rng = np.random.default_rng(seed)
    table = np.exp(rng.normal(3, 0.2 + seed, (items, 1)) + 0.3 * rng.standard_normal((items, raters)))
    table[rng.random(table.shape) < 0.05] = 0.0
    table[rng.random(table.shape) < 0.1] = np.nan
    return table


@pytest.mark.parametrize("level", ["ordinal", "interval", "ratio"])
@pytest.mark.parametrize("seed", [0, 2, pytest.param(4, marks=pytest.mark.long)])
def test_alpha_of_many_different_numbers_is_the_krippendorff_package_s(level, seed):
    table = many_numbers(seed, 400 // (2 + seed), 2 + seed)
    assert np.unique(table[np.isfinite(table)]).size > 300
    known = krippendorff.alpha(table.T, level_of_measurement=level)
    assert krippendorff_alpha(table, level, resamples=0).value == pytest.approx(known, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_many_labels_are_the_same_from_sparse_tables(level, monkeypatch):
    rng = np.random.default_rng(8)
    codes = rng.integers(-1, 60, (40, 2, 5))
    codes[3, 0] = -1
    values = np.sort(rng.exponential(3, 60)).round(1) if level in ("interval", "ratio") else None
    few, many = (Disagreement(codes, 60, level, values) for _ in range(2))
    weights = rng.integers(0, 3, (7, 40)).astype(float)
    few.sums(weights)
    monkeypatch.setattr("quaver.agreement.disagreement.MANY_LABELS", 59)
    many.sums(weights)
    monkeypatch.undo()
    for one, other in zip(few.sums(weights), many.sums(weights), strict=True):
        assert other == pytest.approx(one, rel=1e-12)
    assert many.alphas(weights) == pytest.approx(few.alphas(weights), abs=1e-12)
    assert many.per_item == pytest.approx(few.per_item, rel=1e-12)
    assert (many.totals == few.totals).all()
    assert many.reasons() == few.reasons()
    assert many.least == pytest.approx(few.least)
    assert [many.range_squared(one) for one in (0, 1)] == [few.range_squared(one) for one in (0, 1)]


@pytest.mark.parametrize("spread", [1e-3, 0.1, 1.0, 10.0, 100.0])
def test_waves_stand_for_all_pairs_of_numbers(spread):
    rng = np.random.default_rng(9)
    logs, totals = spread * rng.standard_normal(300), rng.integers(0, 4, (3, 300)).astype(float)
    apart = np.tanh(np.subtract.outer(logs, logs) / 2) ** 2
    assert waves(logs, totals) == pytest.approx(((totals @ apart) * totals).sum(1), rel=1e-11)


def test_the_time_of_alpha_does_not_grow_with_the_square_of_how_many_numbers_there_are():
    seconds = []
    for items in (3000, 12_000):
        table = many_numbers(0, items, 2)
        start = time.process_time()
        krippendorff_alpha(table, "ratio")
        seconds.append(time.process_time() - start)
    assert seconds[1] < 8 * seconds[0]  # of pairs it would be sixteen times as long


@pytest.mark.parametrize("level", LEVELS)
def test_no_item_differs_where_all_coders_give_the_same_large_number(level):
    numbers = np.round(np.random.default_rng(1).lognormal(7, 1, 40), 2)
    found = krippendorff_alpha(np.stack([numbers] * 3, 1), level)
    assert found.value == pytest.approx(1)
    assert found.details["differing"] == 0


def test_items_differ_by_numbers_of_any_size():
    numbers = np.array([[1, 2], [3, 3], [5, 5]])
    found = [krippendorff_alpha(numbers * size, "interval") for size in (1e-9, 1.0, 1e9)]
    assert len({one.details["differing"] for one in found}) == 1
    assert [one.value for one in found] == pytest.approx([found[1].value] * 3)
    assert found[1].value < 1
    codes, values = np.array([[0, 1], [2, 2], [3, 3]]), np.array([1, 2, 3, 5]) * 1e-9
    model = Disagreement(codes[:, None], 4, "interval", values)
    assert model.differs[:, 0].tolist() == [True, False, False]
