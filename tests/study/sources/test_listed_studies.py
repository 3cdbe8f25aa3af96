"""Several studies in one file: each opened, and taken by the commands one after the other."""

import json

import pytest
from typer.testing import CliRunner

import quaver
from quaver import Study
from quaver.cli.main import app
from quaver.errors import QuaverError, SpecError, UnknownName

LISTED = """\
name: two tasks
shared:
  items: {id: id, text: "{{ text }}", gold: truth}
  prompt: {instruction: Which one is it?}
  models: [{name: fake, use: function}]
  variants:
    - use: factors
      factors:
        tone: [plain, polite]
      parts:
        polite: {text: Please., when: {tone: polite}}
  measures: [{use: accuracy, by: [model]}, {use: factor_effects, by: [model]}]
studies:
  mood:
    task: {labels: [positive, negative]}
    items: {source: mood.csv}
  colour:
    task: {labels: [red, blue]}
    items: {source: colour.csv}
"""


def written(folder, text=LISTED):
    for name, labels in (("mood", ("positive", "negative")), ("colour", ("red", "blue"))):
        rows = "".join(f"{name}{at},text {at} of {labels[at % 2]},{labels[at % 2]}\n" for at in range(20))
        (folder / f"{name}.csv").write_text(f"id,text,truth\n{rows}", encoding="utf-8")
    path = folder / "tasks.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def annotator(text, prompt):
    """Right but for every fifth text, and for every second where it is asked politely."""
    right = text.rpartition(" ")[2]
    wrong = {"positive": "negative", "negative": "positive", "red": "blue", "blue": "red"}[right]
    number = int(text.split()[1])
    return wrong if number % 5 == 0 or ("Please" in prompt and number % 2) else right


def opened(folder, text=LISTED):
    return quaver.open_studies(written(folder, text), functions={"fake": annotator})


def test_each_study_is_one_of_its_own_with_what_is_shared(tmp_path):
    found = opened(tmp_path)
    assert list(found) == ["mood", "colour"]
    alone = Study.open(tmp_path / "tasks.mood.yaml", functions={"fake": annotator})
    assert alone.spec.name == "mood"
    assert alone.folder == found["mood"].folder == tmp_path / "tasks.mood"
    assert [one.id for one in alone.experiment.items][:2] == ["mood0", "mood1"]
    assert sum(one.plan().calls for one in found.values()) == 80
    before = (tmp_path / "tasks.mood.yaml").stat().st_mtime_ns
    opened(tmp_path)
    assert (tmp_path / "tasks.mood.yaml").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("change", "where", "found"),
    [
        (("studies:", "studys:"), "tasks.yaml", None),
        (
            ("  colour:\n    task: {labels: [red, blue]}", "  colour: nowhere.yaml\n  third:\n    task: {}"),
            "studies.colour",
            "nowhere.yaml",
        ),
        (("  mood:\n", "  'a b':\n"), "studies", None),
    ],
)
def test_a_mistake_in_the_file_is_one_error(tmp_path, change, where, found):
    with pytest.raises(SpecError) as raised:
        opened(tmp_path, LISTED.replace(*change))
    assert where in (raised.value.where or "")
    assert found is None or raised.value.found == found


def test_a_function_for_a_model_that_no_study_has_is_refused(tmp_path):
    with pytest.raises(UnknownName):
        quaver.open_studies(written(tmp_path), functions={"other": annotator})


def test_the_commands_take_each_study_in_turn(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "def label(text, prompt):\n    return text.rpartition(' ')[2]\n", encoding="utf-8"
    )
    function = ["--function", "fake=mine:label"]
    program = CliRunner()
    printed = {}
    for name, *more in (["plan"], ["run"], ["status"], ["measure"], ["report"], ["variants"]):
        result = program.invoke(app([name, "schema"]), [name, str(path), *more, *function])
        assert result.exit_code == 0, result.output
        printed[name] = result.output
    assert printed["plan"].count("40 calls") == 2
    assert "Study mood" in printed["measure"]
    assert (tmp_path / "tasks.colour" / "report.html").is_file()
    lines = program.invoke(app(["measure", "schema"]), ["measure", str(path), "--json", *function]).output
    assert {json.loads(line)["cell"]["study"] for line in lines.splitlines()} == {"mood", "colour"}
    status = program.invoke(app(["status", "schema"]), ["status", str(path), "--json", *function]).output
    assert {one["answered"] for one in json.loads(status)["studies"].values()} == {40}
    for name, *more in (["bundle"], ["compare"]):
        refused = program.invoke(app([name, "schema"]), [name, str(path), *more]).exception
        assert isinstance(refused, QuaverError)
        assert "tasks.mood.yaml" in (refused.fix or "")
