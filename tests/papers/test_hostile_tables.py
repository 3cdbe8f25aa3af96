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
    lines = latex.partition(r"\toprule")[2].partition(r"\bottomrule")[0].splitlines()
    cells = [line for line in lines if line.endswith(r" \\")]
    assert len(cells) == len(made.table.rows) + 1
    assert {len(re.findall(r"(?<!\\)&", line)) for line in cells} == {len(made.columns) - 1}
    assert r"\input" not in latex
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", latex + made.as_("markdown")
    )


KNOWN = re.compile(r"[\x20-\x7e\n\u00a1-\u017f–“”‘’]*")
"""What pdfLaTeX's own fonts and input encoding know."""


def test_every_heading_and_note_is_latex(study: Study) -> None:
    """What the tables say themselves: environments that end, braces in pairs, no sign that pdfLaTeX lacks."""
    for name in tables():
        made = table(study, name)
        latex = replace(made, table=replace(made.table, rows=())).as_("latex")
        assert KNOWN.fullmatch(latex), (name, set(KNOWN.sub("", latex)))
        opened = re.findall(r"\\(begin|end){(\w+)}", latex)
        assert opened == [
            ("begin", "table"),
            ("begin", "tabular"),
            ("end", "tabular"),
            ("end", "table"),
        ]
        signs = re.sub(r"\\[{}$]", "", latex)
        assert signs.count("{") == signs.count("}")
        assert signs.count("$") % 2 == 0
        (kinds,) = re.findall(r"\\begin{tabular}{(\w+)}", latex)
        assert len(kinds) == len(made.columns)


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
