"""A store in a folder that may not be written is read as it is, and what must change changes in a copy."""

import errno
import inspect
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.commands import quaver
from tests.collect.fakes import answers, opened, request

from quaver.collect.store import database, read_only
from quaver.collect.store.read_only import copy_store, open_to_read
from quaver.collect.store.response_store import Store
from quaver.collect.store.reuse import Elsewhere
from quaver.collect.store.spill import receipt
from quaver.collect.store.store_lock import sole_writer
from quaver.core.calls import Response
from quaver.errors import StoreError
from quaver.study.session import Study

YES = Response("yes")


def stored(folder, items=3):
    """A store that was closed as it should be."""
    folder.mkdir()
    store = opened(folder, items)
    source = store.register("m", "fake", {})
    store.write([receipt((request(item), [YES]), source) for item in range(items)])
    store.close()
    return folder / "responses.db"


def killed(folder):
    """A store whose answers are in its journal alone, as a killed process leaves it."""
    made = stored(folder.with_name("living"), items=0)
    store = opened(made.parent, items=3)
    source = store.register("m", "fake", {})
    store.write([receipt((request(item), [YES]), source) for item in range(3)])
    folder.mkdir()
    for name in ("responses.db", "responses.db-wal"):
        shutil.copyfile(made.with_name(name), folder / name)
    store.close()
    return folder / "responses.db"


def unwritable(folder, monkeypatch):
    """As SQLite sees a folder that may not be written: nothing can be made beside the database."""
    monkeypatch.setattr(database, "may_write", lambda path: folder not in path.parents)
    connect = sqlite3.connect

    def refused(where, **how):
        if str(folder) in str(where) and "immutable" not in str(where):
            raise sqlite3.OperationalError("unable to open database file")
        return connect(where, **how)

    monkeypatch.setattr(sqlite3, "connect", refused)


@pytest.mark.parametrize("made", [stored, killed])
def test_what_is_stored_is_read(tmp_path, monkeypatch, made):
    path = made(tmp_path / "study")
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    unwritable(path.parent, monkeypatch)
    store = Store(path)
    assert store.read_only
    assert answers(store) == {(0, item, 0): YES for item in range(3)}
    assert set(store.answered([request(1).calls[0].key])) == {request(1).calls[0].key}
    store.note("annotations", "x")
    assert store.noted("annotations") == ("x" if store.on_copy else None)
    store.close()
    with Elsewhere(path.parent) as other:
        assert len(list(other.find([request(item).calls[0].key for item in range(9)]))) == 3
    copy_store(path, tmp_path / "copy.db")
    with closing(sqlite3.connect(tmp_path / "copy.db")) as db:
        stored = db.execute("SELECT id FROM responses").fetchall()
    assert len(stored) == 3
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_what_must_change_changes_in_a_copy(tmp_path, monkeypatch):
    path = stored(tmp_path / "study")
    before = path.read_bytes()
    unwritable(path.parent, monkeypatch)
    store = Store(path)
    with pytest.raises(StoreError) as caught:
        store.register("m", "another", {})
    assert caught.value.where == str(path)
    store.work_on_copy()
    store.calls.place("new", [], [], [])
    assert store.calls.placed("new")
    copy = store._copy
    store.close()
    assert not Path(copy.name).exists()
    assert path.read_bytes() == before


def test_a_connection_keeps_its_copy_as_long_as_it_lives(tmp_path):
    path = killed(tmp_path / "study")
    db = sqlite3.connect(":memory:", factory=read_only._Reader)
    db.copy = read_only.copied(path)
    copy = Path(db.copy.name)
    assert (copy / "responses.db-wal").exists()
    db.close()
    del db
    assert not copy.exists()
    with closing(open_to_read(path)) as reader:
        stored = reader.execute("SELECT id FROM responses").fetchall()
    assert len(stored) == 3


STUDY = """\
task: {labels: [positive, negative]}
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth}
prompt: {instruction: Is this positive or negative?}
models: [{name: fake, use: function}]
repeats: 2
measures: [accuracy]
"""


def said(text, prompt):
    return "positive" if "like" in text else "negative"


@pytest.fixture
def read_only_study(tmp_path):
    """A finished study in a folder that is mounted for reading only; skipped where none may be mounted."""
    study, folder = tmp_path / "made", tmp_path / "mounted"
    study.mkdir()
    folder.mkdir()
    (study / "study.yaml").write_text(STUDY)
    (study / "items.csv").write_text("id,text,truth\na,I like it.,positive\nb,I hate it.,negative\n")
    Study.open(study, functions={"fake": said}).run()
    bind = f"mount --bind {study} {folder} 2>/dev/null && mount -o remount,ro,bind {folder}"
    if os.geteuid() or os.system(bind):
        pytest.skip("no file system can be mounted here")
    yield folder
    os.system(f"umount -l {folder}")


def test_a_finished_study_is_read_measured_reported_and_exported(read_only_study, tmp_path):
    study = Study.open(read_only_study, functions={"fake": said})
    assert study.status().answered == 4
    assert [one.value for one in study.estimates()] == [1.0]
    assert study.export(tmp_path / "calls.csv") == 4
    assert study.report(tmp_path / "report").parent == tmp_path / "report"
    with pytest.raises(StoreError, match="report"):
        study.report()
    (tmp_path / "functions.py").write_text(inspect.getsource(said))
    told = quaver(tmp_path, "rescore", str(read_only_study), "--function", "fake=functions:said")
    assert "nothing was written" in told.stdout, told.stderr
    edited = tmp_path / "edited.yaml"
    edited.write_text(
        STUDY.replace("repeats: 2", "repeats: 1").replace("items.csv", f"{read_only_study}/items.csv")
    )
    assert Study.open(edited, folder=read_only_study, functions={"fake": said}).status().answered == 2
    with pytest.raises(StoreError, match="locked"):
        Study.open(read_only_study, functions={"fake": said}).run()


# ---------------------------------------------------------------------------- locks


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO, errno.ENOSYS])
def test_a_lock_that_the_drive_refuses_is_one_error(tmp_path, monkeypatch, number):
    def refused(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refused)
    with pytest.raises(StoreError, match="locked") as caught, sole_writer(tmp_path):
        pass
    assert caught.value.where == str(tmp_path)
    assert caught.value.found == os.strerror(number)
    assert "to a local disk" in str(caught.value.fix)


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (sqlite3.SQLITE_PROTOCOL, "to a local disk"),
        (sqlite3.SQLITE_IOERR_LOCK, "to a local disk"),
        (sqlite3.SQLITE_IOERR_SHMMAP, "to a local disk"),
        (sqlite3.SQLITE_CORRUPT, "reuse"),
    ],
)
def test_what_sqlite_says_comes_with_what_to_do(tmp_path, code, word):
    store = opened(tmp_path)
    error = sqlite3.OperationalError("as SQLite has it")
    error.sqlite_errorcode = code
    with pytest.raises(StoreError) as caught, store.translated():
        raise error
    assert word in str(caught.value.fix)
