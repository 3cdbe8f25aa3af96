"""A check that is put together option by option: columns, codebook, the command that does the same."""

import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from quaver.cli.main import app
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.start.begun_check import Here
from quaver.study.checking.check_design import check

ROWS = "id,post,stance,other\n" + "".join(
    f"p{n},This is what post number {n} says.,{('for', 'against', '')[n % 3]},{'xy'[n % 2]}\n"
    for n in range(30)
)


def begun(folder, rows=ROWS):
    return Here(folder).take("posts.csv", rows.encode())


def roles(check):
    with suppress(QuaverError):  # the labels may yet have to be given
        _ = check.found
    return {one.column: one.role for one in check.columns()}


def test_columns_are_taken_for_what_they_look_like(tmp_path):
    check = begun(tmp_path)
    assert roles(check) == {"id": "id", "post": "text", "stance": "gold", "other": "ignore"}
    check.take_column("stance", "gold")
    assert roles(check) == {"id": "id", "post": "text", "stance": "gold", "other": "ignore"}
    assert check.found.labels == ("against", "for")
    assert check.found.known == 20


def test_a_column_has_one_role_and_a_role_that_is_given_again_leaves_the_first(tmp_path):
    check = begun(tmp_path)
    check.take_column("stance", "gold")
    check.take_column("stance", "compare")
    check.take_column("other", "gold")
    assert roles(check)["stance"] == "compare"
    assert check.options["gold"] == "other"


def test_what_is_recognised_can_be_ignored(tmp_path):
    check = begun(tmp_path)
    check.take_column("stance", "gold")
    check.take_column("id", "ignore")
    assert roles(check)["id"] == "ignore"
    assert check.found.item is None


def test_it_goes_on_in_another_process(tmp_path):
    check = begun(tmp_path)
    check.take_column("stance", "gold")
    check.define({"for": "is in favour", "against": "=is not"})
    again = Here(tmp_path).begun(check.name)
    assert again.options == check.options
    assert again.definitions == {"for": "is in favour", "against": "=is not"}
    assert again.source == tmp_path / "posts.csv"


def test_the_command_asks_for_the_same_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check = begun(tmp_path)
    check.take_column("stance", "gold")
    check.take_column("other", "compare")
    check.define({"for": "is, in short, in favour", "against": ""})
    check.give(model="ollama/tiny", n=10, prompts=3, instruction="Is it 'for' {{ it }}?")
    made = check.prepared().file.read_text(encoding="utf-8")
    words = shlex.split(check.command())
    assert words[:3] == ["quaver", "check", "posts.csv"]
    context = typer.main.get_command(app(["check"])).commands["check"].make_context("check", words[2:])
    from quaver.study.checking.check_design import prepared_check

    given = {name: value for name, value in context.params.items() if value is not None}
    for name in ("coders", "compare", "ignore", "labels"):
        given[name] = [part for one in given.get(name, ()) for part in one.split(", ")]
    for name in ("file", "yes", "function"):
        given.pop(name, None)
    typed = prepared_check(Path(words[2]), to="typed", **given)
    assert (
        typed.file.read_text(encoding="utf-8").partition("# Unchanged")[0].replace("typed", "posts-check")
        == (made.partition("# Unchanged")[0])
    )


def test_a_second_version_keeps_what_was_given_and_names_the_first(tmp_path):
    here = Here(tmp_path)
    check = here.take("posts.csv", ROWS.encode())
    check.define({"for": "yes", "against": "no"})
    second = here.again(check)
    assert second.folder != check.folder
    assert second.definitions == check.definitions
    assert second.options["before"] == check.name
    assert {*here.names()} == {second.name, check.name}


@pytest.mark.parametrize("name", ["..", ".", "", "posts.csv", "/etc", "none", "posts-check/../posts-check"])
def test_nothing_but_a_study_of_the_folder_is_opened(tmp_path, name):
    begun(tmp_path)
    with pytest.raises(UnknownName):
        Here(tmp_path).begun(name)


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "/etc/evil.csv", "a\x00b.csv", "<img src=x>.csv", "..csv", ".csv"]
)
def test_an_uploaded_file_stays_in_the_folder(tmp_path, name):
    inner = tmp_path / "inner"
    inner.mkdir()
    check = Here(inner).take(name, ROWS.encode())
    assert check.source.parent == inner
    assert check.folder.parent == inner
    assert [one.name for one in tmp_path.iterdir()] == ["inner"]


def test_the_same_upload_is_kept_once_and_another_one_beside_it(tmp_path):
    here = Here(tmp_path)
    sources = [
        here.take("posts.csv", content.encode()).source.name for content in (ROWS, ROWS, ROWS + "x,y,,\n")
    ]
    assert sources == ["posts.csv", "posts.csv", "posts-2.csv"]


def test_a_damaged_beginning_is_one_error(tmp_path):
    check = begun(tmp_path)
    (check.folder / "start.json").write_text("{", encoding="utf-8")
    with pytest.raises(StoreError) as caught:
        Here(tmp_path).begun(check.name)
    assert caught.value.where == str(check.folder / "start.json")


def test_a_study_that_began_elsewhere_says_so(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "study.yaml").write_text("name: mine\n", encoding="utf-8")
    here = Here(tmp_path)
    with pytest.raises(QuaverError, match="not started in the browser"):
        _ = here.begun("mine").source
    assert here.begun("mine") is here.begun("mine")  # its verdict and its labels are looked at again


WIDE = "id,post,tone,topics,amount\n" + "".join(
    f"p{n},This is what post number {n} says.,{('good', 'bad', 'mixed')[n % 3]},"
    f"{('food', 'food;service', 'service')[n % 3]},{n % 7}\n"
    for n in range(40)
)


def test_variables_of_their_own_are_shown_kept_and_asked_for(tmp_path):
    check = begun(tmp_path, WIDE)
    for name in ("tone", "topics", "amount"):
        check.take_column(name, "fields")
    shown = {"id": "id", "post": "text", "tone": "fields", "topics": "fields", "amount": "fields"}
    assert {one.column: one.role for one in check.columns() if one.role == "fields"}.keys() == {
        "tone",
        "topics",
        "amount",
    }
    assert roles(check) == shown
    check.take_column("amount", "ignore")
    assert roles(check) == shown | {"amount": "ignore"}
    check.take_column("amount", "fields")
    assert roles(check) == shown
    assert '"topics": {"labels"' in check.prepared().file.read_text(encoding="utf-8")


def test_the_label_of_a_text_takes_the_place_of_variables(tmp_path):
    check = begun(tmp_path, WIDE)
    check.take_column("topics", "fields")
    check.take_column("tone", "gold")
    assert check.found.labels == ("bad", "good", "mixed")
    assert check.fields == ()
    assert roles(check)["topics"] == "ignore"


def test_who_asks_is_said_where_another_window_changes_the_study(tmp_path):
    check = begun(tmp_path)
    check.take_column("stance", "gold")
    check.give(model="ollama/tiny")
    made = check.prepared().file.read_text(encoding="utf-8")
    asking = "from quaver.collect.store.store_lock import sole_writer; import sys, time\n"
    asking += (
        "with sole_writer(__import__('pathlib').Path(sys.argv[1])): print(1, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", asking, check.folder], stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        again = Here(tmp_path).begun(check.name)
        again.give(prompts=3)
        with pytest.raises(StoreError) as caught:
            again.prepared()
        other.kill()
    assert str(other.pid) in caught.value.found
    assert (check.folder / "study.yaml").read_text(encoding="utf-8") == made
    assert again.prepared().file.read_text(encoding="utf-8") != made


def test_two_windows_keep_each_other_s_options(tmp_path):
    one = begun(tmp_path)
    other = Here(tmp_path).begun(one.name)
    one.take_column("stance", "gold")
    other.give(n=12)
    assert Here(tmp_path).begun(one.name).options == {"gold": "stance", "n": 12}


@pytest.mark.parametrize("content", ["", "[]", '{"source": "../posts.csv"}', "\0"])
def test_a_damaged_study_leaves_the_others_on_the_first_page(tmp_path, content):
    pytest.importorskip("nicegui")
    from quaver.start.texts_page import _state

    whole, damaged = begun(tmp_path), begun(tmp_path)
    (damaged.folder / "start.json").write_text(content)
    here = Here(tmp_path)
    assert {_state(here, name) for name in here.names()} == {
        ("texts", "begun"),
        ("texts", "this check cannot be read"),
    }
    assert whole.name != damaged.name


def test_a_check_that_was_made_on_the_command_line_goes_on_at_its_labels(tmp_path):
    pytest.importorskip("nicegui")
    from quaver.start.texts_page import goes_on_at

    table = tmp_path / "my posts.csv"
    table.write_text(ROWS)
    asked = check(table, model=lambda text, prompt: "for", to=tmp_path / "my check", n=10)
    assert asked.study.status().answered
    for path in (table, tmp_path / "my check"):
        assert goes_on_at(Here(tmp_path), path) == "/study/my%20check/labels"
    there = Here(tmp_path).take(table.name, ROWS.encode())
    assert there.folder.name == "my check"
    assert there.texts_file == table
    there.give(error=5.0)
    assert not (there.folder / "start.json").exists()


def test_a_table_without_a_check_begins_one(tmp_path):
    pytest.importorskip("nicegui")
    from quaver.start.texts_page import goes_on_at

    (tmp_path / "umlaute.csv").write_text(
        "Nr;Beitrag\n1;Süß ist das\n2;Größer als sonst\n", encoding="cp1252"
    )
    assert goes_on_at(Here(tmp_path), tmp_path / "umlaute.csv").endswith("/study/umlaute-check/texts")
    begun_there = Here(tmp_path).begun("umlaute-check")
    assert begun_there.options == {"separator": ";", "encoding": "cp1252"}
    assert begun_there.table.values("Beitrag") == ["Süß ist das", "Größer als sonst"]
