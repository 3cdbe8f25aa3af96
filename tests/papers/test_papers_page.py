"""The page of the papers: it is as generated, and every row's command gives something on a small study."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from tests.papers import small
from tests.samples import drawn
from typer.testing import CliRunner

from quaver.cli.main import app
from quaver.papers import catalogue

pytestmark = pytest.mark.long

_FILE = Path(__file__).parents[2] / "docs" / "papers_rows.py"


def _loaded():
    spec = importlib.util.spec_from_file_location("papers_rows", _FILE)
    made = importlib.util.module_from_spec(spec)
    sys.modules["papers_rows"] = made
    spec.loader.exec_module(made)
    return made


papers_rows = _loaded()


def test_the_page_is_as_generated():
    text = papers_rows.PAGE.read_text(encoding="utf-8")
    assert papers_rows.page(text) == text, "python docs/papers_rows.py"


def test_every_table_and_figure_has_a_row():
    commands = {code: [row.command for row in rows] for code, rows in papers_rows.ROWS.items()}
    for kind in catalogue.TABLES.values():
        assert any(f"table STUDY {kind.name}" in one for one in commands[kind.paper]), kind.name
        places = " ".join(row.where for row in papers_rows.ROWS[kind.paper])
        assert all(layout.number in places for layout in kind.layouts)
    for kind in catalogue.FIGURES.values():
        assert f"figure STUDY {kind.number}" in commands[kind.paper]


def test_what_is_as_printed_is_compared_by_a_test_that_there_is():
    used = {papers_rows.compared(code, row) for code, rows in papers_rows.ROWS.items() for row in rows}
    named = {f"{file}::{name}" for file, tests in papers_rows.COMPARED.items() for name in tests.values()}
    assert used - {""} == named
    for file, tests in papers_rows.COMPARED.items():
        text = (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
        assert all(f"def {name}(" in text for name in tests.values()), file
    for code, rows in papers_rows.ROWS.items():
        for row in rows:
            said = papers_rows.state(code, row)
            assert ("as printed" in said or "another interval" in said) <= bool(
                papers_rows.compared(code, row)
            )


_CELL = re.compile(r"(?<![\w.])\d+(\.\d+)?%?(?![\w.])")


@pytest.fixture(scope="module", params=small.STUDIES)
def study(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    small.run(request.param, folder)
    return folder / f"{request.param}.yaml"


@pytest.mark.long
def test_every_command_gives_something(study, monkeypatch):
    """A table has numbers, a figure is written, and nothing prints nothing: half of them each day."""
    monkeypatch.chdir(study.parent)
    seen = set()
    one = study.with_suffix(".first.yaml")
    for row in drawn(papers_rows.ROWS[study.stem], 2):
        words = row.command.replace("STUDY", str(study)).replace("ONE", str(one)).split()
        if not words:
            assert row.differs
            continue
        if row.command in seen:
            continue
        seen.add(row.command)
        done = CliRunner().invoke(app([words[0]]), words, env={"COLUMNS": "200"})
        assert done.exit_code == 0, (row.command, done.output, done.exception)
        assert done.output.strip(), row.command
        if words[0] == "figure":
            written = study.parent / done.output.split()[-1]
            assert len(re.findall("<path", written.read_text(encoding="utf-8"))) > 5, row.command
        elif words[0] == "table":
            body = [line for line in done.output.splitlines() if line.startswith("| ")][2:]
            assert body, row.command
            assert any(_CELL.search(line) or "Which side" in line for line in body), row.command
