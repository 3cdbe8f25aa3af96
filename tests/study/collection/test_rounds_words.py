"""Rounds in words: the rule, and what it did."""

from __future__ import annotations

from typing import Any

import pytest

from quaver.study.collection.rounds import anytime_verdict, rounds_in_words

CLEAR = {"measure": "accuracy", "clear_of": 0.8, "width": None, "differing": 15}


def last(*cells: tuple[float | None, float | None, float | None]) -> dict[str, Any]:
    found = [
        {"cell": {"model": f"m{at}"}, "value": value, "low": low, "high": high}
        for at, (value, low, high) in enumerate(cells)
    ]
    return {"items": 100, "width": 0.1, "wider": 1.48, "cells": found}


def test_the_rule_in_words() -> None:
    told = rounds_in_words(
        {"measure": "intra_pss", "width": 0.05, "differing": 15},
        [{"items": 50, "variants": 2, "repeats": 5, "width": 0.041}],
        "narrow",
    )
    for fact in (
        "95% interval of intra_pss",
        "at most 0.05",
        "1 round",
        "50 items",
        "2 variants",
        "5 repeats",
    ):
        assert fact in told
    assert "was 0.041 wide" in told
    assert rounds_in_words({}, [], "finished") == ""


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ((0.9, 0.85, 0.95), "above 0.8"),
        ((0.6, 0.5, 0.7), "below 0.8"),
        ((0.82, 0.75, 0.9), "not clear of 0.8"),
        ((None, None, None), "without an interval"),
    ],
)
def test_the_verdict_of_a_round(cell: tuple[float | None, float | None, float | None], said: str) -> None:
    told = anytime_verdict(CLEAR, last(cell))
    assert said in told
    assert "100 items" in told
    assert "1.5 times as wide" in told


def test_many_cells_are_counted() -> None:
    assert "and 2 more cells" in anytime_verdict(CLEAR, last(*[(0.9, 0.85, 0.95)] * 7))
    assert anytime_verdict(CLEAR, {"items": 100}) == ""


@pytest.mark.parametrize("ended", ["clear", "finished", "money", None])
def test_rounds_that_hold_at_any_time_say_so(ended: str | None) -> None:
    told = rounds_in_words(CLEAR, [{"items": 50}, last((0.9, 0.85, 0.95))], ended)
    assert "wholly above or below 0.8" in told
    assert "(50, 100)" in told
    assert "in 95% of such studies" in told
    narrow = rounds_in_words(
        CLEAR | {"clear_of": None, "width": 0.1, "anytime": True}, [last((0.9, 0.85, 0.95))], "narrow"
    )
    assert "at most 0.1 wide" in narrow
