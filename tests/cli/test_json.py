"""Commands with --json: one object on standard output, with the keys that the docs name."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.commands import FUNCTIONS, quaver

PAGE = Path(__file__).parents[2] / "docs" / "pipelines.md"
COMMANDS = {
    "check": [
        "check",
        "texts.csv",
        "--gold",
        "stance",
        "--function",
        "functions:same",
        "--prompts",
        "2",
        "--to",
        "one",
    ],
    "label": ["label", "texts.csv", "--check", "one", "--function", "functions:same"],
    "run": ["run", "one", "--function", "same=functions:same"],
    "status": ["status", "one", "--function", "same=functions:same"],
    "bundle": ["bundle", "one", "--out", "one.quaver.zip", "--function", "same=functions:same"],
    "verify": ["verify", "one.quaver.zip"],
}
"""Commands in an order in which each finds what it needs."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    (folder / "functions.py").write_text(FUNCTIONS)
    labels = [("positive", "I like"), ("negative", "I hate")]
    rows = [f"{n},{text} number {n},{label}" for n in range(10) for label, text in (labels[n % 2],)]
    (folder / "texts.csv").write_text("\n".join(["id,text,stance", *rows]))
    return {name: quaver(folder, *words, "--json") for name, words in COMMANDS.items()}


def documented(name):
    """The keys that the page names for a command."""
    (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {*re.findall(r"`(\w+)`", row)} - {"status"}


@pytest.mark.parametrize("name", COMMANDS)
def test_standard_output_is_one_object_with_the_documented_keys(printed, name):
    done = printed[name]
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert documented(name) <= json.loads(line).keys()


def test_the_verdict_is_that_of_the_words(printed):
    (model,) = json.loads(printed["check"].stdout)["verdict"]["models"]
    assert model["kind"] in ("use", "cannot tell", "use one prompt only")
    assert "The report:" in printed["check"].stderr
