"""Hostile texts, names and answers: they are text wherever the page shows them; nothing runs or loads."""

import csv
import io
from itertools import product

import pytest
from tests.hostile import ANSWERS, TEXTS
from tests.report.test_hostile import HOSTILE
from tests.view.page.conftest import Opened, collect, serving

pytestmark = pytest.mark.long

_TAGS = (
    "script",
    "img src=x",
    "svg",
    "iframe srcdoc=x",
    "body",
    "video src=x",
    "input autofocus",
    "details open",
)
_EVENTS = ("onload", "onerror", "onfocus", "ontoggle", "onclick", "onbeforetoggle", "onanimationstart")
_ENDS = ("", "</textarea>", "</title>", "</style>", "]]>", "--!>", "</pre>", "</script>")
_ADDRESSES = (
    "javascript:fetch('http://example.invalid/{n}')",
    "data:text/html,<script>fetch('http://example.invalid/{n}')</script>",
    "http://example.invalid/{n}",
    "//example.invalid/{n}",
    "file:///etc/passwd#{n}",
    "vbscript:msgbox({n})",
)


def made_hostile():
    """The lists of the suite, and more than two hundred others."""
    loud = [
        f'{end}<{tag} {event}="window.ran={n}">'
        for n, (tag, event, end) in enumerate(product(_TAGS, _EVENTS, _ENDS[:3]))
    ]
    links = [
        template.format(address.format(n=n))
        for n, (address, template) in enumerate(
            product(
                _ADDRESSES,
                ('<a href="{}">x</a>', '"><img src="{}">', "![x]({})", "url({})", '<base href="{}">'),
            )
        )
    ]
    odd = [f"{end}\u2028\u2029{{{{constructor.constructor('window.ran=1')()}}}}" for end in _ENDS]
    return [*TEXTS, *HOSTILE, *loud, *links, *odd]


HOSTILE_TEXTS = made_hostile()
STUDY = """\
name: "</title><script>window.ran=1</script>"
task:
  labels: [{code: "<b>a</b>", name: "<img src=x onerror=window.ran=2>"}, {code: "=b()", name: "b\\u202e"}]
items:
  source: items.csv
  id: id
  text: "{{ text }}"
  gold: truth
prompt:
  instruction: "<script>window.ran=3</script> Which?"
variants:
  - {use: instructions, texts: {"<svg onload=window.ran=4>": "]]></svg><b>Which?</b>"}, factor: "<u>how</u>"}
models:
  - {name: fake, use: function}
decoding:
  warm: {temperature: 1.0, logprobs: 3}
evaluators: [first_label, exact]
"""


def answer(text, prompt):
    """Answers with a label and something hostile."""
    return f"{text[: 2 * len(text) // 3]} <b>a</b> {ANSWERS[len(text) % len(ANSWERS)]}"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["id", "text", "truth"])
    for n, text in enumerate(HOSTILE_TEXTS):
        kept = text.replace("\x00", "")
        writer.writerow([f"{n} {kept[:60]}", kept, ("<b>a</b>", "=b()")[n % 2]])
    return collect(tmp_path_factory.mktemp("hostile"), STUDY, answer, file.getvalue())


@pytest.fixture(scope="module")
def address(hostile):
    with serving(hostile) as address:
        yield address


OWN = "li > b, .row-of > b, .flip-head > b, p > b"
FOREIGN = f"img, iframe, object, embed, video, base, b:not({OWN}), u, [onload], [onerror], [onfocus]"


def inert(view):
    """Nothing ran, and no element came out of a text."""
    assert view.page.evaluate("window.ran") is None
    assert view.page.locator(FOREIGN).count() == 0
    assert view.page.locator("script").count() == 1


def test_there_are_the_suites_texts_and_two_hundred_more():
    assert len(set(HOSTILE_TEXTS)) >= 200 + len(TEXTS) + len(HOSTILE)


def test_every_text_is_text_in_the_list_and_in_its_answer(browser, address):
    with Opened(browser, address, "#/answers") as view:
        page = view.page
        page.locator(".answer-row").first.click()
        page.locator(".panel h2").wait_for()
        page.locator("#facets button").first.wait_for()
        page.locator(".answer-row").first.focus()
        page.keyboard.press("Home")
        view.until("document.activeElement.dataset.at === '0'")
        seen = set()
        while len(seen) < 2 * len(HOSTILE_TEXTS):  # by the list's own keys, all of it comes into sight
            view.until("document.querySelector('.waiting-row, .panel[aria-busy]') === null")
            inert(view)
            rows = page.evaluate("[...document.querySelectorAll('.answer-row')].map(one => +one.dataset.at)")
            seen.update(rows)
            at = page.evaluate("document.activeElement.dataset.at")
            page.keyboard.press("PageDown")
            last = len(HOSTILE_TEXTS) * 2 - 1
            view.until(f'!["{at}", undefined].includes(document.activeElement.dataset.at) || {at} === {last}')
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert "window.ran=3" in page.locator(".prompted").inner_text()
        inert(view)


@pytest.mark.parametrize(
    "at",
    [
        "#/overview",
        "#/grid",
        "#/grid?zoom=5",
        "#/grid?zoom=whole",
        "#/judge",
        "#/judge?what=items&blind=1",
        "#/answers?q=<script>alert(1)</script>",
        "#/grid?sort=<img src=x onerror=alert(1)>&study=<b>",
    ],
)
def test_every_view_shows_them_as_text(browser, address, at):
    view = Opened(browser, address, at)
    view.page.locator("main > *").first.wait_for()
    view.page.wait_for_timeout(700)
    inert(view)
    if at.startswith("#/grid") and "sort" not in at:
        view.page.keyboard.press("t")
        view.page.locator(".as-table table").wait_for()
        view.page.wait_for_timeout(300)
        inert(view)
    wrong = [said for said in view.said if "status of 400" not in said]
    assert wrong == []
    assert [url for url in view.asked if not url.startswith((address, "data:"))] == []
    view.page.close()
