"""Several studies in one file: planned, run, resumed, budgeted, measured and reported together."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import quaver
from quaver import Collection, Study
from quaver.cli.main import app
from quaver.collect.run.progress import Progress
from quaver.errors import MeasureError, QuaverError, SpecError, StoreError, UnknownName
from quaver.many_studies.packed_collection import verify_collection
from quaver.many_studies.study_files import study_files
from quaver.study.sources.archive import pack

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


@pytest.mark.long
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
    for name in ("plan", "run", "status", "measure", "report", "compare", "bundle"):
        result = program.invoke(app([name, "schema"]), [name, str(path), *function])
        assert result.exit_code == 0, result.output
        said[name] = result.output
    for name in ("verify", "measure", "compare"):
        result = program.invoke(app([name, "schema"]), [name, "tasks.quaver.zip"])
        assert result.exit_code == 0, result.output
        said[f"{name} bundle"] = result.output
    both = ["compare", "tasks.quaver.zip", "tasks.yaml", *function, "--fail-if", "accuracy < 0", "--json"]
    result = program.invoke(app(["compare", "schema"]), both)
    assert result.exit_code == 0, result.output
    assert {one["cell"]["study"] for one in json.loads(result.output)["differences"]} == {"mood", "colour"}
    assert program.invoke(app(["compare", "schema"]), ["compare", "tasks.yaml", "tasks.mood.yaml"]).exit_code
    shown = ["view", "tasks.yaml", "--export", "seen.html"]
    refused = program.invoke(app(["view", "schema"]), shown).exception
    assert isinstance(refused, QuaverError)
    assert "tasks.mood.yaml" in (refused.fix or "")
    assert "80 calls in 2 studies" in said["plan"]
    assert "80 of 80 calls are answered" in said["status"]
    assert "study pooled" in said["measure"]
    assert "study pooled" in said["measure bundle"]
    assert "0 differ" in said["verify bundle"]
    assert (tmp_path / "tasks" / "report.html").is_file()


def worse(text: str, prompt: str) -> str:
    """The annotator, wrong about some moods that it was right about."""
    right = text.rpartition(" ")[2]
    return "negative" if right == "positive" and int(text.split()[1]) < 12 else annotator(text, prompt)


def test_a_version_is_compared_study_by_study_and_judged_together(tmp_path: Path) -> None:
    before, after = (tmp_path / name for name in ("before", "after"))
    for one in (before, after):
        one.mkdir()
    first = opened(before)
    second = Collection.open(written(after), functions={"fake": worse})
    first.run()
    second.run()
    found = first.compare(second, measures=["accuracy"], fail_if=["accuracy < 0"])
    alone = quaver.compare(first.studies["mood"], second.studies["mood"], measures=["accuracy"])
    own = [one for one in found.differences if one.cell["study"] == "mood"]
    assert [(one.value, one.low, one.high) for one in own] == [
        (one.value, one.low, one.high) for one in alone.differences
    ]
    assert found.items == 40
    assert set(found.flips["study"]) == {"mood"}
    assert found.flipped == alone.flipped > 0
    (judgement,) = found.judgements
    assert len(judgement.judged) == len(found.differences)
    assert {one.cell["study"] for one in judgement.failed} <= {"mood"}
    one_study = first.compare(second, measures=["accuracy"], fail_if=["accuracy[study=colour] < 0"])
    assert one_study.held


def test_looks_at_collections_are_kept_in_the_later_ones_folder(tmp_path: Path) -> None:
    before, after = (tmp_path / name for name in ("before", "after"))
    for one in (before, after):
        one.mkdir()
    first, second = opened(before), Collection.open(written(after), functions={"fake": worse})
    first.run()
    second.run()
    seen = [first.compare(second, measures=["accuracy"], looks=10).look for _ in range(2)]
    assert [one.again for one in seen if one] == [False, True]
    assert (after / "tasks" / "looks.json").is_file()
    with pytest.raises(QuaverError):
        first.compare(looks=10)


def test_collections_without_a_study_in_common_are_not_compared(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first = opened(tmp_path)
    second = opened(other, COLLECTION.replace("  mood:", "  feeling:").replace("  colour:", "  paint:"))
    with pytest.raises(MeasureError):
        first.compare(second)


@pytest.mark.long
def test_a_bundle_opens_as_the_collection_and_is_computed_anew(tmp_path: Path) -> None:
    found = opened(tmp_path)
    found.run()
    path, digest = found.bundle(texts=False)
    assert path == tmp_path / "tasks.quaver.zip"
    made = verify_collection(path)
    assert (made.holds, made.digest) == (True, digest)
    assert made.pooled > 0
    assert set(made.studies) == {"mood", "colour"}
    packed = Collection.open(path)
    assert [str(one) for one in packed.estimates()] == [str(one) for one in found.estimates()]
    page = packed.report(tmp_path / "out")
    assert 'href="mood/report.html"' in page.read_text(encoding="utf-8")
    assert (tmp_path / "out" / "mood" / "report.html").is_file()
    with pytest.raises(StoreError):
        packed.bundle()
    with zipfile.ZipFile(path) as archive:
        inside = b"".join(archive.read(name) for name in archive.namelist() if not name.endswith(".zip"))
    assert b"text 3 of" not in inside
    assert [one.name for one in study_files(path)] == ["mood.quaver.zip", "colour.quaver.zip"]


@pytest.mark.long
def test_a_pooled_number_that_was_changed_is_found(tmp_path: Path) -> None:
    found = opened(tmp_path)
    found.run()
    path, _ = found.bundle()
    folder = tmp_path / "inside"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
        manifest = json.loads(archive.read("manifest.json"))
    document = json.loads((folder / "estimates.json").read_text(encoding="utf-8"))
    document[-1]["value"] = 0.123
    (folder / "estimates.json").write_text(json.dumps(document), encoding="utf-8")
    about = {name: value for name, value in manifest.items() if name not in ("files", "bytes")}
    changed = tmp_path / "changed.quaver.zip"
    pack(changed, {name: folder / name for name in manifest["files"]}, about)
    made = verify_collection(changed)
    assert not made.holds
    assert len(made.differing) == 1
    with path.open("r+b") as file:
        file.seek(200)
        file.write(b"x")
    with pytest.raises(StoreError):
        Collection.open(path)


SIZES = COLLECTION.replace("models: [{name: fake, use: function}]", "models: [{name: fake, use: function}, "
    "{name: big, use: function}, {name: huge, use: function}]").replace(
    "measures: [", "measures: [{use: spread, by: [model], sizes: {fake: 0.5, big: 7, huge: 70}}, "
)  # fmt: skip


@pytest.mark.long
def test_size_stands_against_spread_by_task_with_the_models_named(tmp_path: Path) -> None:
    def bound(text: str, prompt: str) -> str:
        return annotator(text, "")

    functions = {"fake": annotator, "big": worse, "huge": bound}
    found = Collection.open(written(tmp_path, SIZES), functions=functions)
    found.run()
    page = found.report()
    rows = (page.parent / "tables" / "size-against-spread.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2 * 3
    spreads = {
        (one.cell["study"], one.cell["model"]): one.value
        for one in found.estimates("spread")
        if one.measure == "spread"
    }
    assert spreads["mood", "huge"] == 0
    assert spreads["mood", "fake"] == pytest.approx(0.4)
    for row in rows[1:]:
        study, model, size, value = row.split(",")[:4]
        assert float(value) == pytest.approx(spreads[study, model])
        assert float(size) == {"fake": 0.5, "big": 7, "huge": 70}[model]
    assert (page.parent / "figures" / "size-against-spread.svg").is_file()
    text = page.read_text(encoding="utf-8")
    assert all(f">{model}<" in text for model in functions)


PROMPTS = """\
shared: {prompt: {instruction: "Label this."}}
studies: {colour: {task: {labels: [red, blue]}}}
"""


def test_texts_of_another_file_take_their_places(tmp_path: Path) -> None:
    path = written(tmp_path, COLLECTION.replace("shared:", "prompts: own.yaml\nshared:", 1))
    (tmp_path / "own.yaml").write_text(PROMPTS, encoding="utf-8")
    collection = Collection.open(path, functions={"fake": annotator})
    assert [one.spec.prompt.instruction for one in collection.studies.values()] == ["Label this."] * 2
    assert collection.studies["mood"].spec.variants[0].use == "factors", "what it does not name stays"


@pytest.mark.parametrize(
    ("texts", "where", "fix"),
    [
        ("shared: {prompt: {instructions: x}}", "own.yaml:1: shared.prompt.instructions", "instruction"),
        ("studies:\n  moods: {}", "own.yaml:2: studies.moods", "mood"),
        ("- x", "own.yaml", None),
    ],
)
def test_a_text_without_a_place_is_one_error(tmp_path: Path, texts: str, where: str, fix: str | None) -> None:
    path = written(tmp_path, COLLECTION.replace("shared:", "prompts: own.yaml\nshared:", 1))
    (tmp_path / "own.yaml").write_text(texts, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        Collection.open(path)
    assert caught.value.where == where
    assert fix is None or fix in str(caught.value.fix)
