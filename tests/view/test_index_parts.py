"""Frames that grow: what is being read stays, what was not noted is forgotten."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal
from tests.view.viewed import again, collected, index

from quaver.view.asked import Asked
from quaver.view.index_parts import GrowingFrames


def rows(*responses: int) -> pl.DataFrame:
    return pl.DataFrame({"response": responses}, schema={"response": pl.UInt32})


def test_a_frame_that_is_read_stays_while_it_grows(tmp_path: Path) -> None:
    frames = GrowingFrames(tmp_path, {})
    frames.append("answers", rows(7, 7))
    frames.append("texts", rows(7))
    reading = pl.scan_parquet([tmp_path / file for file in frames.files["answers"]])
    before = reading.collect()
    frames.append("answers", rows(9))
    frames.drop([7])
    frames.append("answers", rows(8, 8))
    frames.tidy()
    assert_frame_equal(reading.collect(), before)
    after = {
        name: pl.read_parquet([tmp_path / file for file in files]) for name, files in frames.files.items()
    }
    assert after["answers"]["response"].to_list() == [9, 8, 8]
    assert after["texts"].is_empty()


def test_what_a_killed_process_did_not_note_is_written_again(tmp_path: Path) -> None:
    path = collected(tmp_path, count=3)
    study = index(path)
    matched = study.view(Asked("label:pos")).matched
    frames = GrowingFrames(study.index.folder, study.index.state.files)
    frames.append("answers", pl.read_parquet([study.index.folder / f for f in frames.files["answers"]]))
    again(study)
    assert study.view(Asked("label:pos")).matched == matched
    assert study.view(Asked()).matched == 27
