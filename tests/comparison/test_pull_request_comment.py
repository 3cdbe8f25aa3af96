"""The Markdown of a comparison, read back by GitHub's own renderer."""

from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compared import HOSTILE, LOSS, comparison, difference

from quaver.comparison.comparison_result import code, markdown
from quaver.core.number_format import visible_line
from quaver.core.records import Estimate

OWN = {"h3", "p", "code", "table", "thead", "tbody", "tr", "th", "td", "strong", "em"}
OWN |= {"ul", "li", "details", "summary", "sub"}
"""The elements that a comment is made of."""


HARMLESS = comparison(
    [difference(-0.08, -0.02, variant="x"), difference(-0.01, 0.02, variant="other")],
    [{"item": "x", "variant": "x", "before": "x", "after": "x", "gold": "x", "change": "loss"}],
    before="x",
    after="x",
    fail_if="accuracy < 0",
)


class _Page(HTMLParser):
    """What a rendered comment consists of."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags = []
        self.attributes = []
        self.tables = []
        self.codes = []
        self.text = ""
        self._open = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "code":
            self.codes.append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        self.text += data
        if "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += data
        if self._open and self._open[-1] == "code":
            self.codes[-1] += data


def rendered(text):
    """A comment as GitHub renders it, raw HTML included."""
    return _Page(cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE))


def test_the_verdict_the_table_and_the_flips_are_there():
    page = rendered(markdown(LOSS))
    assert page.tags[0] == "h3"
    assert page.text.startswith("Fails: accuracy")
    differences, flips = page.tables
    assert [row[0] for row in differences[1:]] == ["accuracy", "f1", "compliance"]
    assert differences[1][-1].startswith("a loss of 5 points")
    assert flips[1] == ["i1", "yes", "no label", "yes"]
    assert set(page.tags) <= OWN


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_breaks_out(text):
    text = text.replace("\ud800", "")  # no frame holds half a surrogate pair
    found = comparison(
        [difference(-0.08, -0.02, variant=text), difference(-0.01, 0.02, variant="other")],
        [{"item": text, "variant": text, "before": text, "after": text, "gold": text, "change": "loss"}],
        before=text,
        after=text,
        fail_if="accuracy < 0",
    )
    page = rendered(markdown(found))
    plain = rendered(markdown(HARMLESS))
    assert page.tags == plain.tags
    assert set(page.attributes) <= {"align"}
    shown = visible_line(text, 80)
    assert page.codes.count(shown) >= 6
    assert page.tables[1][1] == [shown] * 4


@settings(max_examples=60)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_read_back_as_it_was(one, other):
    cells = [code(one), code(other), code("end")]
    escaped = " | ".join(cell.replace("|", "\\|") for cell in cells)
    page = rendered(f"| a | b | c |\n| --- | --- | --- |\n| {escaped} |\n")
    assert page.tables[0][1] == [visible_line(one, 80) or " ", visible_line(other, 80) or " ", "end"]
    assert rendered(f"# {code(one)} x").codes == [visible_line(one, 80) or " "]


def test_a_group_of_any_name_is_no_link_and_no_mention():
    one = Estimate("accuracy", 0.0, -0.2, 0.2, n=12, unit="@all www.example.com *x* #1")
    page = rendered(markdown(comparison([one])))
    assert "a" not in page.tags
    assert "em" not in page.tags
    assert "@all" not in page.text
    assert "#1" not in page.text


def test_a_comment_is_never_longer_than_github_takes():
    rows = [difference(-0.08, -0.02, variant=f"{'v' * 300}{number}") for number in range(500)]
    flips = [{"item": "i" * 300, "variant": "v", "before": "a", "after": "b"} for _ in range(5000)]
    assert len(markdown(comparison(rows, flips, fail_if="accuracy < 0"), flips=5000)) < 65_536
