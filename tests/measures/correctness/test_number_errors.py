"""Errors of numbers, against pingouin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from quaver.agreement import intraclass_correlation
from quaver.core.records import Estimate, Label, Numbers
from quaver.measures import accuracy, f1, label_shares

_HERE = Path(__file__).parents[2] / "agreement" / "pingouin_values.json"
_TABLES = json.loads(_HERE.read_text())["tables"]


def _found(answers: Any, gold: Any, **more: Any) -> dict[str, Estimate]:
    texts = {repr(float(one)) for one in (*answers, *gold) if one is not None}
    labels = Numbers(tuple(Label(one, one, value=float(one)) for one in sorted(texts, key=float)), "ratio")
    frame = pl.DataFrame(
        {
            "item": range(len(gold)),
            "label": [None if one is None else repr(float(one)) for one in answers],
            "gold": [repr(float(one)) for one in gold],
        }
    )
    return {one.measure: one for one in accuracy(frame, labels=labels, **more)}


@pytest.mark.parametrize("at", range(len(_TABLES)))
def test_agreement_limits_and_correlation_are_pingouin_s(at: int) -> None:
    known = _TABLES[at]
    table = np.array(known["table"])
    one = intraclass_correlation(table, "interval", resamples=0)
    assert one.value == pytest.approx(known["icc"], abs=1e-9)
    found = _found(table[:, 0], table[:, 1], resamples=0)
    low, bias, high = known["limits"]
    assert found["accuracy_bias"].value == pytest.approx(bias, abs=1e-9)
    assert found["accuracy_lower_limit"].value == pytest.approx(low, abs=1e-9)
    assert found["accuracy_upper_limit"].value == pytest.approx(high, abs=1e-9)
    assert found["accuracy_correlation"].value == pytest.approx(known["correlation"], abs=1e-9)
    pair = intraclass_correlation(table[:, :2], "interval", resamples=0).value
    assert found["accuracy_intraclass"].value == pytest.approx(pair, abs=1e-9)


def test_errors_by_hand_leave_out_what_has_no_number() -> None:
    # errors 1, −2 and 0 of three answers; the fourth item has none
    found = _found([2, 3, 7, None], [1, 5, 7, 9])
    assert found["accuracy"].value == 0.25
    assert found["accuracy_mean_error"].value == pytest.approx(1)
    assert found["accuracy_bias"].value == pytest.approx(-1 / 3)
    assert found["accuracy_mean_error"].excluded
    assert found["accuracy_mean_error"].n == 3


def test_what_is_no_number_of_two_items_says_why() -> None:
    assert _found([2], [1])["accuracy_correlation"].reason
    assert _found([None], [1])["accuracy_mean_error"].reason
    ranks = intraclass_correlation([["a", "b"], ["b", "b"]])
    assert ranks.value is None
    assert "no numbers" in str(ranks.reason)


def test_numbers_are_no_classes() -> None:
    frame = pl.DataFrame({"item": [1, 2], "label": ["1", "2"], "gold": ["1", "3"]})
    labels = Numbers(tuple(Label(one, one, value=float(one)) for one in "123"), "ratio")
    for measure in (f1, label_shares):
        (one,) = measure(frame, labels=labels)
        assert one.value is None


@pytest.mark.long
@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_hold_the_truth(skewed: bool) -> None:
    held: dict[str, list[bool]] = {}
    truth: dict[str, float] = {}
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
    # correlations of skewed gold numbers are held in 91 to 93%, as the page on measures says
    least = {
        name: 0.9 if skewed and name.endswith(("correlation", "intraclass")) else 0.92 for name in shares
    }
    assert all(least[name] <= share <= 0.985 for name, share in shares.items()), shares
