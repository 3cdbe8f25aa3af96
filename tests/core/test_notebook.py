"""What a notebook shows: tables in which nothing untrusted is markup, and charts that are Altair's."""

from __future__ import annotations

from pathlib import Path

import altair as alt
from tests.studies import STUDY, written

import quaver
from quaver.comparison.paired_comparison import compare
from quaver.core.notebook import Estimates
from quaver.core.records import Estimate


def study(folder: Path, name: str) -> quaver.Study:
    written(folder, f"name: {name}\n{STUDY}")
    opened = quaver.Study.open(folder, functions={"fake": lambda text, prompt: "positive"})
    opened.run()
    return opened


def test_estimates_plans_and_comparisons_are_tables(tmp_path: Path) -> None:
    one, other = study(tmp_path / "a", "'<b>before</b>'"), study(tmp_path / "b", "after")
    found = one.measure("accuracy")
    assert "<td>accuracy</td>" in found._repr_html_()
    assert "<td>0.500</td>" in found._repr_html_()
    assert "3 items × 1 variant ×" in one.plan()._repr_html_()
    compared = compare(one, other)._repr_html_()
    assert "<th>&lt;b&gt;before&lt;/b&gt;</th><th>after</th>" in compared
    assert "<td>+0.000</td>" in compared
    assert "inter_pss is undefined" in compared
    assert "accuracy &lt; 0: holds" in compare(one, other, fail_if=["accuracy < 0"])._repr_html_()
    assert repr(other).startswith("<Study 'after'")


def test_untrusted_text_stays_text_and_long_lists_are_cut() -> None:
    shown = Estimates([Estimate("m", None, reason="<script>", cell={"<i>": "&"})] * 201)._repr_html_()
    assert "<script>" not in shown
    assert "<i>" not in shown
    assert shown.count("undefined") == 200
    assert "1 more" in shown
    alone = Estimate("m", 0.5, cell={"<i>": "&"})._repr_html_()
    assert alone == "<p>m (&lt;i&gt; &amp;): 0.500, 0 items</p>"


def test_every_chart_is_an_altair_object(tmp_path: Path) -> None:
    one = study(tmp_path / "a", "a")
    one.report()
    charts = one.charts(width=400)
    assert {path.stem for path in (one.folder / "figures").glob("*.svg")} == set(charts)
    assert charts
    assert all(isinstance(chart, alt.TopLevelMixin) for chart in charts.values())
