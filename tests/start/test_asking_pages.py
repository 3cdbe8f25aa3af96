"""What a server says when it fails is text on the page of the run, with what to do about it."""

import pytest
from tests.chromium import browser
from tests.models.provider_rig import chat, error, rigged
from tests.start.started import started
from tests.start.walk import REFORM, Walk

__all__ = ["browser"]

pytestmark = pytest.mark.long
pytest.importorskip("nicegui")

HOSTILE = "<img src=x onerror=window.ran=1> {{ 7 * 7 }} <script>window.ran=2</script> \u202e[x](javascript:1)"


def failing(body, path, n):
    """A server that refuses every third request for its length, and the 61st for good, in hostile words."""
    if n == 61:
        return error(400, HOSTILE)
    return error(400, HOSTILE, "context_length_exceeded") if n % 3 == 1 else chat(body, "favor")


def test_what_a_failing_server_says_is_text(browser, tmp_path):
    models = {"/v1/models": {"data": [{"id": "gpt-5-mini"}]}}
    with rigged(failing, models) as rig, started(tmp_path, {"OPENAI_BASE_URL": rig.url}) as address:
        walk = Walk(browser, address)
        walk.upload(REFORM)
        walk.to_the_model()
        walk.click("text=Next: the plan")
        walk.at("plan")
        walk.click("button:has-text('Ask ')")
        walk.at("run")
        said = walk.page.locator("pre.qv-doubt")
        said.wait_for()
        assert "<img src=x onerror=window.ran=1> {{ 7 * 7 }}" in said.inner_text()
        walk.click("text=Go on asking")
        walk.page.locator("text=See the verdict").wait_for()
        failed = walk.page.locator("table", has_text="what to do").inner_text()
        assert "context" in failed
        walk.page.locator("button:has-text('that failed')").wait_for()
        assert walk.page.evaluate("window.ran") is None
        assert "49" not in said.all_inner_texts()
        walk.context.close()
    assert walk.wrong == []


def rewording(body, path, n):
    """A server that puts a question in other words, and labels."""
    asked = str(body["messages"])
    words = ("Say", "Judge", "Decide", "State", "Tell", "Determine")[n % 6]
    return chat(body, f"{words} what it says of the plan." if "New instruction" in asked else "favor")


def test_a_models_words_for_the_question_are_shown_before_they_are_asked(browser, tmp_path):
    models = {"/v1/models": {"data": [{"id": "gpt-5-mini"}]}}
    with rigged(rewording, models) as rig, started(tmp_path, {"OPENAI_BASE_URL": rig.url}) as address:
        walk = Walk(browser, address)
        walk.upload(REFORM)
        walk.to_the_model("What does it say of the reform?")
        walk.click("text=Next: the plan")
        walk.at("plan")
        walk.click("text=Have the model reword your question")
        walk.click("button:has-text('Have 4 paraphrases written')")
        table = walk.page.locator("table", has_text="what it lacks")
        table.wait_for()
        assert "Judge what it says of the plan." in table.inner_text()
        assert all("New instruction" in str(body) for _, _, body in rig.sent)
        walk.page.locator("button:has-text('Ask ')").wait_for()
        walk.context.close()
    assert walk.wrong == []
