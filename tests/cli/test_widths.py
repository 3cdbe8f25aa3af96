"""Every command on terminals of 80 and 60 columns: no word or number is broken, no line is too long."""

import re
import shutil
import sys

import pytest
from tests.cli.commands import FUNCTIONS, here

from quaver.cli import console
from quaver.cli.main import COMMANDS, main

STUDY = """\
name: the tone of some remarks
task: {labels: [positive, negative, "neither of the two"]}
items: {source: remarks.csv, id: id, text: "{{ text }}", gold: truth, groups: [newspaper]}
prompt: {instruction: Does the author of this remark like what it is about?}
variants:
  - {use: instructions, texts: {curt: "Positive, negative, or neither of the two", plain: "What is it?"}}
  - {use: label_order, orders: reversed}
models: [{name: a-model-with-a-long-name, use: function}]
repeats: 2
"""
MODEL = ("--function", "a-model-with-a-long-name=functions:moved")
MOVED = """
def moved(text, prompt):
    if "or neither" in prompt and "3" in text:
        return "neither of the two"
    return "positive" if "like" in text else "negative"
"""

CHECK = ("check", "remarks.csv", "--function", "functions:moved", "--n", "20", "--to", "checked")
AFTER_ANOTHER = [
    ("gold", "study.yaml", "--n", "20"),
    ("bundle", "study.yaml", "--out", "study.zip"),
    ("export", "study.yaml", "calls.csv"),
    ("watch", "study.yaml", "--prompts", "2", *MODEL),
    CHECK,
]
"""What makes something, once; each is shown, too."""

SHOWN = [
    *((name, "--help") for name in COMMANDS),
    ("--help",),
    ("help", "--all"),
    ("variants", "study.yaml"),
    ("plan", "study.yaml", *MODEL),
    ("run", "study.yaml", *MODEL),
    ("status", "study.yaml"),
    ("measure", "study.yaml"),
    ("report", "study.yaml"),
    ("rescore", "study.yaml"),
    ("gold", "study.yaml"),
    ("accept", "study.yaml"),
    ("compare", "study.yaml", "--measure", "accuracy"),
    ("compare", "study.yaml", "study.zip", "--measure", "label_shares"),
    ("paper", "study.yaml"),
    ("table", "study.yaml"),
    ("table", "study.yaml", "factor-levels"),
    ("figure", "study.yaml"),
    ("verify", "study.zip"),
    ("agreement", "ratings.csv", "--item", "id", "--label", "label", "--coder", "who"),
    ("init", "--list"),
    ("import", "ratings.csv", "imported", "--label", "label"),
    CHECK,
    ("label", "remarks.csv", "--function", "functions:moved", "--check", "checked"),
]

WRONG = [
    ("measure", "study.yml"),
    ("measure", "remarks.csv"),
    ("measure", "study.yaml", "acuracy"),
    ("plan", "study.yaml"),
    ("gold", "study.yaml", "--n", "1"),
    ("check", "remarks.csv", "--gold", "turth"),
    ("check", "remarks.csv", "--nonsense"),
    ("compare", "study.yaml", "remarks.csv"),
    ("import", "remarks.csv"),
    ("verify", "remarks.csv"),
]


def rows():
    yield "id,text,truth,newspaper"
    for n in range(40):
        said, truth = (("I like it", "positive"), ("I cannot stand it", "negative"))[n % 2]
        yield f"remark-{n:03},{said} for the {n}th time.,{truth},The Daily {'ab'[n % 3 > 0]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("widths")
    (made / "study.yaml").write_text(STUDY)
    (made / "functions.py").write_text(FUNCTIONS + MOVED)
    (made / "remarks.csv").write_text("\n".join(rows()))
    (made / "ratings.csv").write_text(
        "id,who,label\n"
        + "\n".join(
            f"{n},{who},{'ab'[n % (2 + at) > 0]}"
            for n in range(30)
            for at, who in enumerate(("Ada Lovelace", "Ben"))
        )
    )
    for words in (("run", "study.yaml", *MODEL), *AFTER_ANOTHER):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(made)
            patch.delitem(sys.modules, "functions", raising=False)  # that of another folder
            patch.setattr("sys.argv", ["quaver", *words])
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code, words
    return made


@pytest.fixture
def printed(folder, monkeypatch, capsys):
    """What a command prints on a terminal of a width."""

    def run(width, words):
        monkeypatch.setenv("COLUMNS", str(width))
        for screen in (console.screen, console.errors):
            monkeypatch.setattr(screen, "_width", width)
            monkeypatch.setattr(screen, "_force_terminal", True)
        for name in ("imported", "begun"):
            shutil.rmtree(folder / name, ignore_errors=True)
        (folder / "begun").mkdir()
        done = here(folder, *words, monkeypatch=monkeypatch, capsys=capsys)
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout + done.stderr).replace("\r", "\n")
        return [line.rstrip() for line in shown.split("\n") if not line.rstrip().endswith("…")]

    return run


def words_of(lines):
    return {word.strip(",\\") for line in lines for word in line.split()} - {""}


@pytest.mark.parametrize("words", SHOWN + AFTER_ANOTHER[:1] + WRONG, ids=" ".join)
def test_no_line_is_too_long_and_no_word_is_broken(words, printed):
    whole = words_of(printed(1000, words))
    for width in (80, 60):
        lines = printed(width, words)
        assert [line for line in lines if len(line) > width and len(line.split()) > 1] == []
        assert words_of(lines) <= whole
