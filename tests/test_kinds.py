"""Kinds of study, two or three of seven a day: from ``quaver init`` to the report on the real model.

In full size those that can be asked of another model are, every day.
"""

import json
import shlex
from html import unescape
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from ruamel.yaml import YAML
from tests.cli.commands import here, quaver
from tests.pages import DOCS, run_page
from tests.samples import drawn

from quaver.design.study_kinds import KINDS, study_of_kind
from quaver.study.analysis.study_measures import measurable, measurements
from quaver.study.session import Study

pytestmark = pytest.mark.long

CUT = {
    "stability": {"decoding": {"again": {"repeats": 2, "max_tokens": 3}, "reworded": {"repeats": 1}}},
    "sensitivity": {"decoding": {"greedy": {"max_tokens": 3}}},
    "audit": {"decoding": {"greedy": {"max_tokens": 2}}},
    "mcq": {"decoding": {"at": {"repeats": 2}}},
    "factorial": {},
    "judge": {"decoding": {"judged": {"repeats": 2}}},
    "codebook": {},
}
"""What is made smaller still, beside the number of items."""

FAMILY = {
    "stability": {"k": 1},
    "sensitivity": {"k": 1},
    "audit": {},
    "mcq": {"prompts": {f"T{n}": {"max_tokens": 4} for n in range(6)}},
    "factorial": {"parts": {name: {"tokens": 3} for name in ("label", "score", "explanation")}},
    "judge": {},
    "codebook": {},
}
"""The same of the last family of variants."""

CALLS = {
    "stability": 3 * (2 + 3),
    "sensitivity": 3 * 3 * 2,
    "audit": 3 * 6 * (1 + 3),  # the answer, its first token, and two statements of confidence
    "mcq": 3 * 6 * 2 * 2,
    "factorial": 3 * 16,
    "judge": 3 * 2 * 2 * 2,
    "codebook": 3 * 2,  # both instructions
}
"""Three items, by hand."""


def cut(path, kind):
    """Make a file's small version as small as it may be."""
    yaml = YAML(typ="safe", pure=True)
    study = yaml.load(path.read_text(encoding="utf-8"))
    small = study["small"]
    small["items"] = {"sample": 3}
    small["variants"][-1] = _merged(small["variants"][-1], FAMILY[kind])
    path.write_text(json.dumps(study | {"small": _merged(small, CUT[kind])}), encoding="utf-8")


def _merged(given, other):
    both = dict(given)
    for key, value in other.items():
        both[key] = _merged(both[key], value) if isinstance(both.get(key), dict) else value
    return both


@pytest.mark.parametrize("kind", drawn(KINDS, 3))
def test_from_an_empty_folder_to_the_report_as_its_page_goes(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "110")
    output = {}

    def typed(command):
        if not command.startswith("quaver "):
            return None
        done = here(tmp_path, *shlex.split(command)[1:], monkeypatch=monkeypatch, capsys=capsys)
        assert done.returncode == 0, done.stderr
        if command == f"quaver init {kind}":
            cut(tmp_path / f"{kind}.yaml", kind)
        output[command] = done.stdout
        return done.stdout

    assert run_page(f"studies/{kind}.md", tmp_path, typed) >= 4
    ran = " ".join(output[f"quaver run {kind}.yaml --small"].split())
    small = Study.open(tmp_path / f"{kind}.small.yaml").spec
    notes = [" ".join(note.split()) for note in small.notes]
    assert notes
    assert [note for note in notes if note not in ran] == []
    assert f"{CALLS[kind]} of {CALLS[kind]} are" in ran
    printed = typed(f"quaver measure {kind}.small.yaml --json") or ""
    found = [json.loads(line) for line in printed.splitlines()]
    assert len(found) >= len(small.measures)
    assert all(one["value"] is not None or one["reason"] for one in found)
    report = (tmp_path / f"{kind}.small" / "report.html").read_text(encoding="utf-8")
    page_text = " ".join(unescape(report).split())
    assert [note for note in notes if note not in page_text] == []
    if kind == "mcq":  # of three items, the others lack some of the tables that their pages show
        (tmp_path / f"{kind}.yaml").write_text(study_of_kind(kind), encoding="utf-8")
        page = worked().refresh(kind, tmp_path, tmp_path / "images", lambda command: typed(command) or "")
        assert f"{CALLS[kind]:,} calls in" in " ".join(page.split())
        assert "| T5 | 1.0 |" in page


def worked():
    """The program that puts a run's output into its page."""
    spec = spec_from_file_location("worked", DOCS / "worked.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ITEMS = 4
FULL = {
    "stability": (lambda n: ["Clinton", "Dole", "?"][n % 7 % 3], ITEMS * (30 + 251 * 3)),
    "sensitivity": (lambda n: ["Clinton", "Dole", "?"][n % 7 % 3], ITEMS * 3 * 30),
    "mcq": (lambda n: f"FINAL: {'ABCD?'[n % 11 % 5]}", ITEMS * 6 * 3 * 10),
    "judge": (lambda n: "AB1?2"[n % 7 % 5], ITEMS * 12 * 5),
    "factorial": (lambda n: ("Clinton", "Dole", "Clinton 0.9, Dole 0.1")[n % 7 % 3], ITEMS * 16),
}
"""What a made-up model answers the n-th time, and how many calls there are of each model."""

OTHER = {"Clinton": "Dole", "Dole": "Clinton"}


@pytest.mark.parametrize("kind", FULL)
def test_in_full_size_two_models_give_every_measure_a_value(kind, tmp_path):
    answer, calls = FULL[kind]
    asked = 0

    def made_up(text, prompt):
        nonlocal asked
        asked += 1
        if "into other words" in prompt:
            return f"Clinton or Dole, which of the two is chosen by this voter of number {asked}?"
        label = answer(asked * asked // 3)
        return label if len(text) % 2 else OTHER.get(label, label)  # items differ: agreement is defined

    study = YAML(typ="safe", pure=True).load(study_of_kind(kind))
    study["items"]["sample"] = ITEMS
    study["models"] = [{"name": name, "use": "function"} for name in ("first", "second")]
    for one in study["measures"]:
        one["resamples"] = 50
    opened = Study.open(study, folder=tmp_path / kind, functions=dict.fromkeys(("first", "second"), made_up))
    outcome = opened.run()
    assert (outcome.done, outcome.errors) == (2 * calls, 0)
    frame = measurable(opened.source)
    for measurement in measurements(opened.source, None, frame):
        found = measurement.of(frame)
        assert any(one.value is not None for one in found), (measurement.measure, found)


def test_the_files_run_as_they_are_written():
    for kind in KINDS:
        text = study_of_kind(kind)
        assert f"quaver run {kind}.yaml --small" in text
        assert f"quaver report {kind}.small.yaml" in text
        assert max(map(len, text.splitlines())) <= 120


def test_a_kind_that_does_not_exist_is_named_with_the_nearest(tmp_path):
    done = quaver(tmp_path, "init", "stablity")
    assert done.returncode == 2
    assert "'stability'" in done.stderr
    assert not list(tmp_path.iterdir())
