"""What is printed for copying runs as it is, in a folder whose names have spaces, quotes and umlauts.

The test types what a person would: it begins with one command, and runs every command that this one prints,
and every command that those print, through a shell.
"""

import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests import forked
from tests.spreadsheets import write_xlsx

from quaver.cli.main import COMMANDS
from quaver.design.items.table_files import read_rows

FILE = 'MPs\' "große" Texte.xlsx'
CHECK = FILE.removesuffix(".xlsx") + "-check"
ANNOTATE = """\
def label(text, prompt):
    if "great" in text:
        return "sehr dafür"
    if "bad" in text:
        return "dagegen" if "order" not in prompt else 'weder "noch", nichts'
    return 'weder "noch", nichts'
"""
SAID = {"great": "sehr dafür", "bad": "dagegen", "rain": 'weder "noch", nichts'}
COMMAND = re.compile(rf"`(quaver (?:{'|'.join(COMMANDS)})[^`\n]*)`|(?:: |, |then )(quaver .+)$", re.MULTILINE)
SERVES = ("quaver view", "quaver start")
ENDS = {"verify": (0, 3)}
"""How else than with 0 a command may end: `verify` says with 3 that a table is not in the bundle."""


def rows():
    yield ["nr", "Tweet Text", "Hand Label", "Große Partei", "l'auteur"]
    for n in range(45):
        word = [*SAID][n * 7 % 3]
        text = f'The reform is {word}, says "O\'Neil" in Köln for the {n}th time'
        yield [n + 1, text, SAID[word] if n < 30 else None, ["SNP", "Bündnis 90"][n % 2], f"A{n % 9}"]


def written(folder):
    """The table and the function."""
    folder.mkdir()
    write_xlsx(folder / FILE, {"Tweets": [*rows()], "Notes": [["Coded by Ada, 2025"]]})
    (folder / "annotate.py").write_text(ANNOTATE, encoding="utf-8")
    return folder


class Terminal:
    """A shell in a folder, and all that it has shown."""

    def __init__(self, folder):
        self.folder, self.done = folder, {}
        self.environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}

    def type(self, line):
        """Run a line; what it shows, and how it ended."""
        serves = line.startswith(SERVES)
        own = [] if serves else [forked.path_of_commands()]  # a fork is not interrupted
        path = [*own, Path(sys.executable).parent, os.environ["PATH"]]
        started = subprocess.Popen(
            ["sh", "-c", f"{line} --no-open" if serves else line],
            cwd=self.folder,
            env=self.environment | {"PATH": os.pathsep.join(map(str, path))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        if serves:
            shown = started.stdout.readline()
            os.killpg(started.pid, 2)
            started.communicate(timeout=60)
            self.done[line] = shown
            return shown, 0 if shown.startswith("Open http") else 1
        shown, _ = started.communicate(timeout=300)
        self.done[line] = shown
        return shown, started.returncode

    def succeed(self, line):
        """Run a line that must succeed; what it shows."""
        shown, code = self.type(line)
        assert code in ENDS.get(line.split()[1], (0,)), f"{line}\n{shown}"
        return shown


def commands(shown):
    """The commands in a text."""
    return [backticked or ended for backticked, ended in COMMAND.findall(shown)]


def filled(folder):
    """Fill in the sheets that people got, in each the column that waits for a label."""
    for path in [*folder.glob("**/round-*.xlsx")]:
        sheet = [dict(row) for row in read_rows(path, sheet="Labels")]
        heads = [*sheet[0]]
        for row in sheet:
            text = " ".join(map(str, row.values()))
            row["label"] = next(label for word, label in SAID.items() if word in text)
        write_xlsx(path, {"Labels": [heads, *([row[head] for head in heads] for row in sheet)]})
        yield path


def crawl(terminal, first, meant):
    """Run a command, every command that it prints, and so on; ``meant`` are the words in capitals."""
    waiting = [first]
    while waiting:
        line = waiting.pop(0)
        if line in terminal.done:
            continue
        if re.search("--(take|returned)", line):
            sheets = [*filled(terminal.folder)]
            assert sheets, line
            meant = {**meant, "FILE": shell(str(sheets[-1].relative_to(terminal.folder)))}
        for word, means in meant.items():
            line = re.sub(rf"\b{word}\b", lambda _, means=means: means, line)
        if line not in terminal.done:
            waiting += commands(terminal.succeed(line))
        assert len(terminal.done) < 80, [*terminal.done]


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """A terminal in which everything was typed that was printed, from the first command on."""
    terminal = Terminal(written(tmp_path_factory.mktemp("copied") / "Ärzte's  texte & mehr"))
    table = shell(FILE)
    crawl(terminal, f"quaver check {table} --function annotate:label", {})
    study = shell(CHECK)
    for line in (
        f"quaver label {table} --function annotate:label --error 20%",
        f"quaver status {study}",
        f"quaver gold {study} --n 30",
        f"quaver report {study}",
        f"quaver bundle {study}",
        f"quaver verify {shell(CHECK + '.quaver.zip')}",
        f"quaver compare {study} --by instruction",
    ):
        crawl(terminal, line, {"FUNCTION": "label", "MODULE": "annotate"})
    (run,) = commands(terminal.succeed("quaver init stability 'meine Studie.yaml'"))
    assert run.endswith(" --small")
    terminal.succeed(run.replace("quaver run", "quaver plan"))  # the bundled model would take minutes
    return terminal


def shell(name):
    return "'" + name.replace("'", "'\"'\"'") + "'"


@pytest.mark.long
def test_every_command_that_a_walk_prints_runs(walked):
    verbs = {line.split()[1] for line in walked.done}
    assert verbs >= {"check", "label", "gold", "report", "bundle", "verify", "compare", "plan"}


@pytest.mark.long
def test_every_line_of_python_that_a_walk_prints_runs(walked):
    shown = "\n".join(walked.done.values())
    lines = {*re.findall(r"quaver\.Study\.open\(.+\)$", shown, re.MULTILINE)}
    assert lines
    for line in lines:
        (walked.folder / "line.py").write_text(f"import quaver\nprint({line})\n", encoding="utf-8")
        assert "Große Partei[" in walked.succeed("python ./line.py")


@pytest.mark.long
def test_the_commands_in_a_report_run_in_its_folder(walked):
    page = (walked.folder / CHECK / "report.html").read_text(encoding="utf-8")
    lines = [html.unescape(line) for line in re.findall(r"<code>(quaver [^<]*)</code>", page)]
    assert lines
    for line in lines:
        walked.succeed(f"cd {shell(CHECK)} && {line}")


@pytest.mark.long
def test_what_the_readme_of_a_bundle_says_runs(walked):
    path = walked.folder / f"{CHECK}.quaver.zip"
    readme = zipfile.ZipFile(path).read("README.md").decode()
    (walked.folder / "check.py").write_text(re.search(r"```python\n(.*?)```", readme, re.DOTALL)[1])
    digest = hashlib.sha256(path.read_bytes()[:-73]).hexdigest()
    assert digest in walked.succeed(f"python ./check.py {shell(path.name)}")
    line = re.search(r"^quaver verify .*", readme, re.MULTILINE)[0]
    walked.succeed(line.replace("BUNDLE", shell(path.name)).replace("SHA256", digest))


WRONG = [
    "quaver measure {fresh}",
    "quaver compare {study} {fresh}",
    "quaver compare {fresh} {study}",
    "quaver gold {study} --field 'Große Partei'",
    "quaver plan {fresh}",
    "quaver report {table}",
    "quaver accept {fresh}",
]
"""What goes wrong, and says what to do."""


@pytest.mark.long
@pytest.mark.parametrize("wrong", WRONG)
def test_what_an_error_says_to_do_runs(wrong, walked):
    fresh = walked.folder / "noch nicht gefragt"
    if fresh.exists():
        shutil.rmtree(fresh)
    shutil.copytree(walked.folder / CHECK, fresh)
    for path in (*fresh.glob("responses.db*"), *fresh.glob("gold/*")):
        path.unlink()
    names = {"fresh": shell(fresh.name), "study": shell(CHECK), "table": shell(FILE)}
    shown, code = walked.type(wrong.format(**names))
    assert code == 2, shown
    for line in commands(shown):
        more = " --function label=annotate:label" if line.startswith("quaver run") else ""
        if line.startswith("quaver check") and "--function" not in line:  # of the bundled model
            more = " --n 6 --prompts 1 --repeats 1 --to small"
        walked.succeed(line + more)
    assert commands(shown) or "--function label=MODULE:FUNCTION" in shown or "Große" in shown, shown
