import numpy as np
import polars as pl
import pytest

from quaver.measures import ece_shift


def study(shifts, items=40):
    """For each model, right answers at confidence 1 whose labels hold a given mass."""
    parts = [
        pl.DataFrame(
            {
                "item": [f"i{k:03}" for k in range(items)],
                "model": [name] * items,
                "label": ["a"] * items,
                "gold": ["a"] * items,
                "confidence": [1.0] * items,
                "mass_coverage": [1 - shift] * items,
            }
        )
        for name, shift in shifts.items()
    ]
    return pl.concat(parts)


def test_each_cells_shift_and_the_mean_over_conditions():
    frame = study({"m": 0.0, "n": 0.1, "o": 0.3})
    found = ece_shift(frame, by=["model"])
    assert [round(one.value, 12) for one in found] == [0, 0.1, 0.3]
    pooled = ece_shift(frame)[0]
    assert pooled.value == pytest.approx(0.4 / 3)
    assert pooled.details["conditions"] == 3
    assert 0 <= pooled.low <= 0.4 / 3 <= pooled.high <= 1


def test_a_raw_column_may_be_given():
    rng = np.random.default_rng(0)
    frame = study({"m": 0.2}).with_columns(token=pl.Series(rng.random(40)))
    found = ece_shift(frame, columns={"raw": "token"}, bins=1)[0]
    assert found.details["ece_raw"] == pytest.approx(1 - frame["token"].mean())
    assert found.value == pytest.approx(found.details["ece_raw"])


def test_without_a_raw_confidence_it_is_undefined():
    found = ece_shift(study({"m": 0.2}).drop("mass_coverage"))[0]
    assert (found.value, found.reason) == (None, "no raw confidences")
