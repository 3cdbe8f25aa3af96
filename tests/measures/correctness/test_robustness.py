import numpy as np
import polars as pl
import pytest
from tests.measured import grid

from quaver.errors import MeasureError
from quaver.measures.correctness.robustness import corrected_spread, spread


def study(right, model="m"):
    """A frame from an array of right answers, shape (items, variants)."""
    return grid(1 - np.asarray(right), model=model)


def simulated(items, variants, effect, seed):
    rng = np.random.default_rng(seed)
    ease = rng.normal(0.3, 1.2, (items, 1)) + rng.normal(0, effect, variants)
    return rng.random((items, variants)) < 1 / (1 + np.exp(-ease))


def test_the_highest_less_the_lowest():
    right = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0]], bool)
    found = spread(study(right))[0]
    assert found.value == pytest.approx(1 - 0.25)
    d = found.details
    assert (d["lowest"], d["highest"]) == ("v2", "v0")
    assert (d["lowest_accuracy"], d["highest_accuracy"]) == (0.25, 1)


def test_it_is_averaged_over_models():
    both = pl.concat([study([[1, 0], [1, 1]]), study([[1, 1], [1, 1]], "n")])
    assert spread(both)[0].value == pytest.approx(0.25)
    assert [one.value for one in spread(both, by=["model"])] == [0.5, 0]


def test_the_correction_is_the_f_test_of_a_balanced_design():
    right = simulated(40, 5, 0.5, 0).astype(float)
    effect = right.mean(0)
    residual = right - right.mean(1, keepdims=True) - effect + right.mean()
    f = (40 * effect.var(ddof=1)) / ((residual**2).sum() / (39 * 4))
    expected = np.ptp(effect) * np.sqrt(1 - 1 / f)
    assert corrected_spread(right, np.ones((40, 5))) == pytest.approx(expected)


def test_noise_alone_is_the_floor_and_the_correction_takes_most_of_it_away():
    raw, corrected, floors, zero = [], [], [], 0
    for seed in range(40):
        found = spread(study(simulated(60, 8, 0, seed)), resamples=99)[0]
        raw.append(found.value)
        corrected.append(found.details["corrected"])
        floors.append(found.details["floor"])
        zero += found.low == 0
    assert np.mean(raw) == pytest.approx(np.mean(floors), abs=0.02)
    assert np.mean(corrected) < np.mean(raw) / 2
    assert zero >= 36


def test_spreads_against_the_models_sizes():
    """Spreads of 1, 1/2 and 0 in models of 1, 2 and 3: a rank correlation of -1."""
    rows = [
        (model, variant, item, "a" if variant == "v" or item < right else "b", "a")
        for model, right in (("m", 0), ("n", 2), ("o", 4))
        for variant in "vw"
        for item in range(4)
    ]
    frame = pl.DataFrame(rows, schema=["model", "variant", "item", "label", "gold"], orient="row")
    found = spread(frame, by=["model"], sizes={"m": 1, "n": 2, "o": 3})
    assert [one.value for one in found] == [1.0, 0.5, 0.0, -1.0]
    assert found[-1].measure == "spread_size_correlation"
    assert found[-1].details["p"] == pytest.approx(2 / 6)  # two of the six orders are as far from 0
    with pytest.raises(MeasureError, match="by"):
        spread(frame, sizes={"m": 1})
