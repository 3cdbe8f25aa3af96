"""Frames that grow: what is being read stays, what was not noted is forgotten."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal
from tests.view.viewed import again, collected, index

from quaver.view.asked import Asked
from quaver.view.index_parts import AnswerParts


def part(columns: list[int], **values: object) -> pl.DataFrame:
    """Answers to the first item."""
    schema = {"row": pl.UInt32, "column": pl.UInt16}
    return pl.DataFrame({"row": [0] * len(columns), "column": columns}, schema=schema).with_columns(
        **{name: pl.lit(value, pl.String if value is None else None) for name, value in values.items()}
    )


def test_a_frame_that_is_read_stays_while_it_grows(tmp_path: Path) -> None:
    schema = index(collected(tmp_path, count=1)).index.design.schema
    folder = tmp_path / "frames"
    folder.mkdir()
    parts = AnswerParts(folder, schema, {})
    parts.append(part([0, 1], response=7, text="a", thought=None))
    reading = pl.scan_parquet([folder / file for file in parts.files["answers"]])
    before = reading.collect()
    parts.append(part([2], response=9, text="b", thought="c"))
    parts.drop([7])
    parts.append(part([0, 1], response=8, text="d", thought=None))
    parts.tidy()
    assert_frame_equal(reading.collect(), before)
    after = pl.read_parquet([folder / file for file in parts.files["answers"]])
    assert after.select("column", "response", "text").rows() == [(2, 9, 1), (0, 8, 2), (1, 8, 2)]
    texts = pl.read_parquet([folder / file for file in parts.files["text"]])
    assert texts["text"].to_list() == ["a", "b", "d"]


def test_what_a_killed_process_did_not_note_is_written_again(tmp_path: Path) -> None:
    path = collected(tmp_path, count=3)
    study = index(path)
    matched = study.view(Asked("label:pos")).matched
    parts = AnswerParts(study.index.folder, study.index.design.schema, study.index.state.files)
    parts.append(part([0], response=1, evaluator=0, legend=1))
    again(study)
    assert study.view(Asked("label:pos")).matched == matched
    assert study.view(Asked()).matched == 27
