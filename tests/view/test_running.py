"""A study is shown while another process collects for it, and after it has changed."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager

import httpx2
import pytest
from tests.studies import written
from tests.view.viewed import STUDY, again, collected, items, viewed

import quaver
from quaver.view.serving import StudyReader, studies_of
from quaver.view.study_reader import keep

pytestmark = pytest.mark.long

_SLOW = """
import sys, time
import quaver

def annotate(text, prompt):
    time.sleep(0.02)
    return "positive"

quaver.Study.open(sys.argv[1], functions={"fake": annotate}).run(watch=lambda _: None)
"""


@contextmanager
def served(path):
    """A server of its own; its address."""
    command = [sys.executable, "-m", "quaver", "view", str(path), "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().split()[-1]
    finally:
        server.terminate()
        server.wait(20)


def awaited(address, seconds, holds):
    """The pulse of the study once something holds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        (found,) = httpx2.get(f"{address}api/pulse").json()["studies"].values()
        if holds(found):
            return dict(found)
        time.sleep(0.3)
    raise AssertionError(found)


def test_what_was_read_before_is_shown_before_another_process_looks_at_the_study_again(tmp_path):
    path = collected(tmp_path)
    for is_read in (False, True):
        (study,) = studies_of([path]).values()
        reader, begun = StudyReader(study), time.monotonic()
        reader.start()
        while reader._child is None:
            time.sleep(0.05)
        assert not is_read or time.monotonic() - begun >= 2
        reader.stop()
        keep(path, study.root)


def test_answers_are_shown_while_another_process_collects(tmp_path):
    path = written(tmp_path, STUDY, items(60))
    (tmp_path / "slow.py").write_text(_SLOW, encoding="utf-8")
    run = subprocess.Popen([sys.executable, str(tmp_path / "slow.py"), str(path)], env=os.environ)
    try:
        while not (tmp_path / "responses.db").exists():
            assert run.poll() is None
            time.sleep(0.1)
        with served(path) as address:
            some = awaited(address, 60, lambda one: one["index"]["done"] > 0)
            assert some["process"] == run.pid or run.poll() is not None
            assert run.wait(120) == 0
            awaited(address, 60, lambda one: one["index"]["done"] == 540 and one["index"]["state"] == "ready")
            grid = httpx2.get(f"{address}api/studies/tones/grid?q=label:pos").json()
            assert grid["matched"] == 540
            assert awaited(address, 90, lambda one: one["verdict"] == "ready")
    finally:
        run.kill()
    with closing(sqlite3.connect(path.parent / "responses.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM calls").fetchone() == (540,)


def test_an_answer_takes_the_place_of_an_error(tmp_path):
    works = False

    def failing(text, prompt):
        if "no. 1" in text and not works:
            raise ValueError("no")
        return "neutral"

    path = collected(tmp_path, count=4, answer=failing)
    study = viewed(path)
    before = study.version
    assert study.view("is:error").matched == 9
    works = True
    quaver.Study.open(path, functions={"fake": failing}).run(retry_errors=True, watch=lambda _: None)
    again(study)
    assert study.version != before
    assert study.view("is:error").matched == 0
    assert study.view("label:neu item:i1").matched == 9


def test_what_the_viewer_keeps_is_made_again_where_it_was_deleted(tmp_path):
    path = collected(tmp_path, count=4)
    shutil.rmtree(viewed(path).root)
    assert viewed(path).view("").matched == 36


@pytest.mark.parametrize(
    "note", ['{"last": 99999999999999999999}', '{"done": 36, "files": ["none.parquet"]}']
)
def test_a_note_of_what_was_read_that_is_damaged_is_made_again(tmp_path, note):
    path = collected(tmp_path, count=4)
    (viewed(path).root / "state.json").write_text(note, encoding="utf-8")
    assert viewed(path).view("").matched == 36


def test_without_the_extra_one_error_says_how_to_get_it(tmp_path):
    path = collected(tmp_path, count=1)
    code = "import sys; sys.modules['uvicorn'] = None; from quaver.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "view", str(path), "--no-open"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'quaver[view]'" in done.stderr
    assert "Traceback" not in done.stderr
