"""A person who walks the path of ``quaver start`` in a browser."""

from pathlib import Path

__all__ = ["REFORM", "STEPS", "Walk"]

REFORM = Path(__file__).parents[2] / "docs" / "tutorials" / "reform.xlsx"
STEPS = ("texts", "codebook", "model", "plan", "run", "verdict", "labels")
THERE = {
    "texts": ".qv-column",
    "codebook": "pre.qv-prompt",
    "model": ".qv-models",
    "plan": "text=Questions",
    "run": ".qv-run",
    "verdict": ".qv-verdict",
    "labels": "text=Label even though",
}

FOCUSED = """() => {
    const one = document.activeElement, look = getComputedStyle(one);
    const name = one === document.body ? "" : one.getAttribute("aria-label") || one.innerText || "";
    const outlined = parseFloat(look.outlineWidth) >= 2 && look.outlineStyle === "solid";
    const marked = outlined || look.boxShadow !== "none" || one.closest(".q-field--focused") !== null;
    return [name, marked || one === document.body];
}"""
"""The name of what has the focus, and whether it looks so: by an outline, a ring, or a field's own border."""


class Walk:
    """One person in one window, who counts what has to be clicked and filled in."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)
        self.wrong = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: said.type == "error" and self.wrong.append(said.text))
        self.clicks, self.address, self.typed = 0, address, set()
        self.page.goto(address)

    def click(self, what):
        self.page.click(what)
        self.clicks += 1

    def fill(self, what, text):
        self.page.fill(what, text)
        self.clicks += 1

    def press(self, what):
        """Reach something by Tab alone, where what has the focus must be seen, and press Enter."""
        for _ in range(150):
            self.page.keyboard.press("Tab")
            name, seen = self.page.evaluate(FOCUSED)
            assert seen, name
            if what in name:
                self.page.keyboard.press("Enter")
                return
        raise AssertionError(f"{what} is not reached")

    def upload(self, path):
        self.page.set_input_files("input[type=file]", path)
        self.clicks += 1
        self.at("texts")

    def at(self, step):
        self.page.wait_for_url(f"**/{step}")
        self.page.locator(THERE[step]).first.wait_for()
        self.note_commands()

    def note_commands(self):
        """Keep the commands that the page shows for copying."""
        self.typed |= {*self.page.locator(".qv-command").all_inner_texts()}

    def to_the_model(self, question=""):
        self.click("text=Next: the codebook")
        self.at("codebook")
        if question:
            self.fill("textarea", question)
        self.click("text=Next: the model")
        self.at("model")

    def to_the_verdict(self):
        self.click("text=Next: the plan")
        self.at("plan")
        self.click("button:has-text('Ask ')")
        self.at("run")
        self.click("text=See the verdict")
        self.at("verdict")

    def to_the_table(self):
        self.click("button:has-text('Label all texts')")
        self.at("labels")
        self.click("text=Prepare the labels")
        self.click("button:has-text('Ask ')")
        self.click("text=Write the labelled table")
        self.page.locator(".qv-files").wait_for()
        self.note_commands()
        with self.page.expect_download() as download:
            self.click(".qv-files a >> nth=0")
        return Path(download.value.path())
