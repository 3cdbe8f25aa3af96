"""What a server says when it fails is text on the page of the run, with what to do about it."""

import pytest
from tests.chromium import browser
from tests.models.provider_rig import chat, error, rigged
from tests.start.started import started
from tests.start.walk import Walk

from quaver.design.spec.yaml_file import read_yaml

__all__ = ["browser"]

pytestmark = pytest.mark.long
pytest.importorskip("nicegui")

HOSTILE = "<img src=x onerror=window.ran=1> {{ 7 * 7 }} <script>window.ran=2</script> \u202e[x](javascript:1)"


def failing(body, path, n):
    """A server that refuses every third request for its length, and the 61st for good, in hostile words."""
    if n == 61:
        return error(400, HOSTILE)
    return error(400, HOSTILE, "context_length_exceeded") if n % 3 == 1 else chat(body, "favor")


def test_what_a_failing_server_says_is_text(browser, reform, tmp_path):
    models = {"/v1/models": {"data": [{"id": "gpt-5-mini"}]}}
    with rigged(failing, models) as rig, started(tmp_path, {"OPENAI_BASE_URL": rig.url}) as address:
        walk = Walk(browser, address)
        walk.upload(reform)
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


def test_a_models_words_for_the_question_are_shown_before_they_are_asked(browser, reform, tmp_path):
    models = {"/v1/models": {"data": [{"id": "gpt-5-mini"}]}}
    with rigged(rewording, models) as rig, started(tmp_path, {"OPENAI_BASE_URL": rig.url}) as address:
        walk = Walk(browser, address)
        walk.upload(reform)
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


def test_how_the_model_is_asked_goes_along(browser, reform, tmp_path):
    """The page has the options of ``quaver check``; a key of another address stays behind with that."""
    models = {"/v1/models": {"data": [{"id": "gpt-5-mini"}]}}
    with rigged(lambda body, path, n: chat(body, "favor"), models) as rig:
        environment = {"OPENAI_BASE_URL": rig.url, "LAB_KEY": "sk-lab-0123456789abcdef"}
        with started(tmp_path, environment) as address:
            walk = Walk(browser, address)
            walk.upload(reform)
            walk.to_the_model()
            walk.click("text=Another model")
            walk.fill("input[aria-label='Name of the model']", "m")
            walk.fill("input[aria-label^='Address, up to']", rig.url)
            walk.fill("input[aria-label^='The environment variable with']", "LAB_KEY")
            walk.click("text=Use this model")
            walk.page.locator("code", has_text="--key-from LAB_KEY").wait_for()
            walk.click("text=How the model is asked")
            for field, value in (("How much", "low"), ("The longest", "77"), ("US dollars", "0.15/0.60")):
                walk.fill(f"input[aria-label^='{field}']", value)
                walk.page.keyboard.press("Tab")
            command = walk.page.locator("code", has_text="--price 0.15/0.60")
            command.wait_for()
            assert all(one in command.inner_text() for one in ("--effort low", "--max-tokens 77"))
            walk.click("text=Next: the plan")
            walk.at("plan")
            study = read_yaml(tmp_path / "reform-check" / "study.yaml")
            model = {"effort": "low", "key": "LAB_KEY", "price": {"input": 0.15, "output": 0.6}}
            assert model.items() <= study["models"][0].items()
            assert {one["max_tokens"] for one in study["decoding"].values()} == {77}
            walk.page.goto(walk.page.url.rpartition("/")[0] + "/model")
            walk.at("model")
            walk.click(".qv-models >> text=gpt-5-mini")
            walk.page.locator("code:not(:has-text('--key-from'))").wait_for()
            walk.context.close()
    assert walk.wrong == []
