"""What is made of a study is kept, and made anew where anything that it rests on has changed."""

import shutil
from dataclasses import replace
from importlib.metadata import EntryPoint

import polars as pl
import pytest
from tests.pictures import png
from tests.studies import written

from quaver import Study
from quaver.bundles.packing import bundle
from quaver.core.meter import Traffic
from quaver.core.records import Estimate, IntervalWarning
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.sources import kept_results
from quaver.study.sources.kept_results import kept, mark_of

STUDY = """\
task:
  labels: [positive, negative]
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth}
prompt: {instruction: Is this positive or negative?}
variants:
  - {use: paraphrases, engine: file, path: words.csv}
models:
  - {name: fake, use: function}
measures: [accuracy]
"""
PICTURES = """\
task:
  labels: [positive, negative]
items: {source: items.csv, id: id, images: file}
prompt: {instruction: Is this positive or negative?}
models:
  - {name: fake, use: function}
"""
ITEMS = "id,text,truth\n" + "".join(
    f"i{n},Text {n}.,{('positive', 'negative', '')[n % 3]}\n" for n in range(24)
)


def answer(text, prompt):
    return "positive" if (len(text) + len(prompt)) % 3 else "negative"


@pytest.fixture(scope="module", name="whole")
def _whole(tmp_path_factory):
    home = tmp_path_factory.mktemp("kept") / "study"
    path = written(home, STUDY, ITEMS)
    (home / "words.csv").write_text("paraphrase\nIs it negative or positive?\n")
    study = Study.open(path, functions={"fake": answer})
    study.run()
    study.verdict()
    return home


@pytest.fixture(name="home")
def _home(whole, tmp_path):
    """A copy of a study whose verdict was made once."""
    return shutil.copytree(whole, tmp_path / "study")


@pytest.fixture(name="judged")
def _judged(monkeypatch):
    """The studies that a verdict is measured of."""
    judged, own = [], MeasuredStudy.judged

    def noted(measured):
        judged.append(measured.study.folder)
        return own(measured)

    monkeypatch.setattr(MeasuredStudy, "judged", noted)
    return judged


def opened(home, **functions):
    return Study.open(home, functions={"fake": answer, **functions})


def mark(home):
    return mark_of(opened(home).source)


def documents(study):
    return [estimate.document() for estimate in study.estimates()]


def edit(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_what_was_measured_is_read_in_another_place_and_its_design_is_not_resolved(home, judged):
    study = opened(home)
    first, measured = str(study.verdict()), documents(study)
    assert not judged
    assert study.source.resolved_from is not None  # for the estimates
    again = opened(home)
    assert str(again.verdict()) == first
    assert documents(again) == measured
    assert again.measure("accuracy", by=["model"])[0] == opened(home).measure("accuracy", by=["model"])[0]
    again = opened(home)
    assert again.annotations().equals(study.annotations())
    again.measure("accuracy", by=["model"])
    assert again.source.resolved_from is None
    assert not judged


def draw(home, n=5):
    opened(home).gold.draw(n=n, design="simple")


def another_store(home):
    """As many answers, of the same calls, from another run."""
    (home / "responses.db").unlink()
    Study.open(home, functions={"fake": answer}).run()


def one_error(home):
    with opened(home).source.answers() as store:
        store.db.execute("UPDATE responses SET finish = 'error', error = 'x' WHERE id = 3")


def spent(home):
    with opened(home).source.answers() as store:
        store.add_traffic(1, Traffic(sent=1))


CHANGES = {
    "the study file": lambda home: edit(home / "study.yaml", "Is this", "Is that"),
    "a measure": lambda home: edit(home / "study.yaml", "[accuracy]", "[f1]"),
    "the table": lambda home: edit(home / "items.csv", "i1,Text 1.,negative", "i1,Text 1.,positive"),
    "another file": lambda home: edit(home / "words.csv", "Is it", "Is that"),
    "kept paraphrases": lambda home: (home / "paraphrases.json").write_text("{}"),
    "a gold sample": draw,
    "another store": another_store,
    "an error": one_error,
    "what was spent": spent,
    "other evaluators": lambda home: opened(home).rescore(["exact"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gives_another_mark(home, change):
    before = mark(home)
    assert mark(home) == before
    CHANGES[change](home)
    assert mark(home) != before


@pytest.mark.parametrize("change", ["the table", "a gold sample", "other evaluators"])
def test_what_is_no_longer_true_is_measured_anew(home, judged, change):
    before = documents(opened(home))
    assert opened(home).verdict()
    CHANGES[change](home)
    judged.clear()
    study = opened(home)
    after = documents(study), str(study.verdict())
    assert judged
    assert after[0] != before
    shutil.rmtree(home / "kept")
    study = opened(home)
    assert (documents(study), str(study.verdict())) == after


def test_an_answer_that_came_gives_another_mark(home):
    edit(home / "items.csv", "i23,", "i24,Text 24.,\ni23,")
    before = mark(home)
    opened(home).run()
    assert mark(home) != before
    assert opened(home).annotations()["item"].n_unique() == 25


def test_more_of_a_gold_sample_gives_another_mark(home):
    draw(home)
    before = mark(home)
    draw(home, n=9)
    assert mark(home) != before


def test_another_model_gives_another_mark(home):
    before = mark(home)
    assert mark_of(opened(home, fake=lambda text, prompt: "positive").source) != before
    # As it was, where it is not there
    assert mark_of(Study.open(home).source) == before


@pytest.fixture(name="code")
def _code(tmp_path, monkeypatch):
    """A package in Quaver's place and one of a plug-in, as old as the process."""
    own, foreign = tmp_path / "own", tmp_path / "site" / "shouting"
    for folder in (own, foreign):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("A = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    entry = EntryPoint("shouting", "shouting:Shouting", "quaver.evaluators")
    monkeypatch.setattr(kept_results, "_HOME", own)
    monkeypatch.setattr(kept_results, "_STARTED", float("inf"))
    monkeypatch.setattr(kept_results, "_foreign", lambda: (entry,))

    def read():
        return kept_results._code.__wrapped__()

    return tmp_path, read


@pytest.mark.parametrize("changed", ["own/__init__.py", "own/words.toml", "site/shouting/__init__.py"])
def test_changed_code_gives_another_mark(code, changed):
    home, read = code
    before = read()
    assert read() == before
    (home / changed).write_text("A = 2\n")
    assert read() != before


def test_another_package_gives_another_mark(code):
    home, read = code
    before = read()
    (home / "site" / "rapidfuzz-99.dist-info").mkdir()
    assert read() != before


@pytest.mark.parametrize("of", ["version", "platform"])
def test_another_python_or_machine_gives_another_mark(code, monkeypatch, of):
    before = code[1]()
    if of == "version":
        monkeypatch.setattr(kept_results.sys, "version", "4.0")
    else:
        monkeypatch.setattr(kept_results.platform, "platform", lambda: "elsewhere")
    assert code[1]() != before


def test_code_that_changed_since_the_process_began_has_no_mark_twice(code, monkeypatch):
    monkeypatch.setattr(kept_results, "_STARTED", 0.0)
    assert code[1]() != code[1]()


def test_the_code_is_part_of_the_mark(home, monkeypatch):
    before = mark(home)
    monkeypatch.setattr(kept_results, "_code", lambda: "other")
    assert mark(home) != before


def test_a_frame_that_other_code_made_is_made_anew(home, monkeypatch):
    frame = opened(home).annotations()
    older = frame.with_columns(label=pl.lit(None, frame.schema["label"]))  # as an older rule had it
    older.write_parquet(home / "annotations.parquet")
    assert opened(home).annotations()["label"].null_count() == frame.height
    monkeypatch.setattr(kept_results, "_code", lambda: "another release")
    assert opened(home).annotations()["label"].null_count() == 0


def test_where_another_package_has_plug_ins_the_design_counts(home, monkeypatch):
    entry = EntryPoint("theirs", "shouting:theirs", "quaver.measures")
    monkeypatch.setattr(kept_results, "_foreign", lambda: (entry,))
    study = opened(home)
    assert mark_of(study.source)
    assert study.source.resolved_from is not None


def test_a_picture_that_changed_gives_another_mark(tmp_path):
    path = written(tmp_path, PICTURES, "id,file\na,a.png\n")
    (tmp_path / "a.png").write_bytes(png(8, 8))
    Study.open(path, functions={"fake": lambda text, prompt, images: "positive"}).run()
    before = mark_of(Study.open(path).source)
    assert mark_of(Study.open(path).source) == before
    (tmp_path / "a.png").write_bytes(png(9, 9))
    assert mark_of(Study.open(path).source) != before


def test_a_large_file_is_known_by_its_times(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_results, "_LARGE", 3)
    (tmp_path / "a").write_text("large")
    before = kept_results.file_mark(tmp_path / "a")
    (tmp_path / "a").write_text("LARGE")
    assert kept_results.file_mark(tmp_path / "a") != before


def test_a_text_in_a_folder_of_texts_counts(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    before = kept_results.file_mark(tmp_path)
    (tmp_path / "b.txt").write_text("two")
    assert kept_results.file_mark(tmp_path) != before


# ----------------------------------------------------------------------------- what is not kept


def made(home, value=1, before=lambda: None, name="thing"):
    """Make something of a study; how often it was made when it was asked for twice."""
    times = []

    def make():
        times.append(0)
        before()
        return value

    of = opened(home)
    assert [kept({"": of.source}, name, (), make) for _ in range(2)] == [value, value]
    return len(times)


def test_what_is_made_of_a_design_that_is_older_than_the_table_is_only_that_studys(home):
    study = opened(home)
    assert study.experiment
    own = mark_of(study.source)
    assert own == mark(home)
    edit(home / "items.csv", "i1,Text 1.,negative", "i1,Text 1.,positive")
    assert mark_of(study.source) not in (own, mark(home))
    assert study.rescore()["gold"].drop_nulls().len() == opened(home).annotations()["gold"].drop_nulls().len()
    first, second = documents(study)[0], documents(opened(home))[0]
    assert first["value"] != second["value"]
    assert (documents(study)[0], documents(opened(home))[0]) == (first, second)


def test_what_was_made_while_answers_came_is_not_kept(home):
    edit(home / "items.csv", "i23,", "i24,Text 24.,\ni23,")
    assert made(home, before=lambda: opened(home).run()) == 2


def test_what_was_made_while_the_table_was_another_is_not_kept(home):
    rows = "i1,Text 1.,negative", "i1,Text 1.,positive"
    source = opened(home).source
    assert kept({"": source}, "thing", (), lambda: edit(home / "items.csv", *rows) or 2) == 2
    edit(home / "items.csv", *reversed(rows))
    assert kept({"": source}, "thing", (), lambda: 1) == 1


def test_annotations_that_were_read_while_answers_came_are_not_current(home, monkeypatch):
    edit(home / "items.csv", "i23,", "i24,Text 24.,\ni23,")
    study = opened(home)
    from quaver.study.analysis import annotation_frame

    own = annotation_frame.annotate

    def meanwhile(*given):
        frame = own(*given)
        monkeypatch.undo()
        opened(home).run()
        return frame

    monkeypatch.setattr(annotation_frame, "annotate", meanwhile)
    assert study.rescore()["item"].n_unique() == 24
    assert opened(home).annotations()["item"].n_unique() == 25


def test_a_damaged_file_is_made_anew(home, judged):
    said = str(opened(home).verdict())
    for path in (home / "kept").iterdir():
        path.write_bytes(path.read_bytes()[:-20] + b"\x00")
    assert str(opened(home).verdict()) == said
    assert judged
    (home / "annotations.parquet").write_bytes(b"PAR1")
    assert str(opened(home).verdict()) == said


def test_a_bundle_keeps_nothing(home, tmp_path):
    study = opened(home)
    path, _ = bundle(study, tmp_path / "packed.quaver.zip")
    packed = Study.open(path)
    assert mark_of(packed.source) is None
    assert str(packed.verdict())
    assert not (packed.folder / "kept").exists()


def test_only_what_json_can_hold_is_kept_and_comes_back_as_it_was(home):
    estimate = Estimate(
        "m",
        0.1 + 0.2,
        low=float("nan"),
        cell={"a": "b"},
        warnings=("w", IntervalWarning("i")),
        details={"pairs": ((1, 2.5), [None]), "by": {1: True}, "#x": "y"},
    )
    assert made(home, [estimate.details, {"a": (estimate.warnings,)}]) == 1
    again = kept({"": opened(home).source}, "one", (), lambda: [estimate])
    again = kept({"": opened(home).source}, "one", (), list)
    assert repr(again[0].document()) == repr(estimate.document())
    assert [type(warning) for warning in again[0].warnings] == [str, IntervalWarning]
    assert made(home, [replace(estimate, low=None, draws=[1])], name="draws") == 2
    assert made(home, pl.Int64, name="type") == 2


def test_what_json_cannot_hold_is_never_what_was_asked_before(home):
    study, made = Study.open(home / "study.yaml", functions={"fake": answer}).source, []
    for _ in range(2):
        kept({"": study}, "asked", [{"labels": {"positive", "negative"}}], lambda: made.append(1))
    assert len(made) == 2
