"""Evidence that two models answer differently."""

from __future__ import annotations

import numpy as np
import pytest

from quaver.sequential.two_sides import FIRST, SECOND, Given, TwoSides, apart, chance_of_apart


def test_sides_are_apart_by_label_or_by_probability() -> None:
    assert apart([Given("a")], [Given("b")])
    assert not apart([Given("a"), Given("b")], [Given("b")])
    assert apart([Given("a", -0.3), Given("a", -0.2)], [Given("a", -0.1)])
    assert not apart([Given("a", -0.3), Given("a", -0.1)], [Given("a", -0.2)])
    assert not apart([Given("a", -0.3)], [Given("a", None)])


def test_answers_that_are_all_alike_say_nothing() -> None:
    sides = TwoSides()
    assert chance_of_apart([Given("a")] * 8, 5) == 0
    assert sides.take_in([Given("a")] * FIRST, [Given("a")] * SECOND) == pytest.approx(1)


@pytest.mark.parametrize("kind", ["labels", "noisy", "steady"])
def test_the_same_model_is_hardly_ever_told_apart_from_itself(kind: str) -> None:
    """Up to ten prompts, each with its own wavering; only those are asked whose first answers differ."""
    rng = np.random.default_rng(1)
    runs, alarms = 300, 0
    for _ in range(runs):
        sides, most = TwoSides(), 0.0
        for _ in range(10):
            often = rng.beta(0.3, 0.7)

            def one(often: float = often) -> Given:
                label = "b" if rng.random() < often else "a"
                return Given(label, {"labels": None, "noisy": rng.normal(), "steady": -0.5}[kind])

            first, second = [one()], [one()]
            if first == second:
                continue
            first += [one() for _ in range(FIRST - 1)]
            second += [one() for _ in range(SECOND - 1)]
            most = max(most, sides.take_in(first, second))
        alarms += most >= 20
    assert alarms / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def test_one_prompt_is_enough_where_two_models_always_differ() -> None:
    steady = [Given("a", -0.5)] * FIRST, [Given("a", -0.501)] * SECOND
    assert TwoSides().take_in(*steady) >= 20
    assert TwoSides().take_in([Given("a")] * FIRST, [Given("b")] * SECOND) >= 20
