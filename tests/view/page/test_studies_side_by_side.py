"""Several studies in one page: chosen from the bar, told apart by their names."""

import pytest
from tests.view.page.conftest import Opened, collect, serving

pytestmark = pytest.mark.long


def otherwise(text, prompt):
    """Another model: negative for each third thing."""
    return "negative" if int(text.split()[2]) % 3 == 0 else "positive"


@pytest.fixture(scope="module")
def both(study, tmp_path_factory):
    with serving(study, collect(tmp_path_factory.mktemp("again"), asked=otherwise)) as address:
        yield address


def test_studies_of_one_name_are_told_apart_and_chosen(browser, both):
    with Opened(browser, both, "#/answers") as view:
        choose = view.page.get_by_label("Study", exact=True)
        view.page.locator(".answer-row").first.wait_for()
        assert choose.locator("option").all_inner_texts() == ["tones", "tones (tones-2)"]
        choose.select_option("tones-2")
        view.until("location.hash.includes('study=tones-2')")
        text = view.page.locator(".answer-row[data-at='0'] .row-text", has_text="negative")
        text.wait_for()
        view.page.keyboard.press("g")
        view.page.keyboard.press("g")
        view.page.locator(".legend button").first.wait_for()
        view.until("location.hash.includes('study=tones-2')")  # the choice stays from view to view
