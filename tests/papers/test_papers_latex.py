"""Every table as LaTeX, in one document that pdfLaTeX sets without an error or a line that sticks out."""

import re
import shutil
import subprocess

import pytest
from tests.papers import small

from quaver.papers import catalogue
from quaver.papers.paper_answers import answers_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed"),
]

HEAD = r"""\documentclass[10pt,twocolumn]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=1in]{geometry}
\usepackage{booktabs, graphicx}
\extrafloats{100}
\begin{document}
"""
STANDS_OUT = 12
"""Points that a line may stick out, which nobody sees."""
SLOW = ("mixed-model",)
"""What takes long to fit is laid out as the others are."""


def test_all_tables_in_one_document(tmp_path):
    parts = []
    for code in small.STUDIES:
        folder = tmp_path / code
        folder.mkdir()
        studies = small.run(code, folder)
        answers = answers_of(studies)
        for kind in (kind for kind in catalogue.TABLES.values() if kind.paper == code):
            if kind.name not in SLOW:
                made = kind.make(answers)
                shown = [made, *kind.printed(made)] if kind.layouts else [made]
                if kind.layouts:  # which are made without intervals that they do not show
                    alone = catalogue.printed(studies, kind.name)
                    assert [one.as_("csv") for one in alone] == [one.as_("csv") for one in shown[1:]]
                parts += [one.as_("latex") + r"\clearpage" for one in shown]
    (tmp_path / "all.tex").write_text(HEAD + "\n".join(parts) + "\n\\end{document}\n", encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert (tmp_path / "all.pdf").stat().st_size > 50_000
    wide = re.findall(r"Overfull \\hbox \((\d+)", done.stdout)
    assert [points for points in map(int, wide) if points > STANDS_OUT] == []
    assert "Float too large" not in done.stdout
