"""A study with everything that the page shows, served to a real browser."""

import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from tests.chromium import browser
from tests.studies import written
from tests.view import viewed
from tests.view.viewed import TOKEN, again

import quaver
from quaver.core.calls import Response, Token
from quaver.core.model import Abilities
from quaver.models import python_function
from quaver.view.serving import listening, studies_of

__all__ = ["browser"]

STUDY = (
    viewed.STUDY.replace("How does it sound?", "How does it sound to you?")
    .replace("{temperature: 1.0}", "{temperature: 1.0, logprobs: 3}")
    .replace("repeats: 3", "repeats: 2")
    .replace("[first_label, exact]", "[first_label, exact, logprob]")
)

ITEMS = 30


def items():
    """The items; a third of them has no gold label."""
    rows = (f"i{n},Thing no. {n} is fine.,{('pos', 'neg', '')[n % 3]},{'ab'[n % 2]}" for n in range(ITEMS))
    return "id,text,truth,side\n" + "\n".join(rows) + "\n"


def annotate(text, prompt):
    """The label depends on the prompt for every fifth item, and every seventh answer has none."""
    number = int(text.split()[2])
    if number % 7 == 6:
        return "I would rather not say <b>that</b>."
    curt = prompt.startswith("Tone?")
    return "negative" if number % 5 == 0 and curt else "I think it is positive, really."


def _response(answer, seconds):
    """A response as of a reasoning model that gives log-probabilities."""
    logs = (("pos", float(np.log(0.7))), ("neg", float(np.log(0.2))), ("neu", float(np.log(0.1))))
    tokens = (Token("pos", logs[0][1], logs), Token(".", -0.01, ((".", -0.01),)))
    return Response(
        str(answer),
        thinking="Let me see: the thing seems fine.",
        tokens=tokens,
        prompt_tokens=31,
        completion_tokens=9,
        thinking_tokens=4,
        latency=0.25,
        served_model="fake-2",
    )


def collect(folder, study=STUDY, asked=annotate, rows=None):
    """A study with answers that have thinking and log-probabilities; its file."""
    path = written(folder, study, rows or items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python_function, "_response", _response)
        patch.setattr(python_function, "Abilities", lambda **_: Abilities(logprobs=5))
        quaver.Study.open(path, functions={"fake": asked}).run(watch=lambda _: None)
    return path


@contextmanager
def serving(*paths):
    """The address of a server of these studies."""
    uvicorn = pytest.importorskip("uvicorn")
    from quaver.view.application import Viewer
    from quaver.view.guard import Guard

    studies = studies_of(paths)
    for one in studies.values():
        again(one)
    taken = listening(0)
    port = taken.getsockname()[1]
    viewer = Viewer(studies)
    app = Guard(viewer.app(), TOKEN, port, viewer.reports)
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/{TOKEN}/"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return collect(tmp_path_factory.mktemp("tones"))


@pytest.fixture(scope="module")
def address(study):
    with serving(study) as address:
        yield address


class Opened:
    """A page of the viewer, with what it said and asked for."""

    def __init__(self, browser, address, at, width=1440, scheme="light"):
        self.base = address
        self.said = []
        self.asked = []
        self.page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        self.page.set_default_timeout(30_000)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.to(at)

    def to(self, at):
        """Go to a view, as if by its address."""
        self.page.goto(self.base + at)

    @property
    def where(self):
        """The page's address behind the ``#``."""
        return str(self.page.evaluate("location.hash"))

    def read(self, query):
        """The text of an element, once it is there."""
        return str(self.page.locator(query).first.inner_text())

    def until(self, script):
        """Wait until an expression is true in the page, whose policy forbids Playwright's own way to wait."""
        end = time.monotonic() + 30
        while not self.page.evaluate(script):
            assert time.monotonic() < end, f"not true: {script}"
            self.page.wait_for_timeout(30)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.page.close()
        if problem[0] is None:
            assert self.said == []
            assert [url for url in self.asked if not url.startswith((self.base, "data:", "blob:"))] == []


@pytest.fixture
def opened(browser, address):
    """Opens a view."""

    def open_view(at, width=1440, scheme="light"):
        return Opened(browser, address, at, width, scheme)

    return open_view
