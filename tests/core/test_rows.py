"""What a notebook shows: tables in which nothing untrusted is markup, and charts that are Altair's."""

import sys
from types import ModuleType

import altair as alt
import polars as pl
from tests.studies import STUDY, written

import quaver
from quaver.comparison.paired_comparison import compare
from quaver.core.records import Estimate
from quaver.core.rows import Estimates, at_levels, by_level, having, levels_in


def study(folder, name):
    written(folder, f"name: {name}\n{STUDY}")
    opened = quaver.Study.open(folder, functions={"fake": lambda text, prompt: "positive"})
    opened.run()
    return opened


def test_estimates_plans_and_comparisons_are_tables(tmp_path):
    one, other = study(tmp_path / "a", "'<b>before</b>'"), study(tmp_path / "b", "after")
    found = one.measure("accuracy")
    assert "<td>accuracy</td>" in found._repr_html_()
    assert "<td>0.500</td>" in found._repr_html_()
    assert "3 items × 1 variant ×" in one.plan()._repr_html_()
    compared = compare(one, other)._repr_html_()
    assert compared.startswith("<p>3 items in both: &lt;b&gt;before&lt;/b&gt;, then after.</p>")
    assert "<td>0.000</td>" in compared
    assert "accuracy < 0: holds" in str(compare(one, other, fail_if=["accuracy < 0"]))
    assert repr(other).startswith("<Study 'after'")


def test_every_chart_is_an_altair_object(tmp_path):
    one = study(tmp_path / "a", "a")
    one.report()
    charts = one.charts(width=400)
    assert {path.stem for path in (one.folder / "figures").glob("*.svg")} == set(charts)
    assert charts
    assert all(isinstance(chart, alt.TopLevelMixin) for chart in charts.values())
    # They draw without a network unless a renderer is chosen.
    for chart in charts.values():
        assert list(chart._repr_mimebundle_()) == ["image/svg+xml"]
        assert "<script" not in chart.properties(title="mine")._repr_mimebundle_()["image/svg+xml"]
    with alt.renderers.enable("json"):
        assert "image/svg+xml" not in str(next(iter(charts.values()))._repr_mimebundle_())


def test_everything_that_holds_rows_becomes_a_frame(tmp_path):
    one = study(tmp_path / "a", "a")
    compared = compare(one, study(tmp_path / "b", "b"))
    held = {
        "estimates": (one.estimates(), len(one.estimates())),
        "a measure's estimates": (quaver.measures.accuracy(one.annotations()), 1),
        "agreement": (agreement(), 5),
        "a plan": (one.plan(), 1),
        "a status": (one.status(), 1),
        "quality": (one.quality(), len(one.quality().issues)),
        "variants": (one.variants, 1),
        "a verdict": (one.verdict(), 1),
        "a comparison": (compared, len(compared.differences)),
    }
    for name, (result, height) in held.items():
        frame = result.to_polars()
        assert isinstance(frame, pl.DataFrame), name
        assert frame.height == height == len(result.rows()), name
        assert result.to_pandas().shape == frame.shape, name
        assert frame.is_empty() or list(result.to_pandas().columns) == frame.columns, name
        assert len(repr(result).splitlines()) <= 20, name
        assert len(repr(result)) < 4000, name
    assert one.estimates().to_polars()["value"].to_list() == [found.value for found in one.estimates()]


def agreement():
    frame = pl.DataFrame({"id": [1, 1, 2, 2], "coder": ["p", "q"] * 2, "code": list("aabb")})
    return quaver.measure_agreement(frame, item="id", rater="coder", label="code")


def test_estimates_are_looked_up_by_the_levels_of_their_cells():
    whole, first, second = (
        Estimate("accuracy", value, cell=cell)
        for value, cell in ((0.9, {"model": "m"}), (0.8, {"variant": "a"}), (0.7, {"variant": "b"}))
    )
    every = [whole, first, second]
    assert at_levels(every, variant="b") == [second]
    assert at_levels(every, variant=(None, "a")) == [whole, first]
    assert at_levels(every, variant="a", model="m") == []
    assert having(every, "variant") == [first, second]
    assert levels_in(every, "variant") == ["a", "b"]
    assert by_level([*every, Estimate("f1", 0.5, cell={"variant": "a"})], "variant")["a"].measure == "f1"


def test_untrusted_text_stays_text_and_long_lists_are_cut():
    shown = Estimates([Estimate("m", None, reason="<script>", cell={"<i>": "&"})] * 201)._repr_html_()
    assert "<script>" not in shown
    assert "<i>" not in shown
    assert shown.count("undefined") == 200
    assert "1 more" in shown
    alone = Estimate("m", 0.5, cell={"<i>": "&"})._repr_html_()
    assert alone == "<p>m (&lt;i&gt; &amp;): 0.500, 0 items</p>"
    many = Estimates(Estimate("accuracy", n / 100, n=9) for n in range(100))
    assert len(repr(many).splitlines()) == 11
    assert "90 more" in repr(many)
    assert repr(Estimates()) == "no estimates"


class Cell:
    """What IPython shows below a cell."""

    kernel = object()

    def __init__(self):
        self.shown = []

    def display(self, bundle, *, raw, display_id):
        assert raw
        assert display_id
        self.shown.append(bundle)
        return self

    def update(self, bundle, *, raw):
        assert raw
        self.shown.append(bundle)


def test_a_run_shows_its_progress_in_a_notebook_alone(tmp_path, monkeypatch, capsys):
    study(tmp_path / "quiet", "quiet")
    cell = Cell()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    monkeypatch.setattr(ipython, "get_ipython", lambda: cell, raising=False)
    monkeypatch.setattr(display, "display", cell.display, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    study(tmp_path / "a", "a")
    assert cell.shown[-1]["text/plain"].startswith("3 of 3 calls")
    assert capsys.readouterr() == ("", "")
