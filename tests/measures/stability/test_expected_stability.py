import math

import numpy as np
import polars as pl
import pytest

from quaver.core.records import Decoding
from quaver.errors import MeasureError
from quaver.measures.stability.expected_stability import expected_alpha, expected_intra_pss, tempered
from quaver.measures.stability.prompt_stability import intra_pss


def probabilities(items=60, seed=0, sharp=2.0):
    logits = np.random.default_rng(seed).normal(0, sharp, (items, 3))
    p = np.exp(logits)
    return p / p.sum(1, keepdims=True)


def frame_of(p, **more):
    labels = np.array(list("abc"))[p.argmax(1)]
    columns = {
        "item": [f"i{k:04}" for k in range(len(p))],
        "label": labels,
        "probabilities": p.tolist(),
    }
    return pl.DataFrame({**columns, **more})


def sampled(p, repeats, seed):
    rng = np.random.default_rng(seed)
    codes = (rng.random((len(p), repeats, 1)) > np.cumsum(p, 1)[:, None]).sum(2)
    item, repeat = np.indices(codes.shape)
    frame = pl.DataFrame(
        {
            "item": [f"i{k:04}" for k in item.ravel()],
            "repeat": repeat.ravel(),
            "label": np.array(list("abc"))[codes.ravel()],
        }
    )
    return intra_pss(frame, resamples=0)[0].value


@pytest.mark.parametrize("repeats", [2, 5, 20])
@pytest.mark.parametrize("items", [15, 100])
def test_is_the_mean_of_sampled_repeats(items, repeats):
    p = probabilities(items)
    draws = [sampled(p, repeats, seed) for seed in range(120)]
    expected = expected_intra_pss(frame_of(p), repeats=repeats, resamples=0)[0].value
    # 4 standard errors of the mean, and 1/N for the ratio of expectations
    margin = 4 * np.std(draws) / math.sqrt(120) + 0.05 / items
    assert expected == pytest.approx(np.mean(draws), abs=margin)


@pytest.mark.parametrize("repeats", [2, 5])
def test_one_sample_of_repeats_lies_where_it_is_said_to(repeats):
    p = probabilities(50)
    low, high = expected_intra_pss(frame_of(p), repeats=repeats, resamples=0)[0].details["sampled"]
    draws = np.array([sampled(p, repeats, seed) for seed in range(150)])
    assert (high - low) / (2 * 1.96) == pytest.approx(draws.std(), rel=0.2)
    assert 0.88 <= np.mean((low <= draws) & (draws <= high)) <= 1


def test_at_another_temperature_the_probabilities_are_tempered():
    p = probabilities()
    half = p**2 / (p**2).sum(1, keepdims=True)
    found = expected_intra_pss(frame_of(p), temperature=0.5, resamples=0)[0]
    assert found.value == pytest.approx(expected_intra_pss(frame_of(half), resamples=0)[0].value)
    assert found.value > expected_intra_pss(frame_of(p), resamples=0)[0].value
    assert any("spelling" in text for text in found.warnings)


def test_no_label_as_a_category():
    p = probabilities(40)
    found = expected_intra_pss(frame_of(p, mass_coverage=[0.75] * 40), missing="category", resamples=0)[0]
    whole = np.concatenate([p * 0.75, np.full((40, 1), 0.25)], 1)
    assert found.value == pytest.approx(float(expected_alpha(whole, 10)(np.ones((1, 40)))[0, 0]))
    cold = expected_intra_pss(frame_of(p, mass_coverage=[0.75] * 40), missing="category", temperature=0.5)[0]
    assert (cold.value, "vocabulary" in cold.reason) == (None, True)


def test_a_decoding_that_cuts_is_refused_and_its_temperature_used():
    frame = frame_of(probabilities())
    cut = expected_intra_pss(frame, decoding=Decoding("d", temperature=1, top_p=0.9))[0]
    assert (cut.value, "top_p 0.9" in cut.reason) == (None, True)
    plain = expected_intra_pss(frame, decoding=Decoding("d", temperature=0.5), resamples=0)[0]
    assert plain.details["temperature"] == 0.5


def test_labels_not_among_the_likeliest_are_warned_of():
    found = expected_intra_pss(frame_of(probabilities(4), label_coverage=[1.0, 1.0, 2 / 3, 1.0]))[0]
    assert any("1 answers had labels" in text for text in found.warnings)


def test_spellings_are_tempered_before_they_are_merged():
    tokens = {"a": math.log(0.4), "A": math.log(0.2), "b": math.log(0.3), "x": math.log(0.1)}
    found, rest = tempered(tokens, {"a": "a", "A": "a", "b": "b"}, 0.5)
    whole = 0.16 + 0.04 + 0.09 + 0.01
    assert found == pytest.approx({"a": 0.2 / whole, "b": 0.09 / whole})
    assert rest == pytest.approx(0.01 / whole)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (frame_of(probabilities(5)).drop("probabilities"), "no probabilities"),
        (frame_of(probabilities(1)), "fewer than two items with probabilities"),
        (frame_of(np.tile([1.0, 0, 0], (5, 1))), "no variation"),
        (frame_of(probabilities(5)).clear(), "no annotations"),
    ],
)
def test_undefined_with_the_reason(frame, reason):
    found = expected_intra_pss(frame)[0]
    assert (found.value, found.reason) == (None, reason)


@pytest.mark.parametrize(
    ("frame", "options", "where"),
    [
        (frame_of(np.array([[0.5, 0.5, 0.5]])), {}, "annotations['probabilities']"),
        (frame_of(np.array([[1.5, -0.5, 0.0]])), {}, "annotations['probabilities']"),
        (
            frame_of(probabilities(2)).with_columns(probabilities=pl.lit(1.0)),
            {},
            "annotations['probabilities']",
        ),
        (frame_of(probabilities(2)), {"repeats": 1}, "repeats"),
        (frame_of(probabilities(2)), {"temperature": 0}, "temperature"),
        (frame_of(probabilities(2)), {"missing": "wrong"}, "missing"),
    ],
)
def test_bad_input_names_the_argument(frame, options, where):
    with pytest.raises(MeasureError) as caught:
        expected_intra_pss(frame, **options)
    assert caught.value.where == where
