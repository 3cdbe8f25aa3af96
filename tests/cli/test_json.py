"""Commands with --json: standard output has the documented schema alone; with --log-json, so has the log."""

import io
import json
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import jsonschema
import pytest
from tests.cli.commands import FUNCTIONS

from quaver.cli.main import COMMANDS, main
from quaver.cli.sharing import document_schema

PAGE = Path(__file__).parents[2] / "docs" / "pipelines.md"
SAME = ("--function", "same=functions:same")
WORDS = {
    "check": "check texts.csv --gold stance --function functions:same --prompts 2 --to one --log-json",
    "label": "label texts.csv --check one --function functions:same",
    "run": "run one",
    "status": "status one",
    "variants": "variants one",
    "plan": "plan one",
    "measure": "measure one",
    "compare": "compare one --by variant",
    "report": "report one",
    "rescore": "rescore one",
    "gold": "gold one --n 6",
    "accept": "accept one",
    "paper": "paper one",
    "table": "table one prompts",
    "figure": "figure one",
    "export": "export one calls.csv",
    "bundle": "bundle one --out one.quaver.zip",
    "verify": "verify one.quaver.zip",
    "watch": "watch one",
    "init": "init stability new.yaml",
    "import": "import coded.csv --item id --coders anna,ben",
    "agreement": "agreement coded.csv --label anna --label ben",
}
"""Commands in an order in which each finds what it needs."""
ELSEWHERE = {"start", "view", "demo", "schema"}
"""What serves a page, loads a model, or prints JSON in any case."""
NO_MODEL = {"check", "label", "verify", "init", "import", "agreement"}


def run_here(folder, *words):
    """Run a command in this process: 22 of their own take minutes."""
    out, log = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(log):
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["quaver", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code or 0, out.getvalue(), log.getvalue()


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    sys.modules.pop("functions", None)
    (folder / "functions.py").write_text(FUNCTIONS)
    labels = [("positive", "I like"), ("negative", "I hate")]
    rows = [f"{n},{text} number {n},{label}" for n in range(10) for label, text in (labels[n % 2],)]
    (folder / "texts.csv").write_text("\n".join(["id,text,stance", *rows]))
    coded = [f"{n},positive,{('positive', 'negative')[n % 3 == 0]}" for n in range(10)]
    (folder / "coded.csv").write_text("\n".join(["id,anna,ben", *coded]))
    done = {}
    for name, words in WORDS.items():
        model = () if name in NO_MODEL else SAME
        done[name] = run_here(folder, *words.split(), *model, "--json")
    return done


def test_every_command_is_here():
    assert {*WORDS} | ELSEWHERE == {*COMMANDS}


@pytest.mark.parametrize("name", WORDS)
def test_standard_output_has_the_documented_schema(printed, name):
    status, out, log = printed[name]
    assert status == 0, log
    lines = out.splitlines()
    assert len(lines) == 1 or name in ("measure", "agreement")
    for line in lines:
        jsonschema.validate(json.loads(line), document_schema(name))


@pytest.mark.parametrize("name", [*COMMANDS])
def test_the_page_names_the_keys_of_the_schema(name):
    if name == "schema":
        return
    (row,) = re.findall(rf"^\| (?:`\w+`, )*`{name}`(?:, `\w+`)* \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    schema = document_schema(name)
    own = schema.get("anyOf", [schema])[0]
    assert {*re.findall(r"`(\w+)`", row)} <= {*own["properties"]}


def test_the_log_is_lines_of_json(printed):
    _, _, log = printed["check"]
    lines = [json.loads(line) for line in log.splitlines()]
    assert all({"time", "event"} <= line.keys() for line in lines)
    assert any("The report:" in line.get("message", "") for line in lines)


def test_an_error_is_a_line_of_the_log(tmp_path):
    status, out, log = run_here(tmp_path, "status", "nowhere.yaml", "--json", "--log-json")
    (line,) = map(json.loads, log.splitlines())
    assert (status, out) == (2, "")
    assert (line["event"], line["where"]) == ("error", "nowhere.yaml")


def test_the_verdict_is_that_of_the_words(printed):
    _, out, _ = printed["check"]
    (model,) = json.loads(out)["verdict"]["models"]
    assert model["kind"] in ("use", "cannot tell", "use one prompt only")
