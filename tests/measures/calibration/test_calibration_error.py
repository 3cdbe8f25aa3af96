import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.errors import MeasureError
from quaver.measures import brier, ece, reliability_curve
from quaver.measures.calibration.calibration_error import assigned


def frame_of(confidence, right, **more):
    """Answers "a" whose gold label is "a" where they are right and "b" where not."""
    columns = {
        "item": [f"i{k:05}" for k in range(len(confidence))],
        "label": ["a"] * len(confidence),
        "gold": ["a" if yes else "b" for yes in right],
        "confidence": confidence,
    }
    return pl.DataFrame({**columns, **more}, schema_overrides={"confidence": pl.Float64})


def direct(confidence, right, bins):
    """ECE from its definition, an answer at a time, with exact edges k/bins."""
    total = 0.0
    for k in range(bins):
        inside = [
            (c, y)
            for c, y in zip(confidence, right, strict=True)
            if (k / bins < c <= (k + 1) / bins) or (k == 0 and c == 0)
        ]
        total += abs(sum(c - y for c, y in inside))
    return total / len(confidence)


@given(
    st.lists(st.tuples(st.integers(0, 97), st.booleans()), min_size=1, max_size=40),
    st.sampled_from([3, 5, 8]),
)
def test_equals_its_definition(answers, bins):
    confidence, right = [k / 97 for k, _ in answers], [yes for _, yes in answers]
    found = ece(frame_of(confidence, right), bins=bins, resamples=0)[0]
    assert found.value == pytest.approx(direct(confidence, right, bins), abs=1e-12)


@pytest.mark.parametrize("step", [0.1, 0.05, 0.2])
def test_multiples_of_a_tenth_fall_on_their_edge_however_they_were_computed(step):
    k = np.arange(1, round(1 / step) + 1)
    for tenths in (k * step, np.cumsum(np.full(k.size, step)), 1 - (k.size - k) * step):
        assert assigned(np.clip(tenths, 0, 1), k.size).tolist() == (k - 1).tolist()


def simulated(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 1, n)
    return confidence, rng.random(n) < np.clip(confidence - shift, 0, 1)


def test_overconfidence_stands_above_the_floor_and_noise_is_flagged():
    over = ece(frame_of(*simulated(400, 1, shift=0.2)), resamples=199)[0]
    assert over.details["p"] <= 0.01
    assert 0 < over.low < 0.2 < over.high
    assert not any("perfect calibration" in text for text in over.warnings)
    fair = ece(frame_of(*simulated(100, 2)), resamples=199)[0]
    assert any("perfect calibration" in text for text in fair.warnings)


def test_repeats_of_an_item_are_not_more_evidence():
    confidence, right = simulated(60, 3)
    one = frame_of(confidence, right)
    many = pl.concat([one.with_columns(repeat=pl.lit(k)) for k in range(5)])
    alone, together = ece(one)[0], ece(many)[0]
    assert together.value == pytest.approx(alone.value)
    assert together.n == alone.n == 60
    assert together.details["floor"] == pytest.approx(alone.details["floor"], rel=0.1)
    assert together.details["correlation"] > 0.9
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=0.05)


def test_what_is_left_out_is_counted():
    frame = frame_of([0.9, None, 0.4, 0.5], [1, 1, 0, 1]).with_columns(
        label=pl.Series(["a", "a", None, "a"]), gold=pl.Series(["a", "a", "a", None])
    )
    found = ece(frame)[0]
    assert found.n == 1
    assert found.excluded == {"item without gold": 1, "unanswered": 1, "without a confidence": 1}


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ({"confidence": pl.lit(None, pl.Float64)}, "no confidences"),
        ({"gold": pl.lit(None, pl.String)}, "no gold labels"),
        ({"label": pl.lit(None, pl.String)}, "no answers"),
    ],
)
def test_undefined_with_the_reason(column, reason):
    found = [measure(frame_of([0.9, 0.8], [1, 0]).with_columns(**column))[0] for measure in (ece, brier)]
    assert [one.value for one in found] == [None] * 2
    assert [one.reason for one in found] == [reason] * 2


@pytest.mark.parametrize(
    ("frame", "options", "where"),
    [
        (frame_of([0.9, 1.2], [1, 0]), {}, "annotations['confidence']"),
        (frame_of([0.9, 80.0], [1, 0]), {}, "annotations['confidence']"),
        (frame_of([0.9, float("inf")], [1, 0]), {}, "annotations['confidence']"),
        (frame_of([0.9], [1]).with_columns(confidence=pl.lit("high")), {}, "annotations['confidence']"),
        (frame_of([0.9], [1]), {"bins": 0}, "bins"),
        (frame_of([0.9], [1]), {"columns": {"confidence": "sure"}}, "columns['confidence']"),
    ],
)
def test_bad_input_names_the_argument(frame, options, where):
    with pytest.raises(MeasureError) as caught:
        ece(frame, **options)
    assert caught.value.where == where


def test_the_curve_of_plain_numbers():
    curve = reliability_curve([0.0, 0.1, 0.95], [0, 1, 1], bins=10)
    assert [(row["n"], row["right"]) for row in curve] == [(2, 0.5), (1, 1.0)]


def test_a_bins_interval_counts_items_not_answers():
    """Ten answers to each of four items, all alike: known as well as four answers are."""
    frame = pl.DataFrame(
        {
            "item": [n // 10 for n in range(40)],
            "repeat": [n % 10 for n in range(40)],
            "label": ["a"] * 40,
            "gold": ["a" if n < 20 else "b" for n in range(40)],
            "confidence": [0.75] * 40,
        }
    )
    (row,) = ece(frame, resamples=10)[0].details["curve"]
    (four,) = reliability_curve([0.75] * 4, [1, 1, 0, 0])
    assert (row["n"], row["right"]) == (40, 0.5)
    assert [row[end] for end in ("right_low", "right_high")] == pytest.approx(
        [four[end] for end in ("right_low", "right_high")]
    )
    # Wilson's interval of 2 of 4, as tables have it
    assert [row["right_low"], row["right_high"]] == pytest.approx([0.150, 0.850], abs=5e-4)
