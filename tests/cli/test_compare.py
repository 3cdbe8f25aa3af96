"""``quaver compare`` on the terminal and in CI."""

import pytest
from junitparser import JUnitXml
from tests.cli.commands import here
from tests.studies import STUDY
from tests.workflow_commands import commands_in

ITEMS = "id,text,truth\n" + "".join(f"i{n:02},text {n},positive\n" for n in range(60))
FUNCTIONS = """\
def model(text, prompt):
    return "negative" if "worse" in prompt and int(text.split()[1]) % 5 == 0 else "positive"
"""
VARIED = STUDY + "variants:\n  - {use: instructions, texts: {poorer: 'Any worse, positive?'}}\n"


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Types commands in a folder with a study that was run."""
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "study.yaml").write_text(VARIED)

    def run(*arguments):
        model = ("--function", "fake=functions:model")
        return here(tmp_path, *arguments, *model, monkeypatch=monkeypatch, capsys=capsys)

    assert run("run", "study.yaml").returncode == 0
    return run


def test_the_original_is_the_baseline_and_every_form_is_written(typed, tmp_path):
    done = typed(
        *("compare", "study.yaml", "--fail-if", "accuracy < 0"),
        *("--markdown", "comment.md", "--junit", "junit.xml"),
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "variant paraphrase=original" in done.stdout
    comment = (tmp_path / "comment.md").read_text(encoding="utf-8")
    assert comment.startswith("### Fails: accuracy")
    (suite,) = JUnitXml.fromstring((tmp_path / "junit.xml").read_bytes())
    assert suite.failures == 1


def test_a_file_that_cannot_be_written_is_one_error(typed):
    done = typed("compare", "study.yaml", "--markdown", "no/such/folder.md")
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)


def test_no_text_is_a_command_in_github_actions(typed, tmp_path, monkeypatch):
    items = ITEMS.replace("i05", "::error::i05").replace("i10", "##[warning]i10")
    (tmp_path / "items.csv").write_text(items)
    assert typed("run", "study.yaml").returncode == 0
    assert commands_in(typed("compare", "study.yaml").stdout)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert commands_in(typed("compare", "study.yaml").stdout) == []
    assert commands_in(typed("compare", "study.yaml", "--json").stdout) == []


def test_a_note_that_would_not_be_read_is_one_error(typed, tmp_path):
    note = ("--note", "Texts count as positive.")
    found = typed("compare", "study.yaml", *note)
    assert (found.returncode, "a function gets only the question" in found.stderr) == (2, True)
    written = (tmp_path / "study.noted.yaml").read_text(encoding="utf-8")
    assert "{{ instruction }} Texts count as positive.\\n{{ postfix }}" in written
    assert typed("compare", "study.yaml", "study.yaml", *note).returncode == 2
