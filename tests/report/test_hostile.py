"""Whatever names and texts hold, they come out as text: in the page, in pictures, in the CSV, in paths."""

import csv
import xml.etree.ElementTree as ET

import pytest
from tests.report.every_chart import every_chart

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


def opened_in_silence(browser, path):
    """A page in a browser, that has said nothing and asked for nothing but itself."""
    page = browser.new_page()
    said = []
    asked = []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert (said, asked) == ([], [path.as_uri()])
    return page


def test_nothing_runs_and_nothing_is_asked_for(browser, report):
    page = opened_in_silence(browser, report)
    own = "body > script"
    assert page.locator(own).count() == 1  # the page's own, which its policy names by hash
    foreign = "script:not(body > script), img, iframe, object, [onload], [onerror], i, u"
    assert page.locator(foreign).count() == 0
    assert page.locator("b:not(figcaption b, li > b, .value b)").count() == 0
    links = "[...document.querySelectorAll('[href]')].map(e => [e.getAttribute('href'), e.download])"
    for href, saved in page.evaluate(links):
        inside = (
            "data:application/gzip;base64,",
            "data:text/csv;base64,",
            "data:text/plain;base64,",
            "data:image/svg+xml;base64,",
        )
        assert href.startswith("#") or (saved and href.startswith(inside))
    page.close()


def test_texts_are_shown_as_they_are(browser, report):
    page = browser.new_page()
    page.goto(report.as_uri())
    shown = page.locator("#prompts details details").first.locator("pre").all_text_contents()
    for text, seen in zip(HOSTILE, shown, strict=True):
        assert seen == text.replace("\x00", "␀").replace("\x1b", "␛").replace("\u202e", "⟨U+202E⟩")
    assert "</title></style><script>alert(0)</script>" in page.title()
    page.close()


def test_pictures_are_well_formed_and_inert(report):
    for path in (report.parent / "figures").glob("*.svg"):
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(path.read_bytes()).iter()}
        assert not tags & {"script", "image", "foreignObject", "a"}


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
    page = opened_in_silence(browser, path)
    active = "script:not(body > script), img, iframe, object, [onload], [onerror], i, u"
    assert page.locator(active).count() == 0
    own = "body > script"
    assert page.locator(own).count() == 1  # the page's own, which its policy names by hash
    shown = page.locator("#figure-label-shares svg").first.inner_html()
    assert "&lt;script&gt;" in shown
    page.close()
    for one in (tmp_path / "figures").glob("*.svg"):
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(one.read_bytes()).iter()}
        assert not tags & {"script", "image", "foreignObject", "a"}
