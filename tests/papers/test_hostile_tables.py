"""Hostile names and texts come out of every table as text, in every format."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.hostile import annotate, write_hostile

from quaver import Study
from quaver.papers import table, tables

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("hostile") / "study"
    folder.mkdir()
    names = write_hostile(folder)
    study = Study.open(folder / "study.yaml", functions=dict.fromkeys(names, annotate))
    study.run()
    return study


@pytest.mark.parametrize("name", tables())
def test_no_text_breaks_a_table(study: Study, name: str) -> None:
    made = table(study, name)
    rows = list(csv.reader(io.StringIO(made.as_("csv"), newline="")))
    assert len({len(row) for row in rows}) == 1
    assert [one for row in rows for one in row if _FORMULA.match(one) and not _NUMBER.fullmatch(one)] == []
    shown = made.as_("markdown").splitlines()
    body = [line for line in shown if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in body} == {len(made.columns) + 1}
    assert not [line for line in shown if "<" in line]
    latex = made.as_("latex")
    check_tabulars(latex)
    assert r"\input" not in latex
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", latex + made.as_("markdown")
    )


def check_tabulars(latex: str) -> None:
    """Every line of a tabular has as many cells as it has columns."""
    found = re.findall(r"\\begin{tabular}{((?:[lr]|p{\d+pt})+)}\n(.*?)\\end{tabular}", latex, re.DOTALL)
    assert len(found) == latex.count(r"\begin{tabular}") > 0
    for kinds, body in found:
        columns = len(re.findall(r"[lr]|p{\d+pt}", kinds))
        rows = [line for line in body.splitlines() if line.endswith(r" \\") and "multicolumn" not in line]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {columns - 1}


KNOWN = re.compile(r"[\x20-\x7e\n\u00a1-\u017f–“”‘’]*")
"""What pdfLaTeX's own fonts and input encoding know."""


@pytest.mark.long
def test_every_heading_and_note_is_latex(study: Study) -> None:
    """What the tables say themselves: environments that end, braces in pairs, no sign that pdfLaTeX lacks."""
    for name in tables():
        made = table(study, name)
        latex = replace(made, table=replace(made.table, rows=())).as_("latex")
        assert KNOWN.fullmatch(latex), (name, set(KNOWN.sub("", latex)))
        opened = re.findall(r"\\(begin|end){(\w+)\*?}", latex)
        assert [kind for way, kind in opened if way == "begin"].count("table") == 1
        signs = re.sub(r"\\\\|\\[{}$]", "", latex)
        assert signs.count("{") == signs.count("}")
        assert signs.count("$") % 2 == 0
        check_tabulars(latex)


def test_some_of_them_have_rows(study: Study) -> None:
    for name in (
        "intra-stability",
        "inter-stability",
        "stability-views",
        "raw-answers",
        "prompts",
        "spreads",
    ):
        assert table(study, name).table.rows, name
    assert Path(study.folder).is_dir()
