"""Whatever names and texts hold, they come out as text: in the page, in pictures, in the CSV, in paths."""

import csv
import xml.etree.ElementTree as ET

import pytest
from tests.report.every_chart import every_chart
from tests.report.page.visit import Visit

from quaver.core.records import Estimate
from quaver.core.spreadsheet import safe_cell
from quaver.report.page.html_page import write_report
from quaver.report.tables.written_tables import write_estimates

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }}{% for x in y %}",
    "../../../etc/passwd",
    '=HYPERLINK("http://example.invalid")',
    "+1+cmd|' /C calc'!A0",
    "a\x00b\x1b[31m\u202e\n\ttab",
    "]]></svg><svg onload=alert(3)>",
    'datum.y + alert(4) "\\',
    "${alert(5)}",
    "javascript:alert(6)",
)


def hostile_study(make):
    study = make(
        name="</title></style><script>alert(0)</script>",
        paraphrases=HOSTILE,
        layouts=("{{ lock }}", "</pre><script>alert(7)</script>"),
        evaluators=("<b>one</b>", "=two"),
        models=("<svg onload=alert(8)>",),
        label_names=("<i>A</i>", "=B()"),
        answer=lambda item, paraphrase, layout, repeat: "b" if layout.startswith("{{") else "a",
        items=2,
        repeats=1,
    )
    for variant in study.lock["variants"]:
        variant["example"] = [["user", text] for text in HOSTILE]
        variant["answers"] = {"a": "</p><script>alert(9)</script>", "b": "{{ 1 }}"}
    study.lock["evaluators"] = dict.fromkeys(("<b>one</b>", "=two"), "Rule: <script>alert(10)</script>")
    study.lock["models"] = {"<svg onload=alert(8)>": {"<k>": "</dd><script>alert(11)</script>"}}
    study.estimates += [
        Estimate(
            "../<b>measure</b>", 0.25, n=1, cell={"=cell": "@x"}, warnings=("<script>alert(12)</script>",)
        ),
        Estimate("={evil}", None, n=1, reason="<script>alert(13)</script>"),
    ]
    return study


@pytest.fixture(scope="module")
def report(make, tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("hostile") / "study", **hostile_study(make).inputs())


ACTIVE = "script:not(body > script), img, iframe, object, [onload], [onerror], i, u"
OWN = "body > script"
"""The page's own script, which its policy names by hash."""
INSIDE = tuple(
    f"data:{kind};base64," for kind in ("application/gzip", "text/csv", "text/plain", "image/svg+xml")
)


def test_nothing_runs_and_nothing_is_asked_for(browser, report):
    with Visit(browser, report) as visit:
        page = visit.page
        assert page.locator(OWN).count() == 1
        assert page.locator(ACTIVE).count() == 0
        assert page.locator("b:not(figcaption b, li > b, .value b)").count() == 0
        links = "[...document.querySelectorAll('[href]')].map(e => [e.getAttribute('href'), e.download])"
        for href, saved in page.evaluate(links):
            assert href.startswith("#") or (saved and href.startswith(INSIDE))
        assert (visit.said, visit.asked) == ([], [report.as_uri()])


def test_texts_are_shown_as_they_are(browser, report):
    with Visit(browser, report) as visit:
        shown = visit.page.locator("#prompts details details").first.locator("pre").all_text_contents()
        assert "</title></style><script>alert(0)</script>" in visit.page.title()
    for text, seen in zip(HOSTILE, shown, strict=True):
        assert seen == text.replace("\x00", "␀").replace("\x1b", "␛").replace("\u202e", "⟨U+202E⟩")


def pictures_are_inert(folder):
    """Well-formed pictures that hold nothing active."""
    for path in (folder / "figures").glob("*.svg"):
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(path.read_bytes()).iter()}
        if tags & {"script", "image", "foreignObject", "a"}:
            return False
    return True


def test_pictures_are_well_formed_and_inert(report):
    assert pictures_are_inert(report.parent)


@pytest.mark.parametrize("text", ["=1", "+x", "-x", "@x", "\tx", "\rx", "\nx", "-1-1", "+1+1", "--1", "＝1"])
def test_what_starts_a_formula_is_made_text(text):
    assert safe_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["-1", "+0.5", "-1e-9", "1=1", "a", "", "-.5", "-"])
def test_numbers_and_plain_text_stay(text):
    assert safe_cell(text) == text


def test_the_csv_keeps_every_digit(tmp_path):
    estimate = Estimate("alpha", 1 / 3, -2 / 3, 0.1 + 0.2, n=5, cell={"value": "x", "model": "m"})
    write_estimates([estimate], tmp_path / "e.csv")
    with (tmp_path / "e.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (float(row["value"]), float(row["low"]), float(row["high"])) == (1 / 3, -2 / 3, 0.1 + 0.2)
    assert (row["cell.value"], row["model"]) == ("x", "m")  # a cell's column never takes another's name


@pytest.mark.long
def test_hostile_labels_are_text_in_every_chart(browser, tmp_path):
    path = write_report(tmp_path, **every_chart(labels=HOSTILE[:4], resamples=20).inputs())
    with Visit(browser, path) as visit:
        assert visit.page.locator(ACTIVE).count() == 0
        assert visit.page.locator(OWN).count() == 1
        assert "&lt;script&gt;" in visit.page.locator("#figure-label-shares svg").first.inner_html()
        assert (visit.said, visit.asked) == ([], [path.as_uri()])
    assert pictures_are_inert(tmp_path)
