"""The charts by themselves, as in a notebook, and the picture of the finding."""

import html
import re
import xml.etree.ElementTree as ET

import altair as alt
import polars as pl
import pytest

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.core.rows import SECTIONS
from quaver.report.charts.chart import MOST_ROWS
from quaver.report.charts.figures import charts, figures, plain_figure
from quaver.report.charts.forms import forest
from quaver.report.charts.own_charts import shares_shown
from quaver.report.charts.scores import score_chart
from quaver.report.charts.specification import finished
from quaver.report.charts.svg import inline_svg, svg_text
from quaver.report.estimate_index import Results
from quaver.report.findings.decision import recommendations
from quaver.report.findings.quality import quality
from quaver.report.page.html_page import write_report
from quaver.report.page_words import slug
from quaver.testing.recipes import plugins


@pytest.fixture(scope="module")
def results(study):
    return study.results()


def values(chart):
    """Every value that a chart was given to draw."""
    rows = chart["data"]["values"]
    return {row[key] for row in rows for key in ("value", "reference") if key in row}


def shares(results, width=720):
    """The chart of the labels' shares."""
    (figure,) = (one for one in figures(results) if one.name == "label-shares")
    return figure.draw(width=width)


def test_charts_in_a_notebook_are_altair_s(study):
    for chart in charts(Results(study.lock, study.annotations, study.estimates)).values():
        assert isinstance(chart, alt.TopLevelMixin)
        assert {"config", "title"} <= chart.to_dict(validate=False).keys()
        assert svg_text(chart).startswith("<svg")


def test_the_share_chart_draws_the_estimates_and_gold(results):
    shown = shares_shown(results)
    assert {one.cell["evaluator"] for one in shown} == {"first_label"}
    assert values(shares(results)) == {one.value for one in shown} | {0.5}


def test_a_measure_of_another_evaluator_is_drawn_too(study):
    cell = {"model": "tiny", "evaluator": "exact"}
    other = [Estimate("ece", 0.2, 0.1, 0.3, n=8, cell=cell), Estimate("accuracy", 0.7, n=8, cell=cell)]
    some = {
        one.measure: one for one in figures(Results(study.lock, study.annotations, study.estimates + other))
    }
    assert list(some["ece"].estimates) == other[:1]
    assert other[1] not in some["accuracy"].estimates  # the first evaluator's stand for themselves


def test_references_are_drawn(results):
    assert 0.8 in values(score_chart(results.main("inter_pss"), results))
    assert values(score_chart(results.main("accuracy"), results)) == {0.4876543, 0.5}


def test_nothing_to_draw_is_none(results):
    assert score_chart(results.main("intra_pss"), results) is None


def test_of_too_many_rows_the_ends_are_drawn(results):
    some = [Estimate("x", float(n), cell={"k": str(n)}) for n in range(400)]
    (figure,) = plain_figure("x", Results(results.lock, results.annotations, some))
    assert values(figure.draw()) == {
        float(n) for n in [*range(MOST_ROWS // 2), *range(400 - MOST_ROWS // 2, 400)]
    }


def test_svg_has_words_and_the_page_s_colours(results):
    svg = inline_svg(svg_text(finished(shares(results), width=720)), "one", 'say "<so>"', 720)
    root = ET.fromstring(svg)
    assert root.attrib["aria-label"] == 'say "<so>"'
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert all(one.startswith("one-") for one in ids)
    assert "var(--ink)" in svg
    assert "#1b1b1b" not in svg


def test_estimates_of_different_cells_are_headed_by_what_they_hold_fixed(results):
    some = [
        Estimate("inter_pss", 0.1, cell={"decoding": "greedy"}),
        Estimate("inter_pss", 0.2, cell={"decoding": "greedy", "format": "names"}),
        Estimate("inter_pss", 0.3, cell={"decoding": "greedy", "format": "letters"}),
        Estimate("inter_pss", 0.4, cell={"decoding": "greedy", "paraphrase": "plain"}),
    ]
    picture = ET.fromstring(svg_text(score_chart(some, results)))
    texts = {one.text for one in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"over all", "within one format", "within one paraphrase", "names", "letters", "plain"} <= texts


def test_of_hundreds_of_variants_as_many_are_drawn_as_there_is_room_for(make):
    paraphrases = [f"w{n:02d}" for n in range(60)]
    study = make(paraphrases=paraphrases, items=2, repeats=1, models=("one", "two"), evaluators=("exact",))
    shown = figures(study.results())
    (shares,) = (one for one in shown if one.name == "label-shares")
    assert len({(one.cell["model"], one.cell["variant"]) for one in shares.estimates}) == MOST_ROWS
    assert f"of {3 * 2 * 120} shares are drawn" in shares.subtitle
    (factors,) = (one for one in shown if one.name == "factors")
    drawn = values(factors.draw(width=500))
    assert drawn <= {one.value for one in factors.estimates}
    assert "the lowest and the highest" in factors.subtitle


def test_a_shortened_name_has_the_whole_of_it_behind_it():
    long = "a paraphrase with a name that goes on and on, far beyond the room that it has beside its row"
    some = [{"value": 0.5, "row": long}, {"value": 0.25, "row": "short"}]
    picture = svg_text(finished(forest(some, "share", width=344), width=344))
    root = ET.fromstring(inline_svg(picture, "one", "words", 344))
    names = {"".join(text.itertext()): text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    (whole,) = (text.find("{*}title") for text in names.values() if text.find("{*}title") is not None)
    assert whole.text == long
    assert names["short"].find("{*}title") is None


def test_charts_call_factors_by_their_words(make):
    study = make(items=24)
    names = {"paraphrase": "option_order", "format": "factor_output"}
    for variant in study.lock["variants"]:
        variant["factors"] = {names[factor]: level for factor, level in variant["factors"].items()}
    study.annotations = study.annotations.rename(names)
    difference = "factor_effects_accuracy_difference"
    cell = {"factor": "factor_output", "level": "names"}
    study.estimates += [Estimate(difference, 0.1, 0.05, 0.2, cell=cell)]
    study.estimates += [Estimate("compliance", 0.5, 0.4, 0.6, cell=cell | {"option_order": "plain"})]
    shown = ""
    for one in figures(study.results()):
        shown += f"{one.title} {one.subtitle} {one.alternative} {svg_text(one.chart(500))}"
    assert "output" in shown
    assert "option order" in shown
    assert not re.search("factor_output|option_order", shown)


def words(path, section=""):
    """The page's text, or that of one of its sections."""
    body = path.read_text(encoding="utf-8").partition("<body>")[2]
    if section:
        body = body.partition(f'<section id="{section}">')[2].partition("</section>")[0]
        assert body
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body)))


def judged(study):
    """What is wrong with the answers, and why what is recommended."""
    found = study.moved()
    return (*(one.measure for one in quality(found).issues), *(one.reason for one in recommendations(found)))


def is_missing(path, section):
    """Whether a section says that something is missing."""
    body = path.read_text(encoding="utf-8").partition(f'<section id="{section}">')[2]
    return 'class="missing"' in body.partition("</section>")[0]


def test_no_answers_at_all(make, tmp_path):
    study = make()
    study.annotations = study.annotations.clear()
    study.estimates = [Estimate("inter_pss", None, reason="no annotations")]
    path = write_report(tmp_path, **study.inputs())
    assert judged(study) == ("no answers",)
    assert is_missing(path, "answers")
    assert "no annotations" in words(path, "unmeasured")
    assert list((tmp_path / "figures").iterdir()) == []


def test_an_empty_frame_without_columns(make, tmp_path):
    study = make()
    study.annotations, study.estimates = pl.DataFrame(), []
    path = write_report(tmp_path, **study.inputs())
    assert "no estimate" in words(path, "unmeasured")
    assert all(is_missing(path, section) for section in ("stability", "accuracy", "answers"))


def test_estimates_of_different_cells_and_no_interval(make, tmp_path):
    study = make(items=2, repeats=1)
    study.estimates += [
        Estimate("odd", 0.25, cell={}),
        Estimate("odd", float("nan"), 0.0, 1.0, cell={"party": "z"}),
        Estimate("odd", 0.75, float("-inf"), 1.0, cell={"party": "q"}),
        Estimate("odd", 0.5, cell={"party": "x"}),
        Estimate("odd", 0.0, 0.0, 0.0, cell={"party": "y", "paraphrase": "plain"}),
    ]
    text = words(write_report(tmp_path, **study.inputs()))
    assert "0.25" in text
    assert "not a finite" in text
    assert "is not finite" in text


_WIDTHS = (344, 720)
_LOCK = {
    "study": {"name": "Votes", "seed": 1},
    "labels": {"labels": [{"code": "a", "name": "Alpha"}, {"code": "b", "name": "Beta"}], "level": "nominal"},
    "items": {"n": 2, "gold": {"a": 1, "b": 1}},
    "variants": [
        {"id": f"tone={tone}", "factors": {"tone": tone}, "covariates": {}} for tone in ("plain", "polite")
    ],
    "models": {"tiny": {}, "large": {}},
    "evaluators": {"exact": "The rule."},
}


def results_of(some):
    """A study of two labels, two models and two tones, with these estimates."""
    return Results(_LOCK, pl.DataFrame(), some)


@pytest.fixture(params=plugins("charts"))
def chart(request):
    return registry.load("charts", request.param)


def estimates(value, **cell):
    """An estimate of each registered measure for two models, or none of them with a value."""
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    reason = "no variation" if value is None else None
    return [
        Estimate(name, value, low, high, reason=reason, n=9, cell={"model": model, **cell})
        for name in registry.names("measures")
        for model in ("tiny", "large")
    ]


def test_a_study_without_its_estimates_has_no_figure_of_it(chart):
    assert list(chart(results_of([]))) == []
    assert list(chart(results_of([Estimate("another", 0.5, 0.4, 0.6, cell={"model": "tiny"})]))) == []


@pytest.mark.parametrize("cell", [{}, {"variant": "tone=plain"}, {"variant": "<b>\x00\u202e</b> " * 20}])
def test_what_it_makes_of_estimates_can_be_drawn(chart, cell):
    some = estimates(0.4, **cell)
    before = repr(some)
    for figure in chart(results_of(some)):
        assert figure.section in SECTIONS
        assert figure.name in ("", slug(figure.name))
        assert figure.title.strip()
        assert figure.estimates
        for width in _WIDTHS:
            assert svg_text(figure.chart(width)).startswith("<svg")
        assert figure.chart(_WIDTHS[0], titled=True)["title"]
    assert repr(some) == before, "no estimate is changed"
    for figure in chart(results_of(estimates(None, **cell))):
        assert svg_text(figure.chart(_WIDTHS[0]))
