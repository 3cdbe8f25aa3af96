"""Hostile names and texts come out of every table as text, in every format."""

import csv
import io
import re
from dataclasses import replace

import pytest
from tests.hostile import annotate, write_hostile

from quaver import Study
from quaver.papers import table, tables

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "study"
    folder.mkdir()
    names = write_hostile(folder)
    study = Study.open(folder / "study.yaml", functions=dict.fromkeys(names, annotate))
    study.run()
    return study


WITH_ROWS = ("intra-stability", "inter-stability", "stability-views", "prompts", "spreads")


@pytest.mark.parametrize("name", tables())
def test_no_text_breaks_a_table(study, name):
    made = table(study, name)
    assert made.table.rows or name not in WITH_ROWS
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


def check_tabulars(latex):
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
def test_every_heading_and_note_is_latex(study):
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


MEANT = ("strength", "paraphrase_temperature", "perturbation", "strategy", "treatment", "heat", "few-shot")
"""Columns and factors that tables look for, or that no formula can name: a study may call its own so."""


@pytest.mark.parametrize("name", MEANT)
def test_a_factor_and_a_group_may_have_a_name_that_tables_look_for(name, tmp_path):
    asked = []

    def label(text, prompt):
        asked.append(text)
        return "AB"[len(asked) * 7919 % 10 < 5]

    lines = [f"{at},text {at},{'AB'[at % 2]},g{at % 3}" for at in range(9)]
    (tmp_path / "items.csv").write_text("\n".join([f"id,text,gold,{name}", *lines]), encoding="utf-8")
    for kind in ("factor", "group"):
        groups, factor = (f"groups: ['{name}'], ", "wording") if kind == "group" else ("", f"'{name}'")
        study = tmp_path / f"{kind}.yaml"
        study.write_text(
            "task: {labels: [A, B]}\n"
            f"items: {{source: items.csv, id: id, text: '{{{{ text }}}}', gold: gold, {groups}sample: 9}}\n"
            "prompt: {instruction: Which side is it?, postfix: Answer A or B.}\n"
            f"variants: [{{use: instructions, factor: {factor}, texts: {{x: Left or right?}}}}]\n"
            "decoding: {at: {temperature: [0.2, 0.9], repeats: 2}}\n"
            "models: [{name: m, use: function}]\n",
            encoding="utf-8",
        )
        run = Study.open(study, functions={"m": label})
        run.run()
        for one in ("inter-stability", "inter-by-temperature", "strategies", "configurations"):
            table(run, one)
        terms = [row["term"] for row in table(run, "mixed-model").rows()]
        own = re.sub(r"\W", "_", name) if kind == "factor" else "wording"
        assert terms.count(f"{own}[x]") == 2
        assert any(str(term).startswith("temperature[0.9]") for term in terms)
