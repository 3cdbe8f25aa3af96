"""E-processes against the null that nothing ever changes."""

from __future__ import annotations

import numpy as np
import pytest

from quaver.sequential.drift_evidence import Records, SteadyAnswers, stake_of_start


def test_the_stakes_on_all_starts_are_at_most_the_whole() -> None:
    assert sum(stake_of_start(look) for look in range(1, 100_000)) < 1


@pytest.mark.parametrize("noise", [0.0, 0.5, 5.0])
def test_records_hardly_ever_raise_a_false_alarm(noise: float) -> None:
    """Values with no noise, with much, and rounded so that many tie: 20 prompts, 60 looks."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(60):
        centre = rng.normal(size=20)
        draw = lambda: np.round(centre + noise * rng.standard_normal(20), 1)  # noqa: B023, E731
        records, most = Records(), 0.0
        for _ in range(4):
            for prompt, value in enumerate(draw()):
                records.learn(str(prompt), [value])
        for _ in range(60):
            most = max(most, records.look({str(prompt): value for prompt, value in enumerate(draw())}))
        alarms += most >= 20
    assert alarms <= 60 * 0.05 + 3


def test_many_prompts_that_move_a_little_are_seen_at_once_after_a_long_time() -> None:
    records = Records()
    for prompt in range(20):
        records.learn(str(prompt), [0.3] * 6)
    for _ in range(300):
        records.look({str(prompt): 0.3 for prompt in range(20)})
    assert records.evidence < 1
    assert records.look({str(prompt): 0.3001 for prompt in range(20)}) > 1000


def test_one_sided_records_see_no_fall() -> None:
    records = Records(two_sided=False)
    for prompt in range(20):
        records.learn(str(prompt), [1.0] * 6)
    assert records.look({str(prompt): 0.0 for prompt in range(20)}) <= 1


def test_a_prompt_that_changes_for_good_is_seen_among_many() -> None:
    steady = SteadyAnswers(200)
    for prompt in range(200):
        steady.visit(str(prompt), 0, 5)
    assert steady.evidence <= 1
    steady.visit("7", 1, 1)
    assert steady.evidence < 20
    for _ in range(30):
        steady.visit("7", 1, 1, same=True)
    assert steady.evidence > 50
    assert steady.of("7") > 10_000
    assert steady.of("8") <= 1


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5])
def test_a_prompt_that_always_wavered_is_no_alarm(share: float) -> None:
    """However it is asked again after another answer: up to twenty times, until the first answer returns."""
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(80):
        steady, most = SteadyAnswers(1), 0.0
        steady.visit("a", int(rng.binomial(5, share)), 5)
        for _ in range(40):
            other = bool(rng.random() < share)
            most = max(most, steady.visit("a", int(other), 1))
            asked = 0
            while other and asked < 20:
                other, asked = bool(rng.random() < share), asked + 1
                most = max(most, steady.visit("a", int(other), 1, same=True))
        alarms += most >= 20
    assert alarms <= 80 * 0.05 + 3
