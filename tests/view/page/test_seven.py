"""Each of the things that the page does, by mouse and by keyboard, in a real browser."""

import json

import pytest

pytestmark = pytest.mark.long

PROMPTS, ITEMS, REPEATS = 3, 30, 2
ANSWERS = PROMPTS * ITEMS * REPEATS


# ------------------------------------------------------------------------------------ 1. overview


def test_the_overview_says_how_far_the_run_is_and_where_to_look(opened):
    with opened("#/overview") as view:
        assert view.read(".card .study") == "tones"
        assert f"{ANSWERS} of {ANSWERS}" in view.read(".run")
        view.page.get_by_role("link", name="Every label at a glance").click()
        view.page.locator(".legend button").first.wait_for()
        view.until("location.hash.startsWith('#/grid?')")
        view.page.keyboard.press("g")
        view.page.keyboard.press("o")
        view.page.locator(".run").wait_for()
        view.until("location.hash.startsWith('#/overview')")
        view.until("document.title.startsWith('Overview · tones')")


# ---------------------------------------------------------------------------------------- 2. grid


def cells(view):
    """Where the grid's cells begin and how large they are."""
    view.page.locator(".legend button").first.wait_for()
    view.page.wait_for_timeout(300)
    return view.page.locator(".grid-area")


def test_the_grid_opens_an_answer_by_keyboard(opened):
    with opened("#/grid") as view:
        area = cells(view)
        area.focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
            view.page.keyboard.press(key)
        view.until("document.querySelector('.readout').textContent.startsWith('Item i1 ')")
        assert "positive" in view.read(".readout")
        view.page.keyboard.press("Enter")
        assert view.read(".panel h2") == "Item i1"
        view.page.keyboard.press("ArrowDown")  # the panel follows the cell
        view.until("document.querySelector('.panel h2').textContent === 'Item i2'")
        view.page.keyboard.press("Escape")
        view.page.locator(".panel").wait_for(state="hidden")
        view.until("document.activeElement.className === 'grid-area'")


def test_the_grid_opens_an_answer_by_mouse_and_zooms(opened):
    with opened("#/grid") as view:
        area = cells(view)
        box = area.bounding_box()
        area.click(position={"x": 20, "y": box["height"] - 300})
        assert view.page.locator(".panel h2").inner_text().startswith("Item i")
        view.page.get_by_role("button", name="Close").click()
        view.page.get_by_role("button", name="Larger cells").click()
        view.until("location.hash.includes('zoom=4')")
        view.page.get_by_role("button", name="Whole").click()
        view.until("location.hash.includes('zoom=whole')")
        view.page.keyboard.press("+")
        view.until("!location.hash.includes('whole')")


def test_the_grid_is_a_table_for_those_who_read_it(opened):
    with opened("#/grid?sort=instability") as view:
        cells(view)
        view.page.keyboard.press("t")
        table = view.page.locator(".as-table table")
        table.wait_for()
        view.until("!document.querySelector('.as-table tbody').innerText.includes('…')")
        rows = [row.inner_text().split("\t") for row in table.locator("tbody tr").all()]
        assert len(rows) == 21  # twenty items below the columns' agreement
        assert rows[1][0] in {f"i{n}" for n in range(ITEMS) if n % 5 == 0}  # the least stable come first
        view.page.get_by_role("button", name="Rows below").click()
        view.until("document.querySelector('.as-table caption').textContent.includes('11 to 30')")
        table.locator("button.cell").first.click()
        view.page.locator(".panel h2").wait_for()


def test_rows_and_columns_have_their_agreement(opened, address):
    with opened("#/grid") as view:
        cells(view)
        view.page.keyboard.press("t")
        view.until("!document.querySelector('.as-table tbody').innerText.includes('…')")
        known = view.page.request.get(f"{address}api/studies/tones/grid").json()
        shares = view.page.locator(".as-table tbody tr").first.locator("td").all_inner_texts()
        wanted = [f"{round(100 * one['agreement'])}%" for one in known["columns"]]
        assert shares[1 : 1 + len(wanted)] == wanted


# -------------------------------------------------------------------------------------- 3. answer


@pytest.fixture
def answer(opened):
    with opened("#/grid?item=i5&column=4&e=first_label") as view:
        view.page.locator(".panel h2").wait_for()
        yield view


def test_an_answer_has_all_that_is_known_of_it(answer):
    panel = answer.page.locator(".panel")
    assert "positive" in panel.locator("pre.answer").inner_text()
    assert "positive" in panel.locator(".reading .label").inner_text()
    assert "Let me see" in panel.locator("pre.thinking").inner_text()
    tokens = panel.locator("details", has_text="Tokens (2)")
    tokens.locator("summary").click()
    assert "70%" in tokens.locator("tbody tr").first.inner_text()
    facts = panel.locator(".facts-of")
    assert "31 in, 9 out" in facts.locator("summary").inner_text()
    facts.locator("summary").click()
    assert "fake-2" in facts.inner_text()
    assert panel.locator(".siblings .sibling").count() == PROMPTS * REPEATS
    panel.get_by_role("link", name="Show what was answered").click()
    answer.page.locator(".answer-row").nth(PROMPTS * REPEATS - 1).wait_for()
    answer.until("location.hash.includes('q=item:i5')")


_WITHOUT = """(kind) => [...document.querySelectorAll(".prompted pre.prompt")].map((one) => {
  const copy = one.cloneNode(true);
  copy.querySelectorAll(kind).forEach((part) => part.remove());
  return copy.textContent;
})"""
"""The texts of a prompt in which changes are marked, without those of a kind."""


def test_what_differs_from_another_prompt_is_marked(answer, address):
    panel = answer.page.locator(".panel")
    panel.locator(".prompted ins").first.wait_for()
    choose = panel.get_by_label("Marked: what differs from")
    options = choose.locator("option").all_inner_texts()
    assert options[0] == "nothing"
    assert len(options) == PROMPTS  # nothing, and the others
    prompts = answer.page.request.get(f"{address}api/studies/tones/answer?item=i5&column=4").json()
    for kind, shown in (("ins", prompts["against"]["prompt"]), ("del", prompts["prompt"])):
        texts = answer.page.evaluate(_WITHOUT, kind)
        assert texts == [one["content"] for one in shown]
    choose.select_option("nothing")
    answer.until("!document.querySelector('.panel ins')")
    answer.until("location.hash.includes('against=none')")
    choose.select_option(options[-1])
    panel.locator(".prompted ins").first.wait_for()


def test_bars_show_how_likely_each_label_was(opened):
    with opened("#/grid?item=i5&column=4&e=logprob") as view:
        bars = view.page.locator(".bars li")
        bars.first.wait_for()
        assert bars.first.inner_text().split("\n")[-1] == "70%"
        assert "positive" in bars.first.inner_text()


def test_neighbours_are_a_key_away(answer):
    page = answer.page
    page.keyboard.press("j")
    answer.until("document.querySelector('.panel h2').textContent === 'Item i6'")
    page.keyboard.press("k")
    answer.until("document.querySelector('.panel h2').textContent === 'Item i5'")
    page.keyboard.press("h")
    answer.until("location.hash.includes('column=3')")
    page.keyboard.press("l")
    answer.until("location.hash.includes('column=4')")
    page.get_by_role("button", name="Next item (j)").click()
    answer.until("document.querySelector('.panel h2').textContent === 'Item i6'")
    assert "the model refused" in page.locator(".panel .reading").inner_text()


# -------------------------------------------------------------------------------------- 4. filter


def test_a_query_has_an_address(opened):
    with opened("#/answers") as view:
        page = view.page
        page.locator(".answer-row").first.wait_for()
        page.keyboard.press("/")
        page.keyboard.type("label:neg")
        page.keyboard.press("Enter")
        view.until("location.hash.includes('label')")
        view.until("document.querySelector('.row-label')?.innerText.trim().startsWith('negative')")
        labels = {one.split("\n")[0] for one in page.locator(".row-label").all_inner_texts()}
        assert labels == {"negative"}
        shared = view.where
    with opened(shared) as again:
        again.page.locator(".answer-row").first.wait_for()
        assert "label:ne" in again.page.get_by_label("Filter answers").input_value()


def test_clicks_write_the_query(opened):
    with opened("#/answers") as view:
        page = view.page
        page.locator("#facets button", has_text="positive").first.click()
        view.until("location.hash.includes('q=label')")

        view.until("document.querySelector('[aria-label=\"Filter answers\"]').value.includes('label:pos')")
        pressed = page.locator("#facets button[aria-pressed='true']")
        pressed.first.wait_for()
        pressed.first.click()
        view.until("!location.hash.includes('q=')")
        view.until("document.querySelector('[aria-label=\"Filter answers\"]').value === ''")


def test_a_bad_query_says_what_is_wrong_with_it(opened):
    view = opened("#/answers?q=lable:pos")
    said = view.page.get_by_role("alert").first
    said.wait_for()
    assert "lable" in said.inner_text()
    assert "label" in said.inner_text().replace("lable", "")
    view.page.get_by_label("Filter answers").fill("label:pos")
    view.page.keyboard.press("Enter")
    view.page.locator(".answer-row").first.wait_for()
    view.page.locator(".query-said").wait_for(state="hidden")
    view.page.close()


def test_answers_are_walked_through_by_keyboard(opened):
    with opened("#/answers?q=is:flip") as view:
        page = view.page
        page.locator(".answer-row").first.focus()
        page.keyboard.press("ArrowDown")
        view.until("document.activeElement.dataset.at === '1'")
        page.keyboard.press("Enter")
        page.locator(".panel h2").wait_for()
        before = view.where
        wanted = view.read(".answer-row[data-at='2'] .row-of b")
        page.keyboard.press("j")
        view.until(f"location.hash !== {json.dumps(before)}")
        view.until("document.querySelector('.answer-row[aria-current]')?.dataset.at === '2'")
        view.until(f"document.querySelector('.panel h2').textContent === {json.dumps(f'Item {wanted}')}")
        page.keyboard.press("Escape")
        page.locator(".panel").wait_for(state="hidden")
        view.until("document.activeElement.dataset.at === '2'")


# --------------------------------------------------------------------------------------- 5. judge


def marks(address, page, item):
    found = page.request.get(f"{address}api/studies/tones/marks?item={item}").json()["marks"]
    return list(found)


def test_answers_are_judged_by_keyboard(opened, address):
    with opened("#/judge?what=answers") as view:
        page = view.page
        page.locator(".judged").wait_for()
        assert page.locator(".place").inner_text() == f"1 of {ANSWERS}"
        page.keyboard.press("a")
        view.until("document.querySelector('.place').textContent.startsWith('2 of')")
        (kept,) = marks(address, page, "i0")
        assert (kept["mark"], kept["column"], kept["blind"]) == ("agree", 0, False)
        page.keyboard.press("2")  # the second label
        view.until("document.querySelector('.place').textContent.startsWith('3 of')")
        by_column = {one["column"]: one for one in marks(address, page, "i0")}
        assert by_column[1]["label"] == "neg"
        page.keyboard.press("k")
        view.until("document.querySelector('.place').textContent.startsWith('2 of')")
        page.locator(".label-buttons [aria-pressed='true']", has_text="negative").wait_for()
        page.keyboard.press("s")  # to the next without a mark
        view.until("document.querySelector('.place').textContent.startsWith('3 of')")


def test_items_are_labelled_without_seeing_the_models_label(opened, address):
    with opened("#/judge?what=items&blind=1&q=item:i9") as view:
        page = view.page
        page.locator(".judged").wait_for()
        assert "Thing no. 9" in page.locator(".judged").inner_text()
        shown = page.locator(".judged").inner_text()
        assert "positive, really" not in shown
        assert page.locator(".judged .reading, .judged .label").count() == 0
        page.get_by_role("button", name="neutral").click()
        view.until("document.querySelector('.label-buttons [aria-pressed=true]') !== null")
        (kept,) = marks(address, page, "i9")
        assert (kept["label"], kept["column"], kept["blind"], kept["seen"]) == ("neu", None, True, None)


def test_an_answer_is_marked_beside_the_grid(opened, address):
    with opened("#/grid?item=i12&column=2") as view:
        page = view.page
        page.locator(".panel .verdicts").wait_for()
        page.keyboard.press("d")
        page.locator(".verdict.disagree[aria-pressed='true']").wait_for()
        page.get_by_label("Note").fill("too quick")
        page.get_by_label("Note").blur()
        page.locator(".panel .marks", has_text="too quick").wait_for()
        (kept,) = marks(address, page, "i12")
        assert (kept["mark"], kept["note"], kept["column"]) == ("disagree", "too quick", 2)
        page.get_by_role("button", name="Take back").click()
        page.locator(".panel .marks").wait_for(state="detached")
        assert marks(address, page, "i12") == []
