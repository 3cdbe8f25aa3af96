"""Codes, cells and counts that several measures share are those of the rows."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaver.core.records import NO_LABEL
from quaver.estimation.cells import cells
from quaver.estimation.coded_columns import Gathered, UnknownColumn
from quaver.testing.frames import noisy_annotations
from quaver.testing.test_measures import measured, with_another_evaluator

ROLES = ("variant", "repeat")


@st.composite
def frames(draw):
    """Some of the answers to a few items, in any order."""
    places = list(product("xyz", "vwu", range(3)))
    kept = draw(st.lists(st.sampled_from(places), min_size=1, unique=True))
    labels = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=len(kept), max_size=len(kept)))
    item, variant, repeat = zip(*kept, strict=True)
    kind = draw(st.sampled_from([pl.String, pl.Categorical]))
    frame = pl.DataFrame({"item": item, "variant": variant, "repeat": repeat, "label": labels})
    return frame.with_columns(pl.col("item", "variant", "label").cast(kind))


def counted(frame, cell, within, missing):
    """Counts of the rows themselves, as a cell has them."""
    found = np.zeros((len(cell.items), len(cell.strata), len(cell.labels)))
    for row in frame.cast({pl.Categorical: pl.String}).iter_rows(named=True):
        label = row["label"] or (NO_LABEL if missing == "category" else None)
        if label is not None:
            stratum = [str(row[within])] if within else []
            at = [list(one.values()) for one in cell.strata].index(stratum)
            found[cell.items.index(row["item"]), at, cell.labels.index(label)] += 1
    return found


@settings(max_examples=60, deadline=None)
@given(frames(), st.sampled_from(["drop", "category"]), st.sampled_from(["", *ROLES]))
def test_a_cells_counts_are_those_of_the_rows(frame, missing, within):
    raters = [role for role in ROLES if role != within]
    gathered = Gathered(frame.lazy())
    for _ in range(2):
        (cell,) = cells(gathered, raters=raters, within=[within] if within else [], missing=missing)
        assert (cell.counts() == counted(frame, cell, within, missing)).all()
    assert int((cell.rows >= 0).sum()) == frame.height
    shown = frame["label"].cast(pl.String).to_list()
    there = cell.rows >= 0
    named = [None if code < 0 else cell.labels[code] for code in cell.codes[there]]
    assert named == [shown[row] or (NO_LABEL if missing == "category" else None) for row in cell.rows[there]]


@settings(max_examples=60, deadline=None)
@given(frames(), st.sampled_from(["", "variant"]), st.data())
def test_some_of_the_rows_have_the_codes_of_all(frame, within, data):
    """What is cut out of them is what is cut out of a frame of these rows, with all labels."""
    marks = st.lists(st.booleans(), min_size=frame.height, max_size=frame.height)
    kept = np.array(data.draw(marks))
    strata, raters = [within] if within else [], [role for role in ROLES if role != within]
    (whole,) = cells(Gathered(frame), raters=raters, within=strata)
    (some,) = cells(Gathered(frame).rows(kept), raters=raters, within=strata)
    left = frame.filter(pl.Series(kept))
    assert some.labels == whole.labels
    assert sorted(some.items) == sorted(set(left["item"].cast(pl.String)))
    assert (some.counts() == counted(left, some, within, "drop")).all()


def test_of_many_cells_the_last_ones_are_kept(monkeypatch):
    monkeypatch.setattr("quaver.estimation.coded_columns._KEPT", 1)
    gathered = Gathered({"item": [1, 1, 2], "repeat": [0, 1, 0], "label": ["a", "b", "a"]})
    first = cells(gathered, raters=("repeat",))
    assert cells(gathered, raters=("repeat",))[0] is first[0]
    cells(gathered, raters=(), by=["repeat"])
    assert cells(gathered, raters=("repeat",))[0] is not first[0]


READ_BY_COLUMN = (
    *("accuracy", "brier", "coder_agreement", "compliance", "consistency", "factor_effects"),
    *("mixed_effects", "original_agreement", "readiness", "verbal_calibration"),
)


@pytest.mark.parametrize("name", READ_BY_COLUMN)
def test_a_lazy_frame_is_never_in_memory_as_a_whole(name, monkeypatch):
    frame = with_another_evaluator(name, noisy_annotations())
    expected = measured(name, frame)
    monkeypatch.setattr(Gathered, "frame", property(lambda self: pytest.fail("all of it was collected")))
    assert measured(name, Gathered(frame.lazy())) == expected


def test_a_missing_column_is_missed_without_reading_the_others(monkeypatch):
    monkeypatch.setattr(Gathered, "frame", property(lambda self: pytest.fail("all of it was collected")))
    with pytest.raises(UnknownColumn):
        measured("label_shares", Gathered(noisy_annotations().drop("label").lazy()))
