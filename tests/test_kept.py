"""What a release left behind is opened for ever: its stores are asked nothing again, its bundles verify."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.kept.answers import annotate

from quaver.bundles.verification import verify
from quaver.core import annotations
from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.errors import StoreError
from quaver.study.session import Study
from quaver.study.sources import bundle_schema

KEPT = sorted(path.parent for path in (Path(__file__).parent / "kept").glob("*/*/study.yaml"))
BUNDLES = sorted(bundle for folder in KEPT for bundle in folder.glob("*.quaver.zip"))
STORED = {"mixed": (184, 8), "tokens": (16, 0), "unheld": (24, 0)}
PLACE = ["model", "variant", "decoding", "item", "repeat", "evaluator"]


def opened(folder: Path, to: Path, **changes: str) -> Study:
    """A copy of a kept study, with some texts of its study file replaced."""
    home = to / folder.name
    shutil.copytree(folder, home, dirs_exist_ok=True)
    text = (home / "study.yaml").read_text(encoding="utf-8")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    (home / "study.yaml").write_text(text, encoding="utf-8")
    return Study.open(home, functions={"mine": annotate} if folder.name == "mixed" else {})


@pytest.fixture(params=KEPT, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def kept(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


def keys(store: Path) -> set[bytes]:
    with closing(sqlite3.connect(store)) as db:
        return {key for (key,) in db.execute("SELECT key FROM responses")}


def forget_places(store: Path) -> None:
    """Have the calls found anew by their keys, as they are after a change of the study."""
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("DELETE FROM meta WHERE name = 'study'")


def test_nothing_of_it_is_asked_again(kept: Path, tmp_path: Path) -> None:
    study = opened(kept, tmp_path)
    before = keys(study.folder / "responses.db")
    forget_places(study.folder / "responses.db")
    outcome = study.run()  # the server that answered is not there any more: asking it would fail
    assert (outcome.done, outcome.missing) == (0, 0)
    assert (outcome.before, study.status().errors) == STORED[kept.name]
    assert keys(study.folder / "responses.db") == before
    assert study.status().unplaced == 0


def test_it_is_read_and_measured_as_it_was(kept: Path, tmp_path: Path) -> None:
    study = opened(kept, tmp_path)
    with zipfile.ZipFile(kept / "whole.quaver.zip") as archive:
        packed = json.loads(archive.read("estimates.json"))
    assert rows(study.rescore()) == rows(pl.read_parquet(kept / "annotations.parquet"))
    for now, before in zip(study.estimates(), packed, strict=True):
        assert (now.measure, dict(now.cell)) == (before["measure"], before["cell"])
        assert now.value == pytest.approx(before["value"])
        if now.method.rpartition("; ")[2] == before["method"].rpartition("; ")[2]:
            assert (now.low, now.high) == pytest.approx((before["low"], before["high"]))


def rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    columns = [*PLACE, "label", "status", "reason", "confidence", "gold"]
    text = frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).select(columns)
    return text.sort(PLACE).to_dicts()


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_its_bundles_verify(bundle: Path) -> None:
    found = verify(bundle)
    assert found.holds, found.differing
    assert 0 < found.older < found.estimates  # intervals of the time, made again by its bootstrap
    assert found.annotations + found.withheld > 0
    assert found.estimates > 0


def test_failed_calls_of_it_can_be_asked_again(tmp_path: Path) -> None:
    folder = next(one for one in KEPT if one.name == "mixed")
    study = opened(folder, tmp_path)
    outcome = study.run(retry_errors=True)
    assert (outcome.done, outcome.errors) == (8, 8)  # the function fails on the same item as ever
    assert keys(study.folder / "responses.db") == keys(folder / "responses.db")


def test_odd_rows_of_it_are_read_without_what_is_odd(tmp_path: Path) -> None:
    """As an older Quaver stored them: it took from a server whatever stood beside the answer."""
    folder = next(one for one in KEPT if one.name == "tokens")
    study = opened(folder, tmp_path)
    odd = [
        '[[null, -0.5, [["p", -0.5]]]]', '[["p", NaN, []]]', '[["p", -0.5, [[null, -1]]]]', '[[1, 2]]', '[3]',
    ]  # fmt: skip
    with closing(sqlite3.connect(study.folder / "responses.db")) as db, db:
        for number, tokens in enumerate(odd, 1):
            db.execute("UPDATE responses SET tokens = ? WHERE id = ?", (tokens, number))
        db.execute("""UPDATE responses SET raw = '{"completion_tokens_of_request": NaN}', prompt_tokens = 'x',
            completion_tokens = NULL WHERE id <= 8""")
    frame = study.rescore()
    assert len(frame) == len(pl.read_parquet(folder / "annotations.parquet"))
    by_tokens = frame.filter(pl.col("evaluator") == "logprob")["reason"].cast(pl.String).to_list()
    assert by_tokens.count("no log-probabilities of the answer's tokens") >= 4
    assert study.estimates()
    assert study.status().answered == STORED["tokens"][0]
    assert study.report(tmp_path / "page").exists()


def test_a_bundle_of_the_time_before_a_column_opens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wider = {**ANNOTATION_COLUMNS, "a_later_column": pl.Int32}
    for module in (annotations, bundle_schema):
        monkeypatch.setattr(module, "ANNOTATION_COLUMNS", wider)
    with pytest.raises(StoreError):
        Study.open(BUNDLES[0], folder=tmp_path / "a").annotations()
    added = annotations.ADDED_COLUMNS | {"a_later_column"}
    monkeypatch.setattr(annotations, "ADDED_COLUMNS", added)
    frame = Study.open(BUNDLES[0], folder=tmp_path / "b").annotations()
    assert frame["a_later_column"].null_count() == frame.height > 0
