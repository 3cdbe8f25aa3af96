"""The report in a real browser, and what its files hold."""

import csv
from dataclasses import replace

import polars as pl
import pytest
from tests.report.page.visit import Visit

from quaver.core.records import Estimate
from quaver.errors import StoreError
from quaver.report.charts.figures import figures
from quaver.report.estimate_index import Results
from quaver.report.findings import verdict_card as module
from quaver.report.findings.prompt_rows import prompt_rows
from quaver.report.findings.recommendation import RECOMMENDED
from quaver.report.findings.verdict_card import card
from quaver.report.page import html_page as page
from quaver.report.page.html_page import NARROW, WIDE, write_report
from quaver.report.page_words import printed

WIDTHS = (390, 768, 1280, 1440)


@pytest.fixture(scope="module")
def report(study, tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("study"), **study.inputs())


def test_a_figure_is_drawn_once_for_each_width(study, tmp_path, monkeypatch):
    drawn = []

    def counted(results):
        def of(figure):
            def draw(*, width, **how):
                drawn.append((figure.name, width))
                return figure.draw(width=width, **how)

            return replace(figure, draw=draw)

        return [of(figure) for figure in figures(results)], {}

    monkeypatch.setattr(page, "gallery", counted)
    write_report(tmp_path, **study.inputs())
    names = [one.name for one in figures(study.results())]
    assert sorted(drawn) == sorted((name, width) for name in names for width in (NARROW, WIDE))
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{name}.{kind}" for name in names for kind in ("svg", "png", "pdf")
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_opens_quietly_at_every_width(browser, report, width, scheme):
    with Visit(browser, report, width, scheme) as visit:
        assert visit.said == []
        assert visit.asked == [report.as_uri()]
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        visit.unfold()
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        ids = visit.page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids))


def test_the_prompts_are_on_the_first_screen_with_what_they_get_right(browser, make, tmp_path):
    """One of four prompts is wrong throughout; the other three are one row."""
    right = lambda item, w, layout, k: "ab"[(item % 2) ^ (w == "rude" and layout == "letters")]  # noqa: E731
    study = make(items=40, paraphrases=("plain", "rude"), answer=right)
    for variant in study.lock["variants"]:
        rude = variant["factors"]["paraphrase"] == "rude"
        variant["instruction"] = "Which one, <b>then</b>?" if rude else "Which of them?"
    with Visit(browser, write_report(tmp_path, **study.inputs()), 1440) as visit:
        worst, others = visit.page.locator("table.prompts > tbody > tr").all()
        assert worst.locator("mark").all_inner_texts() == ["one, <b>then</b>", "format: letters"]
        assert worst.locator("td.value").first.inner_text().startswith("0% [0%")
        assert others.locator("td.value").first.inner_text().startswith("100%")
        assert "and 2 prompts alike" in others.inner_text()
        assert "“Which one, <b>then</b>?, format: letters”" in visit.page.locator(".card").inner_text()
        assert others.bounding_box()["y"] < 900
        assert visit.said == []


def test_the_prompt_that_the_verdict_names_has_a_row_of_its_own(make):
    study = make(items=40, paraphrases=("plain", "rude"), answer=lambda item, w, layout, k: "ab"[item % 2])
    given = study.inputs()
    results = Results(given["lock"], given["annotations"], given["estimates"], given["audit"])
    rows = prompt_rows(results, results.models[0])["rows"]
    assert [row.get("many", 0) for row in rows] == [3]
    named = results.variants[2]["id"]
    rows = prompt_rows(results, results.models[0], named)["rows"]
    assert [row.get("many", 0) for row in rows] == [0, 2]


def test_the_numbers_open_by_keyboard(browser, report):
    with Visit(browser, report) as visit:
        visit.page.locator("#factors > details > summary").click()
        summary = visit.page.locator("#figure-factors summary")
        table = visit.page.locator("#figure-factors table")
        assert not table.is_visible()
        summary.focus()
        visit.page.keyboard.press("Enter")
        assert table.is_visible()


def test_text_in_pictures_can_be_read_in_the_dark(browser, report):
    colour = "getComputedStyle(document.querySelector('#figure-label-shares svg text[style*=ink]')).fill"
    with Visit(browser, report, scheme="light") as light, Visit(browser, report, scheme="dark") as dark:
        assert light.page.evaluate(colour) == "rgb(27, 27, 27)"
        assert dark.page.evaluate(colour) == "rgb(236, 236, 236)"


def test_what_was_not_measured_is_said(browser, report):
    with Visit(browser, report) as visit:
        text = visit.page.locator("#unmeasured").text_content() or ""
        assert "no variation" in text
        visit.unfold()
        (missing,) = visit.page.locator("#stability p.missing").all_inner_texts()
        assert missing.startswith("Stability under repetition")
        assert "3 of 8 units" in visit.page.locator("#figure-accuracy > .marks").inner_text()


def test_numbers_are_those_of_the_csv(browser, report):
    with report.with_name("estimates.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = {float(row[end]) for row in rows for end in ("value", "low", "high") if row[end]} | {0.5}
    items = pl.read_csv(report.parent / "tables" / "worst-items.csv")  # these are no estimates
    known |= set(items["other answers"].to_list())
    with Visit(browser, report) as visit:
        shown = visit.page.evaluate(
            "[...document.querySelectorAll('data')].map(e => [e.getAttribute('value'), e.textContent])"
        )
    assert len(shown) > 100
    for value, text in shown:
        assert float(value) in known
        rounded = {printed(float(value)), printed(float(value), percent=True), f"{100 * float(value):.0f}"}
        assert text in rounded


def test_an_unknown_measure_gets_a_figure_and_a_table(browser, make, tmp_path):
    from quaver.core.records import Estimate

    study = make()
    study.estimates += [
        Estimate("wobble/../x", value, value - 1, value + 1, n=3, cell={"paraphrase": paraphrase})
        for paraphrase, value in (("plain", 12.5), ("polite", 300.25))
    ]
    with Visit(browser, write_report(tmp_path, **study.inputs())) as visit:
        visit.unfold()
        assert visit.page.locator("#more figure svg:visible").count() == 1
        assert "300.25" in visit.page.locator("#more table").inner_text()
    assert (tmp_path / "figures" / "wobble-x.svg").is_file()


def test_the_same_study_gives_the_same_page(study, report, tmp_path):
    again = write_report(tmp_path, **study.inputs())
    assert again.read_bytes() == report.read_bytes()


@pytest.mark.long
def test_sixty_variants_and_two_models_stay_readable(browser, make, tmp_path):
    paraphrases = [f"paraphrase {n:03d} of the original at temperature {n % 5}.5" for n in range(30)]
    study = make(paraphrases=paraphrases, items=2, repeats=1, models=("one", "two"), evaluators=("exact",))
    path = write_report(tmp_path, **study.inputs())
    assert path.stat().st_size < 3_000_000
    for width in WIDTHS:
        with Visit(browser, path, width) as visit:
            assert visit.said == []
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
            visit.unfold()
            assert visit.page.locator("#factors figure").count() == 2
            texts = visit.page.locator("#figure-label-shares svg:visible text").all_text_contents()
            assert sum("paraphrase" in text or "…" in text for text in texts) >= 30


def test_a_folder_that_cannot_be_written_is_an_error_of_ours(make, tmp_path):
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(StoreError) as caught:
        write_report(tmp_path, **make(items=2, repeats=1).inputs())
    assert caught.value.where == str(tmp_path)


@pytest.mark.parametrize(
    ("number", "percent", "text"),
    [
        (0.001, True, "0.1%"),
        (1.0, True, "100%"),
        (-0.001, True, "−0.1%"),
        (-0.5, False, "−0.50"),
        (1234.5, False, "1,234"),
    ],
)
def test_printed_numbers_never_claim_more_than_they_know(number, percent, text):
    assert printed(number, percent=percent) == text


def test_tables_sort_and_filter_by_keyboard(browser, report):
    with Visit(browser, report) as visit:
        visit.unfold()
        table = visit.page.locator("#worst table").first
        head = table.locator("th").first
        first = table.locator("tbody tr td:first-child")
        head.locator("button").focus()
        visit.page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "ascending"
        assert first.all_inner_texts() == sorted(first.all_inner_texts(), key=int)
        visit.page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        visit.page.locator("#worst input").first.fill("23")
        assert table.locator("tbody tr:visible").count() == 1
        assert (visit.said, visit.asked) == ([], [report.as_uri()])


def test_paper_has_the_method_and_no_closed_parts(browser, make, tmp_path):
    study = make(layouts=[f"f{n}" for n in range(40)])
    study.estimates = [
        Estimate("accuracy", 0.5, 0.4, 0.6, cell={"variant": v["id"]}) for v in study.lock["variants"]
    ]
    with Visit(browser, write_report(tmp_path, **study.inputs())) as visit:
        page = visit.page
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("#method dl:visible").count() > 1
        assert page.locator("#prompts pre:visible").count() > 0
        assert page.locator("details:not([open]):visible").count() == 0
        worst = page.locator("#worst table").first
        assert worst.locator("tbody tr:visible").count() <= 30
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen")
        assert page.locator("#method dl:visible").count() == 0
        listed = page.locator("#prompts > details > .within > details")
        assert listed.count() == 21  # twenty, and one that holds the others


def test_long_ids_stay_in_their_cells_on_every_screen_and_on_paper(browser, make, tmp_path):
    study = make(items=24, answer=lambda i, w, layout, k: "ab"[(i + (layout == "names")) % 2])
    long = pl.col("item").cast(pl.String) + "_" + "an_id_without_end_" * 9
    study.annotations = study.annotations.with_columns(item=long.cast(pl.Categorical))
    path = write_report(tmp_path, **study.inputs())
    over = (
        "[...document.querySelectorAll('td')].filter(e => e.offsetParent && "
        "e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    )
    for width in (390, 1280):
        with Visit(browser, path, width) as visit:
            assert visit.page.evaluate(over) == []


def test_no_table_is_clipped_on_paper(browser, make, tmp_path):
    """The widest table has fourteen columns; on paper nothing can be scrolled."""
    study = make(items=24, models=("a model of some name", "another model"))
    cell = {"first": "first_label", "second": "label_match", "model": "a model of some name"}
    kinds = ("", "_accuracy_gain", "_newly_wrong")
    flips = [
        Estimate(f"evaluator_flips{kind}", 0.5, 0.4, 0.6, cell=cell | {"variant": variant["id"]})
        for variant in study.lock["variants"]
        for kind in kinds
    ]
    inputs = study.inputs()
    path = write_report(tmp_path, **inputs | {"audit": [*inputs["audit"], *flips]})
    with Visit(browser, path, 794) as visit:  # A4 at 96 dots an inch, less the page's margins
        visit.page.set_viewport_size({"width": 794 - 106, "height": 1000})
        visit.page.emulate_media(media="print")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 794 - 106
        wide = "[...document.querySelectorAll('table')].filter(e => e.offsetWidth > innerWidth).length"
        assert visit.page.evaluate(wide) == 0


def shown(study):
    return card(study.results()).screen


@pytest.mark.parametrize("kind", RECOMMENDED)
def test_each_recommendation_has_a_badge_that_needs_no_colour(study, monkeypatch, kind):
    (one,) = card(study.results()).recommendations
    one = replace(one, kind=kind, prompt=study.lock["variants"][0]["id"])
    monkeypatch.setattr(module, "recommendations", lambda *_: [one])
    (badge,) = shown(study)["badges"]
    assert badge["tone"] == {"do not use": "bad", "cannot tell": "open"}.get(kind, "good")
    assert badge["sign"] in "✓✕?"
    assert (badge["model"], badge["prompt"]) == ("", "plain · names")


def test_an_alarm_repeats_nothing_that_the_headline_says(make):
    unread = shown(make(items=12, answer=lambda *_: None))
    assert (unread["alarms"], unread["stopped"]) == ([], True)
    assert "100%" in unread["verdict"]
    few = shown(make(items=24, answer=lambda item, w, f, k: None if item < 2 else "ab"[item % 2]))
    assert [line.split("%")[0] for line in few["alarms"]] == ["8"]
    assert not few["stopped"]
