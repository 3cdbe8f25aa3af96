"""Hostile names and texts, from the study file to every place where they are shown or written."""

import csv
import json
import re

import polars as pl
import pytest
from tests.chromium import browser
from tests.cli.commands import here, of_a_study
from tests.hostile import ANSWERS, TEXTS, annotate, write_hostile

import quaver

__all__ = ["browser"]

COMMANDS = {
    "plan": ("plan", "study.yaml"),
    "variants": ("variants", "study.yaml"),
    "status": ("status", "study.yaml"),
    "status json": ("status", "study.yaml", "--json"),
    "rescore": ("rescore", "study.yaml"),
    "measure": ("measure", "study.yaml", "inter_pss", "compliance", "conclusions"),
    "measure json": ("measure", "study.yaml", "inter_pss", "--json"),
    "compare": ("compare", "study.yaml", "--by", "model", "--resamples", "100"),
    "compare json": ("compare", "study.yaml", "--by", "model", "--resamples", "100", "--json"),
    "gold forecast": ("gold", "study.yaml", "--n", "5", "--forecast"),
    "gold json": ("gold", "study.yaml", "--n", "5", "--coders", "<b>\x1b[31m", "--json"),
    "gold": ("gold", "study.yaml"),
    "export": ("export", "study.yaml", "\x1b[31mout.jsonl"),
    "report": ("report", "study.yaml", "--to", "elsewhere"),
    "bundle": ("bundle", "study.yaml", "--out", "whole.zip"),
    "bad name": ("measure", "study.yaml", "\x1b[31m<script>"),
    "bad file": ("plan", "\x1b[31mnone.yaml"),
}
COMMANDS |= {one[0]: one for one in of_a_study(COMMANDS.values())}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The study, run and reported, and its options."""
    folder = tmp_path_factory.mktemp("hostile") / "study"
    folder.mkdir()
    names = write_hostile(folder)
    study = quaver.Study.open(folder / "study.yaml", functions=dict.fromkeys(names, annotate))
    study.run()
    study.report()
    study.export(folder / "out.csv")
    return folder, with_functions(names, "annotate")


def with_functions(models, function):
    """The options of a command that give each model a function."""
    return [part for name in models for part in ("--function", f"{name}=tests.hostile:{function}")]


@pytest.mark.long
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_terminal_never_gets_control_characters(arguments, made, monkeypatch, capsys):
    folder, options = made
    if arguments[0] == "view":  # it asks nothing
        options = []
    done = here(folder, *arguments, *options, monkeypatch=monkeypatch, capsys=capsys)
    refused = [COMMANDS[name] for name in ("bad name", "bad file")]
    if arguments == COMMANDS["accept"]:  # 2 where no gold was drawn before
        assert done.returncode in (0, 2)
    else:
        assert done.returncode == (2 if arguments in refused else 0)
    shown = done.stdout + done.stderr
    assert len(shown) > 20
    assert {c for c in shown if not c.isprintable() and c != "\n"} == set()
    if "--json" in arguments:
        for line in done.stdout.splitlines():
            json.loads(line)


def test_errors_of_a_model_are_text_too(tmp_path, monkeypatch, capsys):
    options = with_functions(write_hostile(tmp_path), "broken")
    for command in ("run", "status"):
        done = here(tmp_path, command, "study.yaml", *options, monkeypatch=monkeypatch, capsys=capsys)
        assert {c for c in done.stdout + done.stderr if not c.isprintable() and c != "\n"} == set()
    assert {c for c in (tmp_path / "run.log").read_text() if not c.isprintable() and c != "\n"} == set()


@pytest.mark.long
def test_the_page_shows_it_and_runs_nothing(made, browser):
    page, said, asked = browser.new_page(), [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    uri = (made[0] / "report.html").as_uri()
    page.goto(uri)
    assert (said, asked) == ([], [uri])
    tags = page.evaluate(
        "[...new Set([...document.querySelectorAll('*')].map(e => e.tagName.toLowerCase()))]"
    )
    assert not set(tags) & {"img", "iframe", "object", "embed", "form", "textarea", "base", "link", "u"}
    assert page.locator("script").count() == 1  # the page's own, which its policy names by hash
    attributes = page.evaluate(
        "[...new Set([...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()))]"
    )
    assert [name for name in attributes if name.startswith("on")] == []
    linked = "[...document.querySelectorAll('[href]{}')].map(e => e.getAttribute('href'))"
    saved = page.evaluate(linked.format("[download]"))
    assert {re.match(r"data:([^;,]+);base64,", one)[1] for one in saved} <= {
        "application/gzip",
        "text/csv",
        "text/plain",
    }
    hrefs = page.evaluate(linked.format(":not([download])"))
    assert all(re.fullmatch(r"#[\w-]+|(figures|tables)/[a-z0-9-]+\.\w+|estimates\.csv", one) for one in hrefs)
    text = page.evaluate("document.documentElement.textContent")
    assert [c for c in set(text) if not c.isprintable() and c not in "\n\t\r\u00a0"] == []
    assert TEXTS[0] in text
    assert "{{ 7 * 7 }}" in text
    page.close()


def test_files_have_plain_names_and_stay_in_the_folder(made):
    folder = made[0]
    assert [path.name for path in folder.parent.iterdir()] == ["study"]
    for path in (*(folder / "figures").iterdir(), *(folder / "tables").iterdir()):
        assert re.fullmatch(r"[a-z0-9-]+\.(svg|png|pdf|csv)", path.name)
    assert len({path.stem for path in (folder / "figures").iterdir()}) > 10


def test_no_cell_of_any_csv_is_a_formula(made):
    files = [*made[0].glob("*.csv"), *(made[0] / "tables").glob("*.csv")]
    assert len(files) > 20
    for path in (path for path in files if path.name != "items.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        assert len({len(row) for row in rows}) == 1
        for cell in (cell for row in rows for cell in row if cell[:1] in set("=+-@\t\r\n＝")):
            float(cell or 0)


def test_data_keeps_every_character(made):
    with (made[0] / "out.csv").open(encoding="utf-8", newline="") as file:
        written = {row["output"] for row in csv.DictReader(file)}
    assert {text.removeprefix("'") for text in written} <= set(ANSWERS)
    labels = set(pl.read_parquet(made[0] / "annotations.parquet")["label"].drop_nulls())
    assert labels <= {"<b>a</b>", "=b()", "\x1b[1mc\u202e"}
    assert len(labels) > 1


LATEX = re.compile(
    r"\\(?:textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|char\d+|ldots|alpha|times)"
    r"|\\[&%$#_{}]|\\\\$"
)


@pytest.fixture(scope="module")
def paper(made):
    """What a paper takes from the study."""
    folder, options = made
    names = [one.rpartition("=")[0] for one in options[1::2]]
    return quaver.Study.open(folder / "study.yaml", functions=dict.fromkeys(names, annotate)).paper()


def test_latex_holds_no_command_of_a_text(paper):
    parts = re.findall(r"\\midrule\n(.*?)\n\\bottomrule", paper.table_as("latex"), re.DOTALL)
    assert any(r"\textless" in part for part in parts)
    for part in parts:
        plain = [LATEX.sub("", line) for line in part.splitlines()]
        assert len({line.count("&") for line in plain}) == 1
        assert [line for line in plain if set(line) & set("\\%#_~^`\x1b\u202e")] == []
        assert [
            line for line in plain if set(line) & set("␛␀␡⟨⟩\u200b")
        ] == []  # signs that pdfLaTeX knows not
        assert [line for line in plain if line.replace("$-$", "").count("$") % 2] == []


def test_markdown_holds_nothing_but_text(paper):
    lines = [line for line in paper.table_as("markdown").splitlines() if line.startswith("|")]
    assert any("&#60;" in line for line in lines)
    bare = [re.sub(r"\\[\\`*_\[\]|#~!$]", "", line) for line in lines]
    assert len({line.count("|") for line in bare}) == 1
    assert [line for line in bare if set(line) & set("<>`*_[]!\\\x1b\u202e")] == []
