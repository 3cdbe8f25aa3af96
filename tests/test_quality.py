"""The gate of a whole study: the same issues from Python, on the page and from run, status and measure."""

import importlib
import json

import pytest
from tests.cli.commands import here
from tests.studies import written

from quaver.report.findings.key_results import quality_lines
from quaver.report.findings.quality import severity
from quaver.study.session import Study

MODEL = """
def annotate(text, prompt):
    number = int(text.split()[-1])
    if number % 10 > 6:
        raise ValueError("too much")
    return "Hm." if number % 10 == 3 and "Say" in prompt else ("good", "bad")[number % 2]
"""
STUDY = {
    "name": "Half read",
    "task": {"labels": ["good", "bad"]},
    "items": {"source": "items.csv", "id": "id", "text": "{{ text }}"},
    "prompt": {"instruction": "Which?"},
    "variants": [{"use": "instructions", "texts": {"b": "Say which!"}}],
    "models": [{"name": "fake", "use": "function"}],
    "evaluators": ["first_label"],
    "measures": ["compliance"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = "".join(f"i{n},Text {n}\n" for n in range(100))
    written(tmp_path, json.dumps(STUDY), "id,text\n" + rows)
    (tmp_path / "half_read.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_run_status_and_measure_print_the_gate_of_the_report(folder, monkeypatch, capsys):
    def typed(*arguments):
        return here(folder, *arguments, monkeypatch=monkeypatch, capsys=capsys).stdout

    function = ("--function", "fake=half_read:annotate")
    ran = typed("run", "study.yaml", *function)
    monkeypatch.syspath_prepend(folder)
    functions = {"fake": importlib.import_module("half_read").annotate}
    study = Study.open(folder / "study.yaml", functions=functions)
    issues = study.quality().issues
    assert [(one.measure, severity(one), one.details["times"]) for one in issues] == [
        ("failed_calls", "caution", 60),  # three of ten texts, under either prompt
        ("unlabelled_answers", "caution", 10),  # one of ten, under one of them
    ]
    assert issues[1].details["calls"] == 200
    lines = quality_lines(study.quality())
    assert len(lines) == 2
    page = study.report().read_text(encoding="utf-8")
    for printed in (ran, typed("status", *function), typed("measure", "study.yaml", *function), page):
        assert all(line in printed for line in lines)
    status = json.loads(typed("status", "--json", *function))
    assert [one["kind"] for one in status["quality"]] == ["failed_calls", "unlabelled_answers"]
    assert sum(status["by_kind"].values()) == 60
