"""The whole path in a real browser: from a spreadsheet to labels, over kills and hostile texts."""

import csv
import json
import os
import signal
from pathlib import Path
from threading import Event, Semaphore

import pytest
from tests.chromium import assert_accessible, browser, violations
from tests.local_engines import JsonServer
from tests.stance_server import stance_server
from tests.start.started import begun, started
from tests.start.walk import STEPS, Walk
from tests.test_copied import Terminal
from tests.view.page.test_hostile_texts import HOSTILE_TEXTS

from quaver.design.items.table_files import read_rows
from quaver.study.session import Study

__all__ = ["browser"]

pytestmark = pytest.mark.long
pytest.importorskip("nicegui")

SECRET = "sk-planted-4bX9-4bX9-4bX9"


@pytest.fixture(scope="module")
def server():
    with stance_server() as url:
        yield url


@pytest.fixture(scope="module")
def paced():
    """A server that leaves a walk the time to see that it is asked."""
    with stance_server(0.1) as url:
        yield url


def test_from_a_spreadsheet_to_labels(browser, server, convincing, tmp_path):
    environment = {"OPENAI_BASE_URL": server, "OPENAI_API_KEY": SECRET}
    posts = tmp_path / "Ärzte's posts & more.xlsx"
    posts.write_bytes(convincing.read_bytes())
    folder = tmp_path / "there"
    folder.mkdir()
    with started(folder, environment) as address:
        walk = Walk(browser, address)
        walk.upload(posts)
        walk.to_the_model()
        walk.to_the_verdict()
        assert walk.page.inner_text("h1").startswith("You can use these labels")
        kept = walk.to_the_table()
        table = folder / "Ärzte-s posts - more-labelled.xlsx"
        assert kept.read_bytes() == table.read_bytes()
        walk.context.close()
    assert walk.wrong == []
    assert walk.clicks <= 14
    terminal = Terminal(folder)
    terminal.environment |= environment
    for line in walk.typed:
        if "check " not in line or "--model" in line:  # earlier pages ask another model
            terminal.succeed(line)  # each goes on from what was asked
    assert {line.split()[1] for line in walk.typed} >= {"check", "run", "status", "label"}
    rows = read_rows(table, sheet="Posts")
    assert len(rows) == 159
    assert sum(row.text("label") in ("favor", "against", "none") for row in rows) > 150
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


PICKED = {"no, they were chosen": "chosen", "yes, from all texts": "random"}
"""How texts with hand labels were picked: the answers on the page, and what the study keeps."""


class Half:
    """A gate that lets so many answers through, and the others once it is opened."""

    def __init__(self, most):
        self.passing, self.opened = Semaphore(most), Event()

    def wait(self, seconds):
        if not self.passing.acquire(blocking=False):
            self.opened.wait(seconds)


def test_what_is_chosen_paused_and_edited_goes_along(browser, reform, tmp_path):
    half = Half(400)
    with (
        stance_server(0.1, half) as url,
        started(tmp_path, {"OPENAI_BASE_URL": url}) as address,
    ):
        walk = Walk(browser, address)
        walk.page.locator("text=Choose a table").wait_for()
        with walk.page.expect_file_chooser() as chooser:
            walk.click("text=Choose a table")
        chooser.value.set_files(reform)
        walk.at("texts")
        path = walk.page.url.rpartition("/")[0]
        asked = walk.page.get_by_role("radiogroup", name="Were these texts drawn at random?")
        assert asked.get_by_role("radio", name="I don’t know").get_attribute("aria-checked") == "true"
        for answer, drawn in PICKED.items():
            walk.page.goto(f"{path}/texts")
            walk.at("texts")
            walk.click(f"text={answer}")
            walk.page.locator(f"code:has-text('--hand-labels {drawn}')").wait_for()
            walk.page.reload()
            walk.at("texts")
            assert asked.get_by_role("radio", name=answer).get_attribute("aria-checked") == "true"
            walk.to_the_model()
            walk.click("text=Next: the plan")
            walk.at("plan")
            written = (tmp_path / "reform-check" / "study.yaml").read_text(encoding="utf-8")
            assert f'gold: {{"column": "hand_label", "drawn": "{drawn}"}}' in written
        walk.click("button:has-text('Ask ')")
        walk.at("run")
        walk.page.locator(".qv-progress:has-text('a second')").wait_for()
        walk.click("text=Pause")
        walk.page.locator(".qv-progress:has-text('paused')").wait_for()
        half.opened.set()
        walk.click("text=Go on asking")
        walk.click("text=See the verdict")
        walk.at("verdict")
        counts = Study.open(tmp_path / "reform-check" / "study.yaml").status()
        assert counts.answered == counts.total, "what was paused is asked in the end"
        walk.click("text=Edit the codebook and ask again")
        walk.page.wait_for_url("**/reform-check-2/codebook")
        walk.at("codebook")
        walk.fill("[aria-label='Definition of label 1']", "Speaks against it")
        walk.click("text=Next: the model")
        walk.at("model")
        walk.to_the_verdict()
        walk.page.locator("code:has-text('quaver compare reform-check reform-check-2')").wait_for()
        walk.context.close()
    assert walk.wrong == []


def test_killed_at_each_step_it_goes_on(browser, paced, reform, tmp_path):
    environment = {"OPENAI_BASE_URL": paced, "OPENAI_API_KEY": SECRET}

    def killed(act):
        with begun(tmp_path, environment) as (address, process):
            walk = Walk(browser, address)
            act(walk)
            walk.context.close()
            process.send_signal(signal.SIGKILL)

    def go_on(walk):
        walk.click("text=reform-check")

    def first(walk):
        walk.upload(reform)
        walk.click("[aria-label='What party is']")
        walk.click(".q-menu >> text=compare by it")
        walk.page.locator("code:has-text('--compare party')").wait_for()

    def second(walk):
        go_on(walk)
        walk.page.locator("h1").wait_for()
        walk.page.goto(walk.page.url.rpartition("/")[0] + "/codebook")
        walk.at("codebook")
        walk.fill("textarea", "Where does this post stand?")
        walk.fill("[aria-label='Definition of label 1']", "Speaks against it")
        walk.page.locator("pre.qv-prompt:has-text('against: Speaks against it')").wait_for()
        walk.click("text=Next: the model")
        walk.at("model")

    def third(walk):
        go_on(walk)
        walk.page.locator("h1").wait_for()
        walk.page.goto(walk.page.url.rpartition("/")[0] + "/model")
        walk.at("model")
        walk.click("text=Next: the plan")
        walk.at("plan")
        walk.click("button:has-text('Ask ')")
        walk.at("run")
        walk.page.locator(".qv-progress:has-text('a second')").wait_for()

    def fourth(walk):
        go_on(walk)
        walk.page.locator("h1").wait_for()
        walk.page.goto(walk.page.url.rpartition("/")[0] + "/run")
        walk.at("run")
        walk.page.locator("text=/Go on asking|See the verdict/").first.wait_for()
        if walk.page.locator("text=Go on asking").count():
            walk.click("text=Go on asking")
        walk.click("text=See the verdict")
        walk.at("verdict")

    for act in (first, second, third, fourth):
        killed(act)
    written = (tmp_path / "reform-check" / "study.yaml").read_text(encoding="utf-8")
    assert '"definition": "Speaks against it"' in written
    assert 'groups: ["party"]' in written


def test_what_is_hostile_is_text_and_so_is_what_a_model_answers(browser, tmp_path):
    labels = ("<img src=x onerror=window.ran=1>", "{{b}}<script>window.ran=2</script>")
    name = "<img src=x onerror=window.ran=3>"
    table = tmp_path / f"{name}.csv"
    assert len(HOSTILE_TEXTS) >= 34
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", name, "gold"])
        for at, text in enumerate(HOSTILE_TEXTS):  # more than a check asks about
            text = text.replace("\x00", "")
            writer.writerow([f"i{at}", f"{text} #{at:06}", text[:20], labels[at % 2]])

    seen = []

    def reply(path, body):
        if body is None:
            return {"data": [{"id": "<img src=x onerror=window.ran=4>"}]}
        prompt = str(body["messages"])
        at = int(prompt[prompt.rindex(" #") :][2:8])
        seen.append(at)  # the first answers, which are looked at before the rest is asked for, have a label
        is_plain = at % 3 or len(seen) <= 20
        text = labels[at % 2] if is_plain else HOSTILE_TEXTS[(at + len(prompt)) % len(HOSTILE_TEXTS)]
        message = {"role": "assistant", "content": text}
        return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}

    server = JsonServer(reply)
    with started(tmp_path, {"OPENAI_BASE_URL": f"{server.url}/v1"}) as address:
        walk = Walk(browser, address)
        own, asked = address.split("/")[2], set[str]()
        walk.page.on("request", lambda request: asked.add(request.url))
        walk.upload(table)
        for at in range(5):
            walk.page.reload()
            walk.at("texts")
            assert walk.page.evaluate("window.ran") is None, at
        walk.to_the_model()
        walk.to_the_verdict()
        base = walk.page.url.rpartition("/")[0]
        for step in STEPS[1:]:
            walk.page.goto(f"{base}/{step}")
            walk.page.locator("h1").first.wait_for()
            walk.page.wait_for_timeout(300)
            assert (step, walk.page.evaluate("window.ran")) == (step, None)
        walk.click("text=Label even though")
        walk.click("text=Prepare the labels")
        walk.click("button:has-text('Ask ')")
        walk.click("text=Write the labelled table")
        walk.page.locator(".qv-files").wait_for()
        assert walk.page.evaluate("window.ran") is None
        assert {one.split("/")[2] for one in asked if not one.startswith("data:")} == {own}
        walk.context.close()
    server.close()


def test_a_second_window_says_who_asks_and_a_killed_process_loses_nothing(browser, convincing, tmp_path):
    with stance_server(2) as slow:
        environment = {"OPENAI_BASE_URL": slow}
        with started(tmp_path, environment) as one, started(tmp_path, environment) as two:
            walk = Walk(browser, one)
            walk.upload(convincing)
            walk.to_the_model()
            walk.click("text=Next: the plan")
            walk.at("plan")
            walk.page.locator("tr:has-text('Texts'):has-text('more that have a gold label')").wait_for()
            walk.click("button:has-text('Ask ')")
            walk.at("run")
            walk.page.locator(".qv-progress:has-text('a second')").wait_for()
            process = int((tmp_path / "reform-check" / ".run.pid").read_text())
            second = Walk(browser, two)
            second.page.goto(f"{two}study/reform-check/run")
            second.page.locator(f".qv-progress:has-text('process {process}')").wait_for()
            second.page.goto(f"{two}study/reform-check/plan")
            second.page.locator(f".qv-error:has-text('process {process}')").wait_for()
            assert int((tmp_path / "reform-check" / ".run.pid").read_text()) == process
            second.context.close()
            os.kill(process, signal.SIGKILL)
            walk.page.locator("text=The process ended").wait_for()
            before = _answered(walk)
            walk.click("text=Go on asking")
            walk.page.locator(".qv-progress:has-text('a second')").wait_for()
            assert _answered(walk) >= before > 0
            walk.click("text=Pause")
            walk.page.locator(".qv-progress:has-text('paused')").wait_for()
            walk.context.close()


def _answered(walk):
    return int(walk.page.inner_text(".qv-progress").partition(" ")[0].replace(",", ""))


def test_all_cells_that_are_pasted_are_read_the_latest_too(browser, tmp_path):
    words = "some words about a tweet that has a certain length, as tweets have them, and a bit more"
    with started(tmp_path) as address:
        walk = Walk(browser, address, reduced_motion="reduce")
        walk.page.locator("text=Choose a table").wait_for()
        walk.page.get_by_role("button", name="Or paste cells").click()
        walk.page.get_by_role("textbox", name="Cells").wait_for()
        for number in (5_000, 20_000):
            cells = "id\ttext\n" + "".join(f"{row}\t{words} {row}\n" for row in range(number))
            walk.page.get_by_role("textbox", name="Cells").evaluate(
                "(area, cells) => area.value = cells", cells
            )
        walk.click("text=Begin with these cells")
        walk.page.wait_for_url("**/texts")
        walk.page.wait_for_selector("text=20,000 rows")
    assert (tmp_path / "pasted.tsv").read_bytes() == cells.encode()
    assert walk.wrong == []


def test_by_keyboard_alone_and_no_page_has_what_axe_finds(browser, server, reform, tmp_path):
    """None is wider than the screen."""
    with started(tmp_path, {"OPENAI_BASE_URL": server}) as address:
        walk = Walk(browser, address, reduced_motion="reduce", bypass_csp=True)
        with walk.page.expect_file_chooser() as chooser:
            walk.press("Choose a table")
        chooser.value.set_files(reform)
        walk.at("texts")
        for button, step in (("Next: the codebook", "codebook"), ("Next: the model", "model")):
            walk.press(button)
            walk.at(step)
        walk.press("Next: the plan")
        walk.at("plan")
        walk.press("Ask ")
        walk.at("run")
        walk.page.locator("text=See the verdict").wait_for()
        walk.press("See the verdict")
        walk.at("verdict")
        walk.press("Label all texts")
        walk.at("labels")
        walk.press("Prepare the labels")
        walk.page.locator("button:has-text('Ask ')").wait_for()
        walk.press("Ask ")
        walk.page.locator("text=Write the labelled table").wait_for()
        walk.press("Write the labelled table")
        walk.page.locator(".qv-files").wait_for()
        with walk.page.expect_download() as download:
            walk.press("Download reform-labelled.xlsx")
        assert Path(download.value.path()).stat().st_size
        assert_accessible(walk.page, "the labelled table")
        base = walk.page.url.rpartition("/")[0]
        for step in ("", *STEPS):
            walk.page.goto(f"{base}/{step}" if step else address)
            if step:
                walk.at(step)
            folds = walk.page.locator(".q-expansion-item--collapsed .q-item")
            while folds.count():  # one that the page replaces meanwhile is not waited for
                folds.evaluate_all("(ones) => ones.forEach((one) => one.click())")
                walk.page.wait_for_timeout(100)
            assert_accessible(walk.page, step)
        walk.context.close()


def coded(number):
    """The values that a post deserves."""
    topics = (["food"], ["food", "price"], ["staff"])[number % 3]
    return {"tone": ("good", "bad")[number % 2], "topics": topics, "amount": number % 7 + 0.5}


def codes(path, body):
    """A server that codes posts with several variables, now and then by the prompt."""
    if body is None:
        return {"data": [{"id": "gpt-5-mini"}]}
    prompt = str(body["messages"])
    number = int(prompt[prompt.index("Post number ") + 12 :].split()[0])
    found = coded(number + (number % 20 == 7) * (len(prompt) % 2))
    message = {"role": "assistant", "content": json.dumps(found)}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


def coded_table(path, rows=80):
    """A table of posts with a label, a set and a number, of which people coded the first 60."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["post", "tone", "topics", "amount"])
        for number in range(rows):
            one = coded(number)
            by_hand = (one["tone"], ";".join(one["topics"]), one["amount"]) if number < 60 else ()
            writer.writerow([f"Post number {number} is about this or that.", *by_hand, *[""] * 3][:4])
    return path


def test_several_variables_from_the_table_to_the_labelled_table(browser, tmp_path):
    server = JsonServer(codes)
    with started(tmp_path, {"OPENAI_BASE_URL": f"{server.url}/v1"}) as address:
        walk = Walk(browser, address, reduced_motion="reduce", bypass_csp=True)
        walk.upload(coded_table(tmp_path / "wide.csv"))
        for name in ("tone", "topics", "amount"):  # each is chosen while the page takes in the last one
            walk.page.get_by_label(f"What {name} is").click()
            own = walk.page.get_by_role("option", name="variable of its own")
            own.wait_for()
            if name == "tone":
                assert violations(walk.page) == []
            own.click()
        walk.page.locator(".qv-column .q-field:has-text('variable of its own')").nth(2).wait_for()
        walk.click("text=Next: the codebook")
        walk.at("codebook")
        shown = walk.page.inner_text("pre.qv-prompt")
        assert shown.startswith("Post number 0 ")
        assert '"amount": A number of 0 or more' in shown
        walk.click("text=Next: the model")
        walk.at("model")
        walk.to_the_verdict()
        verdict = walk.page.locator("table").first.inner_text()
        assert all(name in verdict for name in ("tone", "topics", "amount"))
        assert_accessible(walk.page, "the verdict on several variables")
        with walk.context.expect_page() as opened:
            walk.click("text=Judge texts by hand")
        opened.value.locator(".judged").wait_for()
        fields = opened.value.get_by_label("Study", exact=True).locator("option").all_inner_texts()
        assert len(fields) == 3
        opened.value.close()
        walk.click("button:has-text('Label all texts')")
        walk.at("labels")
        walk.click("text=Label even though")
        walk.click("text=Prepare the labels")
        walk.page.locator("text=“amount”: each text is asked about with").wait_for()
        walk.click("button:has-text('Ask ')")
        walk.click("text=Write the labelled table")
        walk.page.locator(".qv-files").wait_for(timeout=180_000)  # a report and three paragraphs on methods
        assert_accessible(walk.page, "the labelled table of several variables")
        with walk.page.expect_download() as download:
            walk.click(".qv-files a >> nth=0")
        download.value.save_as(tmp_path / "taken.csv")
        walk.context.close()
    server.close()
    rows = read_rows(tmp_path / "taken.csv")
    assert walk.wrong == []
    assert len(rows) == 80
    assert {"tone label", "topics label", "amount label"} <= {*rows[0]}
    assert (rows[79].text("tone label"), float(rows[79].text("amount label"))) == ("bad", 2.5)
