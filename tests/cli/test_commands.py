"""The commands, as programs: what they print, how they end, and what they refuse."""

import json
import re
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from rich.console import Console
from tests.cli.commands import FUNCTIONS, environment, here, numbers, quaver, status
from tests.studies import ITEMS, STUDY, written

from quaver import __version__
from quaver.cli.command_options import function_of
from quaver.cli.console import plain, table
from quaver.core.number_format import duration
from quaver.design.spec.json_schema import MODELINE, SCHEMA_FILE, json_schema
from quaver.errors import QuaverError

SAME = ("--function", "fake=functions:same")


@pytest.fixture
def folder(tmp_path):
    written(tmp_path, STUDY + "repeats: 2\n")
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    return tmp_path


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs a command in a folder, in this process."""
    return partial(here, monkeypatch=monkeypatch, capsys=capsys)


def refused(done):
    """The one message of a command that ended with a user's error."""
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("Error") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_init_writes_a_study_and_never_over_another(tmp_path, command):
    done = command(tmp_path, "init", "new/study.yaml")
    assert done.returncode == 0, done.stderr
    assert "quaver run new/study.yaml --small" in done.stdout
    assert "exists" in refused(command(tmp_path, "init", "new/study.yaml"))
    printed = command(tmp_path, "init", "-")
    assert MODELINE + printed.stdout == (tmp_path / "new" / "study.yaml").read_text()
    named = MODELINE.partition("$schema=")[2].strip()
    assert json.loads((tmp_path / "new" / named).read_text()) == json_schema()
    (tmp_path / SCHEMA_FILE).write_text("{}")
    assert SCHEMA_FILE in refused(command(tmp_path, "init", "stability"))
    assert not (tmp_path / "stability.yaml").exists()
    (tmp_path / SCHEMA_FILE).write_text(command(tmp_path, "schema").stdout)
    assert command(tmp_path, "init", "stability").returncode == 0
    assert (tmp_path / "stability.yaml").read_text().startswith(MODELINE)
    assert command(tmp_path, "--version").stdout.strip() == f"quaver {__version__}"


def test_estimates_and_the_report_follow(folder, command):
    command(folder, "run", "study.yaml", *SAME)
    measured = command(folder, "measure", "study.yaml", "accuracy", "--json", *SAME)
    assert measured.stderr == ""
    (estimate,) = [json.loads(line) for line in measured.stdout.splitlines()]
    assert (estimate["measure"], estimate["value"], estimate["n"]) == ("accuracy", 1.0, 2)
    shown = command(folder, "measure", "study.yaml", *SAME)
    assert shown.returncode == 0
    assert "accuracy" in shown.stdout
    message = refused(command(folder, "measure", "study.yaml", "accuracie", *SAME))
    assert "did you mean 'accuracy'?" in message
    reported = command(folder, "report", "study.yaml", *SAME)
    assert reported.returncode == 0, reported.stderr
    assert (folder / "report.html").stat().st_size > 1000
    assert (folder / "estimates.csv").exists()


BAD = {
    "no study": ("run none.yaml", "none.yaml: "),
    "a folder without one": ("run ..", "study.yaml"),
    "tables of no study": ("table none.yaml", "none.yaml: "),
    "no function": ("run study.yaml", "--function fake=MODULE:FUNCTION"),
    "no such module": ("run study.yaml --function fake=nowhere:same", "No module named 'nowhere'"),
    "no such function": ("run study.yaml --function fake=functions:none", "no attribute 'none'"),
    "no such model": ("run study.yaml --function fakee=functions:same", "did you mean 'fake'?"),
    "a number in words": (
        "check t.csv --n many",
        "--n: this option does not fit\n  expected: a whole number\n",
    ),
    "a small number": (
        "figure study.yaml accuracy --width 5",
        "--width: this option does not fit\n  expected: 200 or",
    ),
    "none of several words": ("check texts.csv --hand-labels maybe", "--hand-labels: unknown choice"),
    "an unknown evaluator": ("check texts.csv --evaluator nope", "--evaluator: unknown evaluator"),
    "an unknown language": ("check texts.csv --language xx", "--language: unknown language"),
    "a function somewhere": (
        "check texts.csv --function functions:same --base-url http://x/v1",
        "takes no option",
    ),
    "a budget of nothing": ("check texts.csv --budget 0", "--budget"),
    "no share": ("label texts.csv --error ten", "--error: this is not a share"),
    "nothing to read": (f"rescore study.yaml {' '.join(SAME)}", "collected"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_message(folder, command, words, message):
    (folder / "texts.csv").write_text("text,label\nA good day.,good\nA bad day.,bad\n")
    assert message in refused(command(folder, *words.split()))


def test_hostile_texts_do_not_become_markup_or_control(folder, command):
    hostile = "[red]x[/red] \x1b[31m"
    written(folder, STUDY + "repeats: 1\n", ITEMS + f'd,"{hostile}",{hostile}\n')
    message = refused(command(folder, "plan", "study.yaml", *SAME))
    assert "[red]x[/red] \\x1b[31m" in message
    assert "\x1b" not in message


@pytest.mark.long
def test_an_interrupt_finishes_what_is_in_flight_and_says_how_to_go_on(folder):
    items = "id,text,truth\n" + "".join(f"{n},t{n},\n" for n in range(500))
    written(folder, STUDY, items)
    arguments = ["run", "study.yaml", "--function", "fake=functions:slow"]
    process = subprocess.Popen(
        [sys.executable, "-m", "quaver", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    asked = folder / "asked"
    while process.poll() is None and not (asked.exists() and asked.stat().st_size >= 4):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    count = len(asked.read_text().splitlines())
    first, *_, last = out.splitlines()
    assert numbers(first)[-2:] == [count, 500]
    assert "Interrupted" in last
    assert numbers(last) == [500 - count]
    found = status(quaver(folder, "status", "study.yaml", "--json", "--function", "fake=functions:slow"))
    assert (found["answered"], found["total"]) == (count, 500)


@pytest.mark.parametrize(
    "source",
    [b"def (", b"a = '\x00'", b"raise SystemExit(0)", b"1 / 0", b"# coding: nothing", b"a = '\xff'", b""],
)
def test_a_module_that_cannot_be_imported_is_an_error(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "module_of_a_user.py").write_bytes(source)
    with pytest.raises(QuaverError) as caught:
        function_of("module_of_a_user:annotate")
    assert caught.value.where == "--function"
    (tmp_path / "file_of_a_user.py").write_text("def annotate(text, prompt):\n    return 'yes'\n")
    assert function_of("file_of_a_user.py:annotate")("", "") == "yes"
    for target in ("math:pi", ".relative:annotate", "a..b:c", "a\0b:c", "..:c"):
        with pytest.raises(QuaverError):
            function_of(target)


# ---------------------------------------------------------------------------- the screen


def shown(thing):
    console = Console(width=80, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(thing)
    return captured.get()


def test_plain_text_is_shown_as_it_is():
    assert shown(plain("[red]a[/red] :smile: \x1b[0m\r\x07")) == "[red]a[/red] :smile: \\x1b[0m\\r\\x07\n"


def test_cells_of_a_table_are_plain():
    text = shown(table(("what", "n"), [("[b]x[/b] \x1b[1m", 1234), ("y", 5)]))
    assert "[b]x[/b] \\x1b[1m" in text.replace("\x1b[1m", "", 0)
    assert "1,234" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "unknown"),
        (0.2, "under a second"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (7265, "2 h 1 min"),
        (3601, "1 h 1 s"),
    ],
)
def test_times_are_said_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_measure_summarises_and_counts_what_is_undefined_unless_asked(folder, command):
    command(folder, "run", "study.yaml", *SAME)
    of_all = [
        json.loads(line)
        for line in command(folder, "measure", "study.yaml", "--json", *SAME).stdout.splitlines()
    ]
    undefined = [one for one in of_all if one["value"] is None]
    assert undefined
    short = command(folder, "measure", "study.yaml", *SAME).stdout
    whole = command(folder, "measure", "study.yaml", "--undefined", *SAME).stdout
    first, heads, *rows = short.partition("Summary")[2].splitlines()
    assert first == ""
    summarised = {row.split()[0]: numbers(row) for row in rows[: rows.index("")]}
    assert heads.split()[-1] == "undefined"
    assert set(summarised) == {one["measure"] for one in of_all}
    assert sum(row[-1] for row in summarised.values()) == len(undefined)
    listed = re.compile(r"(?:^|  )undefined  +\S", re.MULTILINE)
    assert len(listed.findall(whole)) == len(undefined)
    assert not listed.findall(short)
    assert numbers(short.strip().splitlines()[-1])[0] == len(undefined)
    assert undefined[0]["reason"] in short.strip().splitlines()[-1]


_CODES = """
import json

def codes(text, prompt):
    return json.dumps({"tone": "good" if "fine" in text or "Code" in prompt else "bad", "cost": len(text)})
"""
_RECORDS = """
name: records
task: {held: false, fields: {tone: {labels: [good, bad]}, cost: {level: ratio}}}
items: {source: texts.csv, id: id, text: "{{ text }}"}
prompt: {instruction: What does it say?}
variants: [{use: instructions, texts: {curt: Code it.}}]
models: [{name: fake, use: function}]
measures: [inter_pss]
"""


def test_what_is_about_one_label_set_goes_field_by_field(tmp_path, command):
    texts = [f"{at},{'fine' if at % 2 else 'dull'} {'x' * at}" for at in range(20)]
    (tmp_path / "texts.csv").write_text("\n".join(["id,text", *texts]))
    (tmp_path / "functions.py").write_text(_CODES)
    (tmp_path / "study.yaml").write_text(_RECORDS)
    given = ("--function", "fake=functions:codes")
    command(tmp_path, "run", "study.yaml", *given)
    command(tmp_path, "paper", "study.yaml", "--to", "paper", *given)
    assert "tone" in (tmp_path / "paper" / "tone" / "table.md").read_text()
    assert (tmp_path / "paper" / "cost" / "methods.tex").is_file()
    rescored = command(tmp_path, "rescore", "study.yaml", *given).stdout
    assert [numbers(line)[-1] for line in rescored.splitlines()[1:3]] == [40, 40]
