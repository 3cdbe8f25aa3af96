"""What arrives is taken in the order in which it came."""

from __future__ import annotations

import pytest

from quaver.errors import ModelError
from quaver.models.remote.ray_cluster import Arrivals


def test_an_error_comes_after_all_that_was_answered_before_it() -> None:
    arrivals, groups = Arrivals(), ["a", "b", "c"]
    for group in groups:
        arrivals.add([group], f"answers to {group}")
    arrivals.add(groups, ModelError("the key is rejected"))
    came = arrivals.among(groups)
    assert came == groups * 2
    assert [arrivals.got(ref) for ref in came[:3]] == ["answers to a", "answers to b", "answers to c"]
    with pytest.raises(ModelError):
        arrivals.got("a")


def test_what_nobody_waits_for_any_more_is_forgotten() -> None:
    arrivals = Arrivals()
    arrivals.add(["a", "b"], 1)
    arrivals.add(["a"], 2)
    assert arrivals.among(["b"]) == ["b"]
    assert arrivals.got("b") == 1
    assert arrivals.among(["a", "b"]) == []


def test_what_was_passed_over_stays_until_it_is_asked_for() -> None:
    arrivals = Arrivals()
    arrivals.add(["a", "b", "a"], 1)
    assert arrivals.among(["a", "b"]) == ["a", "b", "a"]
    assert arrivals.got("b") == 1
    assert arrivals.among(["a", "b"]) == ["a", "a"]
