"""What a bound needs: planned by formula, and found so in simulated comparisons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.comparison.test_bounds import study

from quaver.comparison.bounds import read_bound
from quaver.comparison.guard_plan import Churn, churn_of, plan_guard
from quaver.errors import MeasureError
from quaver.estimation.intervals import effective


def wavering(text: str, prompt: str) -> str:
    """Answers one item in ten by a toss of a coin."""
    number, kind, _ = text.split()
    if int(number) % 10:
        return kind
    ASKED[number] = ASKED.get(number, 0) + 1
    return kind if ASKED[number] % 2 else "nothing"


ASKED: dict[str, int] = {}


@pytest.mark.long
def test_churn_is_measured_by_a_repeat_and_assumed_without(tmp_path: Path) -> None:
    once = study(tmp_path / "once", wavering)
    bound = read_bound("accuracy > -0.02", "if")
    assert churn_of(once, bound) is None
    assert {one.churn.share for one in plan_guard(once, "accuracy > -0.02").needs} == {0.02, 0.05, 0.1}
    ASKED.clear()
    twice = study(tmp_path / "twice", wavering, repeats=2)
    churn = churn_of(twice, bound)
    assert churn is not None
    assert (churn.share, churn.items) == (pytest.approx(0.1), 120)
    plan = plan_guard(twice, "accuracy > -0.02")
    assert {one.churn for one in plan.needs} == {churn}
    first, second = plan.needs[:2]
    assert second.items == pytest.approx(first.items / 2, rel=0.02)
    assert str(plan).count("in rounds") == len(plan.needs) == len(plan.rows())


def test_so_many_items_let_a_harmless_change_pass_four_times_in_five(tmp_path: Path) -> None:
    (need,) = [
        one
        for one in plan_guard(study(tmp_path / "s", wavering), "accuracy > -0.02").needs
        if (one.churn, one.repeats) == (Churn(0.05), 1)
    ]
    rng = np.random.default_rng(3)
    moves = rng.choice([-1, 0, 1], (2000, need.items), p=[0.025, 0.95, 0.025])
    means, variances = moves.mean(1), moves.var(1, ddof=1) / need.items
    lows = [
        effective(mean, variance, need.items - 1, 0.95, (-1.0, 1.0)).low
        for mean, variance in zip(means, variances, strict=True)
    ]
    assert np.mean(np.array(lows) > -0.02) == pytest.approx(0.8, abs=0.03)
    assert need.calls_in_rounds < need.calls


@pytest.mark.parametrize("bound", ["f1 > -0.02", "accuracy > 0.02", "accuracy < 0.1", "loss"])
def test_what_cannot_be_planned_is_one_error(tmp_path: Path, bound: str) -> None:
    with pytest.raises(MeasureError):
        plan_guard(study(tmp_path / "s", wavering), bound)
