"""A study in shards: each with a store of its own, and all of them read as one."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.studies import written
from tests.study.collection.shards import ASKED, FAILING, opened
from typer.testing import CliRunner

from quaver.cli.main import app
from quaver.collect.store.store_lock import sole_writer
from quaver.errors import SpecError, StoreError
from quaver.study.merging import merge
from quaver.study.session import Study

STUDY = """\
task:
  labels: [positive, negative]
items: {source: items.csv, id: id, text: "{{ text }}"}
prompt: {instruction: Is it so?}
variants:
  - use: instructions
    texts: {a: Is this so?, b: Would you say so?}
models:
  - {name: fake, use: function}
evaluators: [label_match]
repeats: 2
"""
PRICED = STUDY.replace("use: function", "use: function, price: 0")
ITEMS = "id,text\n" + "".join(f"{n},Text number {n}.\n" for n in range(40))
CALLS = 40 * 3 * 2


def frame(study: Study) -> pl.DataFrame:
    keys = ["variant", "decoding", "item", "repeat", "evaluator"]
    found = study.annotations()
    return found.with_columns(pl.col(keys[:3] + keys[4:]).cast(pl.String)).sort(keys)


def run(study: Path, *shards: str, **options: Any) -> None:
    for shard in shards:
        opened(study, shard).run(**options)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return written(tmp_path / "study", STUDY, ITEMS)


@pytest.mark.long
def test_eight_shards_two_killed_and_run_again_equal_the_whole_study(study: Path, tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("shards.py"))
    done = subprocess.run(
        [sys.executable, script, str(study), "3"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["shards"] == 2
    sharded, whole = opened(study), opened(written(tmp_path / "whole", STUDY, ITEMS))
    whole.run()
    assert frame(sharded).equals(frame(whole))
    merged = merge(sharded)
    assert (merged.answered, merged.total, merged.unfinished) == (CALLS, CALLS, [])
    with sharded.source.answers() as store:
        assert store.rows("SELECT count(*), count(DISTINCT key) FROM responses") == [(CALLS, CALLS)]
        assert store.rows("SELECT total(calls) FROM tallies") == [(CALLS,)]
        assert store.rows("SELECT count(*) FROM responses WHERE prompt NOT IN (SELECT id FROM prompts)") == [
            (0,)
        ]


def test_the_status_says_which_shards_are_missing(study: Path) -> None:
    run(study, "2/3")
    status = opened(study).status()
    assert [(one.shard, one.state) for one in status.shards] == [
        ("1/3", "missing"),
        ("2/3", "finished"),
        ("3/3", "missing"),
    ]
    assert 0 < status.answered == status.shards[1].calls < status.total == CALLS
    assert [one.shard for one in merge(opened(study)).unfinished] == ["1/3", "3/3"]


def test_a_shard_that_ran_twice_counts_once(study: Path, tmp_path: Path) -> None:
    run(study, "1/2")
    first = study.parent / "shards" / "1-of-2"
    shutil.move(first, tmp_path / "kept")
    (study.parent / "responses.db").unlink(missing_ok=True)
    run(study, "1/2", "2/2")
    shutil.copytree(tmp_path / "kept", study.parent / "shards" / "1-of-2 of the other machine")
    status = opened(study).status()
    assert (status.answered, status.unplaced) == (CALLS, 0)
    assert [one.shard for one in status.shards] == ["1/2", "2/2"]


def test_a_shard_that_was_asked_again_elsewhere_is_wholly_taken_in(study: Path) -> None:
    run(study, "1/2")
    opened(study, "2/2").run(requests=20)  # stopped before its end
    merged = merge(opened(study))
    assert [one.state for one in merged.shards] == ["finished", "stopped"]
    shutil.rmtree(study.parent / "shards" / "2-of-2")
    kept = (study.parent / "responses.db").rename(study.parent / "away.db")
    run(study, "2/2")  # on a machine that has nothing of the study
    kept.rename(study.parent / "responses.db")
    merged = merge(opened(study))
    assert (merged.answered, merged.missing, merged.unfinished) == (CALLS, 0, [])


def test_the_order_of_merged_answers_is_the_same_every_time(study: Path) -> None:
    run(study, "2/2", "1/2")
    orders = []
    for _ in range(2):
        merge(opened(study))
        with opened(study).source.answers() as store:
            orders.append(store.rows("SELECT key, text FROM responses ORDER BY id"))
        (study.parent / "responses.db").unlink()
        _reversed(study.parent / "shards" / "1-of-2" / "responses.db")
    assert orders[0] == orders[1]


def _reversed(store: Path) -> None:
    """Have the answers of a store as if they had arrived in the opposite order."""
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("PRAGMA recursive_triggers = OFF")
        for table, column in (("responses", "id"), ("calls", "response")):
            db.execute(f"UPDATE {table} SET {column} = -{column}")
            db.execute(f"UPDATE {table} SET {column} = {column} + 1000")


def test_finished_shards_that_lack_calls_are_exit_status_1(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(study, "1/2", "2/2")
    with closing(sqlite3.connect(study.parent / "shards" / "2-of-2" / "responses.db")) as db, db:
        db.execute("DELETE FROM responses WHERE id > 100")
        db.execute("DELETE FROM calls WHERE response > 100")
    merged = merge(opened(study))
    assert merged.unfinished == []
    assert merged.missing == CALLS - merged.answered > 0
    function = f"fake={Path(__file__).with_name('shards.py')}:annotate"
    done = CliRunner().invoke(app(), ["merge", str(study), "--function", function])
    assert done.exit_code == 1, done.output


def test_what_the_study_has_is_not_asked_again_by_a_shard(study: Path) -> None:
    opened(study).run(requests=5)
    stored = opened(study).status().answered
    assert stored
    ASKED.clear()
    run(study, "1/2", "2/2")
    assert len(ASKED) == CALLS - stored
    status = opened(study).status()
    assert (status.answered, status.reused) == (CALLS, {})


def test_a_shards_errors_give_way_to_the_answers_that_the_study_has(study: Path) -> None:
    run(study, "1/1")
    merge(opened(study))
    shutil.rmtree(study.parent / "shards" / "1-of-1")
    kept = (study.parent / "responses.db").rename(study.parent / "away.db")
    FAILING.update({"Text number 3.", "Text number 17."})
    run(study, "1/1")  # on a machine that has nothing of the study
    FAILING.clear()
    kept.rename(study.parent / "responses.db")
    ASKED.clear()
    run(study, "1/1", retry_errors=True)
    assert ASKED == []
    status = opened(study).status()
    assert (status.errors, status.answered) == (0, CALLS)


def test_a_run_of_the_whole_study_asks_what_shards_have_not(study: Path) -> None:
    run(study, "1/2")
    half = opened(study).status().answered
    outcome = opened(study).run()
    assert (outcome.before, outcome.done) == (half, CALLS - half)
    assert [one.state for one in opened(study).status().shards] == ["finished", "missing"]


def test_a_cap_is_shared_by_the_shards(tmp_path: Path) -> None:
    study = written(tmp_path, PRICED + "budget: {calls: 101, money: 3}\n", ITEMS)
    caps = [opened(study, f"{n}/4").source.budget for n in range(1, 5)]  # type: ignore[attr-defined]
    assert sum(one.calls for one in caps) == 101
    assert [one.money for one in caps] == [0.75] * 4
    outcome = opened(study, "1/4").run()
    assert outcome.ended == "calls"
    assert outcome.done <= 25
    assert opened(study).status().shards[0].ended == "calls"


def test_shards_that_do_not_belong_together_are_one_error(study: Path) -> None:
    run(study, "1/2")
    study.write_text(STUDY.replace("Is it so?", "Is it really so?"))
    run(study, "2/2")
    with pytest.raises(StoreError, match="another study") as found:
        opened(study)
    assert "1/2" in str(found.value.found)
    run(study, "1/2")  # asks what has changed
    assert opened(study).status().answered == CALLS


def test_shards_by_different_versions_are_one_error(study: Path) -> None:
    run(study, "1/2", "2/2")
    facts = study.parent / "shards" / "1-of-2" / "shard.json"
    facts.write_text(json.dumps(json.loads(facts.read_text()) | {"quaver": "0.0.1"}))
    with pytest.raises(StoreError, match="versions") as found:
        merge(opened(study))
    assert "0.0.1: 1/2" in str(found.value.found)
    run(study, "1/2")
    assert merge(opened(study)).unfinished == []


def test_the_whole_study_is_not_asked_while_a_shard_is(study: Path) -> None:
    run(study, "1/2")
    with sole_writer(study.parent / "shards" / "1-of-2"):
        status = opened(study).status()
        assert [one.state for one in status.shards] == ["running", "missing"]
        with pytest.raises(StoreError, match="shard"):
            opened(study).run()


def test_errors_that_a_shard_asked_again_are_replaced(study: Path) -> None:
    FAILING.update({"Text number 3.", "Text number 17."})
    run(study, "1/1")
    FAILING.clear()
    before = opened(study).status()
    assert before.errors == 12
    run(study, "1/1", retry_errors=True)
    after = opened(study).status()
    assert (after.errors, after.answered) == (0, CALLS)


@pytest.mark.parametrize("shard", ["0/8", "9/8", "3", "a/b", "1/0", ""])
def test_what_names_no_shard_is_an_error(study: Path, shard: str) -> None:
    with pytest.raises(SpecError, match="shard"):
        opened(study, shard)


def test_without_shards_there_is_nothing_to_merge(study: Path) -> None:
    with pytest.raises(StoreError, match="no shards"):
        merge(opened(study))
