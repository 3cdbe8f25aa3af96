"""Frames that grow: what is being read stays, what was not noted is forgotten, what was null is filled."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal
from tests.view.viewed import again, collected, index

from quaver.view.asked import Asked
from quaver.view.index_parts import AnswerWriter


def part(columns: list[int], **values: object) -> pl.DataFrame:
    """Answers to the first item."""
    schema = {"row": pl.UInt32, "column": pl.UInt16}
    return pl.DataFrame({"row": [0] * len(columns), "column": columns}, schema=schema).with_columns(
        **{name: pl.lit(value) for name, value in values.items()}
    )


def test_a_frame_that_is_read_stays_while_it_grows(tmp_path: Path) -> None:
    study = index(collected(tmp_path, count=1))
    folder = tmp_path / "frames"
    folder.mkdir()
    writer = AnswerWriter(folder, study.index.design, {})
    assert writer.write(part([0, 1], response=7, text="a", thought=None)) == 0
    reading = pl.scan_parquet([folder / file for file in writer.files["answers"]])
    before = reading.collect()
    assert writer.write(part([1], response=8)) == 1
    assert writer.write(part([2], response=9, text="b", thought="c")) == 0
    writer.tidy()
    assert_frame_equal(reading.collect(), before)
    after = pl.read_parquet([folder / file for file in writer.files["answers"]])
    assert after.select("column", "response", "text").rows() == [(0, 7, 0), (1, 8, 0), (2, 9, 1)]
    later = AnswerWriter(folder, study.index.design, writer.files)
    assert later.write(part([0, 1, 2], response=1)) == 3


def test_what_a_killed_process_did_not_note_is_written_again(tmp_path: Path) -> None:
    path = collected(tmp_path, count=3)
    study = index(path)
    matched = study.view(Asked("label:pos")).matched
    AnswerWriter(study.index.folder, study.index.design, study.index.state.files).write(part([0], response=1))
    again(study)
    assert study.view(Asked("label:pos")).matched == matched
    assert study.view(Asked()).matched == 27
