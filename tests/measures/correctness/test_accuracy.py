"""Accuracy against predictions whose share of errors is known."""

import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.measures.correctness.accuracy import accuracy, baseline

GOLD = ["a", "b", "c", "d"] * 500
FRAME = pl.DataFrame({"item": list(range(2000)), "label": GOLD, "gold": GOLD})


def test_half_of_the_predictions_are_swapped():
    noisy = baseline(FRAME, "noisy", seed=1)
    assert (noisy["label"] != FRAME["label"]).sum() == 1000
    assert accuracy(noisy, resamples=0)[0].value == 0.5
    assert noisy.equals(baseline(FRAME, "noisy", seed=1))
    assert not noisy.equals(baseline(FRAME, "noisy", seed=2))


def test_guesses_are_right_by_chance():
    assert accuracy(baseline(FRAME, "random"), resamples=0)[0].value == pytest.approx(0.25, abs=0.03)


def test_the_unanswered_stay_unanswered():
    frame = FRAME.with_columns(label=pl.when(pl.col("item") % 3 == 0).then(None).otherwise("label"))
    for kind in ("noisy", "random"):
        assert baseline(frame, kind)["label"].is_null().equals(frame["label"].is_null())


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"kind": "quiet"}, "kind"),
        ({"kind": "noisy", "share": 2.0}, "share"),
        ({"kind": "noisy", "label": "x"}, "label"),
    ],
)
def test_bad_input(options, where):
    with pytest.raises(MeasureError) as caught:
        baseline(FRAME, **options)
    assert caught.value.where == where
