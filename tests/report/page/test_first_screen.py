"""The first screen: a badge a model, and an alarm only for what the headline does not say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from quaver.report.findings.finding import finding
from quaver.report.findings.recommendation import RECOMMENDED
from quaver.report.page import first_screen as module
from quaver.report.page.first_screen import FirstScreen, first_screen


def shown(study: Any) -> FirstScreen:
    results = study.results()
    return first_screen(results, finding(results))


@pytest.mark.parametrize("kind", RECOMMENDED)
def test_each_recommendation_has_a_badge_that_needs_no_colour(
    study: Any, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    known = module.card(study.results())
    one = replace(known.recommendations[0], kind=kind, prompt=study.lock["variants"][0]["id"])
    monkeypatch.setattr(module, "card", lambda _: replace(known, recommendations=(one,)))
    (badge,) = shown(study).badges
    assert badge.tone == {"do not use": "bad", "cannot tell": "open"}.get(kind, "good")
    assert badge.sign in "✓✕?"
    assert badge.model == ""
    assert badge.prompt == "plain · names"


def test_each_of_several_models_has_a_badge_with_its_name(make: Any) -> None:
    badges = shown(make(items=24, models=("one", "two"))).badges
    assert [badge.model for badge in badges] == ["one", "two"]


def test_an_alarm_repeats_nothing_that_the_headline_says(make: Any) -> None:
    unread = shown(make(items=12, answer=lambda *_: None))
    assert (unread.alarms, unread.stopped) == ((), True)
    assert "100%" in unread.verdict
    few = shown(make(items=24, answer=lambda item, w, f, k: None if item < 2 else "ab"[item % 2]))
    assert [line.split("%")[0] for line in few.alarms] == ["8"]
    assert not few.stopped


def test_every_line_answers_a_question(study: Any) -> None:
    lines = shown(study).lines
    assert len(lines) == 3
    assert all(question and line for question, line in lines)
