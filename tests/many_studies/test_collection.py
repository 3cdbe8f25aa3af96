"""Several studies in one file: planned, run, resumed, budgeted, measured and reported together."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from quaver import Collection, Study
from quaver.cli.main import app
from quaver.collect.run.progress import Progress
from quaver.errors import SpecError, UnknownName

COLLECTION = """\
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


def written(folder: Path, text: str = COLLECTION) -> Path:
    for name, labels in (("mood", ("positive", "negative")), ("colour", ("red", "blue"))):
        rows = "".join(f"{name}{at},text {at} of {labels[at % 2]},{labels[at % 2]}\n" for at in range(20))
        (folder / f"{name}.csv").write_text(f"id,text,truth\n{rows}", encoding="utf-8")
    path = folder / "tasks.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def annotator(text: str, prompt: str) -> str:
    """Right but for every fifth text, and for every second where it is asked politely."""
    right = text.rpartition(" ")[2]
    wrong = {"positive": "negative", "negative": "positive", "red": "blue", "blue": "red"}[right]
    number = int(text.split()[1])
    return wrong if number % 5 == 0 or ("Please" in prompt and number % 2) else right


def opened(folder: Path, text: str = COLLECTION) -> Collection:
    return Collection.open(written(folder, text), functions={"fake": annotator})


def test_each_study_is_one_of_its_own_with_what_is_shared(tmp_path: Path) -> None:
    found = opened(tmp_path)
    assert list(found.studies) == ["mood", "colour"]
    alone = Study.open(tmp_path / "tasks.mood.yaml", functions={"fake": annotator})
    assert alone.spec.name == "mood"
    assert alone.folder == found.studies["mood"].folder == tmp_path / "tasks.mood"
    assert [one.id for one in alone.experiment.items][:2] == ["mood0", "mood1"]
    assert found.plan().calls == 80
    before = (tmp_path / "tasks.mood.yaml").stat().st_mtime_ns
    opened(tmp_path)
    assert (tmp_path / "tasks.mood.yaml").stat().st_mtime_ns == before


def test_they_run_together_and_go_on_where_they_stopped(tmp_path: Path) -> None:
    found = opened(tmp_path)
    seen: list[str] = []

    def watch(name: str, progress: Progress) -> None:
        seen.append(name)

    outcomes = found.run(watch=watch)
    assert {name: (one.ended, one.done) for name, one in outcomes.items()} == {
        "mood": ("finished", 40),
        "colour": ("finished", 40),
    }
    assert list(dict.fromkeys(seen)) == ["mood", "colour"]
    assert (found.status().answered, found.status().total) == (80, 80)
    assert [one.done for one in opened(tmp_path).run().values()] == [0, 0]


def test_the_budget_is_that_of_all_studies(tmp_path: Path) -> None:
    text = COLLECTION + "budget: {calls: 50}\n"
    outcomes = opened(tmp_path, text).run()
    assert [one.done for one in outcomes.values()] == [40, 10]
    again = opened(tmp_path, text)
    assert sum(one.done for one in again.run().values()) == 0
    assert again.status().answered == 50
    assert opened(tmp_path).run()["colour"].done == 30


def test_effects_are_pooled_over_studies_and_levels_are_not(tmp_path: Path) -> None:
    found = opened(tmp_path)
    found.run()
    estimates = found.estimates()
    assert {one.cell["study"] for one in estimates} == {"mood", "colour", "pooled"}
    pooled = [one for one in estimates if one.cell["study"] == "pooled"]
    assert {one.measure.rpartition("_")[2] for one in pooled} <= {"difference", "interaction"}
    each = [
        one.value
        for one in estimates
        if one.measure == "factor_effects_accuracy_difference" and one.cell.get("level") == "polite"
    ]
    assert len(each) == 3
    assert each[2] == pytest.approx((each[0] + each[1]) / 2)  # the same annotator on as many items
    assert each[2] < 0


def test_the_report_leads_to_each_study(tmp_path: Path) -> None:
    found = opened(tmp_path)
    found.run()
    page = found.report()
    text = page.read_text(encoding="utf-8")
    assert 'href="../tasks.mood/report.html"' in text
    assert (tmp_path / "tasks.mood" / "report.html").is_file()
    table = (page.parent / "tables" / "tasks-accuracy.csv").read_text(encoding="utf-8")
    assert table.splitlines()[1].startswith("mood,")
    assert (page.parent / "tables" / "pooled-effects.csv").is_file()


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
def test_a_mistake_in_the_file_is_one_error(
    tmp_path: Path, change: tuple[str, str], where: str, found: str | None
) -> None:
    with pytest.raises(SpecError) as raised:
        opened(tmp_path, COLLECTION.replace(*change))
    assert where in (raised.value.where or "")
    assert found is None or raised.value.found == found


def test_a_function_for_a_model_that_no_study_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        Collection.open(written(tmp_path), functions={"other": annotator})


def test_the_commands_take_a_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "def label(text, prompt):\n"
        "    polite = 'Please' in prompt and int(text.split()[1]) % 3 == 0\n"
        "    return '' if polite else text.rpartition(' ')[2]\n",
        encoding="utf-8",
    )
    function = ["--function", "fake=mine:label"]
    program = CliRunner()
    said = {}
    for name in ("plan", "run", "status", "measure", "report"):
        result = program.invoke(app([name, "schema"]), [name, str(path), *function])
        assert result.exit_code == 0, result.output
        said[name] = result.output
    assert "80 calls in 2 studies" in said["plan"]
    assert "80 of 80 calls are answered" in said["status"]
    assert "study pooled" in said["measure"]
    assert (tmp_path / "tasks" / "report.html").is_file()
