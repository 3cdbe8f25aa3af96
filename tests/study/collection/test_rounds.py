"""Rounds: what a part of a design holds, what grows, and when it ends."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies import resolved

from quaver.collect.run.progress import Outcome
from quaver.core.records import Estimate
from quaver.design.calls.call_plan import Plan
from quaver.design.spec import UntilSpec
from quaver.study.collection.rounds import Design, Part, collect_in_rounds, widest

WHOLE = Part(items=1000, variants=20, repeats=10)
FIRST = Part(items=10, variants=4, repeats=2)


def outcome(ended: Any = "finished") -> Outcome:
    return Outcome(ended, 10, 0, 1, 0, 0.0)


def collected(
    width: Callable[[Part], float | None],
    first: Part = FIRST,
    whole: Part = WHOLE,
    ended: Callable[[Part], str] = lambda part: "finished",
    **until: Any,
) -> tuple[list[Part], Outcome, list[Any]]:
    design: Any = SimpleNamespace(whole=whole, first=lambda _: first)
    asked = UntilSpec(measure="m", **{"width": 0.1, **until})
    rounds, last = collect_in_rounds(asked, design, lambda part: outcome(ended(part)), width)
    return [one.part for one in rounds], last, rounds


def test_it_ends_where_the_interval_is_narrow() -> None:
    parts, last, rounds = collected(lambda part: 1 / part.items**0.5)
    assert [part.items for part in parts] == [10, 20, 40, 80, 100]
    assert {(part.variants, part.repeats) for part in parts} == {(4, 2)}
    assert last.ended == "narrow"
    assert [one.grows for one in rounds] == ["items"] * 4 + [None]
    assert rounds[-1].width == pytest.approx(0.1)


@pytest.mark.parametrize("grown", ["items", "variants", "repeats"])
def test_what_narrows_the_interval_grows(grown: str) -> None:
    parts, _, rounds = collected(lambda part: 99 / getattr(part, grown), growth=3)
    assert rounds[0].grows == grown
    assert getattr(parts[1], grown) == 3 * getattr(parts[0], grown)


def test_near_ties_go_to_the_items() -> None:
    _, _, rounds = collected(lambda part: 2 / (part.items * part.variants * part.repeats) ** 0.5)
    assert rounds[0].grows == "items"


def test_it_ends_with_the_design_when_nothing_is_narrow_enough() -> None:
    parts, last, _ = collected(lambda part: 9.0, whole=Part(15, 5, 3))
    assert parts[-1] == Part(15, 5, 3)
    assert last.ended == "finished"


def test_an_interval_that_is_not_to_be_had_asks_for_more() -> None:
    parts, last, _ = collected(lambda part: None if part.items < 35 else 0.01)
    assert [part.items for part in parts] == [10, 20, 40]
    assert last.ended == "narrow"


@pytest.mark.parametrize("how", ["money", "interrupted"])
def test_it_ends_with_the_budget(how: str) -> None:
    parts, last, rounds = collected(
        lambda part: 1.0, ended=lambda part: how if part.items > 15 else "finished"
    )
    assert (len(parts), last.ended, rounds[-1].width) == (2, how, None)


@given(
    power=st.floats(0, 2),
    scale=st.floats(0.01, 10),
    growth=st.floats(1.05, 8),
    whole=st.tuples(st.integers(2, 400), st.integers(1, 9), st.integers(1, 9)),
)
@settings(max_examples=60)
def test_every_round_is_larger_and_within_the_design(
    power: float, scale: float, growth: float, whole: tuple[int, int, int]
) -> None:
    most = Part(*whole)
    parts, _, _ = collected(
        lambda part: scale / part.items**power, first=Part(2, 1, 1), whole=most, growth=growth
    )
    for before, after in pairwise(parts):
        sizes = [(before.size(name), after.size(name)) for name in ("items", "variants", "repeats")]
        assert sum(a != b for a, b in sizes) == 1
        assert all(a <= b for a, b in sizes)
        assert sum(b <= growth * a + 1 for a, b in sizes) == 3
    assert all(parts[-1].size(name) <= most.size(name) for name in ("items", "variants", "repeats"))


def test_the_widest_interval() -> None:
    def one(low: float | None, high: float | None, **details: int) -> Estimate:
        return Estimate("m", 0.5, low, high, details=details)

    assert widest([one(0.1, 0.2), one(0.25, 0.5)]) == pytest.approx(0.25)
    assert widest([one(0.1, 0.2), one(None, None)]) is None
    assert widest([]) is None
    assert widest([one(0.1, 0.2, differing=14)], 15) is None
    assert widest([one(0.1, 0.2, differing=15)], 15) == pytest.approx(0.1)
    assert widest([one(0.1, 0.2, differing=0)], 15) == pytest.approx(0.1)
    assert widest([one(0.1, 0.2)], 15) == pytest.approx(0.1)


def test_what_a_part_of_a_design_holds() -> None:
    experiment = resolved(
        {
            "task": {"labels": ["a", "b"]},
            "items": {"source": "anes96", "text": "{{ age }} {{ educ }}", "sample": 30},
            "prompt": {"instruction": "a or b?"},
            "variants": [{"use": "instructions", "texts": {"curt": "a/b"}}],
            "models": [{"name": "m", "use": "function"}],
            "repeats": 3,
        }
    )
    design = Design(experiment, seed=1)
    assert design.whole == Part(30, 2, 3)
    part = Part(7, 1, 2)
    kept = [
        one
        for request in Plan(experiment, {"m": "x"}).requests("m")
        if (one := design.request(part, request)) is not None
    ]
    assert len(kept) == 7
    assert {len(one.calls) for one in kept} == {2}
    assert {experiment.conditions[one.calls[0].condition].variant for one in kept} == {
        experiment.variants[0].id
    }
    ids = {experiment.items[one.calls[0].item].id for one in kept}
    frame = pl.DataFrame(
        {
            "item": [item.id for item in experiment.items] * 2,
            "variant": [variant.id for variant in experiment.variants for _ in experiment.items],
            "repeat": [0] * 60,
        }
    )
    assert set(design.annotations(part, frame)["item"]) == ids
    assert Design(experiment, seed=1).annotations(part, frame).equals(design.annotations(part, frame))
    more = design.annotations(Part(8, 1, 2), frame)
    assert ids < set(more["item"])
