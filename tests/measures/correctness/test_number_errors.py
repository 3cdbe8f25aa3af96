"""Errors of numbers, against pingouin."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import special

from quaver.core.label_values import occurring_numbers
from quaver.core.records import IntervalWarning
from quaver.estimation.intervals import l_kurtosis
from quaver.measures import accuracy, f1, label_shares

_HERE = Path(__file__).parents[2] / "agreement" / "pingouin_values.json"
_TABLES = json.loads(_HERE.read_text())["tables"]


def _found(answers, gold, **more):
    texts = {repr(float(one)) for one in (*answers, *gold) if one is not None}
    labels = occurring_numbers(sorted(texts, key=float), "ratio")
    frame = pl.DataFrame(
        {
            "item": range(len(gold)),
            "label": [None if one is None else repr(float(one)) for one in answers],
            "gold": [repr(float(one)) for one in gold],
        }
    )
    return {one.measure: one for one in accuracy(frame, labels=labels, **more)}


@pytest.mark.parametrize("at", range(len(_TABLES)))
def test_agreement_limits_and_correlation_are_pingouin_s(at):
    known = _TABLES[at]
    table = np.array(known["table"])
    found = _found(table[:, 0], table[:, 1], resamples=0)
    low, bias, high = known["limits"]
    assert found["accuracy_bias"].value == pytest.approx(bias, abs=1e-9)
    assert found["accuracy_lower_limit"].value == pytest.approx(low, abs=1e-9)
    assert found["accuracy_upper_limit"].value == pytest.approx(high, abs=1e-9)
    assert found["accuracy_correlation"].value == pytest.approx(known["correlation"], abs=1e-9)
    if table.shape[1] == 2:
        assert found["accuracy_intraclass"].value == pytest.approx(known["icc"], abs=1e-9)


def test_errors_by_hand_leave_out_what_has_no_number():
    # errors 1, −2 and 0 of three answers; the fourth item has none
    found = _found([2, 3, 7, None], [1, 5, 7, 9])
    assert found["accuracy"].value == 0.25
    assert found["accuracy_mean_error"].value == pytest.approx(1)
    assert found["accuracy_bias"].value == pytest.approx(-1 / 3)
    assert found["accuracy_mean_error"].excluded
    assert found["accuracy_mean_error"].n == 3


def test_what_is_no_number_of_two_items_says_why():
    assert _found([2], [1])["accuracy_correlation"].reason
    assert _found([None], [1])["accuracy_mean_error"].reason


def test_numbers_are_no_classes():
    frame = pl.DataFrame({"item": [1, 2], "label": ["1", "2"], "gold": ["1", "3"]})
    labels = occurring_numbers("123", "ratio")
    for measure in (f1, label_shares):
        (one,) = measure(frame, labels=labels)
        assert one.value is None


def _t(freedom):
    return float(special.stdtrit(freedom, 0.975))


def _without_each(answers, gold, number):
    """What each item adds to a number's error, √((n − 1) / n) of it, and as how many items they count."""
    n = len(gold)
    left = np.array([number(np.delete(answers, at), np.delete(gold, at)) for at in range(n)])
    each = np.sqrt((n - 1) / n) * (left.mean() - left)
    return each, float((each**2).sum() ** 2 / (each**4).sum())


def test_a_mean_error_has_no_more_degrees_of_freedom_than_its_items_show():
    answers, gold = np.r_[np.zeros(19), 100.0], np.r_[np.arange(19) % 3, 0.0]
    found = _found(answers, gold)["accuracy_bias"]
    each, events = _without_each(answers, gold, lambda x, y: (x - y).mean())
    half = _t(2 * events) * (each**2).sum() ** 0.5
    assert events < 2
    assert found.high - found.low == pytest.approx(2 * half, rel=1e-9)


U = (np.arange(200) + 0.5) / 200
LIMITS = {"accuracy_lower_limit", "accuracy_upper_limit", "accuracy_correlation", "accuracy_intraclass"}


@pytest.mark.parametrize(
    ("errors", "flagged"),
    [
        (special.ndtri(U), set()),
        (np.sign(U - 0.5) * -np.log1p(-2 * np.abs(U - 0.5)), LIMITS),  # Laplace's: many of all sizes
        (special.stdtrit(3, U), LIMITS),
        (np.where(np.arange(200) % 100 == 7, 9.0, special.ndtri(U)), LIMITS),  # few among small ones
    ],
    ids=["normal", "Laplace", "Student", "two"],
)
def test_errors_with_long_tails_are_warned_of_and_normal_ones_are_not(errors, flagged):
    gold = np.random.default_rng(1).permutation(200) * 1.0
    found = _found(gold + errors, gold)
    warned = {
        name for name, one in found.items() if any(isinstance(w, IntervalWarning) for w in one.warnings)
    }
    assert warned - {"accuracy"} == flagged  # of which no answer is exactly right


def test_l_kurtosis_is_that_of_known_distributions():
    # Hosking (1990), table 1: uniform 0, exponential 1/6, Gumbel 0.1504, normal 0.1226
    u = (np.arange(200_000) + 0.5) / 200_000
    quantiles = {0.0: u, 1 / 6: -np.log1p(-u), 0.1504: -np.log(-np.log(u)), 0.1226: special.ndtri(u)}
    for expected, numbers in quantiles.items():
        assert l_kurtosis(np.random.default_rng(1).permutation(numbers)) == pytest.approx(expected, abs=2e-4)
    assert np.isnan(l_kurtosis(np.ones(9)))
    assert np.isnan(l_kurtosis(np.arange(3.0)))


@pytest.mark.long
@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_hold_the_truth(skewed):
    held = {}
    truth = {}
    for seed in range(401):
        rng = np.random.default_rng(seed)
        n = 60_000 if seed == 0 else 80
        gold = np.exp(rng.normal(3, 0.6, n)) if skewed else rng.normal(50, 10, n)
        found = _found(gold + 1 + rng.normal(0, 6, n), gold, resamples=0 if seed == 0 else 100)
        if seed == 0:
            truth = {name: float(one.value or 0.0) for name, one in found.items()}
            continue
        for name, one in found.items():
            if name != "accuracy" and one.low is not None and one.high is not None:
                held.setdefault(name, []).append(one.low <= truth[name] <= one.high)
    shares = {name: float(np.mean(some)) for name, some in held.items()}
    assert len(shares) == 6
    assert all(0.92 <= share <= 0.985 for share in shares.values()), shares


def test_an_outlier_under_one_prompt_leaves_the_numbers_of_another_as_they_are():
    rng = np.random.default_rng(2)
    gold = rng.normal(50, 10, 40).round(1)
    answers = (gold + rng.normal(23, 5, 40)).round(1)
    alone = _found(answers, gold, resamples=0)
    other = np.where(np.arange(40) == 3, 1e15, answers)
    texts = sorted({repr(float(one)) for one in (*answers, *other, *gold)}, key=float)
    frame = pl.DataFrame(
        {
            "item": [*range(40)] * 2,
            "variant": ["a"] * 40 + ["b"] * 40,
            "label": [repr(float(one)) for one in (*answers, *other)],
            "gold": [repr(float(one)) for one in gold] * 2,
        }
    )
    labels = occurring_numbers(texts, "interval")
    for one in accuracy(frame, labels=labels, by=["variant"], resamples=0):
        if one.cell.get("variant") == "a":
            assert one.value == pytest.approx(alone[one.measure].value, abs=1e-9), one.measure
