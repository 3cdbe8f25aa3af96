"""Readings that are loaded as calls are written are those of the whole frame."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaver.study.analysis import call_export as call_readings
from quaver.study.analysis.call_export import KEYS, READ, CallReadings


def annotations(places: list[tuple[int, str]]) -> pl.DataFrame:
    rows = [("m", "v", "d", f"i{at}", at % 3, name, f"l{at}", "valid", None, 0.5) for at, name in places]
    frame = pl.DataFrame(rows, schema=[*KEYS, "evaluator", *READ], orient="row")
    return frame.with_columns(pl.col("repeat").cast(pl.Int32), pl.col("evaluator").cast(pl.Categorical))


@settings(max_examples=60, deadline=None)
@given(
    order=st.permutations([(at, name) for at in range(12) for name in ("a", "b")]),
    lacking=st.integers(0, 12),
    asked=st.integers(1, 5),
    loaded=st.integers(1, 9),
)
def test_any_order_gives_each_call_its_readings(
    order: list[tuple[int, str]], lacking: int, asked: int, loaded: int
) -> None:
    places = [one for one in order if one != (lacking, "b")]
    frame = annotations(places)
    calls = frame.select(KEYS).unique().sort("item")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(call_readings, "_ROWS", loaded)
        readings = CallReadings(frame.lazy())
        found = [readings.of(calls.slice(at, asked)) for at in range(0, calls.height, asked)]
    assert readings.evaluators == list(dict.fromkeys(name for _, name in places))
    whole = frame.with_columns(pl.col("evaluator").cast(pl.String)).select(found[0].columns)
    assert pl.concat(found).sort(pl.all()).equals(whole.sort(pl.all()))
    for at, some in enumerate(found):
        asked_for = calls.slice(at * asked, asked)
        assert some.join(asked_for, on=KEYS, how="anti").is_empty()


def test_calls_in_the_order_of_the_annotations_leave_few_of_them_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(call_readings, "_ROWS", 10)
    frame = annotations([(at, "a") for at in range(1000)])
    readings = CallReadings(frame.lazy())
    for at in range(0, 1000, 4):
        assert readings.of(frame.select(KEYS).slice(at, 4)).height == 4
        assert readings._held.height <= 10
