"""Studies with answers, opened as the server opens them, and a client of the server's application."""

import numpy as np
from starlette.testclient import TestClient
from tests.studies import written

import quaver
from quaver.view.application import Viewer
from quaver.view.guard import MARK, Guard
from quaver.view.serving import studies_of
from quaver.view.study_reader import keep, opened, read, write_design, write_progress

STUDY = """\
name: tones
task:
  labels: [{code: pos, name: positive}, {code: neg, name: negative}, {code: neu, name: neutral}]
items:
  source: items.csv
  id: id
  text: "{{ text }}"
  gold: truth
  groups: [side]
prompt:
  instruction: Is this positive, negative or neutral?
variants:
  - {use: instructions, texts: {curt: "Tone?", plain: "How does it sound?"}, factor: words}
models:
  - {name: fake, use: function}
decoding:
  warm: {temperature: 1.0}
repeats: 3
evaluators: [first_label, exact]
"""

PORT, TOKEN = 8360, "secret-token"


def items(count=40):
    """The items of a study."""
    rows = (
        f"i{n},{'Good' if n % 3 else 'Bad'} thing no. {n}.,{('pos', 'neg', 'neu', '')[n % 4]},{'ab'[n % 2]}"
        for n in range(count)
    )
    return "id,text,truth,side\n" + "\n".join(rows) + "\n"


def annotate(text, prompt):
    """Answers of which some have labels, some are wordy and some have none."""
    annotate.calls += 1
    random = np.random.default_rng(annotate.calls)
    said = ["positive", "negative", "neutral", "I think it is Positive, really.", "no idea", ""]
    return str(random.choice(said, p=[0.3, 0.2, 0.15, 0.15, 0.1, 0.1]))


annotate.calls = 0


def collected(folder, study=STUDY, count=40, answer=annotate):
    """A study with its answers; its file."""
    path = written(folder, study, items(count))
    annotate.calls = 0
    quaver.Study.open(path, functions={"fake": answer}).run(watch=lambda _: None)
    return path


def viewed(path):
    """A study that was read for the viewer."""
    (study,) = studies_of([path]).values()
    again(study)
    return study


def again(study):
    """Read a study as it is now, without its verdict."""
    whole, parts = opened(study.path, study.root, study.field)
    write_progress(read(whole, parts, write_design(whole, parts)), study.root)


def client(*paths, headers=None):
    """A browser that has the address; its URLs begin at the token."""
    studies = studies_of(paths)
    for one in studies.values():
        again(one)
    return client_of(studies, headers)


def client_of(studies, headers=None):
    """A browser on studies that were read."""
    viewer = Viewer(studies)
    app = Guard(viewer.app(), TOKEN, PORT, viewer.reports)
    known = {"host": f"127.0.0.1:{PORT}", MARK.decode(): "1"} | (headers or {})
    return TestClient(
        app, base_url=f"http://127.0.0.1:{PORT}/{TOKEN}/", headers=known, raise_server_exceptions=True
    )


def shown(*paths):
    """A browser on studies that were read with their verdicts."""
    studies = studies_of(paths)
    for one in studies.values():
        keep(one.path, one.root, one.field)
    return client_of(studies)
