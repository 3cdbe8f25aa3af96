"""No key reaches anything that Quaver writes, wherever it was put."""

import gzip
import sqlite3
from contextlib import closing

import pytest
from tests.cli.commands import here, of_a_study
from tests.planted_keys import KEY, PLACES, SERVED, VARIABLE, echoing, finds, write_planted

import quaver
from quaver import _secrets
from quaver.collect.store.response_tables import SUMMED, add_checksums
from quaver.errors import ItemError, ModelError, QuaverError, SpecError
from quaver.study.analysis.call_export import raw_answers

COMMANDS = (
    ("plan", "study.yaml"),
    ("variants", "study.yaml"),
    ("run", "study.yaml"),
    ("status", "study.yaml", "--json"),
    ("status", "study.yaml"),
    ("measure", "study.yaml", "accuracy", "--json"),
    ("report", "study.yaml"),
    ("report", "study.yaml", "--to", "elsewhere"),
    ("paper", "study.yaml", "--to", "paper"),
    ("export", "study.yaml", "out.jsonl"),
    ("export", "study.yaml", "out.csv"),
    ("export", "study.yaml", "out.parquet"),
    ("compare", "study.yaml", "--by", "paraphrase", "--resamples", "100", "--json"),
    ("gold", "study.yaml", "--n", "2", "--format", "csv"),
    ("gold", "study.yaml", "--sheets"),
    ("bundle", "study.yaml", "--out", "whole.zip"),
    ("bundle", "study.yaml", "--out", "bare.zip", "--without-texts"),
    ("verify", "whole.zip"),
)
COMMANDS += tuple(of_a_study(COMMANDS))
FEW = tuple(one for one in COMMANDS if one[0] in ("plan", "run", "report"))
OWN = ("study.yaml", "items.csv")
"""What the user wrote."""
SHAPED = "sk-" + "Zq7" * 16


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setattr(_secrets, "_NAMED", set())
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    def run(commands):
        return [here(tmp_path, *one, monkeypatch=monkeypatch, capsys=capsys) for one in commands]

    return run


def leaks(folder, done, own=OWN):
    found = [str(one.args) for one in done if finds((one.stdout + one.stderr).encode())]
    files = [one for one in folder.rglob("*") if one.is_file() and one.name not in own]
    return found + [one.name for one in files if finds(one.read_bytes()) or finds(one.name.encode())]


def test_the_search_finds_what_is_planted(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        db.execute("CREATE TABLE a (b TEXT)")
        db.execute("INSERT INTO a VALUES (?)", ("x" * 4000 + KEY + "x" * 4000,))  # cut by the pages
    assert finds((tmp_path / "a.db").read_bytes())
    assert finds(gzip.compress(f"a {KEY}".encode()))
    assert not finds(b"nothing")


@pytest.mark.parametrize("place", PLACES)
def test_a_key_in_the_study_file(place, tmp_path, said):
    write_planted(tmp_path, "http://127.0.0.1:9/v1", place)
    done = said(FEW)
    assert leaks(tmp_path, done) == []
    assert {one.returncode for one in done} == {2}
    assert all(one.stderr.count("Error: ") == 1 for one in done)


@pytest.mark.long
def test_a_key_in_every_reply(tmp_path, said):
    with echoing(SERVED) as url:
        write_planted(tmp_path, url, None)
        done = said(COMMANDS)
        assert leaks(tmp_path, done) == []
        assert [one.args[0] for one in done if one.returncode] == []
        assert "[key]" in (tmp_path / "out.jsonl").read_text()


def test_a_key_in_an_error_of_the_server(tmp_path, said):
    with echoing(["error"]) as url:
        write_planted(tmp_path, url, None)
        done = said(FEW)
    assert leaks(tmp_path, done) == []
    assert any("[key]" in path.read_text(encoding="utf-8") for path in tmp_path.rglob("run.log"))


@pytest.mark.long
@pytest.mark.parametrize("key", [KEY, SHAPED])
def test_a_bundle_is_refused_for_a_comment(key, tmp_path, said):
    with echoing() as url:
        write_planted(tmp_path, url, None, comment=f"# a note\n# export OPENAI_API_KEY={key}\n")
        done = said(COMMANDS)
    refused = [one for one in done if one.returncode]
    assert [one.args[0] for one in refused] == ["bundle", "bundle", "verify"]
    assert all("study.yaml" in one.stderr and key not in one.stderr for one in refused[:2])
    assert leaks(tmp_path, done) == []
    assert list(tmp_path.glob("*.zip*")) == []


def test_an_item_with_a_key_is_refused(tmp_path, said):
    write_planted(tmp_path, "http://127.0.0.1:9/v1", None)
    items = tmp_path / "items.csv"
    doubled = KEY.replace('"', '""')
    items.write_text(items.read_text().replace("I like the river of town 3.", f'"The key {doubled}."'))
    with pytest.raises(ItemError, match=f"item i3: text: .*{VARIABLE}"):
        _ = quaver.Study.open(tmp_path).experiment
    assert leaks(tmp_path, said(FEW)) == []


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study that a function has answered; another study named the variable."""
    monkeypatch.setattr(_secrets, "_NAMED", {VARIABLE})
    write_planted(tmp_path, "", None, function=True)
    opened = quaver.Study.open(tmp_path, functions={"m": lambda text, prompt: f"positive {KEY} positive"})
    opened.run()
    return opened


def test_an_answer_of_a_function_is_stored_without_it(study, tmp_path):
    assert leaks(tmp_path, []) == []
    assert f"positive [{VARIABLE}] positive" in raw_answers(study.source, ["i0"])["output"].to_list()


def test_what_was_stored_once_stops_what_goes_out(study, tmp_path):
    with closing(sqlite3.connect(tmp_path / "responses.db")) as db, db:
        # As if it had been stored before the key was known to be one.
        add_checksums(db)
        db.execute("UPDATE responses SET text = ? WHERE id = 3", (f"negative {KEY}",))
        db.execute(f"UPDATE responses SET checksum = checksum({SUMMED}) WHERE id = 3")
    for write in (
        lambda: study.export(tmp_path / "a.jsonl"),
        lambda: study.export(tmp_path / "a.parquet"),
        lambda: quaver.bundle(study, tmp_path / "a.zip"),
        lambda: quaver.bundle(study, tmp_path / "b.zip", texts=False),
    ):
        with pytest.raises(QuaverError, match=f"the environment variable {VARIABLE}") as caught:
            write()
        assert not finds(str(caught.value).encode())
    assert [*tmp_path.glob("a.*"), *tmp_path.glob("b.*")] == []


def test_the_small_version_takes_no_comment_with_a_key_along(tmp_path):
    write_planted(tmp_path, "http://127.0.0.1:9/v1", None, comment=f"# OPENAI_API_KEY={SHAPED}\n")
    file = tmp_path / "study.yaml"
    file.write_text(file.read_text().replace('"name":', '"small": {"repeats": 1}, "name":', 1))
    with pytest.raises(SpecError, match="looks like a key"):
        quaver.Study.open(tmp_path, small=True)
    assert list(tmp_path.glob("*small*")) == []


def test_a_key_in_an_error_of_a_function_is_stored_without_it(tmp_path, monkeypatch):
    monkeypatch.setattr(_secrets, "_NAMED", {VARIABLE})

    def broken(text, prompt):
        raise ValueError(f"401: {KEY}")

    write_planted(tmp_path, "", None, function=True)
    with pytest.raises(ModelError) as caught:
        quaver.Study.open(tmp_path, functions={"m": broken}).run()
    assert KEY not in str(caught.value)
    assert leaks(tmp_path, []) == []
    assert f"401: [{VARIABLE}]" in (tmp_path / "run.log").read_text()
