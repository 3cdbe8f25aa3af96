"""Whatever is done to a study's folder or a watch, a command does its work or says one error."""

import shutil
import sqlite3
from contextlib import closing

import polars as pl
import pytest
from tests.damaged_folders import damaged, fails, whole

_DAMAGE = {
    "INSERT INTO traffic (source, sent) VALUES (1, 9e999)": ("status", "study.yaml"),
    "UPDATE responses SET received = 'x'": ("status", "study.yaml"),
    "UPDATE sources SET provenance = 'x'": ("status", "study.yaml"),
    "UPDATE responses SET prompt_tokens = 1e300": ("report", "study.yaml"),
    "UPDATE calls SET repeat = 9223372036854775807": ("rescore", "study.yaml"),
    "UPDATE calls SET repeat = char(0)": ("rescore", "study.yaml"),
    "UPDATE calls SET condition = 99": ("view", "study.yaml"),
    "UPDATE prompts SET messages = 'x'": ("export", "study.yaml", "out.jsonl"),
    "PRAGMA user_version = -5": ("run", "study.yaml"),
    "UPDATE responses SET received = 'x', checksum = NULL": ("export", "study.yaml", "out.jsonl"),
    "UPDATE conditions SET variant = NULL": ("measure", "study.yaml", "accuracy"),
    "UPDATE responses SET text = x'ff'": ("rescore", "study.yaml"),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return whole(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("statement", _DAMAGE)
def test_a_command_on_a_damaged_store(statement, source, tmp_path):
    folder = shutil.copytree(source, tmp_path / "trial")
    with closing(sqlite3.connect(folder / "responses.db", isolation_level=None)) as db:
        try:
            db.execute(statement)
        except sqlite3.Error:
            return
    assert fails(folder, _DAMAGE[statement]) is None


def test_a_page_of_annotations_that_lack_a_column(source, tmp_path):
    folder = shutil.copytree(source, tmp_path / "trial")
    kept = folder / "annotations.parquet"
    pl.read_parquet(kept).drop("decoding").write_parquet(kept)
    assert fails(folder, ("view", "study.yaml")) is None


@pytest.mark.parametrize("seed", [*range(6), 700037])
def test_a_damaged_watch(seed, source, tmp_path):
    folder = shutil.copytree(source, tmp_path / "trial")
    damage = damaged(folder, seed, "watch")
    assert fails(folder, ("watch", "study.yaml")) is None, damage
