"""Answers that were collected without their schema are found, reported, kept, and asked again on request."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.held_server import Held, held_server
from typer.testing import CliRunner

from quaver.cli.main import app
from quaver.study.session import Study

UNHELD = Path(__file__).parent / "kept" / "first" / "unheld"
BAD = {("a", 2), ("b", 1), ("b", 2), ("c", 2), ("d", 2)}
"""The third repeat, which was added later; and a call of item b that had failed the first time."""


@pytest.fixture
def server() -> Iterator[tuple[str, Held]]:
    with held_server() as served:
        yield served


def opened(to: Path, url: str = "", **changes: str) -> Study:
    shutil.copytree(UNHELD, to, dirs_exist_ok=True)
    file = to / "study.yaml"
    text = file.read_text(encoding="utf-8")
    for before, after in {"http://127.0.0.1:8765/v1": url or "http://127.0.0.1:8765/v1", **changes}.items():
        assert before in text
        text = text.replace(before, after)
    file.write_text(text, encoding="utf-8")
    return Study.open(to)


def rows(study: Study, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(study.folder / "responses.db")) as db:
        return db.execute(sql).fetchall()


def unreadable(study: Study) -> set[tuple[str, int]]:
    frame = study.annotations().filter(pl.col("status").cast(pl.String) != "valid")
    return set(frame.select(pl.col("item").cast(pl.String), "repeat").rows())


def test_they_are_found_and_reported(tmp_path: Path) -> None:
    study = opened(tmp_path)
    assert unreadable(study) == BAD
    assert study.status().misasked == 5
    shown = CliRunner().invoke(app(), ["status", str(tmp_path)]).output
    assert "5 answers were collected" in " ".join(shown.split())
    assert any("--retry-unconstrained" in one for one in study.status().warnings)
    assert study.run().done == 0, "they are not asked again unasked"
    assert Study.open(UNHELD / "whole.quaver.zip").status().misasked == 5


def test_they_are_asked_again_on_request_and_kept(tmp_path: Path, server: tuple[str, Held]) -> None:
    url, held = server
    study = opened(tmp_path, url)
    before = rows(study, "SELECT id, text, received FROM responses ORDER BY id")
    tokens = study.status().tokens
    outcome = study.run(retry_unconstrained=True)
    assert (outcome.before, outcome.done, outcome.missing) == (19, 5, 0)
    asked = [body for body in held.bodies if "positive or negative" in body["messages"][-1]["content"]]
    assert len(asked) == 5
    assert all("response_format" in body for body in asked)
    assert not unreadable(study)
    now = study.status()
    assert (now.misasked, now.unplaced, now.answered) == (0, 5, 24)
    assert now.tokens == tokens + 44 * (5 + 1), (
        "they stay spent; one reply is of what the server was tried with"
    )
    after = rows(study, "SELECT id, text, received FROM responses")
    assert set(before) <= set(after)
    assert study.run(retry_unconstrained=True).done == 0


def test_other_studies_do_not_take_them_over(tmp_path: Path, server: tuple[str, Held]) -> None:
    url, _ = server
    opened(tmp_path / "first")
    study = opened(tmp_path / "later", url, **{"repeats: 3": "repeats: 3\nreuse: [../first]"})
    for name in ("responses.db", "annotations.parquet", "study.lock.json"):
        (study.folder / name).unlink()
    outcome = study.run()
    assert (outcome.reused, outcome.done) == (19, 5)
    assert not unreadable(study)
    assert study.status().misasked == 0


def test_the_terms_beside_an_answer_are_held_against_its_key(
    tmp_path: Path, server: tuple[str, Held]
) -> None:
    url, _ = server
    study = opened(tmp_path, url)
    study.run(retry_unconstrained=True)
    with closing(sqlite3.connect(tmp_path / "responses.db")) as db, db:
        db.execute("INSERT OR IGNORE INTO terms (asked) VALUES ('[{}, []]')")
        db.execute(
            "UPDATE responses SET terms = (SELECT id FROM terms WHERE asked = '[{}, []]') "
            "WHERE id = (SELECT max(id) FROM responses)"
        )
        db.execute("DELETE FROM meta WHERE name = 'study'")
    assert Study.open(tmp_path).status().misasked == 1
